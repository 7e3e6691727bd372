//! Tests that count the work of a change with everything around it.
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::fs;

use client::InstallRequest;
use skill::work::watched;
use skill_manage::{Status, manage};

use super::*;
use crate::install::InstallCallbacks;

const PATCH: &[u8] = br#"{"action": "patch", "name": "pdf", "find": "Once.", "replace": "Twice."}"#;

#[test]
fn change_parses_skill_and_lock_file_once() {
    let temp = tempfile::tempdir().unwrap();
    let source = temp.path().join("source/pdf");
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("SKILL.md"), "---\nname: pdf\ndescription: Fills forms.\n---\n\nOnce.\n").unwrap();
    let open = || {
        let named = Setup { library: Some("skills".into()), ..setup(temp.path(), nothing) };
        Workspace::open(named).unwrap()
    };
    let specs = vec![source.to_str().unwrap().parse().unwrap()];
    let request = InstallRequest { specs, ..InstallRequest::default() };
    open().install(&request, &InstallCallbacks::CLIENT).unwrap();
    let ((library, report), tally) = watched(|| {
        let workspace = open();
        let request = workspace.change_request(PATCH).unwrap();
        let mut library = workspace.library_to_change(&request).unwrap();
        let done = workspace.change(&mut library, |library, acting| manage(library, &request, acting));
        let (report, warning) = done.unwrap();
        assert_eq!(warning, None);
        (library, report)
    });
    assert_eq!(report.status, Status::Applied, "{}", report.message);
    let lock = fs::read_to_string(library.own_path().join(client::LOCK_FILE)).unwrap();
    assert!(lock.contains(&format!("content = \"{}\"", library.bundle(&report.revision.unwrap()).unwrap().digest())));
    let counts = ["parse", "read the lock file", "parse the lock file"].map(|kind| tally.counts(kind));
    assert_eq!(counts, [[1], [1], [1]]);
}
