//! Tests for restoring the releases in a lock file.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::fs;

use client::{InstallError, InstallRequest, InstallStatus, LockFile, LockFileError};
use git2::{IndexEntry, IndexTime, Repository};
use library::{Action, LockLine, LockLines};
use skill::failure::{Fails, FailureKind};

use crate::support::{World, name, request, skill_md, write};

fn frozen(specs: &[&str]) -> InstallRequest {
    InstallRequest { frozen: true, ..request(specs) }
}

/// Deletes the library's history, as in a fresh clone of the project.
fn forget_history(world: &World) {
    fs::remove_dir_all(world.home.path().join("libraries")).unwrap();
}

#[test]
fn lock_file_restores_exact_versions() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf@^1");
    world.release("pdf", "1.1.0", "Two.");
    fs::remove_dir_all(world.library_path()).unwrap();
    forget_history(&world);
    let lock = world.lock_text();
    let results = world.install_with(&request(&[])).unwrap();
    assert_eq!((results[0].status, results[0].version.as_deref()), (InstallStatus::Installed, Some("1.0.0")));
    assert!(world.installed_text("pdf").contains("One."));
    assert_eq!(world.lock_text(), lock);
    assert!(lock.contains("requested = \"^1\"") && lock.contains("local = true"), "{lock}");
}

#[test]
fn install_without_lock_file_fails() {
    let world = World::new();
    let failure = world.install_with(&request(&[])).unwrap_err().failure();
    assert_eq!(failure.kind, FailureKind::NotFound);
}

#[test]
fn fresh_clone_keeps_evolved_content() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    write(&world.library_path().join("pdf/SKILL.md"), &skill_md("pdf", "Evolved."));
    world.install_one("acme/pdf");
    forget_history(&world);
    world.install_with(&frozen(&[])).unwrap();
    assert!(world.installed_text("pdf").contains("Evolved."));
    let history = world.library().revisions(&name("pdf"), 9).unwrap();
    assert_eq!(history.iter().map(|r| r.action).collect::<Vec<_>>(), [Action::External, Action::Install]);
    let origin = history[0].origin.clone().unwrap();
    assert_eq!((origin.name(), origin.digest().known()), ("acme/pdf".to_owned(), Some(history[1].digest)));
    assert!(world.lock_text().contains(&format!("content = \"{}\"", history[0].digest)));
}

#[test]
fn frozen_refuses_unknown_content() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    forget_history(&world);
    write(&world.library_path().join("pdf/SKILL.md"), &skill_md("pdf", "Slipped in."));
    let error = world.install_with(&frozen(&[])).unwrap_err();
    assert!(matches!(error, InstallError::LockDiffers { .. }), "{error}");
    assert_eq!(error.failure().kind, FailureKind::Integrity);
    assert!(world.library().head(&name("pdf")).unwrap().is_none(), "nothing was written");
}

#[test]
fn frozen_knows_a_folder_by_any_path() {
    let world = World::new();
    let folder = world.project().join("sources/notes");
    write(&folder.join("SKILL.md"), &skill_md("notes", "One."));
    let spec = folder.to_str().unwrap();
    world.install_one(spec);
    let other = format!("{spec}/../notes");
    assert_eq!(world.install_with(&frozen(&[&other])).unwrap()[0].status, InstallStatus::Unchanged);
    let error = world.install_with(&frozen(&[&format!("{spec}/..")])).unwrap_err();
    assert_eq!(error.failure().code, "lock_differs", "{error}");
}

#[test]
fn frozen_leaves_pending_lines_unwritten() {
    let world = World::new();
    for skill in ["pdf", "csv"] {
        world.release(skill, "1.0.0", "One.");
        world.install_one(&format!("acme/{skill}"));
    }
    let gone = LockLine { name: "acme/csv".to_owned(), text: None };
    world.library().keep_lock_lines(&LockLines { path: world.lock_path(), entries: vec![gone] }).unwrap();
    let lock = world.lock_text();
    world.install_with(&frozen(&[])).unwrap();
    assert_eq!(world.lock_text(), lock);
    assert_eq!(world.install_one("acme/pdf").status, InstallStatus::Unchanged);
    assert!(!world.lock_text().contains("acme/csv"), "a killed process had committed the removal");
}

