//! Killed processes, power losses and full disks.

use super::*;

fn pdf(body: &str) -> Bundle {
    bundle("pdf", body, &[("notes.md", body)])
}

fn journal(place: &Fixture) -> PathBuf {
    place.own().join("journal")
}

/// Removes the note of applied journal records, which a reboot invalidates.
fn reboot(place: &Fixture) {
    let _absent = fs::remove_file(place.own().join("journal.applied"));
}

/// Creates a library with `before`, in which `then` reached the journal but was not applied.
fn killed_after_journal(before: &[&str], then: &[&str]) -> Fixture {
    let place = Fixture::new();
    before.iter().for_each(|body| drop(put(&mut place.open(), &pdf(body))));
    let saved = place.save();
    then.iter().for_each(|body| drop(put(&mut place.open(), &pdf(body))));
    let journaled = fs::read(journal(&place)).unwrap();
    place.restore(&saved);
    fs::create_dir_all(place.own()).unwrap();
    fs::write(journal(&place), journaled).unwrap();
    place
}

fn assert_whole(place: &Fixture, bodies: &[&str]) {
    let library = place.open();
    assert!(is_clean(&library, "pdf"), "{:?}", library.folder_state(&name("pdf")));
    let revisions = library.revisions(&name("pdf"), usize::MAX).unwrap();
    let found: Vec<Bundle> = revisions.iter().rev().map(|revision| library.bundle(&revision.id).unwrap()).collect();
    assert_eq!(found, bodies.iter().map(|body| pdf(body)).collect::<Vec<_>>());
    assert_eq!(library.events().unwrap().0.len(), bodies.len(), "every event once");
    assert_eq!(place.names(), ["pdf"]);
    place.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn journaled_commit_survives_a_kill() {
    for reboots in [false, true] {
        let place = killed_after_journal(&["one"], &["two"]);
        if reboots {
            reboot(&place);
        }
        assert_whole(&place, &["one", "two"]);
        assert!(!place.open().has_pending_operations().unwrap());
    }
}

#[test]
fn first_commit_survives_a_kill() {
    assert_whole(&killed_after_journal(&[], &["one"]), &["one"]);
}

#[test]
fn stale_folder_is_not_an_edit() {
    for stands in ["one", "two", "three", "four"] {
        let place = killed_after_journal(&["one"], &["two", "three", "four"]);
        place.write("pdf/SKILL.md", pdf(stands).skill_md().unwrap());
        place.write("pdf/notes.md", stands);
        assert_whole(&place, &["one", "two", "three", "four"]);
    }
}

#[test]
fn edit_after_kill_is_not_overwritten() {
    for reboots in [false, true] {
        let place = killed_after_journal(&["one"], &["two"]);
        place.write("pdf/notes.md", "mine");
        if reboots {
            reboot(&place);
        }
        let mut library = place.open();
        assert_eq!(place.read("pdf/notes.md"), "mine");
        let taken = library.snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap();
        assert_eq!((taken.base.unwrap().number, place.read("pdf/notes.md").as_str()), (3, "mine"));
    }
}

/// It is not taken for damage by a power loss: the boot of a record is known from the first one on, even if the journal
/// was empty before.
#[test]
fn hand_truncated_file_is_kept() {
    for settles in [false, true] {
        let place = Fixture::new();
        let mut library = place.open();
        put(&mut library, &pdf("one"));
        if settles {
            library.checkpoint(&library.locked().unwrap()).unwrap();
        }
        let applied = fs::read(place.own().join("journal.applied")).unwrap();
        let text = place.read("pdf/SKILL.md");
        put(&mut library, &pdf("two"));
        fs::write(place.own().join("journal.applied"), applied).unwrap();
        place.write("pdf/SKILL.md", &text[..text.len() - 2]);
        let cut = place.read("pdf/SKILL.md");
        place.open();
        assert_eq!(place.read("pdf/SKILL.md"), cut);
    }
}

#[test]
fn journaled_deletion_survives_a_kill() {
    let place = Fixture::new();
    let head = put(&mut place.open(), &pdf("one")).revision;
    let saved = place.save();
    place.open().commit(vec![tombstone(&name("pdf"), &head)]).unwrap();
    let journaled = fs::read(journal(&place)).unwrap();
    place.restore(&saved);
    fs::write(journal(&place), journaled).unwrap();
    assert!(place.open().skills().unwrap().is_empty() && place.names().is_empty());
}

#[test]
fn power_loss_damage_is_repaired() {
    let place = Fixture::new();
    ["one", "two", "three"].iter().for_each(|body| drop(put(&mut place.open(), &pdf(body))));
    let git = place.own().join("history.git");
    for folder in fs::read_dir(git.join("objects")).unwrap().map(|entry| entry.unwrap()) {
        if folder.file_name().len() == 2 {
            for object in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
                fs::remove_file(&object).unwrap();
                fs::write(object, "").unwrap();
            }
        }
    }
    fs::write(git.join("refs/skills/pdf"), "").unwrap();
    fs::write(git.join("refs/skills/pdf.lock"), "left by a killed process").unwrap();
    fs::write(place.own().join("events.jsonl"), "").unwrap();
    place.write("pdf/SKILL.md", "");
    place.write("pdf/notes.md", "th");
    reboot(&place);
    assert_whole(&place, &["one", "two", "three"]);
}

