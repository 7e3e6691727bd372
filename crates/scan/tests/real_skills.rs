//! Real public skills, lessons about security among them, are not blocked.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the folder of real skills")]

use std::{fs, path::Path};

use scan::{Severity, Verdict, scan};
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

#[test]
fn no_real_skill_is_blocked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/skills");
    let Ok(entries) = fs::read_dir(&folder) else {
        println!("skipped: no folder of real skills next to the checkout");
        return;
    };
    let mut blocked = Vec::new();
    let mut seen = 0;
    for skill in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let mut files = Vec::new();
        read(&skill, &skill, &mut files);
        let report = scan(&Bundle::from_files(files, &Limits::default()).unwrap());
        seen += 1;
        if report.verdict() == Verdict::Block {
            let grave: Vec<_> = report.findings.into_iter().filter(|f| f.severity >= Severity::High).collect();
            blocked.push((skill, grave));
        }
    }
    assert!(seen > 0, "the folder holds skills");
    assert!(blocked.is_empty(), "{blocked:#?}");
}
