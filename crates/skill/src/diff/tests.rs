//! Tests of the diff text, including round trips through `git apply`.
#![expect(clippy::disallowed_methods, reason = "tests read real skills and scratch folders")]

use std::{path::Path, process::Command};

use proptest::prelude::*;

use super::*;
use crate::Limits;

fn file(bytes: &[u8], executable: bool) -> File {
    File { bytes: bytes.into(), executable }
}

fn skill(files: &[(&str, &[u8], bool)]) -> Bundle {
    let files = files.iter().map(|(path, bytes, bit)| (SkillPath::parse(path).unwrap(), file(bytes, *bit)));
    Bundle::from_files(files, &Limits::default()).unwrap()
}

fn text_skill(text: &str) -> Bundle {
    skill(&[("SKILL.md", text.as_bytes(), false)])
}

#[test]
fn change_has_three_context_lines() {
    let diff = diff(&text_skill("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), &text_skill("1\n2\n3\n4\nfive\n6\n7\n8\n9\n"));
    let expected = "\
diff --git a/SKILL.md b/SKILL.md
--- a/SKILL.md
+++ b/SKILL.md
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
";
    assert_eq!(diff.text, expected);
    let path = SkillPath::skill_md();
    assert_eq!(diff.files, [FileChange { path, change: Change::Modified, added: 1, removed: 1 }]);
}

#[test]
fn added_and_removed_files_are_shown() {
    let diff = diff(&skill(&[("b", b"old\n", false)]), &skill(&[("a", b"new", true), ("c", b"", false)]));
    let expected = "\
diff --git a/a b/a
new file mode 100755
--- /dev/null
+++ b/a
@@ -0,0 +1 @@
+new
\\ No newline at end of file
diff --git a/b b/b
deleted file mode 100644
--- a/b
+++ /dev/null
@@ -1 +0,0 @@
-old
diff --git a/c b/c
new file mode 100644
";
    assert_eq!(diff.text, expected);
    let seen: Vec<_> = diff.files.iter().map(|f| (f.path.as_str(), f.change, f.added, f.removed)).collect();
    assert_eq!(seen, [("a", Change::Added, 1, 0), ("b", Change::Removed, 0, 1), ("c", Change::Added, 0, 0)]);
}

#[test]
fn mode_change_modifies_no_line() {
    let diff = diff(&skill(&[("a", b"x", false)]), &skill(&[("a", b"x", true)]));
    assert_eq!(diff.text, "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n");
    assert_eq!((diff.files[0].change, diff.files[0].added, diff.files[0].removed), (Change::Modified, 0, 0));
}

#[test]
fn binary_files_only_differ() {
    let path = SkillPath::parse("a").unwrap();
    let (binary, text) = (file(b"\0\x01\n", false), file(b"text\n", false));
    let (change, shown) = diff_file(&path, Some(&text), Some(&binary), &mut { MAX_LINES }).unwrap();
    assert_eq!((change.added, change.removed), (0, 0));
    assert_eq!(shown, "diff --git a/a b/a\nBinary files a/a and b/a differ\n");
    let (_, shown) = diff_file(&path, None, Some(&binary), &mut { MAX_LINES }).unwrap();
    assert_eq!(shown, "diff --git a/a b/a\nnew file mode 100644\nBinary files /dev/null and b/a differ\n");
    let bit = file(b"\0\x01\n", true);
    let (_, shown) = diff_file(&path, Some(&binary), Some(&bit), &mut { MAX_LINES }).unwrap();
    assert_eq!(shown, "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", "the content is the same");
}

#[test]
fn equal_bundles_have_empty_diff() {
    let bundle = text_skill("x\n");
    assert_eq!(diff(&bundle, &bundle), BundleDiff::default());
    assert_eq!(diff_file(&SkillPath::skill_md(), None, None, &mut { MAX_LINES }), None);
}

#[test]
fn change_serialises_as_in_reports() {
    let diff = diff(&Bundle::default(), &text_skill("x\ny\n"));
    let json = serde_json::to_string(&diff.files).unwrap();
    assert_eq!(json, r#"[{"path":"SKILL.md","change":"added","added":2,"removed":0}]"#);
}

#[test]
fn line_end_changes_are_shown() {
    let diff = diff(&text_skill("a\r\nb\n"), &text_skill("a\nb\n"));
    assert_eq!((diff.files[0].added, diff.files[0].removed), (1, 1));
    assert!(diff.text.contains("-a\r\n+a\n b\n"), "{}", diff.text);
}

#[test]
fn unique_lines_anchor_long_texts() {
    let numbers = |odd: usize| -> String { (0..140_000).map(|n| format!("{}\n", n * 2 + n % 2 * odd)).collect() };
    let wrapped = |text: &str| text_skill(&format!("first\nx\nx\n{text}x\nlast\n"));
    let (old, new) = (wrapped(&numbers(1)), wrapped(&numbers(1_000_001)));
    let found = diff(&old, &new);
    assert!(found.text.contains("\n x\n x\n 0\n-3\n") && found.text.ends_with("\n x\n last\n"));
    let change = &found.files[0];
    assert_eq!((change.added, change.removed), (70_000, 70_000), "every other line stays");
}

#[test]
fn all_files_share_one_search_limit() {
    let lines =
        |file: usize, from: usize| -> String { (0..400).map(|n| format!("{}\n", (file + n * from) % 16)).collect() };
    let skill = |from: usize| -> Bundle {
        let texts: Vec<_> = (0..500).map(|file| (format!("f{file}"), lines(file, from))).collect();
        skill(&texts.iter().map(|(path, text)| (path.as_str(), text.as_bytes(), false)).collect::<Vec<_>>())
    };
    let (old, new) = (skill(3), skill(5));
    let mut left = MAX_LINES;
    let found: Vec<_> =
        old.paths().filter_map(|path| diff_file(path, old.get(path), new.get(path), &mut left)).collect();
    assert!(left < 800 && found.len() == 500, "{left} lines are left");
    assert_eq!(diff_files(&old, &new).collect::<Vec<_>>(), found);
}

#[test]
fn distant_changes_are_separate_hunks() {
    let lines: Vec<String> = (0..50_000).map(|n| format!("{n}\n")).collect();
    let old = lines.concat();
    let new = format!("start\n{}end\n", lines[1..49_999].concat());
    let diff = diff(&text_skill(&old), &text_skill(&new));
    assert_eq!((diff.text.matches("@@ -").count(), diff.files[0].added, diff.files[0].removed), (2, 2, 2));
}

/// Megabyte-sized texts designed to be slow to compare.
#[test]
fn hostile_texts_are_compared_in_time() {
    let mut state = 1_u32;
    let mut random = |choices: u32, lines: usize, pad: &str| -> String {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 14) % choices
        };
        (0..lines).map(|_| format!("{}{pad}\n", next())).collect()
    };
    let cases = [
        ("two kinds of lines", random(2, 500_000, ""), random(2, 500_000, "")),
        ("few kinds of lines", random(50, 60_000, "xxxx"), random(50, 60_000, "xxxx")),
        ("many kinds of lines", random(9_000, 9_900, "x"), random(9_000, 9_900, "x")),
        ("nothing in common", random(u32::MAX, 100_000, ""), random(u32::MAX, 100_000, "a")),
        ("moved blocks", random(5_000, 8_000, "y"), random(5_000, 8_000, "y")),
    ];
    for (name, old, new) in cases {
        let start = std::time::Instant::now();
        let path = SkillPath::skill_md();
        let found = diff_file(&path, Some(&file(old.as_bytes(), false)), Some(&file(new.as_bytes(), false)), &mut {
            MAX_LINES
        });
        let time = start.elapsed();
        eprintln!("{name}: {time:?}, {} lines", found.map_or(0, |(change, _)| change.added + change.removed));
        assert!(time < std::time::Duration::from_secs(60), "{name} took {time:?}");
    }
}

fn write(root: &Path, bundle: &Bundle) {
    use std::os::unix::fs::PermissionsExt;
    for (path, file) in bundle.files() {
        let at = root.join(path.as_str());
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(&at, &file.bytes).unwrap();
        let mode = if file.executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn read(root: &Path, folder: &Path, files: &mut Vec<(SkillPath, File)>) {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            read(root, &entry, files);
            continue;
        }
        let path = SkillPath::parse(entry.strip_prefix(root).unwrap().to_str().unwrap()).unwrap();
        let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
        files.push((path, file(&std::fs::read(&entry).unwrap(), executable)));
    }
}

/// Applies the diff to the first state with a program that reads it from standard input.
fn applied_by(program: &[&str], from: &Bundle, to: &Bundle) -> Option<Bundle> {
    let folder = tempfile::tempdir().unwrap();
    let patch = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(patch.path(), diff(from, to).text).unwrap();
    write(folder.path(), from);
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(folder.path()).stdin(std::fs::File::open(patch.path()).unwrap());
    let output = command.env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap()).output().ok()?;
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), diff(from, to).text);
    let mut files = Vec::new();
    read(folder.path(), folder.path(), &mut files);
    Some(Bundle::from_files(files, &Limits::default()).unwrap())
}

