//! Tests of hand edits to a skill's folder.

use super::*;

#[test]
fn hand_edit_is_recorded_before_change() {
    let mut place = Fixture::with_skill();
    place.write("references/notes.md", "by hand\n");
    let report = place.applied(patch("First.", "1."));
    assert_eq!(place.actions(), ["patch", "external", "operations"]);
    let history = place.history();
    assert_eq!(report.previous_revision.as_ref(), Some(&history[1].id), "the change was made on the hand edit");
    assert_eq!(report.files.len(), 1, "the hand edit is no part of the change");
    assert_eq!(history[1].stamp.actor.kind, ActorKind::External);
    assert_eq!(place.read("references/notes.md"), "by hand\n");
    assert!(place.read("SKILL.md").contains("1."));
}

#[test]
fn hand_edit_makes_expected_revision_stale() {
    let mut place = Fixture::with_skill();
    let head = place.head().id;
    place.write("references/notes.md", "by hand\n");
    let mut request = patch("First.", "1.");
    request["expected_revision"] = json!(head.as_str());
    request["dry_run"] = json!(true);
    let error = place.refused(request.clone());
    assert_eq!(error.code(), "stale_revision");
    assert!(error.to_string().contains("hand edit"), "{error}");
    request["dry_run"] = json!(false);
    assert_eq!(place.manage(request).unwrap_err().code(), "stale_revision");
    assert_eq!(place.actions(), ["external", "operations"]);
}

#[test]
fn dry_run_never_records_hand_edits() {
    let mut place = Fixture::with_skill();
    place.write("references/notes.md", "by hand\n");
    let mut request = patch_in("references/notes.md", "by hand", "by hand and tool");
    request["dry_run"] = json!(true);
    let report = place.undisturbed(|place| place.manage(request).unwrap());
    assert_eq!(report.status, Status::DryRun);
    assert!(report.diff.contains("-by hand\n+by hand and tool"), "{}", report.diff);
    assert!(report.message.contains("changed by hand"), "{}", report.message);
}

#[test]
fn first_operation_adopts_unrecorded_folder() {
    let mut place = Fixture::new();
    place.write("SKILL.md", &skill_md("s", "# S\n\nFirst.\n"));
    let warned = script_with(Verdict::Warn);
    place.write("scripts/run.sh", &warned);
    let mut request = patch("First.", "1.");
    request["dry_run"] = json!(true);
    let report = place.undisturbed(|place| place.manage(request).unwrap());
    assert!(report.verdict.findings.iter().all(|finding| !finding.new), "what stands there is not this change's");
    let report = place.applied(patch("First.", "1."));
    assert_eq!((place.actions(), report.number), (vec!["patch", "external"], Some(2)));
    let error = place.refused(json!({"action": "create", "name": "s", "content": skill_md("s", "# New\n")}));
    assert_eq!(error.code(), "exists");
}

#[test]
fn line_end_changes_are_not_edits() {
    let mut place = Fixture::with_skill();
    place.write("references/notes.md", "alpha\r\nbeta\r\nalpha\r\n");
    place.applied(patch("First.", "1."));
    assert_eq!(place.actions(), ["patch", "operations"]);
}

/// Makes a hand edit that is blocked, in one of two ways, and returns the field with the reason.
fn spoil(place: &Fixture, how: &str) {
    match how {
        "findings" => place.write("scripts/run.sh", &script_with(Verdict::Block)),
        _ => place.write("SKILL.md", "---\nname: other\n---\n"),
    }
}

#[test]
fn blocked_hand_edit_refuses_every_change() {
    for why in ["findings", "problems"] {
        let mut place = Fixture::with_skill();
        spoil(&place, why);
        for request in [
            patch("First.", "1."),
            json!({"action": "delete", "name": "s"}),
            json!({"action": "create", "name": "s", "content": skill_md("s", "# New\n")}),
        ] {
            let error = place.refused(request);
            assert_eq!(error.code(), "external_blocked");
            assert!(!error.details()[why].as_array().unwrap().is_empty(), "{}", error.details());
            assert!(error.hint().unwrap().to_string().contains("skillhub rollback s head"));
        }
        let error = place.undisturbed(|place| place.rollback(None).unwrap_err());
        assert_eq!(error.code(), "external_blocked", "only asked for by name is it put aside");
        assert_eq!(place.last_refusal(), ("rollback".to_owned(), "external_blocked".to_owned()));
    }
}

