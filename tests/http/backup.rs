//! The backup of docs/guides/server.md, made while the server runs and publishers continue, and its restoration.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::json;

use super::{archive, publish};
use crate::support::{Sandbox, Server, git, server_ask};

/// Releases before the backup begins, and the minimum of releases during it.
const RELEASES: usize = 6;

/// A backup taken while releases are published; the server continues from it.
#[test]
fn backup_restores_every_acknowledged_write() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "0"]);
    for (version, what) in [("1.0.0", "one"), ("1.1.0", "two")] {
        publish(&server, &sandbox, "acme/notes", version, what);
    }
    let (ann, admin) = (server.token("ann", "publish"), server.admin.clone());
    server.ask("PUT", "/v1/skills/acme/notes/star", Some(&ann), b"").done();
    let reason = json!({"reason": "it may be bad"}).to_string();
    server.ask("PUT", "/v1/skills/acme/notes/1.1.0/quarantine", Some(&admin), reason.as_bytes()).done();
    let archives: Vec<_> = ["tables", "forms"].iter().map(|name| archive(&sandbox, name, "more")).collect();
    let before = while_published(&server.url, &ann, &archives, || back_up(&sandbox));
    drop(server);
    fs::rename(sandbox.path("hub"), sandbox.path("lost")).unwrap();
    fs::rename(sandbox.path("backup"), sandbox.path("hub")).unwrap();

    let server = Server::start(&sandbox, &["--rate", "0"]);
    assert!(before.len() >= RELEASES);
    for (release, which) in before {
        let found = server.ask("GET", &format!("/v1/skills/{release}/archive"), None, b"");
        assert!(found.status == 200 && found.body == archives[which], "{release}: {}", found.status);
    }
    sandbox.done(&["index", "verify", server.index().to_str().unwrap()]);
    assert_eq!(server.get("/v1/skills?q=tables")["results"][0]["name"], "ann/tables");
    assert_eq!(server.get("/v1/skills/acme/notes")["stars"], 1);
    let held = "/v1/skills/acme/notes/1.1.0";
    assert_eq!(server.ask("GET", &format!("{held}/archive"), None, b"").refused(403), "quarantined");
    server.ask("DELETE", &format!("{held}/quarantine"), Some(&admin), reason.as_bytes()).done();
    assert_eq!(server.ask("GET", &format!("{held}/archive"), None, b"").status, 200);
    let who = server.ask("GET", "/v1/whoami", Some(&ann), b"").done();
    assert_eq!(who["account"], "ann");
    server.ask("PUT", "/v1/skills/ann/tables/9.0.0", Some(&ann), &archives[0]).done();
    assert_eq!(server.get("/v1/skills/ann/tables/latest")["release"]["version"], "9.0.0");
    assert_eq!(
        server.ask("PUT", "/v1/skills/acme/tables/1.0.0", Some(&ann), &archives[0]).refused(403),
        "policy_denied"
    );
    sandbox.done(&["index", "verify", server.index().to_str().unwrap()]);
}

/// Sets a flag on drop, even in a panic.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs a function while releases are published. Returns the releases acknowledged before it began, each with its
/// archive.
fn while_published(url: &str, token: &str, archives: &[Vec<u8>], work: impl FnOnce()) -> BTreeMap<String, usize> {
    let (answered, is_over) = (Mutex::new(BTreeMap::new()), AtomicBool::new(false));
    let reached = |count: usize| {
        while answered.lock().unwrap().len() < count {
            thread::sleep(Duration::from_millis(5));
        }
    };
    thread::scope(|scope| {
        for (which, (name, archive)) in ["tables", "forms"].into_iter().zip(archives).enumerate() {
            let (answered, is_over) = (&answered, &is_over);
            scope.spawn(move || {
                for number in 0.. {
                    let release = format!("ann/{name}/1.{number}.0");
                    server_ask(url, "PUT", &format!("/v1/skills/{release}"), Some(token), archive).unwrap().done();
                    answered.lock().unwrap().insert(release, which);
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
        let _over = SetAtEnd(&is_over);
        reached(RELEASES);
        let before = answered.lock().unwrap().clone();
        work();
        reached(before.len() + RELEASES);
        before
    })
}

/// Copies the index before the database: rows about releases that the index does not have yet are harmless.
fn back_up(sandbox: &Sandbox) {
    let (hub, backup) = (sandbox.path("hub"), sandbox.path("backup"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    fs::create_dir(&backup).unwrap();
    let (index, copy) = (text(&hub.join("index.git")), text(&backup.join("index.git")));
    git(sandbox, &["clone", "--quiet", "--mirror", "--no-local", &index, &copy]);
    let database = rusqlite::Connection::open(hub.join("skillhub.sqlite")).unwrap();
    database.execute("vacuum into ?1", [text(&backup.join("skillhub.sqlite"))]).unwrap();
}
