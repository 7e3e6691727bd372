//! Tests of clean merges, conflicts, and the positions of merged changes.

mod bounds;
mod oracle;
mod properties;
mod release;
mod replay;

use super::*;
use crate::{File, SkillPath};

fn path(text: &str) -> SkillPath {
    SkillPath::parse(text).unwrap()
}

fn bundle(files: &[(&str, &str)]) -> Bundle {
    let file = |bytes: &str| File { bytes: bytes.as_bytes().into(), executable: false };
    let files = files.iter().map(|(at, bytes)| (path(at), file(bytes)));
    Bundle::from_files(files, &Limits::default()).unwrap()
}

/// Merges one file in both directions, which must agree. Returns `None` on a conflict.
fn merged(at: &str, base: &str, ours: &str, theirs: &str) -> Option<String> {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| bundle(&[(at, text)]));
    let one = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    let other = merge(&base, &theirs, &ours, &Limits::default()).unwrap();
    assert_eq!(one.is_clean(), other.is_clean(), "{one:?} {other:?}");
    if !one.is_clean() {
        return None;
    }
    assert_eq!(one.bundle, other.bundle);
    Some(one.bundle.get(&path(at)).unwrap().text().unwrap().to_owned())
}

#[test]
fn separate_changes_are_both_taken() {
    let base = "one\ntwo\nthree\nfour\n";
    assert_eq!(
        merged("a.py", base, "ONE\ntwo\nthree\nfour\n", "one\ntwo\nthree\nFOUR\n").unwrap(),
        "ONE\ntwo\nthree\nFOUR\n"
    );
    assert_eq!(
        merged("a.py", base, "x\none\ntwo\nthree\nfour\n", "one\ntwo\nthree\nfour\ny\n").unwrap(),
        "x\none\ntwo\nthree\nfour\ny\n"
    );
    assert_eq!(merged("a.py", base, "one\nthree\nfour\n", "one\ntwo\nthree\n").unwrap(), "one\nthree\n");
    assert_eq!(
        merged("a.py", base, "one\n2\nthree\nfour\n", "one\n2\nthree\nfour\n").unwrap(),
        "one\n2\nthree\nfour\n"
    );
    assert_eq!(merged("a.py", base, "one\n2\nthree\nfour\n", "one\nzwei\nthree\nfour\n"), None);
}

#[test]
fn repeated_lines_are_ambiguous() {
    let base = "- a\n- a\n- a\nend\n";
    // The position of the added bullet is ambiguous.
    assert_eq!(merged("a.md", base, "- a\n- a\n- a\n- a\nend\n", "- a\n- b\n- a\nend\n"), None);
    assert_eq!(merged("a.md", base, "- a\n- a\nend\n", "- a\n- b\n- a\nend\n"), None);
    // Every possible position is before the line that theirs changed.
    assert_eq!(
        merged("a.md", base, "- a\n- a\n- a\n- a\nend\n", "- a\n- a\n- a\nthe end\n").unwrap(),
        "- a\n- a\n- a\n- a\nthe end\n"
    );
    assert_eq!(
        merged("a.md", &format!("{base}more\n"), "- a\n- a\n- a\n- a\nend\nmore\n", "- a\n- a\n- a\nend\nless\n")
            .unwrap(),
        "- a\n- a\n- a\n- a\nend\nless\n"
    );
}

#[test]
fn neighbouring_lines_merge_when_both_remain() {
    let base = "let a = f(1, 2);\nlet b = g(1, 2);\nlet c = h(1, 2);\n";
    let ours = base.replace("f(1, 2)", "f(1, 3)");
    assert_eq!(
        merged("a.rs", base, &ours, &base.replace("g(1, 2)", "g(1, 4)")).unwrap(),
        "let a = f(1, 3);\nlet b = g(1, 4);\nlet c = h(1, 2);\n"
    );
    assert_eq!(
        merged("a.rs", base, &ours, &base.replace("let b", "new line;\nlet b")).unwrap(),
        "let a = f(1, 3);\nnew line;\nlet b = g(1, 2);\nlet c = h(1, 2);\n"
    );
    assert_eq!(merged("a.rs", base, &ours, &base.replace("let b = g(1, 2);", "something else entirely")), None);
}

#[test]
fn only_prose_merges_by_words() {
    let base = "Use the tool when a user asks for a report of the week, then file it in the archive.\n";
    let ours = base.replace("the tool", "this tool");
    let theirs = base.replace("archive", "cabinet");
    assert_eq!(merged("a.md", base, &ours, &theirs).unwrap(), ours.replace("archive", "cabinet"));
    assert_eq!(merged("a.py", base, &ours, &theirs), None);
    let fenced = |text: &str| format!("```\n{text}```\n");
    assert_eq!(merged("a.md", &fenced(base), &fenced(&ours), &fenced(&theirs)), None);
    assert_eq!(merged("a.md", base, &ours, &base.replace("when a user", "if a user")), None, "too near");
}

