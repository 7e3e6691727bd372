//! Tests of rollbacks to earlier revisions.

use skill::failure::Fails;

use super::*;

/// Another tool's deletion kept only the text of SKILL.md.
#[test]
fn rollback_restores_every_deleted_file() {
    let mut place = Fixture::with_skill();
    let tree = place.tree();
    place.applied(json!({"action": "delete", "name": "s"}));
    assert!(place.tree().is_empty());
    let report = place.rollback(None).unwrap();
    assert_eq!((report.status, report.number, report.files.len()), (Status::Applied, Some(3), 3));
    assert_eq!(place.tree(), tree);
    assert!(place.tree()["s/scripts/run.sh"].1);
}

/// Another tool validated a support file by the rules of SKILL.md in a rollback.
#[test]
fn support_file_change_is_rolled_back() {
    let mut place = Fixture::with_skill();
    let tree = place.tree();
    place.applied(patch_in("scripts/run.sh", "echo one", "echo three"));
    let report = place.rollback(None).unwrap();
    assert_eq!(report.files.len(), 1);
    assert_eq!(report.files[0].path.as_str(), "scripts/run.sh");
    assert_eq!(place.tree(), tree);
}

#[test]
fn rollback_defaults_to_previous_revision() {
    let mut place = Fixture::with_skill();
    for text in ["Two.", "Three.", "Four."] {
        place.applied(json!({"action": "edit", "name": "s", "content": skill_md("s", text)}));
    }
    let body = |place: &Fixture| place.read("SKILL.md").rsplit('\n').next().unwrap().to_owned();
    place.rollback(None).unwrap();
    assert_eq!(body(&place), "Three.");
    place.rollback(None).unwrap();
    assert_eq!(body(&place), "Four.", "a rollback is itself rolled back");
    place.rollback(Some("2")).unwrap();
    assert_eq!(body(&place), "Two.");
    place.rollback(Some("head~2")).unwrap();
    assert_eq!(body(&place), "Three.");
    let second = place.library.find(&name("s"), &"2".parse().unwrap(), "2").unwrap().id;
    let report = place.rollback(Some(&second.as_str()[..12])).unwrap();
    assert_eq!((body(&place).as_str(), report.number), ("Two.", Some(9)));
    assert!(report.message.contains("revision 2"), "{}", report.message);
}

#[test]
fn rollback_to_current_content_changes_nothing() {
    let mut place = Fixture::with_skill();
    for to in ["head", "1"] {
        let report = place.undisturbed(|place| place.rollback(Some(to)).unwrap());
        assert_eq!((report.status, report.number), (Status::Unchanged, Some(1)), "{to}");
    }
    place.applied(patch("First.", "1."));
    place.applied(patch("1.", "First."));
    let report = place.undisturbed(|place| place.rollback(Some("1")).unwrap());
    assert_eq!((report.status, report.number), (Status::Unchanged, Some(3)), "the same files under another number");
}

#[test]
fn rollback_to_deletion_is_refused() {
    let mut place = Fixture::with_skill();
    place.applied(json!({"action": "delete", "name": "s"}));
    for to in ["2", "head"] {
        let error = place.undisturbed(|place| place.rollback(Some(to)).unwrap_err());
        assert_eq!(error.code(), "invalid_request");
        let hint = error.failure().hint.unwrap().to_string();
        assert!(hint.contains("skillhub manage delete s"), "{error}: {hint}");
    }
    place.applied(json!({"action": "create", "name": "s", "content": skill_md("s", "# New\n")}));
    assert_eq!(place.undisturbed(|place| place.rollback(None).unwrap_err()).code(), "invalid_request");
    for (to, code) in
        [("99", "not_found"), ("head~9", "not_found"), ("ffffffff", "not_found"), ("nonsense", "invalid_request")]
    {
        assert_eq!(place.undisturbed(|place| place.rollback(Some(to)).unwrap_err()).code(), code, "{to}");
    }
    assert_eq!(Fixture::new().rollback(None).unwrap_err().code(), "not_found");
    let mut first = Fixture::with_skill();
    assert_eq!(first.undisturbed(|place| place.rollback(None).unwrap_err()).code(), "not_found", "nothing before it");
}

#[test]
fn rollback_checks_the_expected_head() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "1."));
    for to in [None, Some("head")] {
        let error = place.undisturbed(|place| place.rollback_with(to, Some("1"), false).unwrap_err());
        assert_eq!(error.code(), "stale_revision");
    }
    assert_eq!(place.rollback_with(None, Some("2"), false).unwrap().status, Status::Applied);
}

#[test]
fn dry_rollback_changes_nothing() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "1."));
    let report = place.undisturbed(|place| place.rollback_with(None, None, true).unwrap());
    assert_eq!((report.status, &report.revision), (Status::DryRun, &None));
    assert!(report.diff.contains("-1.\n+First."), "{}", report.diff);
}

#[test]
fn faulty_deleted_skill_is_restored() {
    let faulty = "---\nname: another-name\ndescription: Does a thing.\n---\n# S\n";
    let mut place = Fixture::with_committed(&[("SKILL.md", faulty)]);
    place.applied(json!({"action": "delete", "name": "s"}));
    let report = place.rollback(None).unwrap();
    assert_eq!(place.read("SKILL.md"), faulty);
    assert!(report.problems.iter().any(|problem| problem.code == "name_mismatch"));
}

#[test]
fn builtin_skill_cannot_be_rolled_back() {
    let mut place = Fixture::new();
    place.elsewhere = vec![ShadowedSkill { name: name("s"), scope: Scope::Builtin, place: "built in".into() }];
    assert_eq!(place.rollback(None).unwrap_err().code(), "policy_denied");
}
