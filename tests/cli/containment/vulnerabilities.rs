//! Vulnerabilities that others had, each tried on what skillhub has in that place.

use std::fs;

use super::Guarded;
use crate::support::{Member, skill_md, write_files, zip, zip_bomb};

fn text() -> String {
    skill_md("packed", "Comes packed. Use in tests.", "Text.")
}

/// No command takes the bytes for a skill, whatever the file is called.
#[track_caller]
fn archive_refused(guard: &Guarded, archive: &[u8]) {
    fs::write(guard.sandbox.cwd().join("packed.skill"), archive).unwrap();
    guard.told("packed.skill", "invalid_archive");
    guard.refused(&["unpack", "packed.skill", "out"], 3, "invalid_archive");
    guard.sandbox.ask(&["install", "./packed.skill"]).refused(3, "invalid_archive");
    guard.held("the archive");
    assert!(!guard.sandbox.cwd().join("out").exists());
}

/// A tar with one member, of a type (`0` file, `2` link) and perhaps with a target.
fn tar(name: &str, kind: u8, target: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(157, target.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [header, content.to_vec(), padding, vec![0; 1024]].concat()
}

#[test]
fn cve_2018_1002200_zip_slip() {
    let guard = Guarded::new();
    for name in ["../../x", "../../../../../../../../x", "..\\..\\x", "assets/../../../x"] {
        archive_refused(&guard, &zip(&[Member::stored("SKILL.md", text().as_bytes()), Member::stored(name, b"x")]));
    }
}

#[test]
fn cve_2007_4559_python_tarfile() {
    let guard = Guarded::new();
    archive_refused(&guard, &tar("../../x", b'0', "", b"x"));
    archive_refused(&guard, &tar("/x", b'0', "", b"x"));
    archive_refused(&guard, &tar("link", b'2', "../../outside", b""));
    archive_refused(&guard, &tar("SKILL.md", b'0', "", text().as_bytes()));
}

#[test]
fn cve_2021_32803_node_tar() {
    // A folder is made and remembered, a link takes its place, and a file is written "into the folder".
    let guard = Guarded::new();
    let outside = guard.sandbox.path("outside").display().to_string();
    let folder = Member::stored("references/", b"").with_mode(0o040_755);
    let link = Member::stored("references", outside.as_bytes()).with_mode(0o120_777);
    let file = Member::stored("references/secret.txt", b"overwritten");
    let md = Member::stored("SKILL.md", text().as_bytes());
    archive_refused(&guard, &zip(&[md.clone(), folder.clone(), link.clone(), file.clone()]));
    archive_refused(&guard, &zip(&[md.clone(), link.clone(), folder, file.clone()]));
    archive_refused(&guard, &zip(&[md, Member::stored("REFERENCES", outside.as_bytes()).with_mode(0o120_777), file]));
}

#[test]
fn cve_2022_36113_cargo() {
    // A link in the archive under the name that the tool itself writes to when it is done.
    let guard = Guarded::new();
    let target = guard.sandbox.path("outside/secret.txt").display().to_string();
    let md = Member::stored("SKILL.md", text().as_bytes());
    for name in [".skillhub-1-0-00000000", ".skillhub-ok", "skillhub.lock", ".cargo-ok", "SKILL.md"] {
        let link = Member::stored(name, target.as_bytes()).with_mode(0o120_777);
        archive_refused(&guard, &zip(&[md.clone(), link]));
    }
    archive_refused(&guard, &zip(&[md, Member::stored(".skillhub-1-0-00000000/SKILL.md", b"x")]));
    guard.unread();
}

#[test]
fn cve_2022_36114_cargo() {
    let guard = Guarded::new();
    archive_refused(&guard, &zip_bomb(&text(), 1 << 30));
}

#[test]
fn cve_2014_9390_git() {
    let guard = Guarded::new();
    let names = [
        ".git", ".GIT", ".Git", ".g\u{200c}it", ".gi\u{feff}t", ".git.", ".git ", "git~1", "GIT~1", ".git\u{200d}",
        ".git::$INDEX_ALLOCATION",
    ];
    for name in names {
        let path = format!("{name}/hooks/post-checkout");
        archive_refused(
            &guard,
            &zip(&[Member::stored("SKILL.md", text().as_bytes()), Member::stored(&path, b"#!/bin/sh\n")]),
        );
        let request = serde_json::json!({"action": "write_file", "name": "demo", "path": format!("assets/{path}"), "content": "x"});
        guard.sandbox.request(&request).refused_with_hint(3, "invalid_path");
        guard.held(name);
    }
    // A folder with a repository of its own: it is not part of the skill, and is not taken along.
    let folder = guard.folder("cloned");
    write_files(
        &folder,
        &[(".git/hooks/post-checkout", b"#!/bin/sh\n", true), ("references/.git/config", b"x", false)],
    );
    guard.sandbox.done(&["install", "./cloned"]);
    let installed = crate::support::tree(&guard.sandbox.user_skill("cloned"));
    assert!(installed.keys().all(|path| !path.contains(".git")), "{installed:?}");
    guard.outside_held("a cloned folder");
}

#[test]
fn cve_2021_42574_trojan_source() {
    let guard = Guarded::new();
    let script = "#!/bin/sh\n# \u{202e}\u{2066}; then\u{2069} \u{2066}if is_admin\nprintf x\n";
    let folder = guard.folder("trojan");
    write_files(&folder, &[("scripts/run.sh", script.as_bytes(), true)]);
    let scanned = guard.sandbox.ask(&["scan", "trojan"]).exits(4).json();
    let findings = scanned["skills"][0]["findings"].as_array().unwrap().clone();
    let finding = findings.iter().find(|finding| finding["path"] == "scripts/run.sh").unwrap();
    assert!(["high", "critical"].iter().any(|severity| finding["severity"] == *severity), "{finding:#}");
    assert!(!finding["excerpt"].as_str().unwrap().contains('\u{202e}'), "it is shown, not obeyed: {finding:#}");
    guard.sandbox.ask(&["install", "./trojan"]).refused(4, "scan_blocked");
    let request =
        serde_json::json!({"action": "write_file", "name": "demo", "path": "scripts/run.sh", "content": script});
    guard.sandbox.request(&request).refused(4, "scan_blocked");
    guard.held("bidirectional text");
    let named = zip(&[Member::stored("SKILL.md", text().as_bytes()), Member::stored("scripts/\u{202e}hs.nur", b"x")]);
    archive_refused(&guard, &named);
}
