//! Archives: what no `.skill` file may hold, at every command that reads one.

use std::fs;

use super::{COLLISIONS, Guarded, bad_paths};
use crate::support::{Member, skill_md, zip, zip_bomb};

fn text() -> String {
    skill_md("packed", "Comes packed. Use in tests.", "Text.")
}

/// An archive of a good skill and these members.
fn with(members: &[Member]) -> Vec<u8> {
    zip(&[&[Member::stored("SKILL.md", text().as_bytes())], members].concat())
}

/// Every command that reads an archive refuses this one, and nothing is written anywhere.
#[track_caller]
fn refused_everywhere(guard: &Guarded, what: &str, archive: &[u8]) {
    fs::write(guard.sandbox.cwd().join("packed.skill"), archive).unwrap();
    guard.told("packed.skill", "invalid_archive");
    guard.refused(&["unpack", "packed.skill", "out"], 3, "invalid_archive");
    let answer = guard.sandbox.ask(&["install", "./packed.skill"]).exits(3);
    assert_eq!(answer.json()["error"]["code"], "invalid_archive", "{what}: {answer}");
    guard.held(what);
    assert!(!guard.sandbox.cwd().join("out").exists(), "{what}");
}

#[test]
fn escaping_member_names_are_refused() {
    let guard = Guarded::new();
    for (class, path) in bad_paths() {
        refused_everywhere(&guard, class, &with(&[Member::stored(&path, b"x")]));
    }
}

#[test]
fn escaping_folder_members_are_refused() {
    let guard = Guarded::new();
    for name in ["../", "/", "//", "a/../../", "..\\", "con/", "a./", "C:/", "~/"] {
        refused_everywhere(&guard, name, &with(&[Member::stored(name, b"").with_mode(0o040_755)]));
    }
}

#[test]
fn colliding_members_are_refused() {
    let guard = Guarded::new();
    for (first, second) in COLLISIONS.iter().filter(|(first, second)| ![*first, *second].contains(&"SKILL.md")) {
        refused_everywhere(&guard, first, &with(&[Member::stored(first, b"1"), Member::stored(second, b"2")]));
        refused_everywhere(&guard, first, &with(&[Member::stored(second, b"1"), Member::stored(first, b"1")]));
    }
    refused_everywhere(&guard, "skill.md", &with(&[Member::stored("skill.md", text().as_bytes())]));
}

#[test]
fn special_members_are_refused() {
    let guard = Guarded::new();
    let outside = guard.sandbox.path("outside").display().to_string();
    for (mode, what) in
        [(0o120_777, "link"), (0o010_644, "pipe"), (0o020_644, "device"), (0o060_644, "disk"), (0o140_755, "socket")]
    {
        let special = |name: &str, target: &str| Member::stored(name, target.as_bytes()).with_mode(mode);
        refused_everywhere(&guard, what, &with(&[special("references/notes.md", &format!("{outside}/secret.txt"))]));
        refused_everywhere(&guard, what, &zip(&[special("SKILL.md", &format!("{outside}/skill/SKILL.md"))]));
        let through = Member::stored("references/secret.txt", b"overwritten");
        refused_everywhere(&guard, what, &with(&[special("references", &outside), through.clone()]));
        refused_everywhere(&guard, what, &with(&[through, special("references", &outside)]));
    }
    guard.unread();
}

