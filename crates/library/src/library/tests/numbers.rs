//! Lookup of revisions by number, distance and prefix, with and without the index file.

use super::*;

/// Number of revisions for which the index file is written.
const MANY: usize = 70;

/// Creates a library with [`MANY`] revisions of one skill and returns their ids.
fn long_history() -> (Fixture, Vec<RevisionId>) {
    let place = Fixture::new();
    let mut library = place.open();
    let ids = (0..MANY).map(|n| put(&mut library, &bundle("pdf", &n.to_string(), &[])).revision.id).collect();
    (place, ids)
}

fn find(place: &Fixture, text: &str) -> Result<RevisionId, FindError> {
    place.open().find(&name("pdf"), &text.parse().unwrap(), text).map(|revision| revision.id)
}

/// Looks up revisions by every kind of spec.
fn assert_all_found(place: &Fixture, ids: &[RevisionId]) {
    for place_of in [0, 1, ids.len() / 2, ids.len() - 2, ids.len() - 1] {
        let id = &ids[place_of];
        let steps = format!("head~{}", ids.len() - 1 - place_of);
        for text in [id.as_str(), &id.as_str()[..20], &(place_of + 1).to_string(), &steps] {
            assert_eq!(find(place, text).unwrap(), *id, "{text}");
        }
    }
    for text in [&(ids.len() + 1).to_string(), &format!("head~{}", ids.len()), &"0".repeat(40)] {
        assert!(matches!(find(place, text), Err(FindError::NoRevision { .. })), "{text}");
    }
}

#[test]
fn damaged_number_index_changes_no_result() {
    let (place, ids) = long_history();
    let file = place.own().join("numbers/pdf");
    fs::remove_file(&file).unwrap();
    assert_all_found(&place, &ids);
    let whole = fs::read(&file).unwrap();
    assert!(whole.len() < MANY * 20 + 64, "20 bytes a revision");
    assert_all_found(&place, &ids);
    assert_eq!(fs::read(&file).unwrap(), whole);
    for at in [0, 15, 40, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        for damaged in [damaged, whole[..at].to_vec()] {
            fs::write(&file, damaged).unwrap();
            assert_all_found(&place, &ids);
            assert_eq!(fs::read(&file).unwrap(), whole, "it is made again");
        }
    }
}

#[test]
fn lookup_skips_the_revisions_between() {
    let (place, ids) = long_history();
    assert_eq!(find(&place, "2").unwrap(), ids[1]);
    let between = ids[MANY / 2].as_str();
    fs::remove_file(place.own().join(format!("history.git/objects/{}/{}", &between[..2], &between[2..]))).unwrap();
    assert_eq!(find(&place, "2").unwrap(), ids[1]);
    fs::remove_dir_all(place.own().join("numbers")).unwrap();
    assert!(matches!(find(&place, "2"), Err(FindError::Storage(_))), "it would have been met on the way");
}

#[test]
fn mismatched_number_index_is_ignored() {
    let (place, mut ids) = long_history();
    find(&place, "1").unwrap();
    let old = ids[MANY - 10].to_string();
    place.git(&["update-ref", "refs/skills/pdf", &old]);
    assert_all_found(&place, &ids[..MANY - 9]);
    ids.truncate(MANY - 9);
    let mut library = place.open();
    place.write("pdf/SKILL.md", &skill_md("pdf", &(MANY - 10).to_string()));
    ids.extend((0..5).map(|n| put(&mut library, &bundle("pdf", &format!("other {n}"), &[])).revision.id));
    assert_all_found(&place, &ids);
}

#[cfg(unix)]
#[test]
fn read_only_home_can_be_searched() {
    use std::os::unix::fs::PermissionsExt;
    let (place, ids) = long_history();
    fs::remove_dir_all(place.own().join("numbers")).unwrap();
    fs::write(place.own().join("numbers"), "in the way").unwrap();
    assert_all_found(&place, &ids);
    fs::remove_file(place.own().join("numbers")).unwrap();
    fs::set_permissions(place.own(), fs::Permissions::from_mode(0o500)).unwrap();
    assert_all_found(&place, &ids);
    fs::set_permissions(place.own(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Creates the long histories for `bench/scale.py`: `SKILLHUB_PLACE` is their folder and `SKILLHUB_REVISIONS` the
/// number of revisions. Without them, a few revisions are created in a temporary folder.
#[test]
fn history_has_the_requested_length() {
    let temp = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("SKILLHUB_PLACE").map_or_else(|| temp.path().to_owned(), PathBuf::from);
    let count = std::env::var("SKILLHUB_REVISIONS").map_or(3, |count| count.parse().unwrap());
    let home = Home::at(folder.join("home")).unwrap();
    let mut library = Library::open(&folder.join("skills"), Scope::Project, &home, "git").unwrap();
    let around = "Some text that stays, which has a few words.\n".repeat(20);
    let mut base = None;
    for state in 1..=count {
        let bundle = bundle("long", &format!("{around}\nstate {state}\n{around}"), &[]);
        let committed = library.commit(vec![change(&name("long"), base, &bundle)]).unwrap().remove(0);
        base = Some(committed.revision.id);
    }
    assert_eq!(library.revisions(&name("long"), usize::MAX).unwrap().len(), count);
}
