//! `.skill` files that are not what they say: refused by every command that reads one.

use std::{fs, time::Instant};

use crate::support::{Member, Sandbox, skill_md, snapshot, tree, write_files, zip, zip_bomb};

fn text() -> String {
    skill_md("packed", "Comes packed. Use in tests.", "Text.")
}

/// Every command that reads an archive refuses this one, and neither writes nor unpacks anything.
#[track_caller]
fn refused_everywhere(archive: &[u8]) {
    let sandbox = Sandbox::new();
    fs::write(sandbox.cwd().join("packed.skill"), archive).unwrap();
    let before = (snapshot(&sandbox.cwd()), tree(&sandbox.path("tmp")));
    sandbox.ask(&["unpack", "packed.skill", "out"]).refused_with_hint(3, "invalid_archive");
    let answer = sandbox.ask(&["install", "./packed.skill"]);
    answer.refused(3, "invalid_archive");
    let checked = sandbox.ask(&["validate", "packed.skill"]).exits(3).json();
    assert_eq!(checked["skills"][0]["problems"][0]["code"], "invalid_archive");
    let scanned = sandbox.ask(&["scan", "packed.skill"]).exits(3).json();
    assert_eq!(scanned["skills"][0]["verdict"], "block");
    assert_eq!((snapshot(&sandbox.cwd()), tree(&sandbox.path("tmp"))), before);
    assert!(!sandbox.user_skill("packed").exists() && !sandbox.path("x").exists());
}

#[test]
fn foreign_archive_is_read() {
    let sandbox = Sandbox::new();
    let members = [Member::stored("SKILL.md", text().as_bytes()), Member::stored("references/a.md", b"# A\n")];
    fs::write(sandbox.cwd().join("packed.skill"), zip(&members)).unwrap();
    sandbox.done(&["validate", "packed.skill"]);
    sandbox.done(&["install", "./packed.skill"]);
    assert_eq!(fs::read_to_string(sandbox.user_skill("packed").join("references/a.md")).unwrap(), "# A\n");
}

#[test]
fn truncated_or_foreign_file_is_refused() {
    let whole = zip(&[Member::stored("SKILL.md", text().as_bytes())]);
    for archive in [&b""[..], b"not a zip", &whole[..whole.len() / 2], &whole[..whole.len() - 1]] {
        refused_everywhere(archive);
    }
}

#[test]
fn zip_bomb_is_refused_quickly() {
    let started = Instant::now();
    refused_everywhere(&zip_bomb(&text(), 1 << 30));
    refused_everywhere(&zip_bomb(&text(), 15 << 20));
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
}

#[test]
fn escaping_members_are_refused() {
    for name in ["../x", "/x", "a/../../x", "a\\..\\x", "C:x", "assets/con", "./x/../../x", "assets/\u{202e}x"] {
        refused_everywhere(&zip(&[Member::stored("SKILL.md", text().as_bytes()), Member::stored(name, b"x")]));
    }
}

#[test]
fn duplicate_members_are_refused() {
    let member = |name: &str| Member::stored(name, b"x");
    for names in [["assets/a", "assets/a"], ["assets/a", "assets/A"], ["assets/ﬁ", "assets/fi"], ["assets", "assets/a"]]
    {
        let [one, two] = names.map(member);
        refused_everywhere(&zip(&[Member::stored("SKILL.md", text().as_bytes()), one, two]));
    }
}

#[test]
fn unpack_refuses_existing_folder() {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does it. Use in tests.", &[]);
    sandbox.done(&["pack", "demo"]);
    write_files(&sandbox.cwd(), &[("out/mine.txt", b"mine", false)]);
    let before = snapshot(&sandbox.cwd());
    sandbox.ask(&["unpack", "demo.skill", "out"]).refused_with_hint(6, "exists");
    assert_eq!(snapshot(&sandbox.cwd()), before);
}