#[test]
fn truncated_journal_gives_previous_state() {
    let place = killed_after_journal(&["one"], &[]);
    let before = fs::read(journal(&place)).unwrap().len();
    let saved = place.save();
    put(&mut place.open(), &pdf("two"));
    let after = fs::read(journal(&place)).unwrap();
    let cuts = (before..after.len()).filter(|at| at % 97 == 0 || at - before < 3 || after.len() - at < 3);
    for (number, cut) in cuts.enumerate() {
        place.restore(&saved);
        fs::write(journal(&place), &after[..cut]).unwrap();
        if number % 2 == 0 {
            reboot(&place);
        }
        let mut library = place.open();
        assert_eq!(library.head(&name("pdf")).unwrap().unwrap().number, 1, "{cut}");
        assert_eq!(put(&mut library, &pdf("two")).revision.number, 2, "{cut}");
        assert!(is_clean(&place.open(), "pdf") && !place.open().has_pending_operations().unwrap());
    }
}

#[test]
fn journal_damage_is_refused_not_cut() {
    let place = killed_after_journal(&["one"], &["two", "three"]);
    reboot(&place);
    let mut bytes = fs::read(journal(&place)).unwrap();
    bytes[60] ^= 1;
    fs::write(journal(&place), &bytes).unwrap();
    assert!(place.try_open().is_err());
    assert_eq!(fs::read(journal(&place)).unwrap(), bytes);
}

#[test]
fn next_open_completes_pending_work() {
    for broken in ["events.jsonl", "history.git/refs/skills/pdf.lock"] {
        let place = Fixture::new();
        let mut library = place.open();
        put(&mut library, &pdf("one"));
        let base = library.head(&name("pdf")).unwrap().unwrap().id;
        let obstacle = place.own().join(broken);
        let moved = place.own().join("moved");
        let _absent = fs::rename(&obstacle, &moved);
        fs::create_dir(&obstacle).unwrap();
        let done = library.commit(vec![change(&name("pdf"), Some(base), &pdf("two"))]).unwrap().remove(0);
        assert!(matches!(done.checkout, Checkout::Pending(_)), "{broken}: {:?}", done.checkout);
        assert!(library.has_pending_operations().unwrap());
        fs::remove_dir(&obstacle).unwrap();
        let _absent = fs::rename(&moved, &obstacle);
        assert_whole(&place, &["one", "two"]);
    }
}

#[test]
fn failed_journal_write_changes_nothing() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &pdf("one"));
    let base = library.head(&name("pdf")).unwrap().unwrap().id;
    let saved = fs::read(journal(&place)).unwrap();
    fs::remove_file(journal(&place)).unwrap();
    fs::create_dir(journal(&place)).unwrap();
    assert!(library.commit(vec![change(&name("pdf"), Some(base), &pdf("two"))]).is_err());
    fs::remove_dir(journal(&place)).unwrap();
    fs::write(journal(&place), saved).unwrap();
    assert_whole(&place, &["one"]);
}