#[test]
fn frontmatter_merges_by_key() {
    let base = "---\nname: a\ndescription: Does a thing for people who need it done.\nlicense: MIT\n---\nbody\n";
    let ours = base.replace("name: a", "name: b");
    assert_eq!(
        merged("SKILL.md", base, &ours, &base.replace("for people", "for all people")).unwrap(),
        ours.replace("for people", "for all people")
    );
    assert_eq!(merged("SKILL.md", base, &base.replace("MIT", "BSD"), &base.replace("MIT", "ISC")), None);
    assert_eq!(
        merged("SKILL.md", base, &base.replace("Does a", "Does one"), &base.replace("done.", "done well.")).unwrap(),
        base.replace("Does a", "Does one").replace("done.", "done well.")
    );
    let tools = |tools: &str| base.replace("license: MIT", tools);
    assert_eq!(
        merged(
            "SKILL.md",
            &tools("allowed-tools: Read"),
            &tools("allowed-tools: Read Bash"),
            &tools("allowed_tools: Read Write")
        ),
        None
    );
    let both = merged(
        "SKILL.md",
        base,
        &base.replace("license", "version: 1\nlicense"),
        &base.replace("license", "author: me\nlicense"),
    );
    assert_eq!(both.unwrap(), base.replace("license", "author: me\nversion: 1\nlicense"));
}

#[test]
fn merge_uses_our_line_ends() {
    let base = bundle(&[("a.md", "one\ntwo\nthree\n")]);
    let ours = bundle(&[("a.md", "one\r\ntwo\r\nthree\r\n")]);
    let theirs = bundle(&[("a.md", "one\ntwo\n3\nfour")]);
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    assert_eq!(done.bundle.get(&path("a.md")).unwrap().text(), Some("one\r\ntwo\r\n3\r\nfour"));
    assert_eq!(merge(&base, &theirs, &ours, &Limits::default()).unwrap().bundle, theirs);
}

#[test]
fn files_are_merged_separately() {
    let base = bundle(&[("SKILL.md", "x"), ("b", "1"), ("c", "1"), ("d", "1")]);
    let ours = bundle(&[("SKILL.md", "x"), ("c", "1"), ("d", "1"), ("e", "1"), ("Docs/x", "1"), ("g", "1")]);
    let theirs = bundle(&[("SKILL.md", "x"), ("b", "2"), ("d", "1"), ("f", "1"), ("docs/y", "1"), ("g", "2")]);
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    let paths: Vec<&str> = done.bundle.paths().map(SkillPath::as_str).collect();
    assert_eq!(paths, ["Docs/x", "SKILL.md", "d", "e", "f", "g"]);
    let told: Vec<String> = done.conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "b was changed on one side and is removed in the current skill",
            "docs/y was added, but would be the same file or folder as Docs/x on some systems",
            "both sides added g with different content",
        ]
    );
}

/// Returns the conflicts of merging one file, as text.
fn told(at: &str, base: &str, ours: &str, theirs: &str) -> Vec<String> {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| bundle(&[(at, text)]));
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    done.conflicts.iter().map(ToString::to_string).collect()
}

#[test]
fn conflict_keeps_ours_and_names_lines() {
    let base = bundle(&[("a.py", "one\ntwo\nthree\nfour\nfive\n")]);
    let ours = bundle(&[("a.py", "zero\none\n2\nthree\nfour\nfive\n")]);
    let theirs = bundle(&[("a.py", "one\nzwei\nthree\nfour\ncinq\n")]);
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    let text = done.bundle.get(&path("a.py")).unwrap().text().unwrap();
    assert_eq!(text, "zero\none\n2\nthree\nfour\ncinq\n", "ours only where in conflict");
    let [conflict] = done.conflicts.as_slice() else { panic!("{done:?}") };
    assert_eq!((&conflict.kind, conflict.lines), (&ConflictKind::Text, Some((3, 3))));
    let texts = [&conflict.base, &conflict.ours, &conflict.theirs].map(|text| text.as_deref().unwrap());
    assert_eq!(texts, ["two\n", "2\n", "zwei\n"]);
    let json = serde_json::to_value(conflict).unwrap();
    assert_eq!((&json["kind"], &json["path"], &json["lines"][0]), (&"text".into(), &"a.py".into(), &3.into()));
    assert_eq!(told("a", "x\n", "1\nx\n", "2\nx\n"), ["both sides changed line 1 of a differently"]);
    let long = |mark: &str| format!("{}\n", mark.repeat(10_000));
    let [base, ours, theirs] = ["a", "b", "é"].map(|mark| bundle(&[("a", &long(mark))]));
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    assert!(done.conflicts[0].theirs.as_ref().unwrap().len() < 5000);
}

