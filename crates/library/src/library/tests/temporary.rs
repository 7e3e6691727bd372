//! Temporary folders left by a killed process, including those with hand edits.

use std::{
    process::Command,
    time::{Duration, SystemTime},
};

use super::*;
use crate::checkout::{self, KEPT, temporary_name_again};

fn pdf(body: &str) -> Bundle {
    bundle("pdf", body, &[("notes.md", body)])
}

/// Returns a temporary name made by a process that has ended.
fn name_of_the_dead() -> String {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    checkout::temporary_name().replacen(&std::process::id().to_string(), &child.id().to_string(), 1)
}

/// Commits `pdf` with this body up to the point at which a process dies while it checks the displaced folder. Returns
/// the name of that folder.
fn dies_after_the_swap(place: &Fixture, body: &str, edit: impl FnOnce()) -> String {
    let staged = dies_before_the_swap(place, body, edit);
    checkout::swap(&name("pdf"), staged).unwrap().unwrap().name().to_owned()
}

/// Commits up to the point at which a process dies right after the record was synced.
fn dies_before_the_swap(place: &Fixture, body: &str, edit: impl FnOnce()) -> checkout::Staged {
    let mut library = place.open();
    let base = library.head(&name("pdf")).unwrap().map(|head| head.id);
    let commit = change(&name("pdf"), base, &pdf(body));
    let root = library.writable_root().unwrap();
    let follow = vec![library.stage(&root, &commit).unwrap()];
    let own = library.locked().unwrap();
    let mut journal = library.journal(&own).unwrap();
    library.commit_under_lock(&own, &mut journal, commit.into(), &follow).unwrap();
    edit();
    let Some(commit::CheckoutPlan::Swap(staged)) = follow.into_iter().next() else { panic!() };
    staged
}

fn age(place: &Fixture, name: &str) {
    let folder = fs::File::open(place.skills().join(name)).unwrap();
    folder.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
}

#[test]
fn displaced_hand_edit_becomes_revision() {
    for reboots in [false, true] {
        let place = Fixture::new();
        put(&mut place.open(), &pdf("one"));
        dies_after_the_swap(&place, "two", || place.write("pdf/notes.md", "by hand"));
        if reboots {
            fs::remove_file(place.own().join("journal.applied")).unwrap();
        }
        let library = place.open();
        assert_eq!(actions(&library, "pdf"), [Action::Edit, Action::Edit, Action::External, Action::Edit]);
        let kept = library.find(&name("pdf"), &RevisionSpec::Head(1), "head~1").unwrap();
        let path = SkillPath::parse("notes.md").unwrap();
        assert_eq!(library.bundle(&kept.id).unwrap().get(&path).unwrap().text(), Some("by hand"));
        assert_eq!((place.read("pdf/notes.md").as_str(), place.names()), ("two", vec!["pdf".to_owned()]));
        assert!(is_clean(&library, "pdf") && !place.open().has_pending_operations().unwrap());
        assert_eq!(library.events().unwrap().0.len(), 4);
    }
}

#[test]
fn displaced_edit_never_replaces_later_edit() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    dies_after_the_swap(&place, "two", || place.write("pdf/notes.md", "by hand"));
    place.write("pdf/notes.md", "later");
    let library = place.open();
    assert_eq!(actions(&library, "pdf"), [Action::Edit, Action::Edit, Action::External, Action::Edit]);
    assert!(matches!(library.folder_state(&name("pdf")).unwrap(), FolderState::Modified(_)));
    assert_eq!((place.read("pdf/notes.md").as_str(), place.names()), ("later", vec!["pdf".to_owned()]));
}

#[cfg(unix)]
#[test]
fn unreadable_displaced_folder_is_kept() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    let link = place.skills().join("pdf/link");
    let name = dies_after_the_swap(&place, "two", || std::os::unix::fs::symlink("/etc/passwd", link).unwrap());
    let kept = name.replace(".skillhub-", KEPT);
    let mut library = place.open();
    assert_eq!(place.names(), [kept.clone(), "pdf".to_owned()]);
    assert!(place.read(&format!("{kept}/SKILL.md")).contains("one") && is_clean(&library, "pdf"));
    age(&place, &kept);
    assert_eq!(library.temporary_kind(&kept).unwrap(), Some(TemporaryKind::Kept));
    assert!(!library.remove_leftover(&kept).unwrap());
    put(&mut library, &pdf("three"));
    assert!(place.skills().join(&kept).exists(), "nothing takes it away");
}

#[test]
fn displaced_former_state_is_removed() {
    for (half, edited) in [(false, false), (true, false), (false, true), (true, true)] {
        let place = Fixture::new();
        put(&mut place.open(), &pdf("one"));
        let edit = || {
            if edited {
                place.write("pdf/notes.md", "by hand")
            }
        };
        let temporary = dies_after_the_swap(&place, "two", edit);
        let mut revisions = 2;
        if edited {
            let saved = place.save();
            drop(place.open());
            let journaled = fs::read(place.own().join("journal")).unwrap();
            place.restore(&saved);
            fs::write(place.own().join("journal"), journaled).unwrap();
            revisions = 4;
        }
        if half {
            let gone = place.skills().join(format!("{temporary}-gone"));
            fs::rename(place.skills().join(&temporary), &gone).unwrap();
            fs::remove_file(gone.join("SKILL.md")).unwrap();
        }
        let library = place.open();
        assert_eq!((actions(&library, "pdf").len(), place.names()), (revisions, vec!["pdf".to_owned()]));
        assert!(!place.open().has_pending_operations().unwrap());
    }
}

