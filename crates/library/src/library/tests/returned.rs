//! Folders with the content of earlier revisions, and the cache of edits.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{EditPolicy, EditRules, HandEdit};

fn person() -> Stamp {
    Stamp { actor: Actor::new(ActorKind::Person, "ann"), ..stamp() }
}

/// Creates a skill with these revisions.
fn skill_with(bodies: &[&str]) -> (Fixture, Library) {
    let place = Fixture::new();
    let mut library = place.open();
    for body in bodies {
        put(&mut library, &bundle("pdf", body, &[]));
    }
    (place, library)
}

fn glance(library: &Library) -> SkillSummary {
    library.summaries(ChangeDetection::Signatures).unwrap().remove(0)
}

#[test]
fn earlier_content_maps_to_its_revision() {
    let (place, mut library) = skill_with(&["one", "two", "three"]);
    let second = library.find(&name("pdf"), &RevisionSpec::Number(2), "2").unwrap();
    for text in [skill_md("pdf", "two"), skill_md("pdf", "two").replace('\n', "\r\n")] {
        place.write("pdf/SKILL.md", &text);
        let FolderState::Earlier { revision, .. } = library.folder_state(&name("pdf")).unwrap() else { panic!() };
        assert_eq!(revision.id, second.id);
        assert_eq!(library.revision_in_folder(&name("pdf")).unwrap().unwrap().id, second.id);
        let glance = glance(&library);
        assert_eq!((glance.standing, glance.edit.unwrap().at.unwrap().id), (FolderStatus::Earlier, second.id.clone()));
    }
    let taken = library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap();
    let head = taken.base.unwrap();
    assert_eq!((head.number, head.digest), (4, second.digest), "the bytes are those of the revision");
    assert_eq!(head.stamp.reason.as_deref(), Some("returned to revision 2"));
    assert!(is_clean(&library, "pdf"));
    let previous = library.previous_content(&name("pdf"), &head).unwrap().unwrap();
    assert_eq!(previous.number, 1, "the one before revision 2");
}

#[test]
fn previous_content_looks_through_returns() {
    let (place, mut library) = skill_with(&["one", "two", "three"]);
    place.write("pdf/SKILL.md", &skill_md("pdf", "two"));
    library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap();
    put(&mut library, &bundle("pdf", "four", &[]));
    let head = library.head(&name("pdf")).unwrap().unwrap();
    assert_eq!((head.number, library.previous_content(&name("pdf"), &head).unwrap().unwrap().number), (5, 2));
    place.write("pdf/SKILL.md", &skill_md("pdf", "returned to revision 9"));
    let stamp = Stamp { reason: Some("returned to revision 1".to_owned()), ..person() };
    let edit = library.snapshot(&name("pdf"), &stamp, HandEditMode::Record).unwrap().base.unwrap();
    assert_eq!(library.returned_to(&name("pdf"), &edit).unwrap(), None, "a reason alone makes no return");
}

#[test]
fn blocked_content_never_counts_as_earlier() {
    let (place, mut library) = skill_with(&["one"]);
    let (script, attack) = hostile();
    place.write(&format!("pdf/{script}"), std::str::from_utf8(&attack.bytes).unwrap());
    let head = library.head(&name("pdf")).unwrap().unwrap();
    let FolderState::Blocked(fault) = library.folder_state(&name("pdf")).unwrap() else { panic!() };
    let captured = NewRevision::new(
        Content::Captured(scan::capture(fault.bundle().unwrap().clone(), &scan::Scanner::default())),
        Action::External,
        stamp().external("by hand"),
    );
    let again = library.clear(&name("pdf"), bundle("pdf", "one", &[]), Baseline::None).unwrap().unwrap();
    let again = NewRevision::new(Content::Cleared(again), Action::Rollback, stamp());
    let commit = Commit { skill: name("pdf"), base: Some(head.id), revisions: vec![captured, again] };
    library.commit(vec![commit]).unwrap();
    place.write(&format!("pdf/{script}"), std::str::from_utf8(&attack.bytes).unwrap());
    assert!(matches!(library.folder_state(&name("pdf")).unwrap(), FolderState::Blocked(_)));
}

/// Objects to edits with a certain word, and counts the queries.
struct Counting(&'static AtomicUsize, &'static str);

impl EditRules for Counting {
    fn objection(&self, edit: &HandEdit<'_>) -> Option<String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        edit.after.skill_md()?.contains(self.1).then(|| format!("it says {}", self.1))
    }

    fn fingerprint(&self) -> String {
        self.1.to_owned()
    }
}

fn open_with(place: &Fixture, count: &'static AtomicUsize, word: &'static str) -> Library {
    let home = Home::at(place.home()).unwrap().with_edit_policy(EditPolicy::new(Counting(count, word)));
    Library::open(&place.skills(), Scope::Project, &home, "git").unwrap()
}

#[test]
fn one_edit_is_judged_once() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (place, _) = skill_with(&["one"]);
    place.write("pdf/SKILL.md", &skill_md("pdf", "two"));
    for _ in 0..3 {
        let edit = glance(&open_with(&place, &ASKED, "three")).edit.unwrap();
        assert_eq!((edit.held, edit.digest), (None, bundle("pdf", "two", &[]).digest().to_string()));
    }
    assert_eq!(ASKED.swap(0, Ordering::Relaxed), 1);
    let held = glance(&open_with(&place, &ASKED, "two")).edit.unwrap().held;
    assert_eq!((held.as_deref(), ASKED.swap(0, Ordering::Relaxed)), (Some("it says two"), 1), "another policy");
    place.write("pdf/SKILL.md", &skill_md("pdf", "two and more"));
    glance(&open_with(&place, &ASKED, "two"));
    assert_eq!(ASKED.swap(0, Ordering::Relaxed), 1, "other content");
    place.write("pdf/SKILL.md", &skill_md("pdf", "one"));
    let clean = glance(&open_with(&place, &ASKED, "two"));
    assert_eq!((clean.standing, clean.edit, ASKED.load(Ordering::Relaxed)), (FolderStatus::Clean, None, 0));
}

#[test]
fn only_people_record_held_edits() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (place, _) = skill_with(&["one"]);
    let mut library = open_with(&place, &ASKED, "two");
    place.write("pdf/SKILL.md", &skill_md("pdf", "two"));
    let refused = library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit);
    assert!(matches!(refused, Err(SnapshotError::EditHeld { .. })), "{refused:?}");
    let files = library.folder_files(&name("pdf")).unwrap().unwrap();
    assert_eq!((files.files, files.held.is_some()), (bundle("pdf", "one", &[]), true));
    let recorded = library.snapshot(&name("pdf"), &person(), HandEditMode::Record).unwrap();
    assert_eq!(recorded.base.unwrap().stamp.actor, Actor::new(ActorKind::External, "person:ann"));
}

#[test]
fn pin_holds_back_served_edit() {
    let (place, library) = skill_with(&["one"]);
    place.write("pdf/SKILL.md", &skill_md("pdf", "two"));
    assert_eq!(glance(&library).edit.unwrap().held, None);
    for pinned in [true, false] {
        library.set_state(&name("pdf"), &person(), "pin", |state| state.pinned = pinned).unwrap();
        assert_eq!(glance(&library).edit.unwrap().held.is_some(), pinned);
    }
}
