//! Tests of held changes: joined with pending ones, predicted by dry runs, taken back.

use std::slice;

use library::Action;

use super::{
    review::{strict, write},
    *,
};
use crate::{Ruling, review::list};

#[test]
fn repeated_request_keeps_its_proposal() {
    let mut place = strict();
    for request in [patch("First.", "1."), write("scripts/new.sh", "#!/bin/sh\necho\n")] {
        let mut place = strict();
        let first = place.held(request.clone());
        let events = place.library.events().unwrap().0.len();
        let again = place.held(request);
        assert_eq!((again.proposal, again.proposal_revision), (first.proposal, Some(1)));
        assert_eq!((again.diff, place.library.events().unwrap().0.len()), (first.diff, events));
    }
    let create = json!({"action": "create", "name": "new", "content": skill_md("new", "# N\n")});
    assert_eq!(place.proposed(create.clone()), place.proposed(create));
    assert_eq!(list(slice::from_ref(&place.library), true, None).unwrap().len(), 1);
}

#[test]
fn later_held_edit_joins_proposal() {
    let mut place = strict();
    let id = place.proposed(patch("First.", "1."));
    let whole = skill_md("s", "# S\n\nFirst.\n\nSecond, as I saw the live one.\n");
    for (request, revision) in [
        (write("references/notes.md", "new\n"), 2),
        (json!({"action": "edit", "name": "s", "content": whole}), 3),
        (patch("First.", "First."), 0),
        (patch("1.", "one."), 4),
    ] {
        if revision == 0 {
            continue;
        }
        let report = place.held(request);
        assert_eq!((report.proposal.as_ref(), report.proposal_revision), (Some(&id), Some(revision)));
        assert_eq!(place.last_event().status, EventStatus::Amended);
    }
    assert_eq!(list(slice::from_ref(&place.library), false, None).unwrap().len(), 1);
    assert_eq!(place.accept(&format!("{id}@3")).unwrap_err().code(), "stale_revision");
    place.accept(&format!("{id}@4")).unwrap();
    assert!(place.skill_text().contains("one.\n\nSecond, as I saw the live one."), "{}", place.skill_text());
    assert_eq!((place.read("references/notes.md").as_str(), place.head().action), ("new\n", Action::Operations));
}

#[test]
fn rewritten_file_replaces_earlier_proposal() {
    let mut place = strict();
    let id = place.proposed(write("scripts/new.sh", "#!/bin/sh\necho one\n"));
    assert_eq!(place.held(write("scripts/new.sh", "#!/bin/sh\necho two\n")).proposal_revision, Some(2));
    place.held(patch("First.", "1."));
    place.accept(&format!("{id}@3")).unwrap();
    assert_eq!(place.read("scripts/new.sh"), "#!/bin/sh\necho two\n");
    assert!(place.skill_text().contains("1."));
}

#[test]
fn held_dry_run_stores_nothing() {
    let mut place = strict();
    let mut request = patch("First.", "1.");
    request["dry_run"] = json!(true);
    let events = place.library.events().unwrap().0.len();
    let report = place.undisturbed(|place| place.manage(request).unwrap());
    assert_eq!((report.status, report.proposal), (Status::DryRun, None));
    assert!(report.message.contains("held for review"), "{}", report.message);
    assert!(list(slice::from_ref(&place.library), true, None).unwrap().is_empty());
    assert_eq!(place.library.events().unwrap().0.len(), events);
}

#[test]
fn dry_run_predicts_held_result() {
    let dry = |mut request: Value| {
        request["dry_run"] = json!(true);
        request
    };
    let mut place = strict();
    let first = place.undisturbed(|place| place.manage(dry(patch("First.", "1."))).unwrap());
    assert_eq!((first.status, first.decision), (Status::DryRun, Some(Ruling::Hold)));
    let id = place.proposed(patch("First.", "1."));
    let events = place.library.events().unwrap().0.len();
    let same = place.manage(dry(patch("First.", "1."))).unwrap();
    assert!(same.message.contains("already has the same change"), "{}", same.message);
    let joined = place.manage(dry(patch("Second.", "2."))).unwrap();
    assert_eq!((joined.status, joined.decision), (Status::DryRun, Some(Ruling::Hold)));
    assert!(joined.diff.contains("+1.") && joined.diff.contains("+2."), "{}", joined.diff);
    let back = place.manage(dry(patch("1.", "First."))).unwrap();
    assert_eq!((back.status, back.decision), (Status::DryRun, None));
    assert!(back.message.contains("would revert all"), "{}", back.message);
    let whole = place.manage(json!({"action": "edit", "name": "s", "content": "x", "dry_run": true})).unwrap_err();
    assert_eq!(whole.code(), "invalid_skill");
    assert_eq!((place.proposal(&id).revision, place.library.events().unwrap().0.len()), (1, events));
    place.policy = Preset::Open;
    let report = place.undisturbed(|place| place.manage(dry(patch("Second.", "2."))).unwrap());
    assert_eq!((report.status, report.decision), (Status::DryRun, Some(Ruling::Apply)));
    assert_eq!(place.applied(patch("Second.", "2.")).decision, Some(Ruling::Apply));
}

/// Returns the policy `open` with a rule that holds deletions.
fn deletions_wait() -> Policy {
    with_rule(Preset::Open, json!({"decision": "hold", "actions": ["delete"]}))
}

fn delete() -> Value {
    json!({"action": "delete", "name": "s"})
}

#[test]
fn held_deletion_joins_earlier_proposal() {
    for request in [write("references/more.md", "more\n"), patch("First.", "1."), write("scripts/new.sh", SCRIPT)] {
        let mut place = strict();
        let id = place.proposed(request.clone());
        let report = place.undisturbed(|place| place.manage_under(deletions_wait(), delete()).unwrap());
        assert_eq!((report.status, report.action), (Status::Proposed, Action::Delete), "{}", report.message);
        assert_eq!((report.proposal.as_ref(), report.proposal_revision), (Some(&id), Some(2)), "{request}");
        place.accept(&format!("{id}@2")).unwrap();
        assert!(place.tree().is_empty() && place.head().tombstone, "{request}");
    }
}

#[test]
fn proposed_deletion_accepts_no_edits() {
    for request in [write("references/more.md", "more\n"), patch("First.", "1.")] {
        let mut place = strict();
        let id = place.manage_under(deletions_wait(), delete()).unwrap().proposal.unwrap();
        let error = place.refused(request);
        assert_eq!(error.code(), "merge_conflict", "{error}");
        assert!(error.hint().unwrap().to_string().contains(&format!("reject {id}")));
        assert_eq!(place.proposal(&id).revision, 1);
        let tried = place.undisturbed(|place| place.rollback_with(Some("head"), None, true).unwrap());
        assert_eq!(tried.status, Status::DryRun, "{}", tried.message);
        let report = place.undisturbed(|place| place.rollback(Some("head")).unwrap());
        assert!(report.status == Status::Unchanged && report.message.contains("withdrawn"), "{}", report.message);
        assert!(!place.proposal(&id).state.is_open());
    }
}

#[test]
fn blocked_content_is_never_proposed() {
    let mut place = strict();
    let request = write("scripts/run.sh", &script_with(Verdict::Block));
    assert_eq!(place.refused(request.clone()).code(), "scan_blocked");
    assert!(list(slice::from_ref(&place.library), true, None).unwrap().is_empty());
    let id = place.proposed(patch("First.", "1."));
    assert_eq!(place.refused(request).code(), "scan_blocked", "an amendment is scanned as well");
    assert_eq!(place.proposal(&id).revision, 1);
}
