//! What a merge takes, what it leaves to a person, and where it puts things.

mod properties;

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

/// Merges one file; `None` when there is a conflict. Both directions must agree.
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
fn changes_at_different_places_are_both_taken() {
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
fn repeated_lines_are_no_place() {
    let base = "- a\n- a\n- a\nend\n";
    // Where the bullet was added, nobody can say.
    assert_eq!(merged("a.md", base, "- a\n- a\n- a\n- a\nend\n", "- a\n- b\n- a\nend\n"), None);
    assert_eq!(merged("a.md", base, "- a\n- a\nend\n", "- a\n- b\n- a\nend\n"), None);
    assert_eq!(merged("a.md", base, "- a\n- a\n- a\n- a\nend\n", "- a\n- a\n- a\nthe end\n"), None);
    assert_eq!(
        merged("a.md", &format!("{base}more\n"), "- a\n- a\n- a\n- a\nend\nmore\n", "- a\n- a\n- a\nend\nless\n")
            .unwrap(),
        "- a\n- a\n- a\n- a\nend\nless\n"
    );
}

#[test]
fn neighbouring_lines_merge_when_each_lives_on() {
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
fn prose_merges_by_words_and_code_does_not() {
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
fn line_ends_are_those_of_ours() {
    let base = bundle(&[("a.md", "one\ntwo\nthree\n")]);
    let ours = bundle(&[("a.md", "one\r\ntwo\r\nthree\r\n")]);
    let theirs = bundle(&[("a.md", "one\ntwo\n3\nfour")]);
    let done = merge(&base, &ours, &theirs, &Limits::default()).unwrap();
    assert_eq!(done.bundle.get(&path("a.md")).unwrap().text(), Some("one\r\ntwo\r\n3\r\nfour"));
    assert_eq!(merge(&base, &theirs, &ours, &Limits::default()).unwrap().bundle, theirs);
}

#[test]
fn files_are_merged_one_by_one() {
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
            "b was changed, but is removed in the current state",
            "docs/y was added, but would be the same file or folder as Docs/x on some systems",
            "both sides added g, with different contents",
        ]
    );
}
