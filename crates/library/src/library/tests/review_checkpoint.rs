//! The review checkpoint: the last revision that a person kept.

use super::*;
use crate::{revision::Acceptance, state::StoredReview};

const AGENT: (ActorKind, &str) = (ActorKind::Agent, "codex");
const PERSON: (ActorKind, &str) = (ActorKind::Person, "ann");
const GATE: (ActorKind, &str) = (ActorKind::Optimizer, "skillhub");

/// Commits a revision of the skill `pdf` with this body; none for a deletion.
fn put_by(library: &mut Library, (kind, id): (ActorKind, &str), action: Action, body: Option<&str>) -> Revision {
    let skill = name("pdf");
    let base = library.head(&skill).unwrap().map(|head| head.id);
    let content = body.map_or(Content::Tombstone, |body| cleared(&bundle("pdf", body, &[])));
    let stamp = Stamp { actor: Actor::new(kind, id), ..stamp() };
    let revisions = vec![NewRevision::new(content, action, stamp)];
    library.commit(vec![Commit { skill, base, revisions }]).unwrap().remove(0).revision
}

fn keep(library: &Library, revision: &Revision) {
    let stamp = Stamp { actor: Actor::new(PERSON.0, PERSON.1), ..stamp() };
    let by = stamp.actor.to_string();
    let kept = StoredReview { revision: revision.id.clone(), number: revision.number, by, at: stamp.time.to_string() };
    library.set_state(&name("pdf"), &stamp, "keep", |state| state.reviewed = Some(kept)).unwrap();
}

/// Returns the number of the checkpoint and those of the revisions since, newest first.
fn numbers(library: &Library) -> (Option<u64>, Vec<u64>) {
    let found = library.unreviewed(&name("pdf")).unwrap();
    (found.checkpoint.map(|kept| kept.number), found.revisions.iter().map(|revision| revision.number).collect())
}

#[test]
fn person_line_moves_with_every_change() {
    let place = Fixture::new();
    let mut library = place.open();
    put_by(&mut library, PERSON, Action::Create, Some("one"));
    put_by(&mut library, PERSON, Action::Patch, Some("two"));
    assert_eq!(numbers(&library), (Some(2), vec![]));
    put_by(&mut library, AGENT, Action::Patch, Some("three"));
    put_by(&mut library, PERSON, Action::Patch, Some("four"));
    assert_eq!(numbers(&library), (Some(2), vec![4, 3]), "the person did not see revision 3");
    assert_eq!(library.changed_since_review().unwrap(), [name("pdf")]);
}

#[test]
fn keeping_a_revision_moves_it() {
    let place = Fixture::new();
    let mut library = place.open();
    let first = put_by(&mut library, AGENT, Action::Create, Some("one"));
    let second = put_by(&mut library, AGENT, Action::Patch, Some("two"));
    assert_eq!(numbers(&library), (None, vec![2, 1]));
    keep(&library, &first);
    assert_eq!(numbers(&library), (Some(1), vec![2]));
    keep(&library, &second);
    assert_eq!((numbers(&library), library.changed_since_review().unwrap()), ((Some(2), vec![]), vec![]));
    put_by(&mut library, AGENT, Action::Patch, Some("three"));
    let again = place.open();
    assert_eq!(numbers(&again), (Some(2), vec![3]), "it is stored");
}

#[test]
fn former_files_count_as_kept() {
    let place = Fixture::new();
    let mut library = place.open();
    put_by(&mut library, PERSON, Action::Create, Some("one"));
    put_by(&mut library, AGENT, Action::Patch, Some("two"));
    put_by(&mut library, AGENT, Action::Rollback, Some("one"));
    assert_eq!(numbers(&library), (Some(3), vec![]));
    put_by(&mut library, PERSON, Action::Patch, Some("two"));
    put_by(&mut library, AGENT, Action::Rollback, Some("one"));
    assert_eq!(numbers(&library), (Some(4), vec![5]), "an agent took back what the person kept");
    put_by(&mut library, GATE, Action::Rollback, Some("one"));
    assert_eq!(numbers(&library), (Some(6), vec![]), "the gate restores what the person kept before");
}

#[test]
fn whole_decisions_of_a_person_count() {
    for (action, body) in [(Action::Rollback, Some("one")), (Action::Delete, None), (Action::Install, Some("new"))] {
        let place = Fixture::new();
        let mut library = place.open();
        put_by(&mut library, AGENT, Action::Create, Some("one"));
        put_by(&mut library, AGENT, Action::Patch, Some("two"));
        put_by(&mut library, PERSON, action, body);
        assert_eq!(numbers(&library), (Some(3), vec![]), "{action:?}");
    }
    let place = Fixture::new();
    let mut library = place.open();
    put_by(&mut library, PERSON, Action::Create, Some("one"));
    put_by(&mut library, AGENT, Action::Delete, None);
    assert_eq!(library.changed_since_review().unwrap(), [name("pdf")], "an agent deleted it");
}

#[test]
fn unseen_skill_leaves_nothing_to_review() {
    for (action, changed) in [(Action::Create, 0), (Action::Install, 0), (Action::External, 1), (Action::Adopt, 1)] {
        let place = Fixture::new();
        let mut library = place.open();
        put_by(&mut library, AGENT, action, Some("one"));
        assert_eq!(library.changed_since_review().unwrap(), [name("pdf")]);
        put_by(&mut library, AGENT, Action::Delete, None);
        assert_eq!(library.changed_since_review().unwrap().len(), changed, "{action:?}");
    }
}

#[test]
fn accepted_proposals_count_as_seen() {
    let place = Fixture::new();
    let mut library = place.open();
    let base = put_by(&mut library, PERSON, Action::Create, Some("one")).id;
    let acceptance =
        Acceptance { proposal: "k7m3qx".to_owned(), reviewer: Actor::new(PERSON.0, PERSON.1), edited_by: None };
    let mut accepted = NewRevision::new(cleared(&bundle("pdf", "two", &[])), Action::Patch, stamp());
    accepted.acceptance = Some(acceptance);
    library.commit(vec![Commit { skill: name("pdf"), base: Some(base), revisions: vec![accepted] }]).unwrap();
    assert_eq!(numbers(&library), (Some(2), vec![]));
}

#[test]
fn edited_folders_count_as_changed() {
    let place = Fixture::new();
    let mut library = place.open();
    put_by(&mut library, PERSON, Action::Create, Some("one"));
    assert!(library.changed_since_review().unwrap().is_empty());
    place.write("pdf/SKILL.md", &skill_md("pdf", "by hand"));
    assert_eq!(library.changed_since_review().unwrap(), [name("pdf")]);
}

#[test]
fn cached_answer_follows_head_and_review() {
    let place = Fixture::new();
    let mut library = place.open();
    let first = put_by(&mut library, AGENT, Action::Create, Some("one"));
    let changed = || place.open().changed_since_review().unwrap();
    assert_eq!(changed(), [name("pdf")]);
    assert!(place.own().join("reviewed").exists());
    let second = put_by(&mut library, AGENT, Action::Patch, Some("two"));
    keep(&library, &first);
    assert_eq!(changed(), [name("pdf")], "another head");
    put_by(&mut library, AGENT, Action::Rollback, Some("one"));
    assert_eq!(changed(), [], "the files that were kept");
    keep(&library, &second);
    assert_eq!(changed(), [name("pdf")], "another review of the same head");
    for damaged in ["", "skillhub reviewed 2\n{}"] {
        fs::write(place.own().join("reviewed"), damaged).unwrap();
        assert_eq!(changed(), [name("pdf")], "a damaged cache counts as none");
    }
}
