//! After the machine was started anew, operations are applied again, and no later decision is undone.

use std::{fs, path::Path};

use serde_json::json;

use crate::support::Sandbox;

const OTHER_BOOT: &str = "00000000-0000-4000-8000-000000000000";

/// Makes the library of a folder look as after a restart of the machine.
pub fn restart(history: &Path) {
    let applied = history.with_file_name("journal.applied");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let note = fs::read_to_string(&applied).unwrap();
    assert!(note.contains(boot.trim()), "{note}");
    fs::write(&applied, note.replace(boot.trim(), OTHER_BOOT)).unwrap();
}

#[test]
fn decisions_outlive_a_restart() {
    let sandbox = Sandbox::project();
    let source = sandbox.skill("demo", "Reads tables. Use in tests.", &[]);
    sandbox.done(&["install", source.to_str().unwrap(), "--agent", "claude-code"]);
    let place = sandbox.done(&["where"]);
    let (history, lock) = (place["history"].as_str().unwrap(), place["lock"].as_str().unwrap());
    let link = sandbox.cwd().join(".claude/skills/demo");
    assert!(link.exists());
    sandbox.done(&["disable", "demo"]);
    let pulled = fs::read_to_string(lock).unwrap().replace("# Written by skillhub", "# Pulled from a colleague");
    fs::write(lock, &pulled).unwrap();
    assert!(!link.exists());

    restart(Path::new(history));
    let doctor = sandbox.done(&["doctor"]);
    assert!(doctor["checks"].as_array().unwrap().iter().all(|check| check["state"] == "ok"), "{doctor:#}");
    sandbox.done(&["list"]);
    assert!(!link.exists());
    assert_eq!(fs::read_to_string(lock).unwrap(), pulled);
}

/// A loss of power may undo their removal.
#[test]
fn doctor_deletes_lines_that_are_in_the_lock_file() {
    let sandbox = Sandbox::project();
    let source = sandbox.skill("demo", "Reads tables. Use in tests.", &[]);
    sandbox.done(&["install", source.to_str().unwrap()]);
    let place = sandbox.done(&["where"]);
    let lines = Path::new(place["history"].as_str().unwrap()).with_file_name("lock-lines.json");
    let removed = json!({"path": place["lock"], "entries": [{"name": "acme/removed", "text": null}]});
    fs::write(&lines, removed.to_string()).unwrap();

    let doctor = sandbox.done(&["doctor", "--fix"]);
    assert_eq!(doctor["problems"], json!([]));
    assert!(!lines.exists());
}
