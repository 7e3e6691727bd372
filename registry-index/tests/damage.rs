//! What `verify` finds, and what readers do with a damaged index.

use registry_index::{FaultKind, FetchError, Index, ReadError};
use tempfile::TempDir;

use crate::support::*;

fn published() -> (TempDir, Index) {
    let (dir, index) = index();
    publish(&index, "acme/forms@1.0.0", "one").unwrap();
    publish(&index, "acme/forms@1.1.0", "two").unwrap();
    assert_eq!(index.verify().unwrap(), []);
    (dir, index)
}

/// The kinds of the faults after a change of the file of `acme/forms`.
fn faults_after(change: impl Fn(String) -> String) -> Vec<String> {
    let (dir, index) = published();
    tamper(&dir, |copy| {
        let path = copy.join("fo/rm/forms/acme");
        std::fs::write(&path, change(std::fs::read_to_string(&path).unwrap())).unwrap();
    });
    index.verify().unwrap().iter().map(ToString::to_string).collect()
}

/// Replaces the packs of an index by loose objects.
fn unpack(index: &Index) {
    let aside = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(index.dir().join("objects/pack")).unwrap().map(|file| file.unwrap().path()) {
        std::fs::rename(&file, aside.path().join(file.file_name().unwrap())).unwrap();
    }
    for pack in std::fs::read_dir(aside.path()).unwrap().map(|file| file.unwrap().path()) {
        if pack.extension().is_some_and(|end| end == "pack") {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(index.dir()).args(["unpack-objects", "-q"]);
            assert!(command.stdin(std::fs::File::open(&pack).unwrap()).status().unwrap().success());
        }
    }
}

fn has(faults: &[String], text: &str) -> bool {
    faults.iter().any(|fault| fault.contains(text))
}

#[test]
fn verify_locates_damaged_lines() {
    let faults = faults_after(|text| text.replace("\"version\":\"1.1.0\"", "\"version\":11"));
    assert!(has(&faults, "fo/rm/forms/acme:2: the entry is damaged"), "{faults:?}");
}

#[test]
fn misplaced_and_duplicate_lines_are_found() {
    let faults = faults_after(|text| text.replace("acme/forms", "acme/other"));
    assert!(has(&faults, ":1: the entry belongs to acme/other"), "{faults:?}");
    let faults = faults_after(|text| format!("{text}{}\n", text.lines().next().unwrap()));
    assert!(has(&faults, ":3: the version 1.0.0 has more than one entry"), "{faults:?}");
}

#[test]
fn readers_reject_misplaced_lines() {
    let (dir, index) = published();
    tamper(&dir, |copy| {
        let path = copy.join("fo/rm/forms/acme");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(
            &path,
            text.replace("\"acme/forms\",\"version\":\"1.1.0\"", "\"zoe/forms\",\"version\":\"1.1.0\""),
        )
        .unwrap();
    });
    for read in [index.releases(&"acme/forms".parse().unwrap()).map(drop), index.all().map(drop)] {
        let error = read.unwrap_err();
        assert!(matches!(&error, ReadError::Line { line: 2, .. }), "{error}");
        assert!(error.to_string().contains("the entry belongs to zoe/forms"), "{error}");
    }
}

/// Its compressed object in git is far smaller.
#[test]
fn oversized_file_is_not_loaded() {
    let (dir, index) = published();
    tamper(&dir, |copy| std::fs::write(copy.join("fo/rm/forms/acme"), vec![b'\n'; (64 << 20) + 1]).unwrap());
    let error = index.releases(&"acme/forms".parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("the limit is"), "{error}");
}

/// The newest state alone is sound.
#[test]
fn rewritten_history_is_found() {
    for taken in [
        faults_after(|text| text.lines().take(1).map(|line| format!("{line}\n")).collect()),
        faults_after(|text| text.replace("Fills forms.", "Fills nothing.")),
        faults_after(|text| text.lines().rev().map(|line| format!("{line}\n")).collect()),
    ] {
        assert!(has(&taken, "changed or removed a line"), "{taken:?}");
    }
}

#[test]
fn wrong_sizes_and_counts_are_found() {
    let faults = faults_after(|text| text.replace("\"files\":2", "\"files\":3"));
    assert!(has(&faults, "files 2 instead of 3"), "{faults:?}");
    let faults = faults_after(|text| text.replace("\"size\":", "\"size\":1"));
    assert!(has(&faults, " bytes instead of 1"), "{faults:?}");
}

#[test]
fn tampered_archive_is_never_served() {
    let (dir, index) = published();
    let entry = index.all().unwrap().remove(0);
    tamper(&dir, |copy| {
        let hex = entry.digest.hex();
        let path = copy.join(format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]));
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(3).position(|window| window == b"two").unwrap();
        bytes[at..at + 3].copy_from_slice(b"owt");
        std::fs::write(path, bytes).unwrap();
    });
    assert!(matches!(index.bundle(&entry), Err(FetchError::Integrity { .. })));
    let faults = index.verify().unwrap();
    assert!(faults.iter().any(|fault| matches!(fault.kind, FaultKind::WrongBundle { .. })), "{faults:?}");
    assert!(faults.iter().any(|fault| matches!(fault.kind, FaultKind::Rewritten { .. })), "{faults:?}");
}

#[test]
fn missing_and_stray_files_are_found() {
    let (dir, index) = published();
    let entry = index.all().unwrap().remove(0);
    tamper(&dir, |copy| {
        let hex = entry.digest.hex();
        let path = copy.join(format!("bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]));
        std::fs::rename(path, copy.join("bundles/stray.skill")).unwrap();
        std::fs::remove_file(copy.join("owners/acme.json")).unwrap();
        std::fs::write(copy.join("fo/rm/forms/READ.ME"), "x").unwrap();
    });
    assert!(matches!(index.bundle(&entry), Err(FetchError::Missing { .. })));
    let faults: Vec<_> = index.verify().unwrap().into_iter().map(|fault| fault.to_string()).collect();
    for expected in [
        "the archive of acme/forms 1.1.0 is missing",
        "bundles/stray.skill: the archive does not belong to a release",
        "the owner acme has no file",
        "fo/rm/forms/READ.ME: the file does not belong to a skill",
        "removed an archive without a withdrawal",
    ] {
        assert!(has(&faults, expected), "{expected}: {faults:?}");
    }
}

#[test]
fn damaged_line_affects_one_skill() {
    let (dir, index) = published();
    tamper(&dir, |copy| std::fs::write(copy.join("fo/rm/forms/acme"), "{\"v\":1}\n").unwrap());
    assert!(matches!(index.releases(&name("acme/forms")), Err(ReadError::Line { line: 1, .. })));
    assert!(publish(&index, "acme/forms@2.0.0", "three").is_err());
    publish(&index, "acme/other@1.0.0", "four").unwrap();
}

#[test]
fn lost_object_is_an_error() {
    let (_dir, index) = published();
    let entry = index.all().unwrap().remove(0);
    let hex = entry.digest.hex();
    let path = format!("main:bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]);
    let id = git(index.dir(), &["rev-parse", &path]).trim().to_owned();
    unpack(&index);
    std::fs::remove_file(index.dir().join("objects").join(&id[..2]).join(&id[2..])).unwrap();
    let index = Index::open(index.dir()).unwrap();
    assert!(matches!(index.bundle(&entry), Err(FetchError::Read(_))));
    assert!(index.verify().unwrap().iter().any(|fault| matches!(fault.kind, FaultKind::NoBundle(_))));
}