#[test]
fn executable_bits_and_binary_files_merge() {
    let file = |bytes: &[u8], executable| File { bytes: bytes.into(), executable };
    let of = |file: File| Bundle::from_files([(path("x"), file)], &Limits::default()).unwrap();
    let done = |base: File, ours: File, theirs: File| {
        let done = merge(&of(base), &of(ours), &of(theirs), &Limits::default()).unwrap();
        let kinds: Vec<ConflictKind> = done.conflicts.iter().map(|conflict| conflict.kind.clone()).collect();
        (done.bundle.get(&path("x")).unwrap().clone(), kinds)
    };
    assert_eq!(done(file(b"1\n", false), file(b"1\n", true), file(b"2\n", false)), (file(b"2\n", true), vec![]));
    assert_eq!(done(file(b"1\n", true), file(b"2\n", true), file(b"1\n", false)), (file(b"2\n", false), vec![]));
    assert_eq!(done(file(b"\0a", false), file(b"\0a", true), file(b"\0b", false)), (file(b"\0b", true), vec![]));
    let both = done(file(b"\0a", false), file(b"\0b", false), file(b"\0c", false));
    assert_eq!(both, (file(b"\0b", false), vec![ConflictKind::Binary]));
    let added = merge(&Bundle::default(), &of(file(b"1", false)), &of(file(b"1", true)), &Limits::default()).unwrap();
    assert_eq!(added.conflicts[0].kind, ConflictKind::Executable);
}

#[test]
fn removed_unchanged_file_stays_removed() {
    let base = bundle(&[("a", "1\n"), ("b", "1\n")]);
    let removed = bundle(&[("b", "1\n")]);
    for (other, is_clean) in [("1\n", true), ("1\r\n", true), ("2\n", false)] {
        let other = bundle(&[("a", other), ("b", "2\n")]);
        let done = merge(&base, &removed, &other, &Limits::default()).unwrap();
        assert_eq!((done.is_clean(), done.bundle), (is_clean, bundle(&[("b", "2\n")])));
        assert_eq!(merge(&base, &other, &removed, &Limits::default()).unwrap().is_clean(), is_clean);
    }
    let nothing = Bundle::default();
    assert_eq!(
        merge(&base, &nothing, &base, &Limits::default()).unwrap(),
        Merge { bundle: nothing, conflicts: vec![] }
    );
}

#[test]
fn colliding_folder_keeps_our_files() {
    let base = bundle(&[("docs/a.md", "1")]);
    let ours = bundle(&[("docs/a.md", "1"), ("docs/b.md", "1")]);
    let theirs = bundle(&[("Docs/a.md", "1")]);
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    assert_eq!(done.bundle, ours);
    assert_eq!(done.conflicts.len(), 1);
}

#[test]
fn oversized_merge_is_refused() {
    let limits = Limits { files_per_skill: 2, ..Limits::default() };
    let [base, ours, theirs] = [vec![("a", "1")], vec![("a", "1"), ("b", "1")], vec![("a", "1"), ("c", "1")]];
    let done = merge(&bundle(&base), &bundle(&ours), &bundle(&theirs), &limits);
    assert_eq!(done, Err(BundleError::TooManyFiles { files: 3, limit: 2 }));
}

#[test]
fn final_newline_is_merged_separately() {
    assert_eq!(merged("a", "one\ntwo\nthree", "1\ntwo\nthree", "one\ntwo\nthree\n").unwrap(), "1\ntwo\nthree\n");
    assert_eq!(merged("a", "one\ntwo\nthree\n", "one\ntwo\nthree", "1\ntwo\nthree\n").unwrap(), "1\ntwo\nthree");
    assert_eq!(merged("a", "one\ntwo", "one\ntwo\nthree", "one\ntwo\n").unwrap(), "one\ntwo\nthree\n");
    assert_eq!(merged("a", "one\n", "", "one"), Some(String::new()));
}

#[test]
fn newline_after_frontmatter_is_merged_separately() {
    let (base, renamed) = ("---\nname: a\n---\n", "---\nname: b\n---\n");
    assert_eq!(merged("SKILL.md", base, renamed, "---\nname: a\n---").unwrap(), "---\nname: b\n---");
    assert_eq!(merged("SKILL.md", "---\nname: a\n---", "---\nname: b\n---", base).unwrap(), renamed);
    let with_body = format!("{base}body");
    assert_eq!(merged("SKILL.md", &with_body, &with_body, "---\nname: a\n---").unwrap(), "---\nname: a\n---");
    assert_eq!(
        merged("SKILL.md", "---\nname: a\n---", "---\nname: b\n---", &with_body).unwrap(),
        format!("{renamed}body")
    );
}

