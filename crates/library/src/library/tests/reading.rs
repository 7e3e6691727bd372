//! Reading back committed revisions; finding revisions; state, events, owners and formats.

use super::*;
use crate::{
    events::EventStatus,
    lock::LockError,
    origin::{Origin, RegistryRelease},
};

#[test]
fn revision_keeps_bytes_and_modes() {
    let place = Fixture::new();
    let mut library = place.open();
    let more = [
        ("scripts/run.sh", file("#!/bin/sh\necho ok\n", true)),
        ("参考/指南 é.md", file("一\r\n二\r\n", false)),
        ("assets/empty", file("", false)),
        ("assets/b.bin", File { bytes: [0, 255, 10, 13].as_slice().into(), executable: false }),
    ];
    let start = bundle("pdf", "Body\r\nwith CRLF", &[]);
    let whole = more.into_iter().fold(start, |bundle, (path, file)| {
        bundle.with_file(SkillPath::parse(path).unwrap(), file, &Limits::default()).unwrap()
    });
    let committed = put(&mut library, &whole);
    assert_eq!((committed.checkout, committed.revision.number), (Checkout::Done, 1));
    let again = place.open();
    assert_eq!(again.head(&name("pdf")).unwrap(), Some(committed.revision.clone()), "as it was returned");
    assert_eq!(again.bundle(&committed.revision.id).unwrap(), whole);
    assert_eq!(committed.revision.digest, whole.digest());
    let root = open_dir(again.path()).unwrap().unwrap();
    let found = crate::folder::read(&root, "pdf", crate::folder::ToolFiles::Skip, again.limits()).unwrap();
    assert_eq!(found, whole);
    assert_eq!(place.names(), ["pdf"]);
}

#[test]
fn line_endings_are_not_an_edit() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one\ntwo", &[]));
    place.write("pdf/SKILL.md", &skill_md("pdf", "one\ntwo").replace('\n', "\r\n"));
    assert!(is_clean(&library, "pdf"));
}

#[test]
fn number_distance_and_prefix_find_revisions() {
    let place = Fixture::new();
    let mut library = place.open();
    let ids: Vec<_> = (0..4).map(|n| put(&mut library, &bundle("pdf", &n.to_string(), &[])).revision.id).collect();
    let find = |text: &str| library.find(&name("pdf"), &text.parse().unwrap(), text).map(|revision| revision.id);
    assert_eq!(find("head").unwrap(), ids[3]);
    assert_eq!(find("head~3").unwrap(), ids[0]);
    assert_eq!(find("2").unwrap(), ids[1]);
    let prefix = ids[2].as_str().get(..7).unwrap();
    assert_eq!(library.find(&name("pdf"), &RevisionSpec::Prefix(prefix.into()), prefix).unwrap().id, ids[2]);
    for text in ["head~4", "0", "5", "ffffffffff"] {
        assert!(matches!(find(text), Err(FindError::NoRevision { .. })), "{text}");
    }
    let ambiguous = library.find(&name("pdf"), &RevisionSpec::Prefix(String::new()), "");
    assert!(matches!(ambiguous, Err(FindError::Ambiguous { .. })));
    let unknown = library.find(&name("other"), &RevisionSpec::Head(0), "head");
    assert!(matches!(unknown, Err(FindError::NoSkill(_))));
    assert_eq!(library.revisions(&name("pdf"), 2).unwrap().len(), 2);
}

#[test]
fn recreated_skill_keeps_its_history() {
    let place = Fixture::new();
    let mut library = place.open();
    let first = put(&mut library, &bundle("pdf", "one", &[]));
    let gone = library.commit(vec![tombstone(&name("pdf"), &first.revision)]).unwrap().remove(0);
    assert!(gone.revision.tombstone && place.names().is_empty() && library.skills().unwrap().is_empty());
    assert!(matches!(library.folder_state(&name("pdf")).unwrap(), FolderState::Absent));
    assert!(!library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap().exists());
    let back = put(&mut library, &bundle("pdf", "two", &[]));
    assert_eq!((back.revision.number, back.revision.parent), (3, Some(gone.revision.id)));
    assert_eq!(library.bundle(&first.revision.id).unwrap(), bundle("pdf", "one", &[]));
}

#[test]
fn multi_skill_commit_is_atomic() {
    let place = Fixture::new();
    let mut library = place.open();
    let old = put(&mut library, &bundle("pdf", "old", &[]));
    let (pdf, doc) = (name("pdf"), name("doc"));
    let stale = vec![change(&doc, None, &bundle("doc", "new", &[])), change(&pdf, None, &bundle("pdf", "new", &[]))];
    assert!(matches!(library.commit(stale), Err(CommitError::Stale { skill, head }) if skill == pdf && head.is_some()));
    assert_eq!((place.names(), library.events().unwrap().0.len()), (vec!["pdf".to_owned()], 1));
    assert!(library.head(&doc).unwrap().is_none());
    let both = vec![
        change(&doc, None, &bundle("doc", "new", &[])),
        change(&pdf, Some(old.revision.id), &bundle("pdf", "new", &[])),
    ];
    assert_eq!(library.commit(both).unwrap().len(), 2);
    assert!(is_clean(&library, "pdf") && is_clean(&library, "doc"));
    let events = library.events().unwrap().0;
    assert_eq!(events[1].operation, events[2].operation);
    assert_ne!(events[0].operation, events[1].operation, "two operations of one moment are two");
}