#[test]
fn displaced_tool_files_return_to_skill() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    dies_after_the_swap(&place, "two", || place.write("pdf/.git/HEAD", "ref: refs/heads/main"));
    drop(place.open());
    assert_eq!((place.read("pdf/.git/HEAD").as_str(), place.names()), ("ref: refs/heads/main", vec!["pdf".to_owned()]));
}

#[test]
fn killed_recovery_loses_no_edit() {
    for (text, revisions) in [("by hand", 4), ("tw", 2), ("two", 2)] {
        let place = Fixture::new();
        put(&mut place.open(), &pdf("one"));
        dies_after_the_swap(&place, "two", || {});
        place.write(&format!("{}/notes.md", temporary_name_again("pdf")), text);
        place.write(&format!("{}-old/notes.md", temporary_name_again("pdf")), text);
        let library = place.open();
        assert_eq!((actions(&library, "pdf").len(), place.names()), (revisions, vec!["pdf".to_owned()]), "{text}");
    }
}

#[test]
fn staged_folder_is_not_an_edit() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    let dead = name_of_the_dead();
    place.write(&format!("{dead}/SKILL.md"), &skill_md("pdf", "never committed"));
    dies_after_the_swap(&place, "two", || {});
    let mut library = place.open();
    assert_eq!(actions(&library, "pdf"), [Action::Edit, Action::Edit]);
    assert_eq!(library.temporary_kind(&dead).unwrap(), Some(TemporaryKind::Leftover));
    assert!(library.remove_leftover(&dead).unwrap());
    assert_eq!(place.names(), ["pdf"]);
}

#[test]
fn commit_removes_only_old_leftovers() {
    let place = Fixture::new();
    let mut library = place.open();
    let (dead, alive) = (name_of_the_dead(), checkout::temporary_name());
    let elsewhere = ".skillhub-999999999.00000000-0-0123abcd".to_owned();
    let foreign = [".skillhub-notes".to_owned(), format!("{dead}-file")];
    for folder in [&dead, &alive, &elsewhere, &foreign[0]] {
        place.write(&format!("{folder}/SKILL.md"), "part of it");
    }
    place.write(&foreign[1], "a file");
    let kinds = |library: &Library| {
        [&dead, &alive, &elsewhere, &foreign[0], &foreign[1]].map(|n| library.temporary_kind(n).unwrap())
    };
    let [leftover, in_use, strange] = [TemporaryKind::Leftover, TemporaryKind::InUse, TemporaryKind::Foreign].map(Some);
    put(&mut library, &pdf("one"));
    assert_eq!(kinds(&library), [leftover, in_use, in_use, strange, strange]);
    for kept in [&alive, &elsewhere, &foreign[0]] {
        assert!(!library.remove_leftover(kept).unwrap());
    }
    assert_eq!(library.collect_garbage().unwrap().folders, std::slice::from_ref(&dead));
    place.write(&format!("{dead}/SKILL.md"), "part of it");
    [&dead, &alive, &elsewhere, &foreign[0], &foreign[1]].into_iter().for_each(|name| age(&place, name));
    assert_eq!(
        kinds(&library),
        [leftover, leftover, leftover, strange, strange],
        "a number says nothing after so long"
    );
    put(&mut library, &pdf("two"));
    assert_eq!(kinds(&library), [None, None, None, strange, strange]);
}

#[test]
fn displaced_deletion_becomes_revision() {
    let place = Fixture::new();
    put(&mut place.open(), &pdf("one"));
    dies_after_the_swap(&place, "two", || fs::remove_file(place.skills().join("pdf/notes.md")).unwrap());
    let library = place.open();
    assert_eq!(actions(&library, "pdf"), [Action::Edit, Action::Edit, Action::External, Action::Edit]);
    let kept = library.find(&name("pdf"), &RevisionSpec::Head(1), "head~1").unwrap();
    assert_eq!(library.bundle(&kept.id).unwrap().len(), 1, "without the file that was taken away");
}

#[test]
fn half_moved_folder_is_recovered() {
    let files = ["SKILL.md", "notes.md", ".git/HEAD"];
    for (moved, reboots, edits) in
        (0..8).flat_map(|moved| [(moved, false, false), (moved, true, false), (moved, false, true)])
    {
        let place = Fixture::new();
        put(&mut place.open(), &pdf("one"));
        place.write("pdf/.git/HEAD", "ref: refs/heads/main");
        let edit = || {
            if edits {
                place.write("pdf/notes.md", "by hand")
            }
        };
        let staged = dies_before_the_swap(&place, "two", edit);
        let part = format!("{}-old-part", staged.name().unwrap());
        std::mem::forget(staged);
        for (_, file) in files.iter().enumerate().filter(|(at, _)| moved & 1 << at != 0) {
            let to = place.skills().join(&part).join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::rename(place.skills().join("pdf").join(file), to).unwrap();
        }
        if reboots {
            fs::remove_file(place.own().join("journal.applied")).unwrap();
        }
        // If nothing was moved yet, the edit is in the folder itself and is found by comparing it.
        if edits && moved == 0 {
            continue;
        }
        let library = place.open();
        let all = [Action::Edit, Action::Edit, Action::External, Action::Edit];
        let expected = if edits { &all[..] } else { &all[..2] };
        assert_eq!(actions(&library, "pdf"), expected, "{moved} {reboots} {edits}");
        assert_eq!((place.read("pdf/notes.md").as_str(), place.names()), ("two", vec!["pdf".to_owned()]));
        assert_eq!(place.read("pdf/.git/HEAD"), "ref: refs/heads/main");
        assert!(is_clean(&library, "pdf") && !place.open().has_pending_operations().unwrap());
    }
}
