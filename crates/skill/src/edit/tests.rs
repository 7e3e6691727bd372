//! Tests of the rules for edits, including known mistakes of other tools.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::BundleError;

fn path(text: &str) -> SkillPath {
    SkillPath::parse(text).unwrap()
}

fn skill(files: &[(&str, &str)]) -> Bundle {
    let files = files.iter().map(|(at, text)| (path(at), File { bytes: text.as_bytes().into(), executable: false }));
    Bundle::from_files(files, &Limits::default()).unwrap()
}

fn patch(find: &str, replace: &str) -> Patch {
    Patch {
        path: SkillPath::skill_md(),
        find: find.into(),
        replace: replace.into(),
        expected_count: None,
        replace_all: false,
    }
}

fn run(patch: Patch, text: &str) -> Result<Applied, EditError> {
    apply(&Edit::Patch(patch), &skill(&[("SKILL.md", text)]), &Limits::default())
}

/// Applies a patch and returns the new text with the relaxation that it needed.
fn patched(find: &str, replace: &str, text: &str) -> (String, Option<Relaxation>) {
    let applied = run(patch(find, replace), text).unwrap_or_else(|error| panic!("{find:?} in {text:?}: {error}"));
    (applied.bundle.skill_md().unwrap().to_owned(), applied.relaxation)
}

fn text_of(applied: &Applied) -> &str {
    applied.bundle.skill_md().unwrap()
}

fn assert_unchanged(patch: Patch, text: &str) {
    let applied = run(patch, text).unwrap();
    assert!(!applied.changed && text_of(&applied) == text, "{applied:?}");
    assert_eq!(applied.notes.len(), 1);
}

#[test]
fn create_needs_a_free_name() {
    let limits = Limits::default();
    let create = Edit::Create { content: "x".into() };
    let made = apply(&create, &Bundle::default(), &limits).unwrap();
    assert_eq!((text_of(&made), made.changed), ("x", true));
    assert_eq!(apply(&create, &made.bundle, &limits), Err(EditError::Exists));
    let others = [
        Edit::Edit { content: "y".into() },
        Edit::Patch(patch("x", "y")),
        Edit::WriteFile { path: path("scripts/a"), bytes: vec![], executable: None },
        Edit::RemoveFile { path: path("scripts/a") },
        Edit::Delete,
    ];
    for edit in others {
        assert_eq!(apply(&edit, &Bundle::default(), &limits), Err(EditError::NotFound), "{edit:?}");
    }
}

#[test]
fn deleted_skill_can_be_created_again() {
    let limits = Limits::default();
    let deleted = apply(&Edit::Delete, &skill(&[("SKILL.md", "x"), ("a", "y")]), &limits).unwrap();
    assert!(deleted.changed && deleted.bundle.is_empty());
    assert!(apply(&Edit::Create { content: "z".into() }, &deleted.bundle, &limits).is_ok());
}

#[test]
fn ambiguous_patch_is_refused_with_lines() {
    let text = "use foo\n\nthen foo\nand\n  foo again\n";
    let Err(EditError::AmbiguousMatch { found, matches, .. }) = run(patch("foo", "bar"), text) else { panic!() };
    let line = |line, text: &str| Match { line, text: text.into() };
    assert_eq!((found, matches), (3, vec![line(1, "use foo"), line(3, "then foo"), line(5, "  foo again")]));
    let message = run(patch("foo", "bar"), text).unwrap_err().to_string();
    assert!(message.contains("lines 1, 3, 5"), "{message}");
}

#[test]
fn overlapping_matches_are_ambiguous() {
    assert!(matches!(run(patch("aa", "b"), "aaa"), Err(EditError::AmbiguousMatch { found: 2, .. })));
    assert!(matches!(run(patch("éé", "b"), "ééé"), Err(EditError::AmbiguousMatch { found: 2, .. })));
}

