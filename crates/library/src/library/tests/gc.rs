//! Garbage collection: nothing is lost, even if it is interrupted.

use super::*;

/// Returns the total size of the files in a folder and below, in bytes.
fn total(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let size = |entry: fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => total(&entry.path()),
        false => entry.metadata().unwrap().len(),
    };
    entries.map(size).sum()
}

fn packs(place: &Fixture) -> Vec<String> {
    let entries = fs::read_dir(place.own().join("history.git/objects/pack")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".pack")).collect();
    names.sort();
    names
}

fn checkpoint(library: &mut Library) {
    library.checkpoint(&library.locked().unwrap()).unwrap();
}

/// Asserts that the real git finds no error.
fn assert_sound(place: &Fixture) {
    let said = place.git(&["fsck", "--strict", "--full", "--no-dangling"]);
    assert!(said.lines().all(|line| line.starts_with("notice:")), "{said}");
}

/// Returns every revision with its files, and the event log.
fn everything(library: &Library, skills: &[&str]) -> (Vec<(Revision, Bundle)>, Vec<Event>) {
    let mut revisions = Vec::new();
    for skill in skills {
        for revision in library.revisions(&name(skill), usize::MAX).unwrap() {
            let bundle = library.bundle(&revision.id).unwrap();
            revisions.push((revision, bundle));
        }
    }
    (revisions, library.events().unwrap().0)
}

/// Returns lines that compress badly, one of which depends on `state`.
fn body(state: usize) -> String {
    let line = |n: usize| format!("{:x}\n", scan_free_noise(n));
    let changed = format!("state {state} changes this line\n");
    (0..300).map(line).chain([changed]).chain((300..600).map(line)).collect()
}

