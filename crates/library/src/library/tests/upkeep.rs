//! Repairs requested by a person: journal, history, heads, event log and state.

use super::*;
use crate::{
    HistoryFault, JournalState, LibraryNote, LostPart, StateRepair,
    events::EventStatus,
    journal::{Journal, Piece},
};

fn time() -> Timestamp {
    stamp().time
}

fn journal(place: &Fixture) -> PathBuf {
    place.own().join("journal")
}

fn inspect(place: &Fixture) -> Library {
    Library::inspect(&place.skills(), Scope::Project, &Home::at(place.home()).unwrap(), "git").unwrap()
}

/// Removes the note of applied journal records, which a reboot invalidates.
fn reboot(place: &Fixture) {
    let _absent = fs::remove_file(place.own().join("journal.applied"));
}

/// Returns the byte range of each record in the journal.
fn records(place: &Fixture) -> Vec<std::ops::Range<u64>> {
    let own = ensure_dir(&place.own()).unwrap();
    let pieces = Journal::open(&own).unwrap().pieces().unwrap();
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Whole(_, bytes) => bytes,
            Piece::Unreadable(bytes) => panic!("{bytes:?}"),
        })
        .collect()
}

fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[usize::try_from(at).unwrap()] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn numbers(library: &Library, skill: &str) -> Vec<u64> {
    library.revisions(&name(skill), usize::MAX).unwrap().iter().rev().map(|revision| revision.number).collect()
}

/// Deletes all loose objects and references of the history, like a power loss before they were synced.
fn lose_objects(place: &Fixture) {
    for folder in fs::read_dir(place.own().join("history.git/objects")).unwrap().map(Result::unwrap) {
        if folder.file_name().len() == 2 {
            fs::remove_dir_all(folder.path()).unwrap();
        }
    }
    fs::remove_dir_all(place.own().join("history.git/refs/skills")).unwrap();
    fs::create_dir(place.own().join("history.git/refs/skills")).unwrap();
}

/// Creates a library with revisions one, two, three of `pdf`, and one of `other` in between, all in the journal.
fn four_records() -> Fixture {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &pdf("one"));
    put(&mut library, &pdf("two"));
    library.commit(vec![change(&name("other"), None, &bundle("other", "x", &[]))]).unwrap();
    put(&mut library, &pdf("three"));
    place
}

fn pdf(body: &str) -> Bundle {
    bundle("pdf", body, &[("notes.md", body)])
}