/// `doctor` compares the lock file with the library, and finds what it lacks.
#[test]
fn damaged_pending_lines_are_deleted() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    fs::remove_file(world.lock_path()).unwrap();
    let library = world.library();
    let lines = library.own_path().join("lock-lines.json");
    fs::write(&lines, "\0\0\0").unwrap();
    client::write_pending_lines(&library).unwrap();
    assert!(!lines.exists());
    let drifts = client::drifts(&world.lock_path(), &library).unwrap();
    assert_eq!(drifts.iter().map(|drift| drift.name.as_str()).collect::<Vec<_>>(), ["acme/pdf"]);
}

#[test]
fn change_during_an_install_is_kept() {
    let world = World::new();
    for skill in ["pdf", "csv"] {
        world.release(skill, "1.0.0", "One.");
    }
    world.install_one("acme/csv@^1.0");
    let change = |_: &library::SkillChange<'_>| {
        write(&world.lock_path(), &world.lock_text().replace("^1.0", "^1.1"));
        Ok(())
    };
    world.install_under(&change, &request(&["acme/pdf"])).unwrap();
    let lock = world.lock_text();
    assert!(lock.contains("\"^1.1\"") && lock.contains("acme/pdf"), "{lock}");
    let damage = |_: &library::SkillChange<'_>| {
        write(&world.lock_path(), "format = 1\n<<<<<<< HEAD\n");
        Ok(())
    };
    world.uninstall("pdf").unwrap();
    let error = world.install_under(&damage, &request(&["acme/pdf"])).unwrap_err();
    assert_eq!(error.failure().code, "merge_conflict");
    assert!(world.library().head(&name("pdf")).unwrap().unwrap().tombstone, "nothing was committed");
}

#[test]
fn frozen_refuses_hand_edits() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    write(&world.library_path().join("pdf/SKILL.md"), &skill_md("pdf", "Edited."));
    let error = world.install_with(&frozen(&[])).unwrap_err();
    assert_eq!(error.failure().code, "lock_differs", "{error}");
    assert!(world.installed_text("pdf").contains("Edited."), "the edit stays");
    assert_eq!(world.library().revisions(&name("pdf"), 9).unwrap().len(), 1, "and is not taken over");
}

/// The release is not accepted in its place.
#[test]
fn frozen_requires_the_evolved_content() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    write(&world.library_path().join("pdf/SKILL.md"), &skill_md("pdf", "Evolved."));
    world.install_one("acme/pdf");
    fs::remove_dir_all(world.library_path()).unwrap();
    forget_history(&world);
    let error = world.install_with(&frozen(&[])).unwrap_err();
    assert_eq!(error.failure().code, "lock_differs", "{error}");
    assert!(!world.library_path().join("pdf").exists());
}

#[test]
fn frozen_installs_only_locked_skills() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.release("csv", "1.0.0", "One.");
    world.install_one("acme/pdf");
    assert_eq!(world.install_with(&frozen(&["acme/pdf"])).unwrap()[0].status, InstallStatus::Unchanged);
    for spec in ["acme/csv", "acme/pdf@^2"] {
        let error = world.install_with(&frozen(&[spec])).unwrap_err();
        assert_eq!((error.failure().kind, error.failure().code), (FailureKind::Integrity, "lock_differs"), "{spec}");
    }
    assert!(!world.library_path().join("csv").exists());
}

#[test]
fn lock_file_hashes_are_enforced() {
    let world = World::new();
    let published = world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    fs::remove_dir_all(world.library_path()).unwrap();
    forget_history(&world);
    let good = world.lock_text();
    let other = format!("sha256:{}", "0".repeat(64));
    for (field, value) in [("digest", published.digest.to_string()), ("archive", lock_value(&good, "archive"))] {
        fs::write(
            world.lock_path(),
            good.replace(&format!("{field} = \"{value}\""), &format!("{field} = \"{other}\"")),
        )
        .unwrap();
        assert_ne!(world.lock_text(), good);
        for request in [request(&[]), frozen(&[])] {
            let failed = match world.install_with(&request) {
                Ok(mut results) => results.remove(0).error.unwrap(),
                Err(error) => error,
            };
            assert_eq!(failed.failure().kind, FailureKind::Integrity, "{field}: {failed}");
        }
    }
    assert!(!world.library_path().join("pdf").exists());
}

fn lock_value(text: &str, field: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(&format!("{field} = "))).unwrap();
    line.split('"').nth(1).unwrap().to_owned()
}