#[test]
fn duplicate_skill_in_commit_is_refused() {
    let place = Fixture::new();
    let mut library = place.open();
    let skill = name("pdf");
    let twice = ["one", "two"].map(|body| change(&skill, None, &bundle("pdf", body, &[])));
    assert!(matches!(library.commit(Vec::from(twice)), Err(CommitError::Stale { .. })));
    assert!(library.head(&skill).unwrap().is_none() && place.names().is_empty());
}

/// A commit without revisions is refused as well.
#[test]
fn captured_edit_cannot_become_head() {
    let place = Fixture::new();
    let mut library = place.open();
    let captured = Content::Captured(scan::capture(bundle("pdf", "x", &[]), &scan::Scanner::default()));
    let revisions = vec![NewRevision::new(captured, Action::External, stamp())];
    assert!(library.commit(vec![Commit { skill: name("pdf"), base: None, revisions }]).is_err());
    assert!(library.commit(vec![Commit { skill: name("pdf"), base: None, revisions: Vec::new() }]).is_err());
    assert!(library.head(&name("pdf")).unwrap().is_none());
}

#[test]
fn commit_metadata_reads_back() {
    let place = Fixture::new();
    let mut library = place.open();
    let origin = Origin::Registry(RegistryRelease {
        registry: "file:///r".into(),
        name: "acme/pdf".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        digest: skill::Digest::of_bytes(b""),
    });
    let stamp = Stamp { reason: Some("why\nnot".into()), run: Some("r".into()), thread: Some("t".into()), ..stamp() };
    let new =
        NewRevision::new(cleared(&bundle("pdf", "x", &[])), Action::Install, stamp).with_origin(Some(origin.clone()));
    library.commit(vec![Commit { skill: name("pdf"), base: None, revisions: vec![new] }]).unwrap();
    let head = place.open().head(&name("pdf")).unwrap().unwrap();
    assert_eq!(head.origin, Some(origin));
    assert_eq!(head.stamp.reason.as_deref(), Some("why\nnot"));
    assert_eq!((head.stamp.run.as_deref(), head.stamp.thread.as_deref()), (Some("r"), Some("t")));
}

#[test]
fn state_change_is_logged_once() {
    let place = Fixture::new();
    let library = place.open();
    for _ in 0..2 {
        library.set_state(&name("pdf"), &stamp(), "disable", |state| state.enabled = false).unwrap();
    }
    let again = place.open();
    assert!(!again.state().unwrap().of(&name("pdf")).enabled);
    let (events, unreadable) = again.events().unwrap();
    assert_eq!((events.len(), unreadable, events[0].status), (1, 0, EventStatus::Set));
    fs::write(place.own().join("state.toml"), "damaged").unwrap();
    assert!(matches!(again.state(), Err(LibraryError::State(crate::state::StateError::Damaged(_)))));
}

#[test]
fn first_event_format_is_read() {
    let place = Fixture::new();
    let library = place.open();
    library.record(&Event::refused(&stamp(), "pdf", "edit", "scan_blocked", "no")).unwrap();
    let fixture = concat!(
        r#"{"v":1,"time":"2026-01-02T03:04:05Z","operation":"18a-1f","skill":"pdf","action":"patch","status":"applied","#,
        r#""actor":"agent:claude","reason":"r","revision":"1111111111111111111111111111111111111111","later":{"x":1}}"#,
        "\n",
        r#"{"v":1,"time":"2026-01-02T03:04:06Z","operation":"18a-20","skill":"pdf","act"#
    );
    fs::write(place.own().join("events.jsonl"), fixture).unwrap();
    library.record(&Event::refused(&stamp(), "pdf", "edit", "scan_blocked", "no")).unwrap();
    let (events, unreadable) = library.events().unwrap();
    assert_eq!((events.len(), unreadable), (2, 0), "what was cut was never reported");
    assert_eq!((events[0].status, events[0].action.as_str()), (EventStatus::Applied, "patch"));
    assert_eq!((events[1].status, events[1].code.as_deref()), (EventStatus::Refused, Some("scan_blocked")));
}

#[test]
fn open_reader_sees_first_commit() {
    let place = Fixture::new();
    let reader = place.open();
    assert!(reader.head(&name("pdf")).unwrap().is_none());
    put(&mut place.open(), &bundle("pdf", "x", &[]));
    assert!(reader.head(&name("pdf")).unwrap().is_some() && is_clean(&reader, "pdf"));
}