#[test]
fn blank_line_differs_from_no_line() {
    let base = "one two three\n\nfour five six\n";
    let ours = "one two three\n\nnew\n\nfour five six\n";
    assert_eq!(merged("a.md", base, ours, "one two three\nfour five six\n"), None);
}

#[test]
fn frontmatter_comments_order_and_removals_merge() {
    let base = "---\nname: a\n# why\nlicense: MIT\nmetadata:\n  k: v\n---\nbody\n";
    let with = |from: &str, to: &str| base.replace(from, to);
    // A key removed on one side and another changed on the other.
    assert_eq!(
        merged("SKILL.md", base, &with("# why\nlicense: MIT\n", ""), &with("k: v", "k: w")).unwrap(),
        "---\nname: a\nmetadata:\n  k: w\n---\nbody\n"
    );
    assert_eq!(
        told("SKILL.md", base, &with("# why\nlicense: MIT\n", ""), &with("MIT", "BSD")),
        ["both sides changed `license` in the frontmatter of SKILL.md differently"]
    );
    // The order of the side that changed it.
    let sorted = "---\n# why\nlicense: MIT\nname: a\nmetadata:\n  k: v\n---\nbody\n";
    assert_eq!(merged("SKILL.md", base, sorted, &with("k: v", "k: w")).unwrap(), sorted.replace("k: v", "k: w"));
    // The sides added the tools in different spellings.
    assert_eq!(
        merged(
            "SKILL.md",
            base,
            &with("name: a\n", "name: a\nallowed-tools: Read\n"),
            &with("name: a\n", "name: a\nallowedTools: Bash\n")
        ),
        None
    );
    // A block that cannot be split into keys is merged by lines.
    let anchored = "---\nname: &n a\nlicense: MIT\nmetadata: {k: *n}\nversion: 1\n---\nbody\n";
    assert_eq!(
        merged(
            "SKILL.md",
            anchored,
            &anchored.replace("&n a", "&n b"),
            &anchored.replace("MIT", "BSD").replace("version: 1", "version: 2")
        )
        .unwrap(),
        "---\nname: &n b\nlicense: BSD\nmetadata: {k: *n}\nversion: 2\n---\nbody\n"
    );
    // A file without frontmatter is merged by lines as well.
    assert_eq!(merged("SKILL.md", "one\ntwo\nthree\n", "1\ntwo\nthree\n", "one\ntwo\n3\n").unwrap(), "1\ntwo\n3\n");
}

#[test]
fn frontmatter_keeps_our_byte_format() {
    let base = "---\nname: a\nlicense: MIT\n---\none\ntwo\nthree\n";
    let ours = format!("\u{FEFF}{}", base.replace("MIT", "BSD").replace("three", "3")).replace('\n', "\r\n");
    let theirs = base.replace("license", "version: 1\nlicense").replace("one", "1");
    let [base, ours, theirs] = [base, &ours, &theirs].map(|text| bundle(&[("SKILL.md", text)]));
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    assert!(done.is_clean(), "{:?}", done.conflicts);
    let expected = "\u{FEFF}---\nname: a\nversion: 1\nlicense: BSD\n---\n1\ntwo\n3\n".replace('\n', "\r\n");
    assert_eq!(done.bundle.skill_md(), Some(expected.as_str()));
}

/// Texts of up to two lines with every kind of line ending, including a lone `\r`.
fn texts_by_ends() -> Vec<String> {
    let ends = ["\n", "\r\n"];
    let mut texts: Vec<String> = ["", "\n", "\r\n", "\r"].map(|end| format!("---{end}")).into();
    texts.extend(ends.iter().flat_map(|end| ["---", "---\r", "x\n"].map(|last| format!("---{end}{last}"))));
    texts.extend(ends.iter().flat_map(|end| ends.map(|last| format!("---{end}---{last}"))));
    texts
}

#[test]
fn mixed_line_ends_merge_symmetrically() {
    let texts = texts_by_ends();
    for at in ["SKILL.md", "a.md"] {
        for (n, base) in (0..texts.len().pow(3)).map(|n| (n, &texts[n % texts.len()])) {
            let [ours, theirs] = [n / texts.len() % texts.len(), n / texts.len().pow(2)].map(|at| &texts[at]);
            let [one, a, b] = [base, ours, theirs].map(|text| bundle(&[(at, text)]));
            let both = [merge(&one, &a, &b, &Limits::default()), merge(&one, &b, &a, &Limits::default())];
            let [here, there] = both.map(|merged| merged.unwrap().is_clean());
            assert_eq!(here, there, "{at} {base:?} {ours:?} {theirs:?}");
        }
        let [base, side] = ["---\n---", "---\n---\r"].map(|text| bundle(&[(at, text)]));
        let taken = merge(&base, &base, &side, &Limits::default()).unwrap();
        assert_eq!(taken.bundle, side, "a lone return at the end is a change");
    }
}
