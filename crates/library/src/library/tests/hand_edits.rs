//! Hand edits of a skill's folder: recorded, blocked, concurrent with commits, and never lost.

use super::*;

fn snapshot(library: &mut Library) -> Result<Snapshot, SnapshotError> {
    library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit)
}

fn fault(library: &mut Library) -> HandEditFault {
    match snapshot(library) {
        Err(SnapshotError::ExternalBlocked { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn valid_hand_edit_becomes_external_revision() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    place.write("pdf/notes.md", "by hand");
    let pretended = library.snapshot(&name("pdf"), &stamp(), HandEditMode::DryRun).unwrap();
    assert_eq!((pretended.bundle.len(), pretended.base.unwrap().number), (2, 1), "a dry run sees it and keeps nothing");
    let taken = snapshot(&mut library).unwrap();
    let head = library.head(&name("pdf")).unwrap().unwrap();
    assert_eq!(taken.base.as_ref(), Some(&head));
    assert_eq!((head.action, head.stamp.actor.kind, head.number), (Action::External, ActorKind::External, 2));
    assert_eq!(library.bundle(&head.id).unwrap(), bundle("pdf", "one", &[("notes.md", "by hand")]));
    assert!(is_clean(&library, "pdf"));
}

#[test]
fn unmanaged_folder_becomes_first_revision() {
    let place = Fixture::new();
    let mut library = place.open();
    place.write("pdf/SKILL.md", &skill_md("pdf", "found"));
    assert!(matches!(library.folder_state(&name("pdf")).unwrap(), FolderState::Modified(_)));
    let head = snapshot(&mut library).unwrap().base.unwrap();
    assert_eq!((head.number, head.action), (1, Action::External));
    assert_eq!(place.names(), ["pdf"]);
}

#[test]
fn invalid_folder_is_not_taken_over() {
    let place = Fixture::new();
    let mut library = place.open();
    place.write("pdf/readme.txt", "no SKILL.md here");
    assert!(matches!(fault(&mut library), HandEditFault::Invalid { .. }));
    assert!(library.head(&name("pdf")).unwrap().is_none());
    assert_eq!(place.read("pdf/readme.txt"), "no SKILL.md here");
}

#[cfg(unix)]
#[test]
fn bad_hand_edits_make_no_revision() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    place.write("pdf/SKILL.md", "---\nname: [broken\n---\n");
    assert!(matches!(fault(&mut library), HandEditFault::Invalid { .. }));
    assert_eq!(place.read("pdf/SKILL.md"), "---\nname: [broken\n---\n");
    place.write("pdf/SKILL.md", &skill_md("pdf", "one"));
    let (path, file) = hostile();
    place.write(&format!("pdf/{path}"), file.text().unwrap());
    assert!(matches!(fault(&mut library), HandEditFault::Hostile(_)));
    fs::remove_file(place.skills().join("pdf").join(path.as_str())).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", place.skills().join("pdf/link")).unwrap();
    assert!(matches!(fault(&mut library), HandEditFault::Unreadable(_)));
    assert_eq!(library.revisions(&name("pdf"), 9).unwrap().len(), 1);
    fs::remove_file(place.skills().join("pdf/link")).unwrap();
    assert!(is_clean(&library, "pdf"));
}

#[cfg(unix)]
#[test]
fn linked_skill_folder_is_never_followed() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    fs::rename(place.skills().join("pdf"), place.temp.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", place.skills().join("pdf")).unwrap();
    assert!(matches!(fault(&mut library), HandEditFault::Unreadable(_)));
}

#[test]
fn known_problem_does_not_block_edit() {
    let place = Fixture::new();
    let mut library = place.open();
    let broken = [("SKILL.md", "---\nname: Other_Name\ndescription: d\n---\nbody\n")];
    put(&mut library, &testkit::bundle(&broken));
    place.write("pdf/SKILL.md", "---\nname: Other_Name\ndescription: d\n---\nbetter body\n");
    assert_eq!(snapshot(&mut library).unwrap().base.unwrap().number, 2);
}

#[test]
fn rollback_keeps_blocked_hand_edit() {
    let place = Fixture::new();
    let mut library = place.open();
    let first = put(&mut library, &bundle("pdf", "one", &[]));
    let (path, file) = hostile();
    place.write(&format!("pdf/{path}"), file.text().unwrap());
    let edited = fault(&mut library).bundle().unwrap().clone();
    let revisions = vec![
        NewRevision::new(
            Content::Captured(scan::capture(edited.clone(), &scan::Scanner::default())),
            Action::External,
            stamp().external("by hand"),
        ),
        NewRevision::new(cleared(&bundle("pdf", "one", &[])), Action::Rollback, stamp()),
    ];
    let commit = Commit { skill: name("pdf"), base: Some(first.revision.id), revisions };
    let done = library.commit(vec![commit]).unwrap().remove(0);
    assert_eq!((done.checkout, done.revision.number), (Checkout::Done, 3));
    assert!(is_clean(&library, "pdf") && !place.skills().join("pdf").join(path.as_str()).exists());
    let kept = place.open().find(&name("pdf"), &RevisionSpec::Head(1), "head~1").unwrap();
    assert_eq!((kept.verdict, kept.was_cleared(), kept.action), (Verdict::Block, false, Action::External));
    assert_eq!(library.bundle(&kept.id).unwrap(), edited);
    assert_eq!(place.names(), ["pdf"]);
}

#[test]
fn edit_during_commit_becomes_revision() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    let base = snapshot(&mut library).unwrap().base.unwrap();
    place.write("pdf/notes.md", "saved in an editor just now");
    let commit = change(&name("pdf"), Some(base.id), &bundle("pdf", "two", &[]));
    let done = library.commit(vec![commit]).unwrap().remove(0);
    let Checkout::HandEditKept(kept) = done.checkout else { panic!("{:?}", done.checkout) };
    let edited = bundle("pdf", "one", &[("notes.md", "saved in an editor just now")]);
    assert_eq!(library.bundle(&kept).unwrap(), edited);
    assert_eq!(actions(&library, "pdf"), [Action::Edit, Action::Edit, Action::External, Action::Edit]);
    assert!(is_clean(&library, "pdf") && place.read("pdf/SKILL.md").contains("two"));
    assert!(!place.open().has_pending_operations().unwrap() && place.names() == ["pdf"]);
}

#[cfg(unix)]
#[test]
fn unreadable_hand_edit_stays_in_folder() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    let base = snapshot(&mut library).unwrap().base.unwrap();
    fs::create_dir_all(place.skills().join("pdf/.git")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", place.skills().join("pdf/link")).unwrap();
    let commit = change(&name("pdf"), Some(base.id), &bundle("pdf", "two", &[]));
    let done = library.commit(vec![commit]).unwrap().remove(0);
    assert!(matches!(done.checkout, Checkout::Pending(_)));
    assert!(place.read("pdf/SKILL.md").contains("one"), "the folder is as the hand left it");
    assert!(fs::symlink_metadata(place.skills().join("pdf/link")).is_ok() && place.skills().join("pdf/.git").is_dir());
    let mut library = place.open();
    assert!(matches!(fault(&mut library), HandEditFault::Unreadable(_)));
    assert_eq!(place.names(), ["pdf"]);
}

#[test]
fn tool_files_are_not_hand_edits() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    place.write("pdf/.git/HEAD", "ref: refs/heads/main");
    place.write("pdf/__pycache__/a.pyc", "x");
    assert!(is_clean(&library, "pdf"));
    let head = put(&mut library, &bundle("pdf", "two", &[]));
    assert_eq!((head.revision.number, place.read("pdf/.git/HEAD").as_str()), (2, "ref: refs/heads/main"));
    library.commit(vec![tombstone(&name("pdf"), &head.revision)]).unwrap();
    assert!(place.skills().join("pdf/.git/HEAD").exists() && !place.skills().join("pdf/__pycache__").exists());
    assert!(matches!(library.folder_state(&name("pdf")).unwrap(), FolderState::Absent));
}