#[test]
fn reading_creates_no_files() {
    let place = Fixture::new();
    let mut library = place.open();
    place.write("pdf/SKILL.md", &skill_md("pdf", "by hand"));
    let (mine, _) = hostile();
    place.write(&format!("bad/{mine}"), "x");
    assert!(library.snapshot(&name("pdf"), &stamp(), HandEditMode::DryRun).unwrap().exists());
    assert!(library.snapshot(&name("bad"), &stamp(), HandEditMode::Commit).is_err());
    assert!(!library.has_pending_operations().unwrap() && library.temporary_names().unwrap().is_empty());
    assert_eq!(library.folders().unwrap(), ["bad", "pdf"]);
    assert!(!place.home().exists());
}

#[test]
fn unwritable_library_creates_no_home() {
    let place = Fixture::new();
    let mut library = place.open();
    fs::write(place.skills(), "a file").unwrap();
    let commit = change(&name("pdf"), None, &bundle("pdf", "x", &[]));
    assert!(matches!(library.commit(vec![commit]), Err(CommitError::NotWritable { .. })));
    assert!(!place.home().exists());
}

#[cfg(unix)]
#[test]
fn foreign_library_or_home_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give a folder away");
        return;
    }
    let nobody = rustix::fs::Uid::from_raw(65534);
    let place = Fixture::new();
    fs::create_dir(place.skills()).unwrap();
    rustix::fs::chown(place.skills(), Some(nobody), None).unwrap();
    assert!(matches!(place.try_open(), Err(LibraryError::Place(PathAccessError::Foreign { owner: 65534, .. }))));
    fs::create_dir(place.home()).unwrap();
    rustix::fs::chown(place.home(), Some(nobody), None).unwrap();
    assert!(matches!(Home::at(place.home()), Err(PathAccessError::Foreign { owner: 65534, .. })));
}

#[test]
fn locked_library_can_be_read() {
    let place = Fixture::new();
    put(&mut place.open(), &bundle("pdf", "x", &[]));
    let own = open_dir(&place.own()).unwrap().unwrap();
    let _held = LibraryLock::acquire(&own, Duration::ZERO).unwrap();
    assert_eq!(place.open().skills().unwrap().len(), 1);
    assert!(matches!(LibraryLock::acquire(&own, Duration::ZERO), Err(LockError::Locked { .. })));
}

#[cfg(unix)]
#[test]
fn path_spellings_share_one_home() {
    let place = Fixture::new();
    let real = fs::canonicalize(place.temp.path()).unwrap();
    let home = Home::at(place.home()).unwrap();
    let open = |path: &Path| Library::open(path, Scope::User, &home, "git").unwrap().own_path().to_owned();
    let early = open(&real.join("not-yet/../skills"));
    fs::create_dir_all(place.skills()).unwrap();
    fs::create_dir_all(real.join("not-yet")).unwrap();
    assert_eq!(early, open(&real.join("not-yet/../skills")));
    assert_eq!(early, open(&real.join("./skills/")));
    std::os::unix::fs::symlink(real.join("skills"), real.join("link")).unwrap();
    assert_eq!(early, open(&real.join("link")));
}

#[test]
fn unknown_storage_kind_is_refused() {
    let place = Fixture::new();
    put(&mut place.open(), &bundle("pdf", "x", &[]));
    let opened = Library::open(&place.skills(), Scope::User, &Home::at(place.home()).unwrap(), "sqlite");
    assert!(matches!(opened.err(), Some(LibraryError::Storage(StorageError::UnknownKind(kind))) if kind == "sqlite"));
}

#[test]
fn file_history_is_newest_first() {
    let place = Fixture::new();
    let mut library = place.open();
    for more in [&[("references/a.md", "1")][..], &[], &[("references/a.md", "2")]] {
        put(&mut library, &bundle("pdf", "x", more));
    }
    let head = library.head(&name("pdf")).unwrap().unwrap().id;
    let texts = |path: &str| -> Vec<Option<String>> {
        let path = SkillPath::parse(path).unwrap();
        let files = library.file_history(&head, &path);
        files.map(|file| file.unwrap().map(|file| file.text().unwrap().to_owned())).collect()
    };
    assert_eq!(texts("references/a.md"), [Some("2".to_owned()), None, Some("1".to_owned())]);
    assert_eq!(texts("references"), [None, None, None], "a folder is no file");
    assert!(library.file_history(&RevisionId::new("0".repeat(40)), &SkillPath::skill_md()).next().unwrap().is_err());
}

#[test]
fn unjudged_revision_is_not_written() {
    let place = Fixture::new();
    let mut library = place.open();
    let settings = scan::JudgeSettings {
        command: Vec::new(),
        timeout_seconds: 1,
        may_settle_warnings: false,
        required: false,
        folder: String::new(),
    };
    let judged = Scanner::default().judged_by(settings, |_| Err("asked".to_owned()));
    let commit = |scanner: Scanner| {
        let cleared = scan::clear_by(bundle("pdf", "Body", &[]), Baseline::None, &scanner).unwrap();
        let revision = NewRevision::new(Content::Cleared(cleared), Action::Create, stamp());
        Commit { skill: name("pdf"), base: None, revisions: vec![revision] }
    };
    let refused = library.commit(vec![commit(judged.reading())]).unwrap_err();
    assert!(refused.to_string().contains("was not asked"), "{refused}");
    library.commit(vec![commit(judged)]).unwrap();
}
