//! Journals that wait, that were cut, damaged, or overwritten.

use std::{fs, path::PathBuf};

use super::{assert_well, is_found_and_mended, of, own, project};
use crate::support::Sandbox;

#[test]
fn pending_journal_is_applied() {
    let sandbox = project();
    fs::remove_file(own(&sandbox).join("journal.applied")).unwrap();
    is_found_and_mended(&sandbox, "journal");
}

#[test]
fn truncated_journal_loses_only_unreported_changes() {
    let sandbox = project();
    let own = own(&sandbox);
    let mut bytes = fs::read(own.join("journal")).unwrap();
    let tail = bytes[..70].to_vec();
    bytes.extend(tail);
    fs::write(own.join("journal"), bytes).unwrap();
    fs::remove_file(own.join("journal.applied")).unwrap();
    is_found_and_mended(&sandbox, "journal");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

#[test]
fn garbage_journal_is_set_aside() {
    for command in ["doctor", "list"] {
        let sandbox = project();
        let own = own(&sandbox);
        let garbage = "no journal at all, whoever wrote it ".repeat(9);
        fs::write(own.join("journal"), &garbage).unwrap();
        fs::remove_file(own.join("journal.applied")).unwrap();
        if command == "list" {
            sandbox.done(&["list"]);
        } else {
            assert!(is_found_and_mended(&sandbox, "journal").contains("journal.damaged-"));
        }
        let kept = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().path());
        let kept: Vec<PathBuf> = kept.filter(|path| path.to_string_lossy().contains("journal.damaged-")).collect();
        assert_eq!(fs::read_to_string(&kept[0]).unwrap(), garbage);
        assert_well(&sandbox);
    }
}

#[test]
fn only_doctor_reads_damaged_journal() {
    let sandbox = project();
    let own = own(&sandbox);
    let mut bytes = fs::read(own.join("journal")).unwrap();
    bytes[60] ^= 1;
    fs::write(own.join("journal"), &bytes).unwrap();
    fs::remove_file(own.join("journal.applied")).unwrap();
    let error = sandbox.ask(&["list"]).refused_with_hint(8, "damaged_history");
    assert!(error["hint"].as_str().unwrap().contains("doctor"), "{error:#}");
    assert_eq!(fs::read(own.join("journal")).unwrap(), bytes, "left as it is");
    let message = is_found_and_mended(&sandbox, "journal");
    assert!(message.contains("could not be read") && message.contains("journal.damaged-"), "{message}");
    let kept = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<PathBuf> = kept.filter(|path| path.to_string_lossy().contains("journal.damaged-")).collect();
    assert_eq!(fs::read(&kept[0]).unwrap(), bytes);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

#[test]
fn changes_lost_from_journal_are_named() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha");
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--reason", "better"]);
    let own = own(&sandbox);
    let mut bytes = fs::read(own.join("journal")).unwrap();
    bytes[60] ^= 1;
    fs::write(own.join("journal"), &bytes).unwrap();
    fs::remove_file(own.join("journal.applied")).unwrap();
    fs::remove_dir_all(own.join("history.git")).unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    let (states, message) = of(&fixed, "journal");
    assert!(states.contains(&"cannot".to_owned()), "{fixed:#}");
    assert!(message.contains("better") && message.contains("patch by agent"), "{message}");
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.contains("beta"), "the folder is untouched: {text}");
}