#[test]
fn inconsistent_records_are_refused() {
    let guard = Guarded::new();
    let member = |name: &str| Member::stored(name, b"content");
    refused_everywhere(&guard, "two names", &with(&[member("assets/a").first_called("../a")]));
    refused_everywhere(&guard, "two names", &with(&[member("assets/a").first_called("assets/b")]));
    for size in [0, 6, 8, u32::MAX] {
        refused_everywhere(&guard, "wrong size", &with(&[member("assets/a").said_to_have(size)]));
    }
    refused_everywhere(&guard, "encrypted", &with(&[member("assets/a").encrypted()]));
    let zip64 = [1, 0, 16, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    refused_everywhere(&guard, "64 bits", &with(&[member("assets/a").with_extra(&zip64)]));
    let unicode_name = b"\x75\x70\x06\0\x01abcdb";
    refused_everywhere(&guard, "a second name", &with(&[member("assets/a").with_extra(unicode_name)]));
}

#[test]
fn stray_bytes_are_refused() {
    let guard = Guarded::new();
    let good = with(&[]);
    refused_everywhere(&guard, "before", &[b"#!/bin/sh\n".as_slice(), &good].concat());
    refused_everywhere(&guard, "behind", &[good.as_slice(), b"more"].concat());
    refused_everywhere(&guard, "two archives", &[good.as_slice(), &good].concat());
    let mut comment = good.clone();
    let at = comment.len() - 2;
    comment[at..].copy_from_slice(&8u16.to_le_bytes());
    comment.extend(b"PK\x05\x06----");
    refused_everywhere(&guard, "an end in the comment", &comment);
    let mut missing = good.clone();
    let directory = missing.len() - 22;
    missing[directory + 8] = 0;
    missing[directory + 10] = 0;
    refused_everywhere(&guard, "a directory without its members", &missing);
}

#[test]
fn archive_bombs_are_refused() {
    let guard = Guarded::new();
    refused_everywhere(&guard, "by ratio", &zip_bomb(&text(), 15 << 20));
    // One member's data, named many times by the directory.
    let single = with(&[Member::stored("assets/a", &vec![b'x'; 100_000])]);
    let end = single.len() - 22;
    let start = u32::from_le_bytes(single[end + 16..end + 20].try_into().unwrap()) as usize;
    let records = &single[start..end];
    let last = records.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    let mut overlapping = single[..end].to_vec();
    for _ in 0..200 {
        overlapping.extend(&records[last..]);
    }
    let size = u32::try_from(overlapping.len() - start).unwrap();
    overlapping.extend(b"PK\x05\x06\0\0\0\0");
    for part in [
        &202u16.to_le_bytes()[..],
        &202u16.to_le_bytes(),
        &size.to_le_bytes(),
        &u32::try_from(start).unwrap().to_le_bytes(),
        &[0, 0],
    ] {
        overlapping.extend(part);
    }
    refused_everywhere(&guard, "by overlap", &overlapping);
    let names: Vec<String> = (0..5000).map(|number| format!("assets/{number}")).collect();
    refused_everywhere(
        &guard,
        "by number",
        &with(&names.iter().map(|name| Member::stored(name, b"")).collect::<Vec<_>>()),
    );
}

#[test]
fn nested_archive_stays_packed() {
    let guard = Guarded::new();
    let bomb = zip_bomb(&text(), 15 << 20);
    let traversal = with(&[Member::stored("../x", b"x")]);
    let archive = with(&[Member::stored("assets/a.zip", &bomb), Member::stored("assets/b.zip", &traversal)]);
    fs::write(guard.sandbox.cwd().join("packed.skill"), archive).unwrap();
    guard.sandbox.done(&["unpack", "packed.skill", "out"]);
    assert_eq!(fs::read(guard.sandbox.cwd().join("out/assets/a.zip")).unwrap(), bomb);
    assert_eq!(fs::read(guard.sandbox.cwd().join("out/assets/b.zip")).unwrap(), traversal);
    guard.held("nested archives");
}

#[test]
fn only_executable_bit_is_unpacked() {
    use std::os::unix::fs::PermissionsExt;
    let guard = Guarded::new();
    let modes = [0o104_755, 0o102_755, 0o101_777, 0o100_666, 0o107_777, 0];
    let members: Vec<Member> =
        modes.iter().map(|mode| Member::stored(&format!("assets/{mode:o}"), b"x").with_mode(*mode)).collect();
    fs::write(guard.sandbox.cwd().join("packed.skill"), with(&members)).unwrap();
    guard.sandbox.done(&["unpack", "packed.skill", "out"]);
    for mode in modes {
        let made = fs::metadata(guard.sandbox.cwd().join(format!("out/assets/{mode:o}"))).unwrap().permissions().mode();
        assert_eq!(made, if mode & 0o111 == 0 { 0o100_644 } else { 0o100_755 }, "{mode:o}");
    }
}
