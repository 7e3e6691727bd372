//! Many concurrent, silent or disconnecting clients: the server keeps answering, within its memory limit.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::publish;
use crate::support::{Random, Sandbox, Server};

/// Longer than any test needs on a busy machine, and shorter than the timeout of a silent client.
const SOON: Duration = Duration::from_secs(30);

/// Starts a server with a timeout of one minute for the head of a request.
fn patient(sandbox: &Sandbox, more: &str) -> Server {
    let file = sandbox.path("serve.toml");
    std::fs::write(&file, format!("rate = 0\n[limits]\nhead_seconds = 60\n{more}")).unwrap();
    Server::start(sandbox, &["--config", file.to_str().unwrap()])
}

fn silent(server: &Server, count: usize) -> Vec<TcpStream> {
    let address = server.url.strip_prefix("http://").unwrap();
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

/// Publishes a skill of this many files of one megabyte.
fn publish_large(server: &Server, sandbox: &Sandbox, name: &str, files: usize) {
    let mut random = Random::new(name.len() as u64);
    let words = ["read", "the", "table", "then", "write", "each", "row", "with", "its", "heading", name];
    let mut text = |_| {
        let lines = (0..16_000)
            .map(|_| (0..10).map(|_| words[random.below(words.len() as u64) as usize]).collect::<Vec<_>>().join(" "));
        let mut text = lines.collect::<Vec<_>>().join("\n");
        text.truncate(1_000_000);
        text
    };
    let texts: Vec<(String, String)> = (0..files).map(|at| (format!("references/{at}.md"), text(at))).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    sandbox.skill(name, "Has much to read. Use in tests.", &texts);
    let file = sandbox.path(&format!("tmp/{name}.skill"));
    sandbox.done(&["pack", name, "-o", file.to_str().unwrap()]);
    let path = format!("/v1/skills/acme/{name}/1.0.0");
    server.ask("PUT", &path, Some(&server.admin), &std::fs::read(file).unwrap()).done();
}

/// Returns a counter of `/metrics`.
fn counted(server: &Server, name: &str) -> u64 {
    let text = server.ask("GET", "/metrics", None, b"").text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
}

/// Sends the same requests concurrently, and returns their status codes.
fn at_once(server: &Server, paths: &[String]) -> Vec<u16> {
    std::thread::scope(|scope| {
        let all: Vec<_> = paths.iter().map(|path| scope.spawn(|| server.ask("GET", path, None, b"").status)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[cfg(unix)]
#[test]
fn silent_connections_delay_no_request() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let sandbox = Sandbox::new();
    let server = patient(&sandbox, "");
    let held = silent(&server, 1100);
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(server.ask("GET", "/healthz", None, b"").status, 200);
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    drop(held);
}

#[test]
fn silent_connections_make_room_at_limit() {
    let sandbox = Sandbox::new();
    let server = patient(&sandbox, "connections = 4\n");
    let began = Instant::now();
    for _ in 0..10 {
        let _held = silent(&server, 8);
        assert_eq!(server.ask("GET", "/healthz", None, b"").status, 200);
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[cfg(target_os = "linux")]
#[test]
fn stalled_client_is_disconnected() {
    let sandbox = Sandbox::new();
    let server = patient(&sandbox, "stall_seconds = 1\n");
    publish_large(&server, &sandbox, "large", 12);
    let [mut stalled, mut patient] = [(), ()].map(|()| {
        let mut stream = silent(&server, 1).remove(0);
        write!(
            stream,
            "GET /v1/skills/acme/large/1.0.0/archive HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        stream
    });
    let mut whole = Vec::new();
    patient.read_to_end(&mut whole).unwrap();
    assert!(whole.len() > 9_000_000, "{}", whole.len());
    std::thread::sleep(Duration::from_secs(8));
    let mut taken = Vec::new();
    let _cut_off = stalled.read_to_end(&mut taken);
    assert!(taken.len() < whole.len(), "all {} bytes came", taken.len());
}

#[test]
fn well_known_index_is_rate_limited() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "30"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let path = "/.well-known/agent-skills/index.json";
    let replies: Vec<_> = (0..40).map(|_| server.ask("GET", path, None, b"")).collect();
    assert_eq!(replies[0].status, 200);
    let refused = replies.iter().find(|reply| reply.status == 429).expect("one is refused");
    assert_eq!(refused.refused(429), "too_many_requests");
}

#[test]
fn well_known_index_revalidates_after_changes() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "0"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    for (form, other) in [("agent-skills", "alpha"), ("skills", "beta")] {
        let path = format!("/.well-known/{form}/index.json");
        let first = server.ask("GET", &path, None, b"");
        let tag = first.header("etag").unwrap().to_owned();
        let again = server.send("GET", &path, &[("If-None-Match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{form}");
        publish(&server, &sandbox, &format!("acme/{other}"), "1.0.0", "more");
        let later = server.send("GET", &path, &[("If-None-Match", &tag)], b"");
        assert!(later.status == 200 && later.text().contains(other), "{}", later.text());
        let decided = format!("/v1/skills/acme/{other}/1.0.0/quarantine");
        for (method, is_listed) in [("PUT", false), ("DELETE", true)] {
            server.ask(method, &decided, Some(&server.admin), b"{\"reason\":\"it is looked at\"}").done();
            let text = server.ask("GET", &path, None, b"").text();
            assert_eq!(text.contains(other), is_listed, "{method}: {text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn clients_share_files_of_large_release() {
    let sandbox = Sandbox::new();
    let first = patient(&sandbox, "");
    publish_large(&first, &sandbox, "much", 15);
    first.end();
    let server = patient(&sandbox, "");
    let before = server.memory_kb("VmRSS");
    let release = "/v1/skills/acme/much/1.0.0";
    for path in
        [format!("{release}/files/SKILL.md"), format!("{release}/scan"), "/acme/much/files/1.0.0/SKILL.md".into()]
    {
        assert_eq!(at_once(&server, &vec![path.clone(); 64]), [200; 64], "{path}");
        let more = server.memory_kb("VmHWM") - before;
        assert!(more < 100_000, "{path}: {more} kB more");
    }
    assert_eq!(counted(&server, "skillhub_unpacked_total"), 1);
    assert_eq!(counted(&server, "skillhub_scanned_total"), 1);
}

#[test]
fn abandoned_requests_stop_their_work() {
    const RELEASES: usize = 12;
    let sandbox = Sandbox::new();
    let first = patient(&sandbox, "");
    let names: Vec<String> = (0..RELEASES).map(|at| format!("much-{}", "x".repeat(at + 1))).collect();
    for name in &names {
        publish_large(&first, &sandbox, name, 2);
    }
    drop(first);
    let server = patient(&sandbox, "");
    let address = server.url.strip_prefix("http://").unwrap();
    for name in &names {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /v1/skills/acme/{name}/1.0.0/scan HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    }
    // Requests in the queue are answered before this one.
    let last = format!("/v1/skills/acme/{}/1.0.0/scan", names[0]);
    assert_eq!(server.ask("GET", &last, None, b"").status, 200);
    let scanned = counted(&server, "skillhub_scanned_total");
    assert!((1..RELEASES as u64 / 2).contains(&scanned), "{scanned} of {RELEASES} were scanned");
}
