//! Concurrent writers and readers. Threads act as processes, each with its own open library.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::*;

const WRITERS: usize = 2;
const COMMITS: usize = 20;

/// Adds one file on top of the head, retrying after lost races.
fn add(library: &mut Library, skill: &SkillName, path: &str) -> RevisionId {
    loop {
        let seen = match library.snapshot(skill, &stamp(), HandEditMode::Commit) {
            Ok(seen) => seen,
            Err(SnapshotError::Commit(error)) if matches!(*error, CommitError::Stale { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let files = if seen.exists() { seen.bundle } else { bundle(skill.as_str(), "x", &[]) };
        let files = files.with_file(SkillPath::parse(path).unwrap(), file(path, false), &Limits::default()).unwrap();
        match library.commit(vec![change(skill, seen.base.map(|base| base.id), &files)]) {
            Ok(committed) => {
                assert_eq!(committed[0].checkout, Checkout::Done);
                return committed[0].revision.id.clone();
            }
            Err(CommitError::Stale { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn write_from_all(place: &Fixture, skill_of: impl Fn(usize) -> String + Sync) -> Vec<Vec<RevisionId>> {
    let write = |writer: usize| {
        let (mut library, skill) = (place.open(), name(&skill_of(writer)));
        (0..COMMITS).map(|n| add(&mut library, &skill, &format!("notes/{writer}-{n}.md"))).collect()
    };
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    })
}

/// Asserts that the history consists of the reported revisions, each once, in each writer's order.
fn assert_all_there(library: &Library, skill: &str, reported: &[&Vec<RevisionId>]) {
    let history: Vec<RevisionId> =
        library.revisions(&name(skill), usize::MAX).unwrap().into_iter().rev().map(|r| r.id).collect();
    assert_eq!(history.len(), reported.iter().map(|ids| ids.len()).sum::<usize>(), "no revision that nobody made");
    for ids in reported {
        let places: Vec<usize> = ids.iter().map(|id| history.iter().position(|known| known == id).unwrap()).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    }
    let head = library.bundle(history.last().unwrap()).unwrap();
    assert_eq!(head.len(), history.len() + 1, "no commit undid another");
    assert!(is_clean(library, skill));
}

#[test]
fn writers_of_one_skill_lose_nothing() {
    let place = Fixture::new();
    let reported = write_from_all(&place, |_| "pdf".to_owned());
    let library = place.open();
    assert_all_there(&library, "pdf", &reported.iter().collect::<Vec<_>>());
    assert_eq!(place.names(), ["pdf"]);
    place.git(&["fsck", "--strict"]);
}

#[test]
fn writers_of_several_skills_lose_nothing() {
    let place = Fixture::new();
    let reported = write_from_all(&place, |writer| format!("skill-{writer}"));
    let library = place.open();
    for (writer, ids) in reported.iter().enumerate() {
        assert_all_there(&library, &format!("skill-{writer}"), &[ids]);
    }
    let operations: std::collections::BTreeSet<_> =
        library.events().unwrap().0.into_iter().map(|event| event.operation).collect();
    assert_eq!(operations.len(), WRITERS * COMMITS);
}

#[test]
fn readers_see_only_whole_revisions() {
    let place = Fixture::new();
    put(&mut place.open(), &bundle("pdf", "x", &[]));
    let done = AtomicBool::new(false);
    let read = || {
        let (mut seen, long_lived) = (0, place.open());
        while !done.load(Ordering::Relaxed) {
            for library in [&place.open(), &long_lived] {
                let head = library.head(&name("pdf")).unwrap().unwrap();
                assert!(head.number >= seen, "a head never goes back");
                assert_eq!(library.bundle(&head.id).unwrap().digest(), head.digest);
                seen = head.number;
            }
            let state = long_lived.folder_state(&name("pdf")).unwrap();
            assert!(matches!(state, FolderState::Clean), "{state:?}");
        }
        seen
    };
    thread::scope(|scope| {
        let reader = scope.spawn(read);
        let mut library = place.open();
        for n in 0..COMMITS {
            add(&mut library, &name("pdf"), &format!("notes/{n}.md"));
            if n % 5 == 4 {
                library.checkpoint(&library.locked().unwrap()).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

/// A commit is recorded before its folder is updated. Readers wait for the running commit.
#[test]
fn lagging_folder_is_not_an_edit() {
    let place = Fixture::new();
    put(&mut place.open(), &bundle("pdf", "one", &[]));
    put(&mut place.open(), &bundle("pdf", "two", &[]));
    let committing = LibraryLock::acquire(&open_dir(&place.own()).unwrap().unwrap(), Duration::ZERO).unwrap();
    let applied = fs::read(place.own().join("journal.applied")).unwrap();
    fs::remove_file(place.own().join("journal.applied")).unwrap();
    place.write("pdf/SKILL.md", &skill_md("pdf", "one"));
    thread::scope(|scope| {
        let look = scope.spawn(|| place.open().snapshot(&name("pdf"), &stamp(), HandEditMode::Commit).unwrap());
        let state = scope.spawn(|| is_clean(&place.open(), "pdf"));
        thread::sleep(Duration::from_millis(200));
        place.write("pdf/SKILL.md", &skill_md("pdf", "two"));
        fs::write(place.own().join("journal.applied"), applied).unwrap();
        drop(committing);
        assert_eq!(look.join().unwrap().base.unwrap().number, 2);
        assert!(state.join().unwrap());
    });
    assert_eq!(actions(&place.open(), "pdf"), [Action::Edit, Action::Edit]);
}
