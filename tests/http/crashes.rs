//! Publishers and installers continue while the server is killed and restarted: acknowledged releases survive.

use std::{
    collections::BTreeSet,
    io::{self, Read},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::json;

use super::archive;
use crate::support::{Sandbox, Server, server_ask};

/// Default number of releases per publisher. `SKILLHUB_SERVER_RELEASES` sets a higher one.
const RELEASES: usize = 12;
const PUBLISHERS: usize = 8;
const KILLS: usize = 3;
/// Timeout after which the test counts as hung.
const PATIENCE: Duration = Duration::from_secs(240);

fn releases() -> usize {
    std::env::var("SKILLHUB_SERVER_RELEASES").ok().and_then(|text| text.parse().ok()).unwrap_or(RELEASES)
}

/// The account with the namespace's name is its only member and maintainer.
#[track_caller]
fn assert_own_namespace(server: &Server, owner: &str) {
    let members = server.get(&format!("/v1/owners/{owner}"))["members"].clone();
    assert_eq!(members, json!([{"account": owner, "role": "maintainer"}]));
}

/// Publishes as often as it takes.
fn publish_at_last(url: &str, path: &str, token: &str, bytes: &[u8], began: Instant) {
    loop {
        let answer = server_ask(url, "PUT", path, Some(token), bytes);
        if answer.as_ref().is_ok_and(|reply| reply.status == 200) {
            return;
        }
        let text = answer.map_or_else(|error| error.to_string(), |reply| reply.text());
        assert!(began.elapsed() < PATIENCE, "{path} is never published: {text}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Every index line also has its archive afterwards.
#[test]
fn acknowledged_releases_survive_kills() {
    let sandbox = Sandbox::new();
    let bytes = archive(&sandbox, "notes", "one");
    let first = Server::start(&sandbox, &["--rate", "0"]);
    // Each publisher is an ordinary account that opens the namespace of its name.
    let tokens: Vec<_> =
        (0..PUBLISHERS).map(|publisher| first.token(&format!("owner-{publisher}"), "publish")).collect();
    let url = first.url.clone();
    let port = url.rsplit(':').next().unwrap().to_owned();
    let (running, done) = (Mutex::new(Some(first)), AtomicUsize::new(0));
    let (acknowledged, is_over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let began = Instant::now();
    thread::scope(|scope| {
        for (publisher, token) in tokens.iter().enumerate() {
            let (url, bytes, acknowledged, done) = (&url, &bytes, &acknowledged, &done);
            scope.spawn(move || {
                for number in 0..releases() {
                    let path = format!("/v1/skills/owner-{publisher}/notes/1.{number}.0");
                    publish_at_last(url, &path, token, bytes, began);
                    acknowledged.lock().unwrap().insert(format!("owner-{publisher}/notes 1.{number}.0"));
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
            scope.spawn({
                let is_over = &is_over;
                move || {
                    while !is_over.load(Ordering::SeqCst) && began.elapsed() < PATIENCE {
                        let path = format!("/v1/skills/owner-{publisher}/notes/latest/archive");
                        if let Ok(reply) = server_ask(url, "GET", &path, None, b"") {
                            assert!(matches!(reply.status, 200 | 404), "{}", reply.status);
                        }
                        thread::sleep(Duration::from_millis(30));
                    }
                }
            });
        }
        let all = PUBLISHERS * releases();
        for kill in 1..=KILLS {
            while done.load(Ordering::SeqCst) < all * kill / (KILLS + 1) && began.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(5));
            }
            running.lock().unwrap().take().unwrap().kill();
            let again = Server::start(&sandbox, &["--rate", "0", "--addr", &format!("127.0.0.1:{port}")]);
            *running.lock().unwrap() = Some(again);
        }
        while done.load(Ordering::SeqCst) < all && began.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let server = running.into_inner().unwrap().unwrap();
    let mut found = BTreeSet::new();
    for publisher in 0..PUBLISHERS {
        let skill = server.get(&format!("/v1/skills/owner-{publisher}/notes"));
        for release in skill["releases"].as_array().unwrap() {
            let version = release["version"].as_str().unwrap();
            found.insert(format!("owner-{publisher}/notes {version}"));
            let path = format!("/v1/skills/owner-{publisher}/notes/{version}/archive");
            assert_eq!(server.ask("GET", &path, None, b"").body, bytes);
        }
    }
    assert_eq!(found, acknowledged.into_inner().unwrap());
    (0..PUBLISHERS).for_each(|publisher| assert_own_namespace(&server, &format!("owner-{publisher}")));
    assert_eq!(sandbox.done(&["index", "verify", server.index().to_str().unwrap()])["ok"], true);
    assert_eq!(server.get("/v1/skills?limit=100")["results"].as_array().unwrap().len(), PUBLISHERS);
}

/// Publishes the first release of a new account and kills the server before its next write to the database: either at
/// once, or after the account's intent to open its namespace is recorded.
fn publish_and_kill(sandbox: &Sandbox, owner: &str, is_opening_recorded: bool) -> String {
    let bytes = archive(sandbox, "notes", "one");
    let server = Server::start(sandbox, &["--rate", "0"]);
    let (url, token) = (server.url.clone(), server.token(owner, "publish"));
    let database = Connection::open(server.data().join("skillhub.sqlite")).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let hold_writes = || database.execute_batch("begin immediate").unwrap();
    let index = git2::Repository::open_bare(server.index()).unwrap();
    let until = |patience: u64, reached: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !reached() && began.elapsed() < Duration::from_secs(patience) {
            thread::yield_now();
        }
    };
    let openings = || database.query_row("select count(*) from openings", [], |row| row.get::<_, i64>(0));
    let path = format!("/v1/skills/{owner}/notes/1.0.0");
    thread::scope(|scope| {
        if !is_opening_recorded {
            hold_writes();
        }
        let publishing = scope.spawn(|| server_ask(&url, "PUT", &path, Some(&token), &bytes).map(|reply| reply.status));
        if is_opening_recorded {
            until(30, &|| openings().unwrap() == 1);
            hold_writes();
        }
        until(2, &|| index.revparse_single(&format!("HEAD:no/te/notes/{owner}")).is_ok());
        server.kill();
        let _unanswered = publishing.join().unwrap();
    });
    token
}

#[test]
fn kill_during_first_release_keeps_ownership() {
    let sandbox = Sandbox::new();
    let bytes = archive(&sandbox, "notes", "one");
    for (owner, is_opening_recorded) in [("ann", false), ("bob", true)] {
        let token = publish_and_kill(&sandbox, owner, is_opening_recorded);
        let server = Server::start(&sandbox, &[]);
        for version in ["1.0.0", "1.1.0"] {
            let path = format!("/v1/skills/{owner}/notes/{version}");
            server.ask("PUT", &path, Some(&token), &bytes).done();
        }
        assert_own_namespace(&server, owner);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn shutdown_finishes_requests_in_progress() {
    let sandbox = Sandbox::new();
    let bytes = archive(&sandbox, "notes", "one");
    let server = Server::start(&sandbox, &["--rate", "0"]);
    let (url, admin) = (server.url.clone(), server.admin.clone());
    let publishing = thread::spawn(move || {
        let mut done = Vec::new();
        for number in 0.. {
            let version = format!("1.{number}.0");
            match server_ask(&url, "PUT", &format!("/v1/skills/acme/notes/{version}"), Some(&admin), &bytes) {
                Ok(reply) if reply.status == 200 => done.push(version),
                _ => break,
            }
        }
        done
    });
    thread::sleep(Duration::from_millis(300));
    server.end();
    let acknowledged = publishing.join().unwrap();
    let again = Server::start(&sandbox, &[]);
    let stages = again.log();
    let stages: Vec<_> = stages.lines().filter(|line| line.contains("\"stage\"")).collect();
    assert!(stages.len() == 2 && stages[0].contains("stopping") && stages[1].contains("stopped"), "{stages:?}");
    let releases = again.get("/v1/skills/acme/notes")["releases"].clone();
    assert!(!acknowledged.is_empty());
    assert_eq!(releases.as_array().unwrap().len(), acknowledged.len(), "one was made that was not answered");
}

/// Starts a proxy that loses the responses to uploads, and returns its URL.
fn lossy_proxy(server: &Server) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&address).unwrap();
            thread::spawn(move || relay(client, server));
        }
    });
    url
}

fn relay(mut client: TcpStream, mut server: TcpStream) {
    let mut method = [0; 4];
    let _read = client.peek(&mut method);
    let (mut requests, mut upload) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || io::copy(&mut requests, &mut upload));
    if method == *b"PUT " {
        let _stored = server.read(&mut [0; 1]);
        let _lost = client.shutdown(Shutdown::Both);
    } else {
        let _ended = io::copy(&mut server, &mut client);
    }
}

#[test]
fn unanswered_publish_can_be_repeated() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let proxy = lossy_proxy(&server);
    sandbox.skill("notes", "Takes notes. Use in tests.", &[]);
    let publish = |url: &str, more: &[&str]| {
        let args = [&["publish", "notes", "--owner", "acme", "--registry", url, "--json"], more].concat();
        let mut command = sandbox.command(&args);
        command.env("SKILLHUB_TOKEN", &server.admin);
        sandbox.finish(command, &args)
    };
    let error = publish(&proxy, &[]).refused_with_hint(9, "network");
    assert!(error["message"].as_str().unwrap().contains("unknown whether acme/notes 1.0.0 was published"), "{error:#}");
    assert!(error["hint"].as_str().unwrap().contains("run the command again"), "{error:#}");
    for more in [&[] as &[&str], &["--bump", "patch"], &["--version", "1.0.0"]] {
        assert_eq!(publish(&server.url, more).done()["status"], "unchanged", "{more:?}");
    }
}
