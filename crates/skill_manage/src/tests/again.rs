//! Tests of repeated requests, which change nothing, and of failing patches, which are not mistaken for repeated ones.

use super::*;

fn assert_unchanged(place: &mut Fixture, request: &Value) {
    for dry_run in [true, false] {
        let mut request = request.clone();
        request["dry_run"] = json!(dry_run);
        let report = place.undisturbed(|place| place.manage(request).unwrap());
        assert_eq!(report.status, Status::Unchanged, "{}", report.message);
        assert!(report.message.contains("already applied"), "{}", report.message);
    }
}

fn assert_no_match(place: &mut Fixture, request: &Value) {
    for dry_run in [true, false] {
        let mut request = request.clone();
        request["dry_run"] = json!(dry_run);
        assert_eq!(place.refused(request).code(), "no_match");
    }
}

fn operations(patches: &[(&str, &str)]) -> Value {
    let patches = patches.iter().map(|(find, replace)| json!({"action": "patch", "find": find, "replace": replace}));
    json!({"name": "s", "operations": patches.collect::<Vec<_>>()})
}

#[test]
fn coincidental_replacement_is_not_repeat() {
    let mut place = Fixture::with_skill();
    let wrong = patch("no such words anywhere", "Second.");
    assert_no_match(&mut place, &wrong);
    place.applied(patch("First.", "1."));
    place.write("SKILL.md", &place.read("SKILL.md").replace("1.", "One."));
    assert_eq!(place.manage(wrong.clone()).unwrap_err().code(), "no_match");
    assert_no_match(&mut place, &wrong);
    assert_no_match(&mut place, &operations(&[("Second.", "2."), ("no such words anywhere", "One.")]));
}

#[test]
fn repeated_patch_is_recognised_after_edits() {
    let mut place = Fixture::with_skill();
    let sent =
        [patch("First.", "First and foremost."), patch("Second.", ""), patch_in("scripts/run.sh", "echo two", "}")];
    for request in &sent {
        place.applied(request.clone());
        assert_unchanged(&mut place, request);
    }
    for round in 0..5 {
        place.applied(patch("# S", &format!("# S\n\nRound {round}.")));
        place.applied(
            json!({"action": "edit", "name": "s", "content": place.read("SKILL.md").replace("Round", "Turn")}),
        );
        sent.iter().for_each(|request| assert_unchanged(&mut place, request));
    }
}

#[test]
fn patch_made_by_hand_is_recognised() {
    let mut place = Fixture::with_skill();
    place.write("SKILL.md", &skill_md("s", "# S\n\nFirst and foremost.\n\nSecond.\n"));
    let mut tried = patch("First.", "First and foremost.");
    tried["dry_run"] = json!(true);
    assert_eq!(place.undisturbed(|place| place.manage(tried).unwrap()).diff, "");
    let report = place.manage(patch("First.", "First and foremost.")).unwrap();
    assert_eq!((report.status, place.actions()), (Status::Unchanged, vec!["external", "operations"]));
    assert_unchanged(&mut place, &patch("First.", "First and foremost."));
}

#[test]
fn rolled_back_patch_is_applied_again() {
    let mut place = Fixture::with_skill();
    for request in [patch("First.", "1st."), patch("Second.", "Second. Second.")] {
        place.applied(request.clone());
        place.rollback(None).unwrap();
        place.applied(request.clone());
        assert_unchanged(&mut place, &request);
    }
}

#[test]
fn extending_patch_is_applied_once() {
    let mut place = Fixture::with_skill();
    let request = patch("Second", "Second.");
    let report = place.applied(request.clone());
    assert!(report.diff.contains("+Second..\n"), "the file had the replacement before: {}", report.diff);
    assert_unchanged(&mut place, &request);
    let twice = operations(&[("First", "First."), ("# S", "# Skill")]);
    place.applied(twice.clone());
    assert!(place.read("SKILL.md").contains("First..\n"));
    assert_unchanged(&mut place, &twice);
}

#[test]
fn dependent_operations_are_recognised_together() {
    let mut place = Fixture::with_skill();
    let chain = operations(&[("First.", "1."), ("1.", "One."), ("Second.", "Number 2.")]);
    place.applied(chain.clone());
    assert_unchanged(&mut place, &chain);
    assert_unchanged(&mut place, &operations(&[("Second.", "Number 2."), ("Second.", "Number 2.")]));
    place.applied(operations(&[("Number 2.", "Number two."), ("Number 2.", "Number two.")]));
}

#[test]
fn short_operations_are_recognised_after_edits() {
    let mut place = Fixture::with_skill();
    let both = operations(&[("First.", "1."), ("Second.", "2.")]);
    place.applied(both.clone());
    place.applied(patch("# S", "# Skill"));
    assert_unchanged(&mut place, &both);
    place.write("SKILL.md", &place.read("SKILL.md").replace("# Skill", "# Title"));
    assert_eq!(place.manage(both.clone()).unwrap().status, Status::Unchanged);
    place.applied(patch("1.", "First."));
    place.applied(patch("First.", "One."));
    assert_no_match(&mut place, &both);
}

#[test]
fn recognition_reads_fifty_revisions() {
    let mut place = Fixture::with_skill();
    place.applied(patch("First.", "First and foremost."));
    for round in 0..49 {
        assert_unchanged(&mut place, &patch("First.", "First and foremost."));
        let write = json!({"action": "write_file", "name": "s", "path": "assets/n", "content": round.to_string()});
        place.applied(write);
    }
    assert_no_match(&mut place, &patch("First.", "First and foremost."));
}