#[test]
fn released_tool_files_are_not_edits() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[(".DS_Store", "x"), ("node_modules/a/index.js", "x")]));
    assert!(is_clean(&library, "pdf"));
    assert_eq!(put(&mut library, &bundle("pdf", "two", &[(".DS_Store", "y")])).checkout, Checkout::Done);
    assert_eq!(actions(&library, "pdf"), [Action::Edit, Action::Edit]);
}

#[test]
fn commit_restores_a_removed_folder() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    fs::remove_dir_all(place.skills().join("pdf")).unwrap();
    assert!(matches!(library.folder_state(&name("pdf")).unwrap(), FolderState::Missing));
    put(&mut library, &bundle("pdf", "two", &[]));
    assert!(is_clean(&library, "pdf"));
}

#[test]
fn differently_normalised_folder_is_left_alone() {
    let place = Fixture::new();
    let mut library = place.open();
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    place.write(&format!("{decomposed}/SKILL.md"), "not ours");
    let skill = name(decomposed);
    assert_eq!(skill.as_str(), composed);
    if place.skills().join(composed).exists() {
        return println!("skipped: this file system knows one form only");
    }
    assert!(matches!(library.folder_state(&skill).unwrap(), FolderState::Absent));
    library.commit(vec![change(&skill, None, &bundle(composed, "x", &[]))]).unwrap();
    assert_eq!(place.read(&format!("{decomposed}/SKILL.md")), "not ours");
    assert!(is_clean(&library, composed));
}
