//! The same promises for each kind of source: edits survive an update, the cache restores, a kill leaves a whole state,
//! and altered or hostile content installs nothing.

mod hostile;
mod offer;

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use self::offer::{BODY, Kind, Offer};
use crate::support::{Fixed, Sandbox, answer_with, redirect};

/// Moments at which a command is killed.
const MOMENTS: u32 = 4;

fn text(offer: &Offer) -> String {
    fs::read_to_string(offer.file()).unwrap()
}

fn status(document: &Value) -> &str {
    document["skills"][0]["status"].as_str().unwrap()
}

/// Edits the installed skill and lets the source offer another text. Returns the edited text and its merge.
fn diverge(offer: &Offer) -> [String; 2] {
    let mine = text(offer).replace("Read the input.", "Read the input twice.");
    fs::write(offer.file(), &mine).unwrap();
    offer.put(&BODY.replace("the output", "the result"), "1.1.0");
    let merged = mine.replace("the output", "the result");
    [mine, merged]
}

#[test]
fn edits_survive_updates_and_the_cache_restores() {
    for kind in Kind::ALL {
        let offer = Offer::new(kind);
        assert_eq!(status(&offer.done(&offer.install())), "installed", "{kind:?}");
        assert_eq!(status(&offer.done(&["verify"])), "pristine", "{kind:?}");
        let first = text(&offer);
        offer.forget();
        offer.done(&["install", "--frozen", "--offline"]);
        assert_eq!(text(&offer), first, "{kind:?}");

        let [mine, merged] = diverge(&offer);
        if !kind.is_local() {
            offer.ask(&["update", "--offline"]).refused_with_hint(9, "offline");
            assert_eq!(text(&offer), mine, "{kind:?}");
        }
        assert_eq!(status(&offer.done(&["update"])), "merged", "{kind:?}");
        assert_eq!(text(&offer), merged, "{kind:?}");
        assert_eq!(status(&offer.done(&["verify"])), "evolved", "{kind:?}");

        offer.take_away();
        assert_eq!(status(&offer.done(&["verify"])), "evolved", "{kind:?} is away");
        fs::remove_dir_all(offer.sandbox.cwd().join(".agents")).unwrap();
        offer.done(&["install", "--offline"]);
        assert_eq!(text(&offer), merged, "{kind:?}");
    }
}