/// Returns a pseudo-random number, so that the text is incompressible without triggering scan rules.
fn scan_free_noise(n: usize) -> u64 {
    (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(n as u32 % 64)
}

#[test]
fn collection_keeps_revisions_and_saves_space() {
    let place = Fixture::new();
    let mut library = place.open();
    for state in 0..60 {
        put(&mut library, &bundle("pdf", &body(state), &[("references/x.md", &body(state / 2))]));
        if state % 15 == 14 {
            checkpoint(&mut library);
        }
    }
    library.commit(vec![change(&name("doc"), None, &bundle("doc", "x", &[]))]).unwrap();
    for n in 0..200 {
        library.record(&Event::refused(&stamp(), "pdf", "patch", "no_match", &format!("refusal {n}"))).unwrap();
    }
    let before = everything(&library, &["pdf", "doc"]);
    let collected = library.collect_garbage().unwrap();
    assert_eq!(collected.after.total(), total(&place.own()));
    assert!(collected.before.total() > 2 * collected.after.total(), "{collected:?}");
    assert!(collected.after.history < 60_000, "{collected:?}");
    assert_eq!((packs(&place).len(), collected.after.journal), (1, 0));
    for library in [&library, &place.open()] {
        assert_eq!(everything(library, &["pdf", "doc"]), before);
    }
    assert_sound(&place);
    assert_eq!(place.git(&["for-each-ref"]).lines().count(), 2);
    let again = library.collect_garbage().unwrap();
    assert!(again.after.total().abs_diff(collected.after.total()) < 1000, "{again:?}");
    assert_eq!(packs(&place).len(), 1);
    put(&mut library, &bundle("pdf", "after", &[]));
    assert_eq!(place.open().head(&name("pdf")).unwrap().unwrap().number, 61);
    assert_eq!(place.open().events().unwrap().0.len(), before.1.len() + 1);
}

#[test]
fn kill_while_packing_loses_no_revision() {
    let place = Fixture::new();
    let mut library = place.open();
    for state in 0..12 {
        put(&mut library, &bundle("pdf", &body(state), &[]));
        if state % 4 == 3 {
            checkpoint(&mut library);
        }
    }
    let before = everything(&library, &["pdf"]);
    let objects = place.own().join("history.git/objects");
    let old = tempfile::tempdir().unwrap();
    copy(&objects, old.path());
    library.collect_garbage().unwrap();
    let new = packs(&place).remove(0);
    let index = new.replace(".pack", ".idx");
    // Both kinds of packs; a pack without its index; an unfinished folder; an old index without its pack.
    copy(old.path(), &objects);
    assert_eq!(everything(&place.open(), &["pdf"]), before);
    fs::remove_file(objects.join("pack").join(&index)).unwrap();
    copy(&objects.join("pack"), &place.own().join("history.git/gc.unfinished/pack"));
    assert_eq!(everything(&place.open(), &["pdf"]), before);
    assert_sound(&place);
    place.open().collect_garbage().unwrap();
    assert_eq!((everything(&place.open(), &["pdf"]), packs(&place)), (before, vec![new]));
    assert!(!place.own().join("history.git/gc.unfinished").exists());
}

#[test]
fn open_readers_survive_a_collection() {
    let place = Fixture::new();
    let mut library = place.open();
    for state in 0..30 {
        put(&mut library, &bundle("pdf", &body(state), &[]));
        if state % 10 == 9 {
            checkpoint(&mut library);
        }
    }
    let reader = place.open();
    let head = reader.head(&name("pdf")).unwrap().unwrap();
    library.collect_garbage().unwrap();
    assert_eq!(reader.bundle(&head.id).unwrap(), bundle("pdf", &body(29), &[]));
    assert_eq!(everything(&reader, &["pdf"]), everything(&library, &["pdf"]));
}

#[test]
fn checkpoints_leave_few_packs() {
    let place = Fixture::new();
    let mut library = place.open();
    for state in 0..30 {
        put(&mut library, &bundle("pdf", &state.to_string(), &[]));
        checkpoint(&mut library);
        assert!(packs(&place).len() <= 8, "{:?}", packs(&place));
    }
    assert_eq!(library.revisions(&name("pdf"), usize::MAX).unwrap().len(), 30);
    assert_sound(&place);
    assert_eq!(place.git(&["rev-list", "--count", "refs/skills/pdf"]).trim(), "30");
    for pack in packs(&place) {
        place.git(&["verify-pack", place.own().join("history.git/objects/pack").join(pack).to_str().unwrap()]);
    }
}

#[test]
fn git_reads_the_packed_heads() {
    let place = Fixture::new();
    let mut library = place.open();
    let skills: Vec<String> = (0..40).map(|n| format!("skill-{n}")).collect();
    let commits = skills.iter().map(|skill| change(&name(skill), None, &bundle(skill, "x", &[])));
    library.commit(commits.collect::<Vec<_>>()).unwrap();
    let heads = library.skills().unwrap();
    library.collect_garbage().unwrap();
    let loose = || fs::read_dir(place.own().join("history.git/refs/skills")).unwrap().count();
    assert_eq!(loose(), 0);
    assert_eq!((place.open().skills().unwrap(), heads.len()), (heads.clone(), 40));
    assert_eq!(place.git(&["for-each-ref", "refs/skills"]).lines().count(), 40);
    let skill = name("skill-7");
    library.commit(vec![tombstone(&skill, &heads[0].1)]).unwrap_err();
    let head = library.head(&skill).unwrap().unwrap();
    library.commit(vec![tombstone(&skill, &head)]).unwrap();
    assert_eq!(place.open().skills().unwrap().len(), 39);
    place.git(&["pack-refs", "--all"]);
    place.git(&["repack", "-adq"]);
    place.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(place.open().skills().unwrap().len(), 39);
    place.open().collect_garbage().unwrap();
    assert_eq!(place.open().skills().unwrap().len(), 39);
    assert_sound(&place);
}

#[test]
fn foreign_references_stay() {
    let place = Fixture::new();
    let mut library = place.open();
    let head = put(&mut library, &bundle("pdf", "one", &[])).revision.id;
    place.git(&["tag", "-a", "-m", "mine", "mine", head.as_str()]);
    place.git(&["update-ref", "refs/heads/other", head.as_str()]);
    place.git(&["pack-refs", "--all"]);
    put(&mut library, &bundle("pdf", "two", &[]));
    let before = place.git(&["show-ref", "-d"]);
    library.collect_garbage().unwrap();
    assert_eq!(place.git(&["show-ref", "-d"]), before);
}

#[test]
fn unreachable_revision_stays() {
    let place = Fixture::new();
    let mut library = place.open();
    let first = put(&mut library, &bundle("pdf", "one", &[])).revision.id;
    let second = put(&mut library, &bundle("pdf", "two", &[])).revision.id;
    checkpoint(&mut library);
    place.git(&["update-ref", "refs/skills/pdf", first.as_str()]);
    library.collect_garbage().unwrap();
    assert_eq!(place.open().bundle(&second).unwrap(), bundle("pdf", "two", &[]));
}

#[test]
fn damaged_history_is_left_alone() {
    let place = Fixture::new();
    let mut library = place.open();
    let first = put(&mut library, &bundle("pdf", "one", &[])).revision.id;
    put(&mut library, &bundle("pdf", "two", &[]));
    let digits = first.as_str();
    let file = place.own().join(format!("history.git/objects/{}/{}", &digits[..2], &digits[2..]));
    fs::remove_file(place.own().join("journal")).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&file, "damaged").unwrap();
    assert!(place.open().collect_garbage().is_err());
    assert!(file.exists() && packs(&place).is_empty());
}

