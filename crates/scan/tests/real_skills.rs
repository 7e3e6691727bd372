//! Real public skills, lessons about security among them, are not blocked.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the folder of real skills")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use scan::{Finding, Severity, scan};
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
        let mut files = Vec::new();
        read(&skill, &skill, &mut files);
        let report = scan(&Bundle::from_files(files, &Limits::default()).unwrap());
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
