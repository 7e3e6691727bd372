//! [`run`]: a skill and two descendants by a plan of small edits, merged in both directions.

use arbitrary::{Result, Unstructured};
use skill::{Bundle, File, Limits, SkillPath, merge::merge};

const PATHS: [&str; 4] = ["SKILL.md", "references/notes.md", "scripts/run.sh", "assets/x.bin"];
/// Lines that say something, that say nothing, and that stand often.
const LINES: [&str; 16] = [
    "---",
    "name: s",
    "description: Does a thing. Use when a thing is to be done.",
    "allowed-tools: Read",
    "license: MIT",
    "",
    "```",
    "- item",
    "- another item with words",
    "# Heading",
    "alpha beta gamma delta epsilon zeta eta theta",
    "alpha beta gamma changed epsilon zeta eta theta",
    "  indented line",
    "é ☂",
    "one",
    "two\tthree",
];

/// Merges what the plan makes.
pub fn run(bytes: &[u8]) {
    let mut plan = Unstructured::new(bytes);
    let limits = Limits::default();
    let Ok(base) = planned(&mut plan) else { return };
    let (Ok(ours), Ok(theirs)) = (descendant(&base, &mut plan), descendant(&base, &mut plan)) else { return };
    for side in [&ours, &theirs] {
        let same = merge(&base, side, side, &limits).expect("a skill within the limits");
        assert!(same.is_clean() && same.bundle == *side, "what both did is done once: {:?}", same.conflicts);
        let alone = merge(&base, side, &base, &limits).expect("a skill within the limits");
        assert!(alone.is_clean() && alone.bundle == *side, "what ours alone did stays: {:?}", alone.conflicts);
        let taken = merge(&base, &base, side, &limits).expect("a skill within the limits");
        assert!(taken.is_clean(), "what theirs alone did is taken: {:?}", taken.conflicts);
        assert!(taken.bundle.same_but_line_ends(side), "what theirs alone did is taken as it is");
    }
    let (Ok(one), Ok(other)) = (merge(&base, &ours, &theirs, &limits), merge(&base, &theirs, &ours, &limits)) else {
        return;
    };
    assert_eq!(one.is_clean(), other.is_clean(), "{:?} {:?}", one.conflicts, other.conflicts);
    assert!(one.bundle.total_bytes() <= limits.skill_bytes);
    for conflict in &one.conflicts {
        assert!(!conflict.to_string().is_empty());
    }
}

/// A base of some files.
fn planned(plan: &mut Unstructured<'_>) -> Result<Bundle> {
    let mut files = Vec::new();
    for path in PATHS {
        if path == PATHS[0] || plan.arbitrary()? {
            files.push((path, text(plan)?, plan.arbitrary()?));
        }
    }
    Ok(bundle(&files))
}

fn bundle(files: &[(&str, String, bool)]) -> Bundle {
    let files = files.iter().map(|(path, text, executable)| {
        (SkillPath::parse(path).expect("a path"), File { bytes: text.as_bytes().into(), executable: *executable })
    });
    Bundle::from_files(files, &Limits::default()).expect("a small skill")
}

fn text(plan: &mut Unstructured<'_>) -> Result<String> {
    let mut lines = Vec::new();
    for _ in 0..plan.int_in_range(0..=14)? {
        lines.push(*plan.choose(&LINES)?);
    }
    let end = if plan.ratio(1, 8)? { "\r\n" } else { "\n" };
    Ok(lines.join(end) + if plan.ratio(1, 4)? { "" } else { end })
}

/// The same skill with some lines changed, and perhaps a file more or less.
fn descendant(base: &Bundle, plan: &mut Unstructured<'_>) -> Result<Bundle> {
    let mut files = Vec::new();
    for path in PATHS {
        let path_of = SkillPath::parse(path).expect("a path");
        match base.get(&path_of) {
            Some(_) if path != PATHS[0] && plan.ratio(1, 12)? => {}
            Some(file) => {
                let text = edited(file.text().unwrap_or_default(), plan)?;
                files.push((path, text, file.executable ^ plan.ratio(1, 12)?));
            }
            None if plan.ratio(1, 12)? => files.push((path, text(plan)?, false)),
            None => {}
        }
    }
    Ok(bundle(&files))
}

fn edited(text: &str, plan: &mut Unstructured<'_>) -> Result<String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    for _ in 0..plan.int_in_range(0..=3)? {
        let at = plan.choose_index(lines.len())?;
        match plan.int_in_range(0..=2)? {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(at, plan.choose(&LINES)?),
            _ => lines[at] = plan.choose(&LINES)?,
        }
    }
    Ok(lines.join("\n"))
}
