//! Property tests of [`merge`] for arbitrary texts.

use proptest::prelude::*;

use super::*;

/// Generates texts with few distinct lines, many of them repeated, with and without a final newline.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "",
        "- a",
        "- b",
        "```",
        "---",
        "# Head",
        "name: x",
        "description: a b c d e f g h",
        "license: MIT",
        "    code",
        "the quick brown fox jumps over the lazy dog and runs away",
        "the quick brown cat jumps over the lazy dog and runs off",
        "the slow brown fox jumps over the lazy dog and runs away",
    ]);
    (prop::collection::vec(line, 0..12), any::<bool>())
        .prop_map(|(lines, newline)| lines.join("\n") + if newline { "\n" } else { "" })
}

fn any_skill() -> impl Strategy<Value = Bundle> {
    let file = (prop::sample::select(vec!["SKILL.md", "a.md", "b.py", "bin", "A.md"]), any_text(), any::<bool>());
    prop::collection::vec(file, 0..4).prop_map(|files| {
        files.into_iter().fold(Bundle::default(), |bundle, (at, text, executable)| {
            let bytes = if at == "bin" { [b"\0", text.as_bytes()].concat() } else { text.into_bytes() };
            let file = File { bytes: bytes.into(), executable };
            bundle.clone().with_file(path(at), file, &Limits::default()).unwrap_or(bundle)
        })
    })
}

/// Generates three texts, two of which are derived from the first by a few line edits.
fn related() -> impl Strategy<Value = [String; 3]> {
    let edits = || prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any_text()), 0..4);
    (any_text(), edits(), edits()).prop_map(|(base, ours, theirs)| {
        let edited = |edits: Vec<(prop::sample::Index, u8, String)>| {
            let mut lines: Vec<String> = base.split('\n').map(str::to_owned).collect();
            for (at, kind, text) in edits {
                let at = at.index(lines.len());
                match kind {
                    0 => lines.insert(at, text),
                    1 if lines.len() > 1 => drop(lines.remove(at)),
                    _ => lines[at] = text,
                }
            }
            lines.join("\n")
        };
        [edited(ours), edited(theirs)]
            .into_iter()
            .fold(vec![base.clone()], |mut all, text| {
                all.push(text);
                all
            })
            .try_into()
            .unwrap()
    })
}

fn clean(base: &Bundle, ours: &Bundle, theirs: &Bundle) -> Bundle {
    let done = merge(base, ours, theirs, &Limits::default()).unwrap();
    assert!(done.is_clean(), "{:?}", done.conflicts);
    done.bundle
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn unchanged_side_changes_nothing(base in any_skill(), other in any_skill()) {
        prop_assert_eq!(&clean(&base, &other, &base), &other);
        prop_assert_eq!(&clean(&base, &base, &other), &other);
        prop_assert_eq!(&clean(&base, &other, &other), &other);
    }

    /// Every second line may be changed by either side.
    #[test]
    fn changes_with_a_gap_all_merge(changes in prop::collection::vec((any::<bool>(), 0..5_u8, 0..3_usize), 1..12)) {
        let line = |number: usize| format!("{number} what stands on line {number}\n");
        let [mut base, mut ours, mut theirs, mut all] = [const { String::new() }; 4];
        let mut number = 0;
        let mut unchanged = |texts: [&mut String; 4]| {
            number += 1;
            texts.into_iter().for_each(|text| text.push_str(&line(number)));
        };
        for (at, (is_ours, kind, more)) in changes.into_iter().enumerate() {
            (0..=more).for_each(|_| unchanged([&mut base, &mut ours, &mut theirs, &mut all]));
            let old = if kind == 4 { String::new() } else { format!("old {at}\n") };
            let new = ["", "new\n", "\n", "- a\n- a\n", "added\n"][usize::from(kind)].replace("new", &format!("new {at}"));
            base.push_str(&old);
            ours.push_str(if is_ours { &new } else { &old });
            theirs.push_str(if is_ours { &old } else { &new });
            all.push_str(&new);
        }
        unchanged([&mut base, &mut ours, &mut theirs, &mut all]);
        prop_assert_eq!(merged("a.py", &base, &ours, &theirs), Some(all));
    }

    #[test]
    fn sides_can_be_swapped([base, ours, theirs] in related()) {
        for at in ["SKILL.md", "a.md", "a.py"] {
            merged(at, &base, &ours, &theirs);
        }
    }
}
