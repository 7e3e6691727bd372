//! Real public skills, lessons about security among them, are not blocked.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the folder of real skills")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use scan::{Finding, Severity, Verdict, scan};
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
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).ok()?;
    let skills: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    assert!(!skills.is_empty(), "{folder} holds skills");
    let blocked = skills.into_iter().filter_map(|skill| {
        let mut files = Vec::new();
        read(&skill, &skill, &mut files);
        let report = scan(&Bundle::from_files(files, &Limits::default()).unwrap());
        let grave = || report.findings.iter().filter(|finding| finding.severity >= Severity::High).cloned().collect();
        (report.verdict() == Verdict::Block).then(|| (skill, grave()))
    });
    Some(blocked.collect())
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