#[test]
fn checkpoint_stays_readable_to_git() {
    let place = Fixture::new();
    let bodies = ["one", "two", "three", "four"];
    for (number, body) in bodies.iter().enumerate() {
        let mut library = place.open();
        put(&mut library, &pdf(body));
        if number % 2 == 1 {
            library.checkpoint(&library.locked().unwrap()).unwrap();
            assert_eq!(fs::read(journal(&place)).unwrap().len(), 0);
            assert!(!place.git(&["count-objects", "-v"]).contains("packs: 0\n"));
            assert!(place.git(&["count-objects", "-v"]).contains("count: 0\n"), "nothing is left loose");
        }
    }
    reboot(&place);
    assert_whole(&place, &bodies);
    let log = place.git(&[
        "log",
        "--format=%s|%an|%(trailers:key=Skillhub-Number,valueonly,separator=%x2C)",
        "refs/skills/pdf",
    ]);
    assert_eq!(log.lines().next(), Some("edit: SKILL.md, notes.md|agent:tester|4"));
    assert_eq!(log.lines().count(), 4);
}

#[test]
fn large_journal_triggers_a_checkpoint() {
    let place = Fixture::new();
    let mut library = place.open();
    let noise = |seed: u8| {
        let mut bytes = vec![0; 900_000];
        bytes.push(seed);
        File { bytes: bytes.into(), executable: false }
    };
    for seed in 1..4 {
        let path = SkillPath::parse("assets/noise.bin").unwrap();
        let whole = pdf("x").with_file(path, noise(seed), &Limits::default()).unwrap();
        assert_eq!(put(&mut library, &whole).checkout, Checkout::Done);
    }
    assert_eq!(fs::read(journal(&place)).unwrap().len(), 0);
    assert!(is_clean(&place.open(), "pdf") && library.revisions(&name("pdf"), 9).unwrap().len() == 3);
}

#[test]
fn large_files_bypass_the_journal() {
    let place = Fixture::new();
    let mut library = place.open();
    let file = File { bytes: vec![0; 3_000_000].into(), executable: false };
    let path = SkillPath::parse("assets/noise.bin").unwrap();
    let with_noise = |body| pdf(body).with_file(path.clone(), file.clone(), &Limits::default()).unwrap();
    assert_eq!(put(&mut library, &with_noise("x")).checkout, Checkout::Done);
    assert!(fs::read(journal(&place)).unwrap().len() < 10_000, "the journal holds what names the files");
    assert!(place.git(&["count-objects", "-v"]).contains("packs: 1\n"));
    put(&mut library, &with_noise("y"));
    assert!(place.git(&["count-objects", "-v"]).contains("packs: 1\n"), "a small change of a large skill is small");
    reboot(&place);
    assert!(is_clean(&place.open(), "pdf"));
    assert_eq!(place.open().bundle(&library.head(&name("pdf")).unwrap().unwrap().id).unwrap(), with_noise("y"));
    place.git(&["fsck", "--strict"]);
}

#[test]
fn interrupted_checkpoint_is_applied_again() {
    let place = Fixture::new();
    ["one", "two"].iter().for_each(|body| drop(put(&mut place.open(), &pdf(body))));
    let journaled = fs::read(journal(&place)).unwrap();
    place.open().checkpoint(&place.open().locked().unwrap()).unwrap();
    fs::write(journal(&place), journaled).unwrap();
    assert_whole(&place, &["one", "two"]);
    assert_eq!(put(&mut place.open(), &pdf("three")).revision.number, 3);
    assert_whole(&place, &["one", "two", "three"]);
}

#[test]
fn packed_references_are_read_and_moved() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    place.git(&["pack-refs", "--all"]);
    put(&mut place.open(), &pdf("two"));
    place.git(&["pack-refs", "--all"]);
    place.open().checkpoint(&place.open().locked().unwrap()).unwrap();
    assert_whole(&place, &["one", "two"]);
}

#[test]
fn broken_repository_counts_as_damage() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    fs::remove_file(place.own().join("history.git/HEAD")).unwrap();
    assert!(matches!(place.try_open(), Err(LibraryError::Storage(_))));
}
