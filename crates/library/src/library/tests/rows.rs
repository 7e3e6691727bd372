//! Listing long histories with and without the cache file.

use super::*;
use crate::{
    origin::{Origin, SourceDigest, SourceSkill},
    revision::Acceptance,
};

/// Number of revisions for which the cache file is written.
const MANY: usize = 270;

/// Creates a revision that differs from the previous ones in all fields of a row.
fn revision(number: usize) -> NewRevision {
    let text = |every: usize| number.is_multiple_of(every).then(|| format!("{every} in\n{number} \\ \u{7}é"));
    let actor = Actor::new([ActorKind::Agent, ActorKind::Person][number % 2], format!("ann {}", number % 7));
    let time =
        Timestamp::from_second(1_700_000_000 + number as i64 * if number.is_multiple_of(5) { -90_000 } else { 61 });
    let stamp = Stamp { reason: text(3), run: text(4), thread: text(5), ..Stamp::new(actor, time.unwrap()) };
    let files = bundle("pdf", &number.to_string(), &[("references/a.md", "a")][..number % 2]);
    let content = match number % 9 {
        7 if number + 1 < MANY => Content::Tombstone,
        8 if number + 1 < MANY => Content::Captured(scan::capture(files.clone(), &scan::Scanner::default())),
        _ => cleared(&files),
    };
    let origin = number.is_multiple_of(6).then(|| {
        let version = number.is_multiple_of(4).then(|| "1.0.0".into());
        let skill = SourceSkill { name: name("pdf"), version, digest: SourceDigest::Known(files.digest()) };
        Origin::Folder { path: "/r\"".into(), skill }
    });
    let reviewer = Actor::new(ActorKind::Person, "bo");
    let edited_by = number.is_multiple_of(16).then(|| Actor::new(ActorKind::Person, "cy"));
    let proposal = format!("k{number}");
    let acceptance = number.is_multiple_of(8).then_some(Acceptance { proposal, reviewer, edited_by });
    let absorbed_into = number.is_multiple_of(10).then(|| "other".to_owned());
    NewRevision { absorbed_into, acceptance, ..NewRevision::new(content, Action::Edit, stamp).with_origin(origin) }
}

fn commit(library: &mut Library, revisions: Vec<NewRevision>) {
    let base = library.head(&name("pdf")).unwrap().map(|head| head.id);
    library.commit(vec![Commit { skill: name("pdf"), base, revisions }]).unwrap();
}

fn long_history() -> Fixture {
    let place = Fixture::new();
    commit(&mut place.open(), (1..=MANY).map(revision).collect());
    place
}

fn listed(place: &Fixture, limit: usize) -> Vec<Revision> {
    place.open().revisions(&name("pdf"), limit).unwrap()
}

/// Reads the revisions from the history itself, without the cache.
fn walked(place: &Fixture) -> Vec<Revision> {
    place.open().walk(&name("pdf")).collect::<Result<_, _>>().unwrap()
}

fn file_of(place: &Fixture) -> PathBuf {
    place.own().join("revisions/pdf")
}

#[test]
fn listing_agrees_with_the_history() {
    let place = long_history();
    let (all, file) = (walked(&place), file_of(&place));
    assert_eq!(listed(&place, MANY - 1), all[..MANY - 1], "not from the first on");
    assert!(!file.exists(), "a part of a history makes no file");
    assert_eq!(listed(&place, usize::MAX), all);
    let whole = fs::read(&file).unwrap();
    for limit in [1, 249, 251, MANY, usize::MAX] {
        assert_eq!(listed(&place, limit), all[..limit.min(MANY)]);
    }
    commit(&mut place.open(), (1..=70).map(revision).collect());
    let all = walked(&place);
    for limit in [260, 300, MANY + 70] {
        assert_eq!(listed(&place, limit), all[..limit], "the file is behind");
    }
    assert_ne!(fs::read(&file).unwrap(), whole, "it is brought up to date");
    assert_eq!(listed(&place, usize::MAX), all);
}

#[test]
fn cached_revisions_are_not_read() {
    let place = long_history();
    let all = listed(&place, usize::MAX);
    let of =
        |id: &RevisionId| place.own().join(format!("history.git/objects/{}/{}", &id.as_str()[..2], &id.as_str()[2..]));
    fs::remove_file(of(&all[MANY / 2].id)).unwrap();
    assert_eq!(listed(&place, usize::MAX), all);
    fs::remove_file(file_of(&place)).unwrap();
    assert!(place.open().revisions(&name("pdf"), usize::MAX).is_err(), "it would have been read");
}

#[test]
fn damaged_cache_is_rebuilt() {
    let place = long_history();
    let (all, file) = (listed(&place, usize::MAX), file_of(&place));
    let whole = fs::read(&file).unwrap();
    for at in [0, 10, 20, 30, 200, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        for damaged in [damaged, whole[..at].to_vec()] {
            fs::write(&file, damaged).unwrap();
            assert_eq!(listed(&place, usize::MAX), all, "at {at}");
            assert_eq!(fs::read(&file).unwrap(), whole, "it is made again");
        }
    }
}

#[test]
fn mismatched_cache_is_ignored() {
    let place = long_history();
    let old = listed(&place, usize::MAX);
    place.git(&["update-ref", "refs/skills/pdf", old[10].id.as_str()]);
    assert_eq!(listed(&place, usize::MAX), old[10..], "ahead of the head");
    place.write("pdf/SKILL.md", "");
    fs::remove_dir_all(place.skills().join("pdf")).unwrap();
    commit(&mut place.open(), (500..=505).map(revision).collect());
    let all = walked(&place);
    assert_ne!(all[0].id, old[4].id);
    assert_eq!(listed(&place, usize::MAX), all, "other revisions of the same numbers");

    let other = Fixture::new();
    commit(&mut other.open(), (2..=MANY + 1).map(revision).collect());
    listed(&other, usize::MAX);
    fs::copy(file_of(&other), file_of(&place)).unwrap();
    assert_eq!(listed(&place, usize::MAX), all, "a whole file of another history");
}

#[cfg(unix)]
#[test]
fn unwritable_cache_does_not_block_listing() {
    let place = long_history();
    fs::write(place.own().join("revisions"), "in the way").unwrap();
    assert_eq!(listed(&place, usize::MAX), walked(&place));
}