#[test]
fn rollback_to_head_records_blocked_edit() {
    for why in ["findings", "problems"] {
        let mut place = Fixture::with_skill();
        let (tree, digest) = (place.tree(), place.head().digest);
        spoil(&place, why);
        let spoilt = place.tree();
        let tried = place.undisturbed(|place| place.rollback_with(Some("head"), None, true).unwrap());
        assert_eq!(tried.status, Status::DryRun);
        let report = place.rollback(Some("head")).unwrap();
        assert_eq!((report.status, report.number), (Status::Applied, Some(3)));
        assert_eq!(report.files.len(), 1);
        assert!(report.diff.is_empty(), "what is blocked is not shown");
        assert_eq!(place.tree(), tree);
        assert_eq!(place.actions(), ["rollback", "external", "operations"]);
        let history = place.history();
        assert_eq!(report.previous_revision.as_ref(), Some(&history[1].id));
        assert_eq!((history[0].digest, history[1].verdict), (digest, Verdict::Block));
        let kept = place.library.bundle(&history[1].id).unwrap();
        for (path, file) in kept.files() {
            assert_eq!(spoilt[&format!("s/{path}")].0.as_slice(), &*file.bytes);
        }
        for to in [Some("2"), Some(history[1].id.as_str()), None] {
            let error = place.undisturbed(|place| place.rollback(to).unwrap_err());
            assert_eq!(error.code(), "scan_blocked", "it is never restored");
            assert_eq!(place.last_refusal(), ("rollback".to_owned(), "scan_blocked".to_owned()));
        }
        place.applied(patch("First.", "1."));
    }
}

#[test]
fn unreadable_folder_is_never_overwritten() {
    let mut place = Fixture::with_skill();
    std::os::unix::fs::symlink("SKILL.md", place.path("link.md")).unwrap();
    for error in
        [place.refused(patch("First.", "1.")), place.undisturbed(|place| place.rollback(Some("head")).unwrap_err())]
    {
        assert_eq!(error.code(), "external_blocked");
        assert!(error.to_string().contains("link.md"), "{error}");
    }
}

#[test]
fn rollback_records_hand_edit_first() {
    for to in [None, Some("head"), Some("1")] {
        let mut place = Fixture::with_skill();
        let tree = place.tree();
        place.write("references/notes.md", "by hand\n");
        let tried = place.undisturbed(|place| place.rollback_with(to, None, true).unwrap());
        let report = place.rollback(to).unwrap();
        assert_eq!(report.status, Status::Applied, "{to:?}");
        assert_eq!((&tried.files, &tried.diff), (&report.files, &report.diff), "{to:?}");
        assert!(report.diff.contains("-by hand\n+alpha"), "{}", report.diff);
        assert_eq!(place.tree(), tree);
        assert_eq!(place.actions(), ["rollback", "external", "operations"]);
        place.rollback(None).unwrap();
        assert_eq!(place.read("references/notes.md"), "by hand\n", "and comes back by another");
    }
}

#[test]
fn relative_revision_ignores_new_hand_edit() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "1."));
    place.write("references/notes.md", "by hand\n");
    place.rollback(Some("head~1")).unwrap();
    assert!(place.read("SKILL.md").contains("First."), "the hand edit has not moved the count");
    assert_eq!(place.actions(), ["rollback", "external", "patch", "operations"]);
}

#[test]
fn missing_folder_is_restored() {
    let mut place = Fixture::with_skill();
    let tree = place.tree();
    fs::remove_dir_all(place.path("")).unwrap();
    let report = place.rollback(Some("head")).unwrap();
    assert_eq!((report.status, report.files.len()), (Status::Applied, 0));
    assert_eq!(place.tree(), tree);
    assert_eq!(place.actions(), ["rollback", "operations"], "no deletion that nobody asked for");
    let error = place.undisturbed(|place| place.rollback(None).unwrap_err());
    assert_eq!(error.code(), "not_found", "the skill was never otherwise");

    fs::remove_dir_all(place.path("")).unwrap();
    place.applied(patch("First.", "1."));
    assert!(place.read("SKILL.md").contains("1."));
    assert_eq!(place.tree().len(), 3);
    assert!(place.tree()["s/scripts/run.sh"].1);
    place.rollback(None).unwrap();
    assert_eq!(place.tree(), tree, "the previous state is the one with other files");
}

#[test]
fn unchanged_request_reports_missing_folder() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "First and foremost."));
    fs::remove_dir_all(place.path("")).unwrap();
    let report = place.manage(patch("First.", "First and foremost.")).unwrap();
    assert_eq!(report.status, Status::Unchanged);
    assert_eq!(serde_json::to_value(&report).unwrap()["checkout"], "pending");
    assert!(report.message.contains("skillhub rollback s head"), "{}", report.message);
}

#[test]
fn leftover_of_deleted_skill_is_removed() {
    let mut place = Fixture::with_skill();
    place.applied(json!({"action": "delete", "name": "s"}));
    spoil(&place, "problems");
    let create = json!({"action": "create", "name": "s", "content": skill_md("s", "# New\n")});
    assert_eq!(place.refused(create.clone()).code(), "external_blocked");
    place.rollback(Some("head")).unwrap();
    assert!(place.tree().is_empty() && place.head().tombstone);
    assert_eq!(place.actions(), ["rollback", "external", "delete", "operations"]);
    assert_eq!(place.applied(create).number, Some(5));
}