/// Starts a command, and kills it after a while.
fn kill_after(offer: &Offer, args: &[&str], delay: Duration) {
    let mut child = offer.sandbox.start(&mut offer.command(args));
    thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills an install at several moments. Returns how many of them had installed the skill.
fn kill_installs(offer: &Offer, kind: Kind, step: Duration) -> u32 {
    let mut installed = 0;
    for moment in 0..MOMENTS {
        kill_after(offer, &offer.install(), step * moment);
        offer.done(&["verify"]);
        let is_installed = offer.file().exists();
        assert_eq!(offer.lock().contains("[[skill]]"), is_installed, "{kind:?} at {moment}");
        installed += u32::from(is_installed);
        offer.done(&offer.install());
        assert_eq!(status(&offer.done(&["verify"])), "pristine", "{kind:?} at {moment}");
        offer.done(&["uninstall", "notes"]);
    }
    installed
}

/// Kills an update at several moments. Returns how many of them had merged.
fn kill_updates(offer: &Offer, kind: Kind, step: Duration) -> u32 {
    let [mine, merged] = diverge(offer);
    let mut updated = 0;
    for moment in 0..MOMENTS {
        kill_after(offer, &["update"], step * moment);
        offer.done(&["verify"]);
        let found = text(offer);
        assert!(found == mine || found == merged, "{kind:?} at {moment}: {found}");
        if found == merged {
            updated += 1;
            offer.done(&["undo"]);
            assert_eq!(text(offer), mine, "{kind:?} at {moment}");
        }
    }
    assert_eq!(status(&offer.done(&["update"])), "merged", "{kind:?}");
    assert_eq!(text(offer), merged, "{kind:?}");
    assert_eq!(status(&offer.done(&["verify"])), "evolved", "{kind:?}");
    updated
}

#[test]
fn killed_command_leaves_a_whole_state() {
    let (mut done, mut all) = (0, 0);
    for kind in Kind::ALL {
        let offer = Offer::new(kind);
        let began = Instant::now();
        let child = offer.sandbox.start(&mut offer.command(&offer.install()));
        assert!(child.wait_with_output().unwrap().status.success(), "{kind:?}");
        let step = began.elapsed() / MOMENTS;
        offer.done(&["uninstall", "notes"]);
        done += kill_installs(&offer, kind, step);
        offer.done(&offer.install());
        done += kill_updates(&offer, kind, step);
        all += 2 * MOMENTS;
    }
    assert!(done > 0 && done < all, "{done} of {all} were finished before they were killed");
}

/// The commit of an edit comes before the lock file. A command that is killed between the two leaves its entry behind.
#[test]
fn outdated_lock_file_is_not_tampering() {
    let offer = Offer::new(Kind::Folder);
    offer.done(&offer.install());
    let behind = offer.lock();
    offer.done(&["manage", "patch", "notes", "--find", "Read the input.", "--replace", "Read it."]);
    fs::write(offer.sandbox.cwd().join("skillhub.lock"), &behind).unwrap();
    let found = offer.done(&["verify"]);
    assert_eq!((status(&found), &found["skills"][0]["files"]), ("modified", &serde_json::json!([])));
    assert!(offer.sandbox.run(&["verify"]).exits(0).text().contains("skillhub doctor --fix"));
    offer.done(&["doctor", "--fix"]);
    assert_eq!(status(&offer.done(&["verify"])), "evolved");
}

/// Replaces the first digit of a digest in the lock file.
fn alter(lock: &str, field: &str) -> String {
    let start = format!("\n{field} = \"sha256:");
    let at = lock.find(&start).unwrap() + start.len();
    let other = if lock[at..].starts_with('0') { "1" } else { "0" };
    format!("{}{other}{}", &lock[..at], &lock[at + 1..])
}

#[test]
fn altered_digest_installs_nothing() {
    for kind in Kind::ALL {
        let offer = Offer::new(kind);
        offer.done(&offer.install());
        let lock = offer.lock();
        for field in ["digest", "archive"] {
            for keeps_cache in [true, false] {
                fs::write(offer.sandbox.cwd().join("skillhub.lock"), alter(&lock, field)).unwrap();
                offer.forget();
                if !keeps_cache {
                    fs::remove_dir_all(offer.sandbox.skillhub_home().join("cache")).unwrap();
                }
                let answer = offer.ask(&["install"]);
                let at = format!("{kind:?}, {field}, cache: {keeps_cache}: {answer}");
                answer.refused_with_hint(8, "lock_differs");
                assert!(!offer.file().exists(), "{at}");
                fs::write(offer.sandbox.cwd().join("skillhub.lock"), &lock).unwrap();
                offer.done(&["install", "--frozen"]);
            }
        }
    }
}

/// Each source has a credential for its own address, and redirects to another one.
#[test]
fn redirect_gets_no_credentials() {
    let target = Fixed::start(redirect("nowhere:x"), Duration::ZERO);
    let host = target.url.trim_start_matches("http://");
    for to in [format!("http://{host}"), format!("http://me:hidden@{host}")] {
        for path in ["", "/team.git", "/kit.git", "/notes.skill"] {
            let source = redirecting(&to, path.is_empty());
            let address = format!("{}{path}", source.url);
            let args = if ["", "/team.git"].contains(&path) {
                vec!["install", "acme/notes", "--registry", &address, "--json"]
            } else {
                vec!["install", &address, "--json"]
            };
            let sandbox = Sandbox::project();
            let git_config = "[http]\n\textraHeader = Authorization: Basic secret-token\n";
            fs::write(sandbox.path("gitconfig"), git_config).unwrap();
            let mut command = sandbox.command(&args);
            command.env("GIT_CONFIG_GLOBAL", sandbox.path("gitconfig")).env("SKILLHUB_TOKEN", "secret-token");
            let answer = sandbox.finish(command, &args);
            assert_eq!(answer.exit, 9, "{answer}");
            assert!(answer.json()["error"]["hint"].is_string(), "{answer}");
            let is_download = path == "/notes.skill";
            assert_eq!(source.seen().contains("secret-token"), !is_download, "{address}: {}", source.seen());
        }
    }
    let seen = target.seen().to_ascii_lowercase();
    assert!(!seen.contains("secret-token") && !seen.contains("authorization") && !seen.contains("hidden"), "{seen}");
}

/// Starts a server that redirects each request to the same path at another address. As a registry, it begins with the
/// configuration of an index.
fn redirecting(to: &str, is_registry: bool) -> Fixed {
    let to = to.to_owned();
    let answer = move |request: &str| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        if is_registry && path == "/index/config.json" {
            return answer_with("{\"format\":1,\"bundles\":\"bundles/{hex}.skill\"}\n");
        }
        redirect(&format!("{to}{path}"))
    };
    Fixed::answering(answer, Duration::ZERO)
}