#[test]
fn expected_count_must_be_exact() {
    let counted = |expected| Patch { expected_count: Some(expected), ..patch("foo", "bar") };
    assert_eq!(text_of(&run(counted(2), "foo foo").unwrap()), "bar bar");
    let Err(EditError::CountMismatch { expected: 3, found: 2, matches, .. }) = run(counted(3), "foo\nfoo") else {
        panic!()
    };
    assert_eq!(matches.iter().map(|m| m.line).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(run(counted(0), "foo"), Err(EditError::ZeroCount));
    let all = Patch { replace_all: true, ..patch("foo", "bar") };
    assert_eq!(text_of(&run(all.clone(), "foo foo foo").unwrap()), "bar bar bar");
    assert!(matches!(run(all, "none"), Err(EditError::NoMatch { .. })));
}

#[test]
fn errors_list_first_matches_and_total() {
    let Err(EditError::AmbiguousMatch { found, matches, .. }) = run(patch("x", "y"), &"x\n".repeat(5000)) else {
        panic!()
    };
    assert_eq!((found, matches.len(), matches[19].line), (5000, Match::MAX_LISTED, 20));
}

#[test]
fn empty_find_is_refused() {
    assert_eq!(run(patch("", "x"), "text"), Err(EditError::EmptyFind));
}

#[test]
fn exact_patch_preserves_crlf_bytes() {
    let text = "---\r\nname: a \r\n---\r\n\r\nold one\nmixed\r\n";
    let (result, relaxation) = patched("old one", "new one", text);
    assert_eq!((result, relaxation), (text.replace("old one", "new one"), None));
}

#[test]
fn added_lines_use_file_line_ends() {
    assert_eq!(patched("b", "b\nc", "a\r\nb\r\n"), ("a\r\nb\r\nc\r\n".into(), None));
    assert_eq!(patched("b", "c\nd", "a\nb\r\n"), ("a\nc\nd\r\n".into(), None), "the first line of the file counts");
    assert_eq!(patched("a\r\nb", "a\nb", "a\r\nb\r\n"), ("a\nb\r\n".into(), None), "spelled out: taken at its word");
}

#[test]
fn line_ends_are_ignored_both_ways() {
    let crlf = Some(Relaxation::LineEnds);
    assert_eq!(patched("a\nb", "c\nd\ne", "x\r\na\r\nb\r\n"), ("x\r\nc\r\nd\r\ne\r\n".into(), crlf));
    assert_eq!(patched("a\r\nb", "c\r\nd", "x\na\nb\n"), ("x\nc\nd\n".into(), crlf));
    assert_eq!(patched("ne\ntw", "-\n-", "one\r\ntwo\r\n"), ("o-\r\n-o\r\n".into(), crlf), "inside lines as well");
}

#[test]
fn trailing_blanks_are_ignored() {
    let trailing = Some(Relaxation::TrailingSpace);
    assert_eq!(patched("a\nb", "c\nd", "a  \nb\t\n"), ("c\nd\t\n".into(), trailing));
    assert_eq!(patched("a \nb  ", "c", "x\na\nb\ny"), ("x\nc\ny".into(), trailing));
    assert_eq!(patched("a\nb", "c", "a \r\nb\r\n"), ("c\r\n".into(), trailing), "with the line ends");
}

#[test]
fn trailing_blank_never_matches_inside_word() {
    assert!(matches!(run(patch("use the ", "use a "), "now use then\n"), Err(EditError::NoMatch { .. })));
    assert_eq!(patched("use the ", "use a", "now use the\n").0, "now use a\n");
}

#[test]
fn typography_is_ignored() {
    let typography = Some(Relaxation::Typography);
    assert_eq!(patched("say \"it's\"", "say no", "I say “it’s” so"), ("I say no so".into(), typography));
    assert_eq!(patched("a - b", "a+b", "x a\u{a0}— b y"), ("x a+b y".into(), typography));
    assert_eq!(patched("wait... now", "go", "wait… now"), ("go".into(), typography));
    assert_eq!(patched("“q”", "r", "é \"q\" é"), ("é r é".into(), typography), "also the other way round");
    assert!(matches!(run(patch(". now", "!"), "wait… now"), Err(EditError::NoMatch { .. })), "no part of an ellipsis");
}

#[test]
fn typography_relaxation_needs_single_match() {
    assert!(matches!(run(patch("\"a\"", "b"), "“a” and ”a“"), Err(EditError::AmbiguousMatch { found: 2, .. })));
    let counted = Patch { expected_count: Some(2), ..patch("\"a\"", "b") };
    assert_eq!(text_of(&run(counted, "“a” and ”a“").unwrap()), "b and b");
}

#[test]
fn indentation_is_ignored_and_reapplied() {
    let indentation = Some(Relaxation::Indentation);
    let text = "x:\n    if a:\n        b()\n\n    c()\n";
    let (result, used) = patched("if a:\n    b()\n", "if d:\n    e()\n\n    f()\n", text);
    assert_eq!((result.as_str(), used), ("x:\n    if d:\n        e()\n\n        f()\n\n    c()\n", indentation));
    let (result, used) = patched("  if a:\n    b()", "  g()", "if a:\n\tb()\n");
    assert_eq!((result.as_str(), used), ("g()\n", indentation), "two columns a tab, two less");
    let (result, _) = patched("        b()", "        e()\n        f()", "\tb()\r\n");
    assert_eq!(result, "\te()\r\n\tf()\r\n", "tabs and the line ends of the file");
}

#[test]
fn unevenly_indented_lines_do_not_match() {
    let text = "  a one two\nb three four\n";
    assert!(matches!(run(patch("a one two\n b three four", "x"), text), Err(EditError::NoMatch { .. })));
    let text = "x\n  a()\n";
    assert!(matches!(run(patch("    a()\n", "  b()\nc()\n"), text), Err(EditError::NoMatch { .. })), "c() cannot move");
}

#[test]
fn indentation_relaxation_needs_single_match() {
    let text = "  one()\n  two()\n\n      one()\n      two()\n";
    assert!(matches!(run(patch("\tone()\n\ttwo()", "x"), text), Err(EditError::AmbiguousMatch { found: 2, .. })));
}

#[test]
fn strictest_matching_reading_is_used() {
    assert_eq!(patched("a\nb", "c", "a\nb\na \nb\n"), ("c\na \nb\n".into(), None));
}

/// Returns whether a patch is recognised as applied in the last of several texts, from the step between any two of
/// them.
fn is_known(patch: &Patch, texts: &[&str]) -> bool {
    let now = texts.last().unwrap();
    let steps = texts.windows(2).map(|pair| Step { before: pair[0], after: pair[1] });
    looks_applied(patch, &skill(&[("SKILL.md", now)]))
        && steps.into_iter().any(|step| shows_applied(patch, step, now, &Limits::default()))
}

#[test]
fn applied_patch_is_recognised_by_step() {
    let cases = [
        ("version 1.0", "version 1.1", "is version 1.0 now\n"),
        ("foo", "foo bar", "a foo b\n"),
        ("foo", "foo foo", "a foo b\n"),
        ("a\nb", "a\nnew\nb", "a\r\nb\r\n"),
        ("a\nb", "a\nb\nnew", "a\r\nb\r\n"),
        ("first\ntwo three", "first", "x\nfirst\ntwo three\ny\n"),
        ("if a:\n  b()", "if a:\n  b()\n  c()", "\tif a:\n\t\tb()\n"),
        ("if a:\n  b()", "if c:\n  d()", "\tif a:\n\t\tb()\n"),
        ("\"quoted\" text", "'quoted' text", "a “quoted” text\n"),
        ("step one\nstep two", "step zero\nstep two", "step one  \nstep two\n"),
        ("old line\n", "}\n", "a {\nold line\n"),
        ("old", "", "the old text\n"),
        ("new or old", "new", "new or old, new\n"),
    ];
    for (find, replace, text) in cases {
        let (patch, first) = (patch(find, replace), run(patch(find, replace), text).unwrap());
        assert!(first.changed && !looks_applied(&patch, &skill(&[("SKILL.md", text)])), "{find:?}");
        let now = text_of(&first);
        assert!(is_known(&patch, &[text, now]), "{find:?}");
        let later = format!("first of all\n{now}last of all\n");
        assert!(is_known(&patch, &[text, now, &later]), "after another edit: {find:?}");
        assert!(is_known(&patch, &[text, now, &now.replace("\r\n", "\n")]), "after a change of line ends: {find:?}");
        assert!(!is_known(&patch, &["quite another thing\n", now]), "{find:?}");
    }
}

#[test]
fn counted_patch_is_recognised_too() {
    let all = Patch { replace_all: true, ..patch("cat", "cat and dog") };
    assert!(is_known(&all, &["cat, cat", "cat and dog, cat and dog"]));
    assert_eq!(text_of(&run(all.clone(), "cat and dog, cat").unwrap()), "cat and dog and dog, cat and dog");
    assert!(!is_known(&all, &["cat, cat", "cat and dog, cat"]));
    let counted = |n| Patch { expected_count: Some(n), ..patch("old name", "new name") };
    assert!(is_known(&counted(2), &["old name, old name", "new name, new name"]));
    assert!(!is_known(&counted(3), &["old name, old name", "new name, new name"]));
    assert!(!is_known(&counted(2), &["old name, old name", "new name"]));
}

#[test]
fn coincidental_replacement_is_not_recognised() {
    let rename = patch("old name", "new name");
    assert!(!is_known(&rename, &["the new name", "this new name"]), "the old name never stood there");
    assert!(!is_known(&rename, &["old name or new name", "new name"]), "it was taken away and not replaced");
    assert!(is_known(&rename, &["old name or new name", "new name or new name"]));
    assert!(is_known(&rename, &["old name", "rewritten: new name"]), "another edit may have made the same change");
    assert!(!is_known(&rename, &["old name", "new name", "old name"]), "taken back: it can be applied");
    assert!(!is_known(&patch("old line", "}"), &["old line\n", "fn a() {\n}\n"]), "too short to tell anything");
    let moved = patch("first\nmiddle line\nlast line", "first line");
    assert!(!is_known(&moved, &["first\nmiddle line\nlast line", "first line\nother\nlast line"]));
}

#[test]
fn extending_patch_needs_a_recorded_step() {
    let add = patch("a", "a b");
    assert_eq!(patched("a", "a b", "a b\n").0, "a b b\n", "taken literally");
    assert!(!is_known(&add, &["x\n", "a b\n"]) && !is_known(&add, &["a b\n", "z a b\n"]));
    assert!(is_known(&add, &["a b\n", "a b b\n"]) && is_known(&add, &["a\n", "a b\n", "a b, b\n"]));
    assert!(!is_known(&add, &["a b\n", "a b b\n", "a b\n"]), "taken back");
    assert!(matches!(run(add, "a b, a b\n"), Err(EditError::AmbiguousMatch { found: 2, .. })));
}

#[test]
fn consecutive_patches_are_recognised_together() {
    let (first, second) = (patch("a", "b c"), patch("c", "c d"));
    let lead = |before, after| lead_to(&[&first, &second], Step { before, after }, &Limits::default());
    assert!(lead("a\n", "b c d\n") && lead("a\r\n", "b c d\n"));
    assert!(!lead("a\n", "b c\n") && !lead("x\n", "b c d\n"));
}

#[test]
fn seemingly_applied_patch_does_not_match() {
    let no_match = |find: &str, replace: &str, text: &str| {
        assert!(matches!(run(patch(find, replace), text), Err(EditError::NoMatch { .. })), "{find:?}");
    };
    no_match("old line", "}", "fn a() {\n}\n");
    no_match("old line", "", "some text\n");
    no_match("no such words anywhere", "some words that stand there", "some words that stand there\n");
    no_match("first\nmiddle line\nlast line", "first line", "first line\nother\nlast line\n");
    no_match("old line", "new line", "new line\nnew line\n");
}

#[test]
fn identical_replacement_needs_a_match() {
    assert_unchanged(patch("same", "same"), "the same\n");
    assert!(matches!(run(patch("absent text", "absent text"), "the same\n"), Err(EditError::NoMatch { .. })));
}

#[test]
fn failed_match_lists_nearest_lines() {
    let text =
        "# Title\n\nRun the tests with cargo test.\n\nThen push the branch.\n\nRun the lints with cargo clippy.\n";
    let Err(EditError::NoMatch { nearest, .. }) = run(patch("Run all the tests with cargo.", "x"), text) else {
        panic!()
    };
    assert_eq!((nearest[0].line, nearest[0].text.as_str()), (3, "Run the tests with cargo test."));
    assert!(nearest[0].similarity > 70 && nearest.len() <= 3);
    assert!(nearest.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
    let two = patch("\nThen pull the branch.\n\nRun the lints with cargo.\n", "x");
    let Err(error @ EditError::NoMatch { .. }) = run(two, text) else { panic!() };
    assert!(error.to_string().contains("line 5"), "{error}");
    let EditError::NoMatch { nearest, .. } = error else { panic!() };
    assert_eq!(nearest[0].text, "Then push the branch.\n\nRun the lints with cargo clippy.");
}

#[test]
fn unrelated_text_has_no_nearest_line() {
    let Err(EditError::NoMatch { nearest, .. }) = run(patch("quite another thing", "x"), "1234\n5678\n") else {
        panic!()
    };
    assert_eq!(nearest, []);
}

#[test]
fn only_text_files_can_be_patched() {
    let limits = Limits::default();
    let base = skill(&[("SKILL.md", "x"), ("notes/a.md", "old text"), ("assets/b.bin", "a\0b")]);
    let at = |at: &str| Edit::Patch(Patch { path: path(at), ..patch("old", "new") });
    let applied = apply(&at("notes/a.md"), &base, &limits).unwrap();
    assert_eq!(applied.bundle.get(&path("notes/a.md")).unwrap().text(), Some("new text"));
    assert!(matches!(apply(&at("assets/b.bin"), &base, &limits), Err(EditError::NotText { .. })));
    let Err(EditError::FileNotFound { nearest, .. }) = apply(&at("references/a.md"), &base, &limits) else { panic!() };
    assert_eq!(nearest[0], path("notes/a.md"));
}

#[test]
fn new_files_need_known_folders() {
    let limits = Limits::default();
    let base = skill(&[("SKILL.md", "x"), ("LICENSE", "a"), ("lib/x.py", "b")]);
    let write = |at: &str| Edit::WriteFile { path: path(at), bytes: b"new".to_vec(), executable: None };
    for at in
        ["scripts/a.py", "references/b/c.md", "templates/d", "assets/e", "evals/f", "LICENSE", "lib/x.py", "SKILL.md"]
    {
        let applied = apply(&write(at), &base, &limits).unwrap();
        assert_eq!(applied.bundle.get(&path(at)).unwrap().text(), Some("new"), "{at}");
    }
    for at in ["notes.md", "lib/y.py", "scripts", "Scripts/a.py", "skill.md"] {
        let error = apply(&write(at), &base, &limits).unwrap_err();
        assert!(matches!(error, EditError::FolderNotAllowed { .. }), "{at}");
        assert!(error.to_string().contains("references"), "{error}");
    }
}

#[test]
fn executable_bit_is_kept_by_default() {
    let limits = Limits::default();
    let write = |executable, bytes: &[u8]| Edit::WriteFile { path: path("scripts/a"), bytes: bytes.into(), executable };
    let bit = |applied: &Applied| applied.bundle.get(&path("scripts/a")).unwrap().executable;
    let base = skill(&[("SKILL.md", "x")]);
    let plain = apply(&write(None, b"a"), &base, &limits).unwrap();
    assert!(!bit(&plain));
    let set = apply(&write(Some(true), b"a"), &plain.bundle, &limits).unwrap();
    assert!(bit(&set) && set.changed, "a mode alone is a change");
    let kept = apply(&write(None, b"b"), &set.bundle, &limits).unwrap();
    assert!(bit(&kept));
    let again = apply(&write(None, b"b"), &kept.bundle, &limits).unwrap();
    assert!(!again.changed && again.notes.len() == 1);
    let patched = Edit::Patch(Patch { path: path("scripts/a"), ..patch("b", "c") });
    assert!(bit(&apply(&patched, &kept.bundle, &limits).unwrap()));
}

#[test]
fn skill_md_cannot_be_removed() {
    let limits = Limits::default();
    let base = skill(&[("SKILL.md", "x"), ("scripts/build.py", "y")]);
    let remove = |at: &str| apply(&Edit::RemoveFile { path: path(at) }, &base, &limits);
    assert_eq!(remove("scripts/build.py").unwrap().bundle, skill(&[("SKILL.md", "x")]));
    let error = remove("SKILL.md").unwrap_err();
    assert!(error.to_string().contains("delete"), "{error}");
    let error = remove("scripts/bild.py").unwrap_err();
    assert!(error.to_string().contains("did you mean scripts/build.py"), "{error}");
}

#[test]
fn limits_apply_to_every_edit() {
    let limits = Limits { skill_md_chars: 10, text_file_bytes: 40, files_per_skill: 2, ..Limits::default() };
    let base = skill(&[("SKILL.md", "ééééé"), ("scripts/a", "aaaaaaaaaa")]);
    let edit = |content: &str| apply(&Edit::Edit { content: content.into() }, &base, &limits);
    assert!(edit("éééééééééé").is_ok(), "characters, not bytes");
    assert_eq!(edit("ééééééééééé"), Err(EditError::TooLarge { chars: 11, limit: 10 }));
    let grown = apply(&Edit::Patch(Patch { replace_all: true, ..patch("é", "long") }), &base, &limits);
    assert_eq!(grown, Err(EditError::TooLarge { chars: 20, limit: 10 }));
    let all = Patch { path: path("scripts/a"), replace_all: true, ..patch("a", "12345") };
    assert!(matches!(
        apply(&Edit::Patch(all), &base, &limits),
        Err(EditError::Bundle(BundleError::TextTooLarge { .. }))
    ));
    let third = Edit::WriteFile { path: path("scripts/b"), bytes: vec![], executable: None };
    assert!(matches!(apply(&third, &base, &limits), Err(EditError::Bundle(BundleError::TooManyFiles { .. }))));
}

#[test]
fn written_paths_must_differ_beyond_case() {
    let base = skill(&[("SKILL.md", "x"), ("scripts/a", "y")]);
    let write = Edit::WriteFile { path: path("scripts/A"), bytes: vec![], executable: None };
    let result = apply(&write, &base, &Limits::default());
    assert!(matches!(result, Err(EditError::Bundle(BundleError::Collision { .. }))));
}

/// Inputs designed to be slow, each within the limits of a file and a request.
#[test]
fn hostile_sizes_finish_in_time() {
    let line = "the quick brown fox jumps over the lazy dog again\n";
    let cases = [
        ("lines that differ", line.repeat(20_900), line.replace("dog", "cat").repeat(1900)),
        ("one long line", "ab".repeat(500_000), "ab".repeat(50_000) + "c"),
        ("blank lines", "\n".repeat(1_000_000), "\n".repeat(100_000) + "x"),
        ("short lines", "a \n".repeat(340_000), "a\n".repeat(49_000) + "b"),
        ("tabs", "\ta\n".repeat(340_000), " a\n".repeat(32_000) + "\ta"),
        ("quotes", "“a” ".repeat(130_000), "\"a\" ".repeat(24_000) + "b"),
        ("trailing blanks", " ".repeat(1_000_000), "x".to_owned() + &" ".repeat(99_000)),
    ];
    for (name, text, find) in cases {
        let base = skill(&[("SKILL.md", "x"), ("references/a.md", &text)]);
        let patch = Patch { path: path("references/a.md"), ..patch(&find, "replacement") };
        let start = Instant::now();
        let result = apply(&Edit::Patch(patch), &base, &Limits::default());
        let time = start.elapsed();
        eprintln!("{name}: {time:?}");
        assert!(result.is_err(), "{name}");
        assert!(time < Duration::from_secs(60), "{name} took {time:?}");
    }
}

#[test]
fn repeated_replacement_has_bounded_memory() {
    let base = skill(&[("SKILL.md", "x"), ("references/a.md", &"a\n".repeat(500_000))]);
    for find in ["a", "  a"] {
        let patch = Patch { path: path("references/a.md"), replace_all: true, ..patch(find, &"  b\n".repeat(30_000)) };
        let result = apply(&Edit::Patch(patch), &base, &Limits::default());
        assert!(matches!(result, Err(EditError::Bundle(BundleError::TextTooLarge { .. }))));
    }
}

proptest! {
    /// Under any relaxation, the text before and after the match is unchanged.
    #[test]
    fn patch_changes_only_its_match(
        before in "[ab \t“\r\n]{0,12}", after in "[ab \t”\r\n]{0,12}", middle in "[xy]([ \t’…\n]{0,3}[xyz]){1,4}",
        level in 0..4_usize,
    ) {
        let find = match level {
            0 => middle.replace('\n', "\r\n"),
            1 => middle.replace('\n', " \n"),
            2 => middle.replace('’', "'").replace('…', "..."),
            _ => middle.clone(),
        };
        let text = format!("{before}{middle}{after}");
        if let Ok(applied) = run(patch(&find, "REPLACED"), &text) {
            let result = text_of(&applied);
            prop_assert!(applied.changed);
            prop_assert!(result.starts_with(before.trim_end_matches([' ', '\t'])), "{result:?}");
            prop_assert!(result.ends_with(&after), "{result:?}");
            prop_assert_eq!(result.matches("REPLACED").count(), 1);
        }
    }

    /// A patch that extends its own searched text is recognised from the step that it made.
    #[test]
    fn extending_patch_is_recognised_afterwards(
        text in "[a-d\n]{0,20}", find in "[e-g]{1,4}", added in "[a-d ]{1,5}",
    ) {
        let (before, patch) = (format!("{text}{find}\n"), patch(&find, &format!("{find}{added}")));
        let first = run(patch.clone(), &before).unwrap();
        prop_assert!(is_known(&patch, &[&before, text_of(&first)]));
        prop_assert!(!is_known(&patch, &[&text, text_of(&first)]));
    }
}