#[test]
fn journal_repair_keeps_the_history() {
    for reboots in [false, true] {
        for damaged in 0..3 {
            let place = four_records();
            let before = fs::read(journal(&place)).unwrap();
            flip(&journal(&place), records(&place)[damaged].start + 60);
            if reboots {
                reboot(&place);
                assert!(place.try_open().is_err(), "an opening refuses");
            }
            let mut library = inspect(&place);
            assert!(matches!(library.journal_state().unwrap(), JournalState::Damaged(_)), "{damaged}");
            let mend = library.repair_journal(time()).unwrap();
            assert_eq!(mend.saved, 3, "{mend:?}");
            assert!(matches!(mend.lost[0], LostPart::Bytes(_)));
            assert!(mend.lost.iter().all(|lost| !matches!(lost, LostPart::Operation { .. })), "{:?}", mend.lost);
            assert_eq!(fs::read(place.own().join(&mend.kept_as)).unwrap().len(), before.len());
            let library = place.open();
            assert_eq!((numbers(&library, "pdf"), numbers(&library, "other")), (vec![1, 2, 3], vec![1]));
            assert!(is_clean(&library, "pdf") && is_clean(&library, "other"));
            assert_eq!(library.journal_state().unwrap(), JournalState::Sound);
            place.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}

#[test]
fn journal_repair_names_lost_operations() {
    let place = four_records();
    let ranges = records(&place);
    lose_objects(&place);
    fs::write(place.own().join("events.jsonl"), "").unwrap();
    flip(&journal(&place), ranges[1].start + 60);
    reboot(&place);
    let folder = place.read("pdf/SKILL.md");
    let mut library = inspect(&place);
    let mend = library.repair_journal(time()).unwrap();
    assert_eq!(mend.saved, 2, "{mend:?}");
    let lost: Vec<_> = mend.lost.iter().filter(|lost| matches!(lost, LostPart::Operation { .. })).collect();
    assert!(
        matches!(lost[..], [LostPart::Operation { skill, what, .. }] if skill == "pdf" && what.contains("edit by"))
    );
    let mut library = place.open();
    assert_eq!((numbers(&library, "pdf"), numbers(&library, "other")), (vec![1], vec![1]));
    assert_eq!(place.read("pdf/SKILL.md"), folder, "the folder still has what the history lost");
    library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap();
    let head = library.head(&name("pdf")).unwrap().unwrap();
    assert_eq!((head.number, library.bundle(&head.id).unwrap()), (2, pdf("three")));
}

#[test]
fn interrupted_repair_can_be_repeated() {
    let place = four_records();
    flip(&journal(&place), records(&place)[1].start + 60);
    reboot(&place);
    let saved = place.save();
    inspect(&place).repair_journal(time()).unwrap();
    let mended = fs::read(journal(&place)).unwrap();
    // Stopped after the copy, and after the journal was replaced but not applied.
    for replaced in [false, true] {
        place.restore(&saved);
        fs::copy(journal(&place), place.own().join("journal.damaged-20231114T221320Z")).unwrap();
        if replaced {
            fs::write(journal(&place), &mended).unwrap();
        } else {
            let mend = inspect(&place).repair_journal(time()).unwrap();
            assert_eq!(mend.kept_as, "journal.damaged-20231114T221320Z-2", "an older copy stays");
        }
        let library = place.open();
        assert_eq!((numbers(&library, "pdf"), numbers(&library, "other")), (vec![1, 2, 3], vec![1]));
        assert!(is_clean(&library, "pdf"));
    }
}

#[test]
fn damaged_last_record_reverts_no_head() {
    let place = four_records();
    let last = records(&place).pop().unwrap();
    flip(&journal(&place), last.start + 60);
    reboot(&place);
    assert!(matches!(inspect(&place).journal_state().unwrap(), JournalState::Cut(_)));
    let library = place.open();
    assert_eq!(numbers(&library, "pdf"), [1, 2, 3]);
    assert!(is_clean(&library, "pdf"));
}

#[test]
fn damaged_objects_are_found_and_repaired() {
    for (what, damage) in [("missing", None), ("empty or truncated", Some(0)), ("empty or truncated", Some(9))] {
        let place = four_records();
        let heads = inspect(&place);
        let head = heads.head(&name("pdf")).unwrap().unwrap();
        let blob = place.git(&["rev-parse", &format!("{}:notes.md", head.id)]);
        let blob = blob.trim();
        let file = place.own().join(format!("history.git/objects/{}/{}", &blob[..2], &blob[2..]));
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        if let Some(len) = damage {
            fs::write(&file, &bytes[..len]).unwrap();
        }
        let mut library = inspect(&place);
        let faults = library.check_history(&mut || {}).unwrap();
        let [HistoryFault::Revision(skill, found)] = &faults[..] else { panic!("{faults:?}") };
        assert_eq!((skill.as_str(), &found.revision, found.number), ("pdf", &head.id, Some(3)));
        assert!(found.what.contains("notes.md") && found.what.contains(what), "{found:?}");
        let objects = found.objects.clone();
        // Once from the journal, once from the folder alone.
        if damage.is_none() {
            library.checkpoint(&library.locked().unwrap()).ok();
            fs::write(journal(&place), "").unwrap();
        }
        library.repair_objects(&objects).unwrap();
        assert!(inspect(&place).check_history(&mut || {}).unwrap().is_empty(), "{what}");
        place.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn object_with_wrong_hash_is_found() {
    let place = four_records();
    let objects = place.own().join("history.git/objects");
    let loose: Vec<PathBuf> = fs::read_dir(&objects)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().len() == 2)
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>())
        .collect();
    let blobs: Vec<&PathBuf> = loose.iter().filter(|path| kind_of(&place, path) == "blob").collect();
    let other = fs::read(blobs[0]).unwrap();
    fs::remove_file(blobs[1]).unwrap();
    fs::write(blobs[1], other).unwrap();
    let faults = inspect(&place).check_history(&mut || {}).unwrap();
    assert!(!faults.is_empty() && format!("{faults:?}").contains("different from its id"), "{faults:?}");
}

fn kind_of(place: &Fixture, object: &Path) -> String {
    let folder = object.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let id = format!("{folder}{}", object.file_name().unwrap().to_str().unwrap());
    place.git(&["cat-file", "-t", &id]).trim().to_owned()
}

#[test]
fn broken_head_is_restored_from_log() {
    for damage in ["x", "1111111111111111111111111111111111111111\n", ""] {
        let place = four_records();
        let file = place.own().join("history.git/refs/skills/pdf");
        match damage {
            "" => fs::remove_file(&file).unwrap(),
            text => fs::write(&file, text).unwrap(),
        }
        let mut library = inspect(&place);
        let faults = library.check_history(&mut || {}).unwrap();
        let [HistoryFault::Head(head)] = &faults[..] else { panic!("{damage:?}: {faults:?}") };
        assert!(head.is_newest && head.skill.as_str() == "pdf", "{head:?}");
        library.repair_head(head).unwrap();
        let library = place.open();
        assert_eq!(numbers(&library, "pdf"), [1, 2, 3]);
        assert!(is_clean(&library, "pdf") && inspect(&place).check_history(&mut || {}).unwrap().is_empty());
    }
}

/// Until then, garbage collection never deletes the pack.
#[test]
fn lost_pack_index_is_rebuilt() {
    let place = four_records();
    place.open().collect_garbage().unwrap();
    let folder = place.own().join("history.git/objects/pack");
    let files = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |part: &str| files().find(|path| path.extension().is_some_and(|found| found == part)).unwrap();
    let pack = of("pack");
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(&pack).unwrap().set_modified(old).unwrap();
    fs::remove_file(of("idx")).unwrap();
    let _refuses_or_leaves_it = Library::open(&place.skills(), Scope::Project, &Home::at(place.home()).unwrap(), "git")
        .and_then(|mut library| library.collect_garbage());
    assert!(pack.exists());
    let faults = inspect(&place).check_history(&mut || {}).unwrap();
    let HistoryFault::Pack(name) = &faults[0] else { panic!("{faults:?}") };
    inspect(&place).repair_pack(name).unwrap();
    assert!(inspect(&place).check_history(&mut || {}).unwrap().is_empty());
    assert_eq!(numbers(&place.open(), "pdf"), [1, 2, 3]);
    place.git(&["fsck", "--strict", "--no-dangling"]);
    fs::remove_file(of("idx")).unwrap();
    flip(&of("pack"), 100);
    let HistoryFault::Pack(name) = &inspect(&place).check_history(&mut || {}).unwrap()[0] else { panic!() };
    assert!(inspect(&place).repair_pack(name).is_err(), "one that is not whole stays as it is");
    assert!(of("pack").exists());
}

#[test]
fn bad_event_lines_are_kept_aside() {
    let place = four_records();
    let log = place.own().join("events.jsonl");
    let good = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let bad = format!("{}\nnot json\n{}\n\u{0}\n{}\n{}", lines[0], lines[1], lines[2], lines[3]);
    fs::write(&log, &bad).unwrap();
    let library = inspect(&place);
    let mend = library.repair_events(time()).unwrap();
    assert_eq!(mend.dropped, 2);
    assert_eq!(fs::read_to_string(place.own().join(&mend.kept_as)).unwrap(), bad);
    let (events, unreadable) = library.events().unwrap();
    assert_eq!((events.len(), unreadable), (4, 0));
    library.record(&Event::refused(&stamp(), "pdf", "edit", "x", "after")).unwrap();
    assert_eq!(library.events().unwrap().0.len(), 5);
}

/// Skills whose settings were lost are pinned and disabled. The damaged file is kept under another name.
#[test]
fn damaged_state_disables_unknown_skills() {
    let place = four_records();
    let library = inspect(&place);
    library.set_state(&name("pdf"), &stamp(), "pin", |state| state.pinned = true).unwrap();
    let file = place.own().join("state.toml");
    let text = fs::read_to_string(&file).unwrap() + "[skills.oth";
    fs::write(&file, &text).unwrap();
    assert!(library.state().is_err());
    let mend = library.repair_state(time()).unwrap();
    assert_eq!((mend.closed, mend.dropped.len()), (vec!["other".to_owned()], 1));
    assert_eq!(fs::read_to_string(place.own().join(mend.kept_as.unwrap())).unwrap(), text);
    let state = library.state().unwrap();
    assert!(state.of(&name("pdf")).pinned && state.of(&name("pdf")).enabled);
    assert!(state.of(&name("other")).pinned && !state.of(&name("other")).enabled);
    fs::write(&file, "format = 9\n").unwrap();
    assert!(library.repair_state(time()).is_err(), "what a later version wrote is not damage");
}

/// Changes settings of two skills and returns the resulting state.
fn with_a_state() -> (Fixture, State) {
    let place = four_records();
    let library = place.open();
    let placed = vec![PathBuf::from("/agent/skills/pdf")];
    library.set_state(&name("pdf"), &stamp(), "pin", |state| state.pinned = true).unwrap();
    library.set_state(&name("other"), &stamp(), "disable", |state| state.set_enabled(false, &stamp().actor)).unwrap();
    library.set_state(&name("other"), &stamp(), "enable", |state| state.set_enabled(true, &stamp().actor)).unwrap();
    library.set_state(&name("pdf"), &stamp(), "link", |state| state.placed = placed).unwrap();
    let state = library.state().unwrap();
    (place, state)
}

#[test]
fn lost_state_is_restored_from_log() {
    let (place, before) = with_a_state();
    fs::remove_file(place.own().join("state.toml")).unwrap();
    let library = inspect(&place);
    let agent = Actor::new(ActorKind::Agent, "a");
    for gone in [library.state().map(drop), library.check_pinned(&name("pdf"), &agent)] {
        assert!(matches!(gone, Err(LibraryError::State(crate::state::StateError::Gone))), "{gone:?}");
    }
    assert!(library.set_state(&name("pdf"), &stamp(), "unpin", |state| state.pinned = false).is_err());
    let mend = library.repair_state(time()).unwrap();
    assert_eq!(mend, StateRepair { kept_as: None, dropped: Vec::new(), closed: Vec::new(), unknown: Vec::new() });
    assert_eq!(library.state().unwrap(), before);
}

#[test]
fn loss_of_older_state_is_noticed() {
    let (place, before) = with_a_state();
    fs::remove_file(place.own().join("state.written")).unwrap();
    place.open().commit(vec![change(&name("third"), None, &bundle("third", "x", &[]))]).unwrap();
    fs::remove_file(place.own().join("state.toml")).unwrap();
    // A log of an earlier version has only the actions, without the settings.
    let log = place.own().join("events.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    let lines =
        lines.lines().map(|line| line.split(",\"set\":").next().unwrap().trim_end_matches('}').to_owned() + "}\n");
    fs::write(&log, lines.collect::<String>()).unwrap();
    let library = inspect(&place);
    assert!(library.state().is_err());
    let mend = library.repair_state(time()).unwrap();
    assert_eq!((mend.closed, mend.unknown), (Vec::new(), vec!["pdf".to_owned()]));
    let state = library.state().unwrap();
    assert!(state.of(&name("pdf")).pinned && state.of(&name("other")) == before.of(&name("other")));
}

/// Moves lines of the log to rotated files of the given lengths. The rest stays in the active log.
fn put_lines_aside(place: &Fixture, parts: &[usize]) {
    let log = place.own().join("events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let mut lines = text.split_inclusive('\n');
    for (index, count) in parts.iter().enumerate() {
        let part: String = lines.by_ref().take(*count).collect();
        fs::write(place.own().join(format!("events.{}.jsonl", index + 1)), part).unwrap();
    }
    fs::write(log, lines.collect::<String>()).unwrap();
}

/// A setting that was logged after the loss makes no difference.
#[test]
fn missing_log_part_disables_every_skill() {
    for (parts, lost) in [
        (&[1, 2][..], None),
        (&[], Some("events.jsonl")),
        (&[1, 2], Some("events.1.jsonl")),
        (&[1, 2], Some("events.2.jsonl")),
        (&[1, 2], Some("events.jsonl")),
        (&[4, 2, 1], Some("events.2.jsonl")),
    ] {
        let (place, _) = with_a_state();
        put_lines_aside(&place, parts);
        if let Some(lost) = lost {
            fs::remove_file(place.own().join(lost)).unwrap();
        }
        let library = inspect(&place);
        library.set_state(&name("other"), &stamp(), "disable", |state| state.enabled = false).unwrap();
        assert_eq!(library.events().unwrap().0.pop().unwrap().status, EventStatus::Set);
        let before = library.state().unwrap();
        fs::remove_file(place.own().join("state.toml")).unwrap();
        let closed = library.repair_state(time()).unwrap().closed;
        let state = library.state().unwrap();
        if lost.is_none() {
            assert_eq!((closed, state), (Vec::new(), before));
            continue;
        }
        assert_eq!(closed, ["other", "pdf"], "{lost:?} of {parts:?}");
        assert!(["pdf", "other"].iter().all(|skill| state.of(&name(skill)).pinned && !state.of(&name(skill)).enabled));
    }
}

#[test]
fn damaged_log_disables_every_skill() {
    for (damage, mended) in [("{\"v\":1}\n", false), ("{\"v\":1}\n", true), ("", false)] {
        let (place, _) = with_a_state();
        fs::remove_file(place.own().join("state.toml")).unwrap();
        fs::write(place.own().join("events.jsonl"), damage).unwrap();
        let library = inspect(&place);
        if mended {
            library.repair_events(time()).unwrap();
        }
        assert_eq!(library.repair_state(time()).unwrap().closed, ["other", "pdf"]);
        let state = library.state().unwrap();
        assert!(["pdf", "other"].iter().all(|skill| state.of(&name(skill)).pinned && !state.of(&name(skill)).enabled));
    }
}

#[test]
fn note_identifies_the_library() {
    let place = four_records();
    let library = inspect(&place);
    assert_eq!(library.note().unwrap(), LibraryNote::Ours);
    let file = place.own().join("library.toml");
    fs::write(&file, "format = 1\npath = \"/elsewhere\"\n").unwrap();
    assert_eq!(library.note().unwrap(), LibraryNote::Other("/elsewhere".to_owned()));
    fs::write(&file, "").unwrap();
    assert!(matches!(library.note().unwrap(), LibraryNote::Damaged(_)));
    assert!(library.repair_library_toml(time()).unwrap().is_some_and(|kept| place.own().join(kept).exists()));
    assert_eq!(library.note().unwrap(), LibraryNote::Ours);
}

#[test]
fn inspection_creates_no_files() {
    let place = Fixture::new();
    let library = inspect(&place);
    assert_eq!(library.journal_state().unwrap(), JournalState::Sound);
    assert!(library.check_history(&mut || {}).unwrap().is_empty());
    assert_eq!(library.note().unwrap(), LibraryNote::Absent);
    assert_eq!(library.lock_holder().unwrap(), None);
    assert!(!place.home().exists() && !place.skills().exists());
}

#[test]
fn log_repair_loses_no_concurrent_line() {
    let place = four_records();
    let (library, before) = (place.open(), place.open().events().unwrap().0.len());
    let writers = 4;
    let lines_each = 150;
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let library = place.open();
            scope.spawn(move || {
                for line in 0..lines_each {
                    let event = Event::refused(&stamp(), "pdf", "edit", "io", &format!("{writer} {line}"));
                    library.record(&event).unwrap();
                }
            });
        }
        for _ in 0..15 {
            library.repair_events(time()).unwrap();
        }
    });
    let (events, unreadable) = library.events().unwrap();
    assert_eq!((events.len(), unreadable), (before + writers * lines_each, 0));
}