#[test]
fn only_leftovers_of_dead_processes_go() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "one", &[]));
    let dead = i32::MAX;
    place.write(&format!(".skillhub-{dead}-0-0000/SKILL.md"), "staged");
    place.write(".skillhub-kept-1/SKILL.md", "mine");
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    let folder = fs::File::open(place.skills().join(format!(".skillhub-{dead}-0-0000"))).unwrap();
    folder.set_modified(long_ago).unwrap();
    for file in ["state.toml.1-0.tmp", "history.git/objects/pack/tmp_pack_x"] {
        let file = fs::File::create(place.own().join(file)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    fs::write(place.own().join("state.toml.2-0.tmp"), "of a process at work").unwrap();
    let collected = library.collect_garbage().unwrap();
    assert_eq!(collected.folders, [format!(".skillhub-{dead}-0-0000")]);
    assert_eq!(place.names(), [".skillhub-kept-1", "pdf"]);
    assert!(!place.own().join("state.toml.1-0.tmp").exists());
    assert!(!place.own().join("history.git/objects/pack/tmp_pack_x").exists());
    assert!(place.own().join("state.toml.2-0.tmp").exists());
}

#[test]
fn interrupted_log_rotation_loses_nothing() {
    let place = Fixture::new();
    let library = place.open();
    let note = |n: usize| {
        let message = format!("refusal {n} {}", "because ".repeat(20));
        library.record(&Event::refused(&stamp(), "pdf", "patch", "no_match", &message)).unwrap();
    };
    (0..200).for_each(note);
    let own = place.own();
    let read = || place.open().events().unwrap();
    let all = read();
    let dir = open_dir(&own).unwrap().unwrap();
    fs::rename(own.join("events.jsonl"), own.join("events.1.jsonl")).unwrap();
    assert_eq!(read(), all);
    let plain = fs::read(own.join("events.1.jsonl")).unwrap();
    events::rotate(&dir).unwrap();
    assert!(own.join("events.1.jsonl.gz").exists() && !own.join("events.1.jsonl").exists());
    assert_eq!(read(), all);
    fs::write(own.join("events.1.jsonl"), plain).unwrap();
    assert_eq!(read(), all, "of two forms one counts");
    (200..210).for_each(note);
    assert_eq!(read().0.len(), 210);
    events::rotate(&dir).unwrap();
    assert!(own.join("events.jsonl").exists(), "a short log stays");
    fs::write(own.join("events.1.jsonl.gz"), "damaged").unwrap();
    assert_eq!((read().0.len(), read().1), (10, 1), "damage is told");
    let mended = library.repair_events(stamp().time).unwrap();
    assert!(mended.dropped == 1 && mended.kept_as.starts_with("events.1.jsonl.gz"), "{mended:?}");
    assert_eq!((read().0.len(), read().1), (10, 0), "and put aside by doctor");
}

#[test]
fn concurrent_collection_loses_nothing() {
    let place = Fixture::new();
    let mut library = place.open();
    put(&mut library, &bundle("pdf", "start", &[]));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut library = place.open();
            for n in 0..30 {
                put(&mut library, &bundle("pdf", &n.to_string(), &[]));
                for m in 0..20 {
                    let message = format!("{n} {m} {}", "because ".repeat(10));
                    library.record(&Event::refused(&stamp(), "pdf", "patch", "no_match", &message)).unwrap();
                }
            }
        });
        let reader = scope.spawn(|| {
            for _ in 0..30 {
                let library = place.open();
                let revisions = library.revisions(&name("pdf"), usize::MAX).unwrap();
                library.bundle(&revisions[revisions.len() - 1].id).unwrap();
                assert_eq!(library.skills().unwrap().len(), 1);
            }
        });
        while !writer.is_finished() {
            place.open().collect_garbage().unwrap();
        }
        writer.join().unwrap();
        reader.join().unwrap();
    });
    let library = place.open();
    assert_eq!(library.revisions(&name("pdf"), usize::MAX).unwrap().len(), 31);
    assert_eq!((library.events().unwrap().0.len(), library.events().unwrap().1), (31 + 600, 0));
    assert_sound(&place);
}
