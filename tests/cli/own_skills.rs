//! Skills with what trips tools up: modes, binaries, names in many scripts, CRLF, depth.

use std::path::PathBuf;

use super::journey::Journey;
use crate::support::{Sandbox, skill_md, snapshot, write_files};

type Files = Vec<(&'static str, Vec<u8>, bool)>;

/// Writes a skill with these files and takes it through everything.
fn survives(name: &str, text: &str, files: &Files) {
    let sandbox = Sandbox::new();
    let job = Journey::new(&sandbox);
    let folder = write(&sandbox, name, text, files);
    let path = folder.to_str().unwrap();
    assert_eq!(job.done(&["validate", path])["skills"][0]["valid"], true);
    assert_ne!(job.done(&["scan", path])["skills"][0]["verdict"], "block");
    job.pack(name, &folder);
    job.publish(name, &folder);
    job.done(&["install", &format!("skillhub/{name}")]);
    assert_eq!(job.installed(name), snapshot(&folder), "installed otherwise than published");
    job.change_and_take_back(name);
    job.delete_and_restore(name);
}

fn write(sandbox: &Sandbox, name: &str, text: &str, files: &Files) -> PathBuf {
    let folder = sandbox.cwd().join(name);
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    let files: Vec<_> = files.iter().map(|(path, bytes, mode)| (*path, bytes.as_slice(), *mode)).collect();
    write_files(&folder, &files);
    folder
}

#[test]
fn executable_bits_survive() {
    let text = skill_md("scripted", "Counts words. Use for counting.", "Run scripts/count.sh on the file.");
    let files = vec![
        ("scripts/count.sh", b"#!/bin/sh\nwc -w \"$1\"\n".to_vec(), true),
        ("scripts/table.py", b"import sys\nprint(len(sys.argv))\n".to_vec(), false),
        ("assets/empty.txt", Vec::new(), false),
    ];
    survives("scripted", &text, &files);
}

#[test]
fn binary_files_keep_every_byte() {
    let text = skill_md("binary", "Shows pictures. Use for pictures.", "Copy assets/dot.png where it is wanted.");
    let all_bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let png = [b"\x89PNG\r\n\x1a\n".to_vec(), all_bytes.clone()].concat();
    survives("binary", &text, &vec![("assets/dot.png", png, false), ("assets/data.bin", all_bytes, false)]);
}

#[test]
fn file_names_in_many_scripts_survive() {
    let text = skill_md("names", "Reads notes of all people. Use for notes.", "See references/说明.md and the others.");
    let files = vec![
        ("references/说明.md", "# 说明\n\n先读这里。\n".into(), false),
        ("references/größe.md", "# Größe\n".into(), false),
        ("assets/данные и ещё.csv", "а,б\n".into(), false),
        ("assets/絵文字 🎨.txt", "🎨\n".into(), false),
    ];
    survives("names", &text, &files);
}

#[test]
fn line_ends_survive() {
    let text =
        skill_md("crlf", "Made on Windows. Use there.", "First line here.\nSecond line here.").replace('\n', "\r\n");
    let files = vec![
        ("references/a.md", b"# A\r\n\r\nText.\r\n".to_vec(), false),
        ("references/mixed.md", b"one\r\ntwo\nthree".to_vec(), false),
        ("assets/mark.txt", b"\xef\xbb\xbfwith a mark\n".to_vec(), false),
    ];
    survives("crlf", &text, &files);
}

#[test]
fn deep_folders_and_many_files_survive() {
    let text = skill_md("deep", "Has many files. Use for depth.", "Everything is in references.");
    let mut files: Files = vec![("references/a/b/c/d/e/f/g/h/deep.md", b"# Deep\n".to_vec(), false)];
    let many: Vec<String> = (0..200).map(|at| format!("references/many/{at:03}.md")).collect();
    let sandbox = Sandbox::new();
    let folder = write(&sandbox, "deep", &text, &files);
    many.iter().for_each(|path| write_files(&folder, &[(path, b"# One of many\n", false)]));
    sandbox.done(&["install", "./deep"]);
    assert_eq!(snapshot(&sandbox.user_skill("deep")), snapshot(&folder));
    files.push(("assets/one", b"1".to_vec(), true));
    survives("deep", &text, &files);
}

#[test]
fn non_ascii_name_is_unpublishable() {
    let sandbox = Sandbox::new();
    let name = "数据整理";
    let text = skill_md(name, "整理表格数据。需要清理数据时使用。", "先看一遍数据。");
    let folder = write(&sandbox, name, &text, &vec![("scripts/a.sh", b"#!/bin/sh\nprintf x\n".to_vec(), true)]);
    sandbox.done(&["validate", name]);
    sandbox.ask(&["publish", name, "--owner", "acme"]).refused_with_hint(3, "invalid_name");
    sandbox.done(&["install", &format!("./{name}")]);
    assert_eq!(snapshot(&sandbox.user_skill(name)), snapshot(&folder));
    sandbox.done(&["manage", "patch", name, "--find", "先看一遍数据。", "--replace", "先备份。"]);
    sandbox.done(&["rollback", name]);
    assert_eq!(snapshot(&sandbox.user_skill(name)), snapshot(&folder));
    assert!(sandbox.run(&["prompt"]).exits(0).text().contains(name));
}