#[test]
fn damaged_lock_file_is_never_overwritten() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    for (damaged, code) in [
        ("<<<<<<< HEAD\nformat = 1\n", "merge_conflict"),
        ("{\"version\":1}", "damaged_lock_file"),
        ("format = 99\n", "damaged_lock_file"),
    ] {
        fs::write(world.lock_path(), damaged).unwrap();
        let error = world.install_with(&request(&["acme/pdf"])).unwrap_err();
        assert_eq!(error.failure().code, code);
        assert_eq!(world.lock_text(), damaged);
    }
    assert!(!world.library_path().exists());
}

#[test]
fn missing_source_is_restored_from_cache() {
    let world = World::new();
    let folder = world.skill("pdf", "From a folder.");
    world.install_one(folder.to_str().unwrap());
    fs::remove_dir_all(&folder).unwrap();
    fs::remove_dir_all(world.library_path()).unwrap();
    forget_history(&world);
    let offline = InstallRequest { offline: true, ..frozen(&[]) };
    assert_eq!(world.install_with(&offline).unwrap()[0].status, InstallStatus::Installed);
    assert!(world.installed_text("pdf").contains("From a folder."));
}

#[test]
fn locked_content_follows_edits() {
    let world = World::new();
    world.release("pdf", "1.0.0", "One.");
    world.install_one("acme/pdf");
    write(&world.library_path().join("pdf/SKILL.md"), &skill_md("pdf", "Evolved."));
    let mut library = world.library();
    library.snapshot(&name("pdf"), &World::stamp(), library::HandEditMode::Commit).unwrap();
    assert!(LockFile::refresh(&world.lock_path(), &library, &name("pdf")).unwrap());
    let lock = LockFile::read(&world.lock_path()).unwrap();
    let head = library.head(&name("pdf")).unwrap().unwrap();
    let skill = lock.find(&name("pdf")).unwrap();
    assert_eq!(skill.content, Some(head.digest));
    assert_ne!(skill.content, skill.origin.digest().known());
    assert!(!LockFile::refresh(&world.lock_path(), &library, &name("csv")).unwrap());
}

/// Builds one side of a merge, with entries of 100 kB each.
fn large_side(letter: char) -> String {
    let place = "/x".repeat(50_000);
    let entry = |number| {
        format!(
            "\n[[skill]]\nname = \"{letter}{number}\"\nrequested = \"\"\nkind = \"folder\"\nsource = \"{place}\"\n\
             archive = \"\"\ndigest = \"unknown\"\ncontent = \"\"\nagents = []\nruleset = \"1\"\n"
        )
    };
    format!("format = 1\n{}", (0..22).map(entry).collect::<String>())
}

#[test]
fn oversized_merge_is_not_written() {
    let world = World::new();
    let repository = Repository::init(world.project()).unwrap();
    let mut index = repository.index().unwrap();
    for (stage, text) in [(2, large_side('a')), (3, large_side('b'))] {
        assert!(LockFile::parse(&text, &world.lock_path()).is_ok(), "each is read");
        let none = IndexTime::new(0, 0);
        let (id, path) = (repository.blob(text.as_bytes()).unwrap(), b"skillhub.lock".to_vec());
        let (dev, ino, uid, gid, file_size, flags_extended) = (0, 0, 0, 0, 0, 0);
        let (mode, flags, ctime, mtime) = (0o100_644, stage << 12, none, none);
        index
            .add(&IndexEntry { ctime, mtime, dev, ino, mode, uid, gid, file_size, id, flags, flags_extended, path })
            .unwrap();
    }
    index.write().unwrap();
    let begun = "format = 1\n<<<<<<< HEAD\n=======\n>>>>>>> other\n";
    write(&world.lock_path(), begun);
    let error = client::resolve_conflicts(&world.lock_path(), &world.library()).unwrap_err();
    assert!(matches!(&error, LockFileError::TooLarge { why, .. } if why.contains("the limit is 4194304")), "{error}");
    assert_eq!(error.failure().code, "too_large");
    assert_eq!(world.lock_text(), begun, "the file is as it was");
    write(&world.lock_path(), &format!("{begun}{}", " ".repeat(4 << 20)));
    let error = client::resolve_conflicts(&world.lock_path(), &world.library()).unwrap_err();
    assert!(error.to_string().contains("the limit of 4194304 bytes"), "{error}");
}
