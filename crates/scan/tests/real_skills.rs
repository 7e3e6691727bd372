//! Real public skills, lessons about security among them, are not blocked.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the folder of real skills")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use scan::{Finding, Report, Severity, scan};
use skill::{Bundle, File, Limits, SkillPath};

fn read(root: &Path, folder: &Path, files: &mut Vec<(SkillPath, File)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = SkillPath::parse(path.strip_prefix(root).unwrap().to_str().unwrap()).unwrap();
            files.push((name, File { bytes: fs::read(&path).unwrap().into(), executable: false }));
        }
    }
}

/// What is found in the skill in a folder.
fn report(skill: &Path) -> Report {
    let mut files = Vec::new();
    read(skill, skill, &mut files);
    scan(&Bundle::from_files(files, &Limits { files_per_skill: 10_000, ..Limits::default() }).unwrap())
}

/// The skills in a folder next to this crate that the scanner blocks, and why; `None` without the folder.
fn blocked_in(folder: &str) -> Option<Vec<(PathBuf, Vec<Finding>)>> {
    let mut blocked = findings_in(folder)?;
    for (_, found) in &mut blocked {
        found.retain(|finding| finding.severity >= Severity::High);
    }
    blocked.retain(|(_, found)| !found.is_empty());
    Some(blocked)
}

/// All that is found in each skill in a folder next to this crate.
fn findings_in(folder: &str) -> Option<Vec<(PathBuf, Vec<Finding>)>> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).ok()?;
    let skills: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    assert!(!skills.is_empty(), "{folder} holds skills");
    let found = skills.into_iter().map(|skill| {
        let report = report(&skill);
        (skill, report.findings)
    });
    Some(found.collect())
}

#[test]
fn no_real_skill_is_blocked() {
    match blocked_in("../../../shared/data/skills") {
        Some(blocked) => assert!(blocked.is_empty(), "{blocked:#?}"),
        None => println!("skipped: no folder of real skills next to the checkout"),
    }
}

/// Parts of the honest public skills, split by repository, that may be read, with the most of a thousand of their
/// skills that are blocked, and that are blocked or warned of.
const PARTS: [(&str, usize, usize); 2] = [("development", 20, 100), ("validation", 30, 100)];

#[test]
fn honest_skills_pass() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let (archive, list) = (data.join("honest-dev.tar.gz"), data.join("honest-dev.tsv"));
    if !archive.is_file() {
        println!("skipped: no archive of honest skills next to the checkout");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(folder.path()).status().unwrap();
    assert!(unpacked.success());
    let list = fs::read_to_string(list).unwrap();
    for (part, blocked, warned) in PARTS {
        let of_part = |line: &&str| line.strip_prefix(part).is_some_and(|rest| rest.starts_with('\t'));
        let parts = include_str!("data/parts.tsv").lines().filter(of_part);
        let repositories: Vec<&str> = parts.map(|line| line.split('\t').nth(1).unwrap()).collect();
        let rows = list.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
        let skills = rows.filter(|row| repositories.contains(&row[0])).map(|row| folder.path().join(row[3]));
        let worst: Vec<Option<Severity>> = skills.map(|skill| report(&skill).worst()).collect();
        let at_least = |severity| worst.iter().filter(|worst| **worst >= Some(severity)).count() * 1000 / worst.len();
        let shares = (at_least(Severity::High), at_least(Severity::Medium));
        println!("{part}: {} skills, {shares:?} of 1,000 blocked, and blocked or warned of", worst.len());
        assert!(worst.len() > 250 && shares.0 <= blocked && shares.1 <= warned, "{part}: {shares:?}");
    }
}

#[test]
fn no_skill_of_our_own_is_blocked() {
    let blocked = blocked_in("../../registry-index/seed").unwrap();
    assert!(blocked.is_empty(), "{blocked:#?}");
}

#[test]
fn no_code_of_a_real_skill_is_too_deep_or_too_much() {
    let cut = |finding: &Finding| matches!(finding.rule.as_ref(), "flow-too-deep" | "flow-too-much");
    match findings_in("../../../shared/data/skills") {
        Some(all) => all.iter().for_each(|(skill, found)| {
            assert!(!found.iter().any(cut), "{}: {found:#?}", skill.display());
        }),
        None => println!("skipped: no folder of real skills next to the checkout"),
    }
}