const GIT: &[&str] = &["git", "apply", "--whitespace=nowarn"];
const PATCH: &[&str] = &["patch", "-p1", "--binary", "-s", "-E"];

#[cfg(unix)]
#[test]
fn git_and_patch_apply_every_change() {
    let from = skill(&[
        ("SKILL.md", b"---\nname: a\n---\nbody\n", false),
        ("scripts/run me.sh", b"#!/bin/sh\nold\n", false),
        ("gone.md", b"x\ny", false),
        ("crlf.txt", b"a\r\nb\r\nc\r\n", false),
        ("mode", b"same\n", true),
        ("folder/gone too", b"z\n", true),
    ]);
    let to = skill(&[
        ("SKILL.md", b"---\nname: a\n---\nbody\nmore without end", false),
        ("scripts/run me.sh", b"#!/bin/sh\nnew\n", true),
        ("crlf.txt", b"a\r\nB\r\nc\r\n", false),
        ("mode", b"same\n", false),
        ("references/参考.md", b"new\n", false),
    ]);
    for (from, to) in [(&from, &to), (&to, &from)] {
        if let Some(result) = applied_by(GIT, from, to) {
            assert_eq!(result, *to);
        }
        if let Some(result) = applied_by(PATCH, from, to) {
            assert_eq!(result, *to);
        }
    }
    let empty = skill(&[("a", b"", false), ("SKILL.md", b"x", false)]);
    let without = text_skill("x");
    assert!(applied_by(GIT, &without, &empty).is_none_or(|result| result == empty));
    assert!(applied_by(GIT, &empty, &without).is_none_or(|result| result == without));
}

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec("[ab]\n|\r\n|-- x\n|\\+\\+\\+ b\n|\\\\ No\n", 0..25)
        .prop_flat_map(|lines| "[ab]?".prop_map(move |end| lines.concat() + &end))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[cfg(unix)]
    #[test]
    fn git_applies_any_diff(old in any_text(), new in any_text(), bits in any::<(bool, bool)>()) {
        let from = skill(&[("d/a b.md", old.as_bytes(), bits.0), ("SKILL.md", b"x", false)]);
        let to = skill(&[("d/a b.md", new.as_bytes(), bits.1), ("SKILL.md", b"x", false)]);
        prop_assume!(from != to);
        if let Some(result) = applied_by(GIT, &from, &to) {
            prop_assert_eq!(result, to);
        }
    }
}
