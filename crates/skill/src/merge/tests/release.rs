//! Tests of the merge rules for a new release: moved files, markers, and one side throughout.

use super::*;

const MARKED: Clashes<'static> = Clashes::Marked { ours: "yours", theirs: "acme/x 1.1.0" };

fn by(clashes: Clashes<'_>, bundles: [&Bundle; 3]) -> Merge {
    let rules = Rules { plain: None, words: false, follows_renames: true, clashes };
    merge_by(&rules, bundles, &Limits::default()).unwrap()
}

fn text(merge: &Merge, at: &str) -> Option<String> {
    merge.bundle.get(&path(at)).map(|file| file.text().unwrap().to_owned())
}

const LONG: &str = "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\n";

#[test]
fn moved_file_takes_the_others_changes() {
    let base = bundle(&[("references/a.md", LONG)]);
    let edited = LONG.replace("beta", "BETA");
    let kept = bundle(&[("references/a.md", &edited)]);
    let moved = bundle(&[("references/b.md", &LONG.replace("eta\ntheta", "eta\nTHETA"))]);
    for (ours, theirs) in [(&kept, &moved), (&moved, &kept)] {
        let merge = by(MARKED, [&base, ours, theirs]);
        assert!(merge.is_clean(), "{:?}", merge.conflicts);
        let both = LONG.replace("beta", "BETA").replace("eta\ntheta", "eta\nTHETA");
        assert_eq!(text(&merge, "references/b.md"), Some(both));
        assert_eq!(merge.bundle.len(), 1);
    }
}

#[test]
fn moved_and_removed_file_is_gone() {
    let base = bundle(&[("a.md", LONG), ("SKILL.md", "x\n")]);
    let gone = bundle(&[("SKILL.md", "x\n")]);
    let moved = bundle(&[("b.md", LONG), ("SKILL.md", "x\n")]);
    assert_eq!(by(MARKED, [&base, &gone, &moved]).bundle, gone);
    let changed = bundle(&[("b.md", &LONG.replace("zeta", "ZETA")), ("SKILL.md", "x\n")]);
    let merge = by(MARKED, [&base, &gone, &changed]);
    assert_eq!(merge.conflicts.len(), 1);
    assert_eq!(merge.bundle, changed);
}

#[test]
fn file_moved_twice_is_kept_twice() {
    let base = bundle(&[("a.md", LONG)]);
    let merge = by(MARKED, [&base, &bundle(&[("b.md", LONG)]), &bundle(&[("c.md", LONG)])]);
    assert_eq!(merge.bundle, bundle(&[("b.md", LONG), ("c.md", LONG)]));
    assert!(matches!(merge.conflicts[0].kind, ConflictKind::MovedByBoth { .. }));
}

#[test]
fn move_keeps_an_existing_file() {
    let base = bundle(&[("a.md", LONG)]);
    let ours = bundle(&[("a.md", &LONG.replace("beta", "BETA")), ("b.md", "mine\n")]);
    let theirs = bundle(&[("b.md", LONG)]);
    let merge = by(MARKED, [&base, &ours, &theirs]);
    assert!(!merge.is_clean());
    assert_eq!(text(&merge, "a.md"), Some(LONG.replace("beta", "BETA")));
    assert!(text(&merge, "b.md").unwrap().contains("mine\n"));
}

#[test]
fn conflict_markers_hold_both_sides() {
    let base = bundle(&[("a.md", "one\ntwo\nthree\n")]);
    let ours = bundle(&[("a.md", "one\nzwei\nthree\n")]);
    let theirs = bundle(&[("a.md", "one\ndeux\nthree\n")]);
    let merge = by(MARKED, [&base, &ours, &theirs]);
    let marked = "one\n<<<<<<< yours\nzwei\n=======\ndeux\n>>>>>>> acme/x 1.1.0\nthree\n";
    assert_eq!(text(&merge, "a.md").as_deref(), Some(marked));
    assert_eq!(marker_line(marked, "yours", "acme/x 1.1.0"), Some(2));
    assert_eq!(marker_line(marked, "HEAD", "main"), None);
    assert_eq!(by(Clashes::Theirs, [&base, &ours, &theirs]).bundle, theirs);
    assert_eq!(by(Clashes::Ours, [&base, &ours, &theirs]).bundle, ours);
}

#[test]
fn frontmatter_markers_enclose_the_key() {
    let of = |description: &str| {
        let text = format!("---\nname: x\ndescription: {description}\nlicense: MIT\n---\nbody\n");
        bundle(&[("SKILL.md", &text)])
    };
    let (base, ours, theirs) = (of("a"), of("b"), of("c"));
    let merge = by(MARKED, [&base, &ours, &theirs]);
    let marked =
        "name: x\n<<<<<<< yours\ndescription: b\n=======\ndescription: c\n>>>>>>> acme/x 1.1.0\nlicense: MIT\n";
    assert_eq!(text(&merge, "SKILL.md"), Some(format!("---\n{marked}---\nbody\n")));
    assert_eq!(by(Clashes::Theirs, [&base, &ours, &theirs]).bundle, theirs);
    assert_eq!(by(Clashes::Ours, [&base, &ours, &theirs]).bundle, ours);
}

#[test]
fn binary_conflict_takes_one_side() {
    let of = |byte: u8| {
        let file = File { bytes: vec![0, byte].into(), executable: byte == 3 };
        Bundle::from_files([(path("a.bin"), file)], &Limits::default()).unwrap()
    };
    let (base, ours, theirs) = (of(1), of(2), of(3));
    assert_eq!(by(MARKED, [&base, &ours, &theirs]).bundle.get(&path("a.bin")).unwrap().bytes[1], 2);
    assert_eq!(by(Clashes::Theirs, [&base, &ours, &theirs]).bundle, theirs);
    assert_eq!(by(MARKED, [&base, &base, &theirs]).bundle, theirs);
}

#[test]
fn changed_and_removed_file_is_kept() {
    let base = bundle(&[("a.md", "one\n")]);
    let (gone, changed) = (Bundle::default(), bundle(&[("a.md", "two\n")]));
    assert_eq!(by(MARKED, [&base, &gone, &changed]).bundle, changed);
    assert_eq!(by(MARKED, [&base, &changed, &gone]).bundle, changed);
    assert_eq!(by(Clashes::Theirs, [&base, &changed, &gone]).bundle, gone);
    assert_eq!(by(Clashes::Ours, [&base, &gone, &changed]).bundle, gone);
}

#[test]
fn plain_merge_runs_first() {
    let plain = |texts: [&str; 3]| (texts == ["a\n", "b\n", "c\n"]).then(|| "d\n".to_owned());
    let rules = Rules { plain: Some(&plain), words: false, follows_renames: true, clashes: MARKED };
    let files = ["a\r\n", "b\r\n", "c\n"].map(|text| bundle(&[("x.py", text)]));
    let merge = merge_by(&rules, files.each_ref(), &Limits::default()).unwrap();
    assert_eq!(text(&merge, "x.py").as_deref(), Some("d\r\n"));
    let mixed = ["a\n", "b\r\nb\n", "c\n"].map(|text| bundle(&[("x.py", text)]));
    assert!(!merge_by(&rules, mixed.each_ref(), &Limits::default()).unwrap().is_clean());
}
