//! Tests of the scanner in the pipeline: blocked content, old findings, and the scan of the whole skill.

use super::*;

#[test]
fn blocked_change_reports_findings() {
    let hostile = script_with(Verdict::Block);
    let mut place = Fixture::with_skill();
    let bad = json!({"action": "write_file", "name": "s", "path": "scripts/run.sh", "content": hostile,
        "reason": "why not", "run": "run-1", "thread": "thread-1"});
    let error = place.refused(bad.clone());
    assert_eq!(error.code(), "scan_blocked");
    let details = error.details();
    let worst = &details["findings"][0];
    assert_eq!(worst["path"], "scripts/run.sh");
    assert_eq!(worst["new"], true);
    assert!(error.to_string().contains(worst["rule"].as_str().unwrap()), "{error}");
    assert!(error.to_string().contains(worst["remedy"].as_str().unwrap()), "{error}");
    assert_eq!(place.last_refusal(), ("write_file".to_owned(), "scan_blocked".to_owned()));
    let event = place.last_event();
    assert_eq!((event.run.as_deref(), event.thread.as_deref()), (Some("run-1"), Some("thread-1")));
    place.policy = Preset::Open;
    place.actor.kind = ActorKind::Person;
    assert_eq!(place.refused(bad).code(), "scan_blocked", "neither policy nor person is asked");
}

/// Another tool scanned only SKILL.md, and only whole-file writes.
#[test]
fn patched_file_is_scanned_whole() {
    let hostile = script_with(Verdict::Block);
    let line = hostile.lines().nth(1).unwrap();
    let mut place = Fixture::with_skill();
    let error = place.refused(patch_in("scripts/run.sh", "echo two", line));
    assert_eq!(error.code(), "scan_blocked");
    assert_eq!(error.details()["findings"][0]["line"], 3);
    let middle = line.char_indices().nth(line.chars().count() / 2).unwrap().0;
    let (one, other) = line.split_at(middle);
    let error = place.refused(json!({"name": "s", "operations": [
        {"action": "patch", "path": "scripts/run.sh", "find": "echo two", "replace": format!("{one}JOIN")},
        {"action": "patch", "path": "scripts/run.sh", "find": "JOIN", "replace": other},
    ]}));
    assert_eq!(error.code(), "scan_blocked", "two halves are seen once joined");
}

#[test]
fn old_finding_allows_other_changes() {
    let warned = script_with(Verdict::Warn);
    let mut place =
        Fixture::with_committed(&[("SKILL.md", &skill_md("s", "# S\n\nFirst.\n")), ("scripts/run.sh", &warned)]);
    let report = place.applied(patch("First.", "1."));
    assert_eq!(report.verdict.level, Verdict::Warn, "it is still told");
    let finding = &report.verdict.findings[0];
    assert_eq!((finding.path.as_str(), finding.new), ("scripts/run.sh", false), "the whole skill is scanned");
    place.applied(json!({"action": "write_file", "name": "s", "path": "scripts/ok.sh", "content": SCRIPT}));
    let report = place.held(patch_in("scripts/run.sh", "#!/bin/sh\n", "#!/bin/sh\necho hello\n"));
    assert!(report.verdict.findings[0].new, "in a file that changes it counts as new");
}

#[test]
fn old_problem_does_not_block() {
    let faulty = "---\nname: another-name\ndescription: Does a thing.\n---\n# S\n\nFirst.\n";
    let mut place = Fixture::with_committed(&[("SKILL.md", faulty)]);
    let report = place.applied(patch("First.", "1."));
    let problem = report.problems.iter().find(|problem| problem.code == "name_mismatch").unwrap();
    assert!(!problem.new);
    let error = place.refused(patch("description: Does a thing.", "description: ''"));
    assert_eq!(error.code(), "invalid_skill");
    assert!(!error.details().to_string().contains("name_mismatch"), "only what the change would bring: {error}");
    let report = place.applied(patch("another-name", "s"));
    assert!(report.problems.iter().all(|problem| problem.code != "name_mismatch"));
}

#[test]
fn rollback_scans_by_current_rules() {
    // Simulate a revision that passed under older rules, with its script in a base that vouched for it.
    let hostile = script_with(Verdict::Block);
    let files = [("SKILL.md", skill_md("s", "# S\n")), ("scripts/run.sh", hostile)];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let mut place = Fixture::new();
    let vouched = bundle(&files);
    let cleared = scan::clear(vouched.clone(), scan::Baseline::Cleared(&vouched)).unwrap();
    let new = library::NewRevision::new(library::Content::Cleared(cleared), library::Action::Adopt, place.stamp());
    let commit = library::Commit { skill: name("s"), base: None, revisions: vec![new] };
    place.library.commit(vec![commit]).unwrap();

    let report = place.applied(patch("# S", "# T"));
    assert!(!report.verdict.findings[0].new, "in an untouched file it goes on being old");
    place.applied(json!({"action": "remove_file", "name": "s", "path": "scripts/run.sh"}));
    for to in [None, Some("1")] {
        let error = place.undisturbed(|place| place.rollback(to).unwrap_err());
        assert_eq!(error.code(), "scan_blocked");
        assert!(!error.details()["findings"].as_array().unwrap().is_empty());
        assert_eq!(place.last_refusal(), ("rollback".to_owned(), "scan_blocked".to_owned()));
    }
}
