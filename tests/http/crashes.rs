//! Publishers and installers go on while the server is killed and comes back: what was answered is there.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::archive;
use crate::support::{Sandbox, Server, server_ask};

/// Releases that each publisher makes; many more by hand.
const RELEASES: usize = 12;
const PUBLISHERS: usize = 8;
const KILLS: usize = 3;
/// After that something hangs.
const PATIENCE: Duration = Duration::from_secs(240);

fn releases() -> usize {
    std::env::var("SKILLHUB_SERVER_RELEASES").ok().and_then(|text| text.parse().ok()).unwrap_or(RELEASES)
}

#[test]
fn what_was_answered_outlives_kills_and_every_line_has_its_archive() {
    let sandbox = Sandbox::new();
    let bytes = archive(&sandbox, "notes", "one");
    let first = Server::start(&sandbox, &["--rate", "0"]);
    let (url, admin) = (first.url.clone(), first.admin.clone());
    let port = url.rsplit(':').next().unwrap().to_owned();
    let (running, done) = (Mutex::new(Some(first)), AtomicUsize::new(0));
    let (acknowledged, is_over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let began = Instant::now();
    thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            let (url, admin, bytes, acknowledged, done) = (&url, &admin, &bytes, &acknowledged, &done);
            scope.spawn(move || {
                for number in 0..releases() {
                    let path = format!("/v1/skills/owner-{publisher}/notes/1.{number}.0");
                    while !server_ask(url, "PUT", &path, Some(admin), bytes).is_ok_and(|reply| reply.status == 200) {
                        assert!(began.elapsed() < PATIENCE, "{path} is never published");
                        thread::sleep(Duration::from_millis(20));
                    }
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
    assert_eq!(sandbox.done(&["index", "verify", server.index().to_str().unwrap()])["ok"], true);
    assert_eq!(server.get("/v1/skills?limit=100")["results"].as_array().unwrap().len(), PUBLISHERS);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_is_told_to_end_finishes_what_it_has_begun() {
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
    let releases = again.get("/v1/skills/acme/notes")["releases"].clone();
    assert!(!acknowledged.is_empty());
    assert_eq!(releases.as_array().unwrap().len(), acknowledged.len(), "one was made that was not answered");
}
