//! Randomised tests of texts with few distinct lines. The oracles are the result known by construction and `git
//! merge-file`.
#![expect(clippy::disallowed_methods, reason = "git reads the texts from a scratch folder")]

use std::process::Command;

use super::{replay::Random, *};

/// Environment variable that sets the number of cases. The default is small.
const COUNT: &str = "SKILLHUB_MERGE_CASES";

/// Replacement of a line or block of the base, by line numbers.
#[derive(Debug, Clone)]
struct Change {
    from: usize,
    to: usize,
    lines: Vec<String>,
}

struct Case {
    base: Vec<String>,
    ours: Vec<Change>,
    theirs: Vec<Change>,
}

impl Case {
    fn draw(random: &mut Random) -> Self {
        // Fewer distinct lines make more positions look alike.
        let alphabet = 2 + random.below(20);
        let line = |random: &mut Random| match random.below(alphabet) {
            0 => String::new(),
            1 => "```".to_owned(),
            number => format!("- item {number}"),
        };
        let base: Vec<String> = (0..5 + random.below(30)).map(|_| line(random)).collect();
        let side = |random: &mut Random, mark: &str| {
            let mut changes: Vec<Change> = Vec::new();
            for number in 0..1 + random.below(4) {
                let from = random.below(base.len());
                let to = (from + random.below(4)).min(base.len());
                let lines = (0..random.below(4))
                    .map(|_| if random.below(3) == 0 { format!("{mark} {number} {from}") } else { line(random) })
                    .collect();
                let change = Change { from, to, lines };
                if changes.iter().all(|other| change.to < other.from || other.to < change.from) {
                    changes.push(change);
                }
            }
            changes
        };
        let (ours, theirs) = (side(random, "ours"), side(random, "theirs"));
        Self { base, ours, theirs }
    }

    fn text(&self, changes: &[&Change]) -> String {
        let mut lines = self.base.clone();
        let mut changes = changes.to_vec();
        changes.sort_by_key(|change| (change.from, change.to));
        for change in changes.iter().rev() {
            lines.splice(change.from..change.to, change.lines.iter().cloned());
        }
        lines.iter().map(|line| line.clone() + "\n").collect()
    }

    /// Returns base, ours, theirs, and the expected merge if no change touches one of the other side.
    fn texts(&self) -> ([String; 3], Option<String>) {
        let all = |changes: &[Change]| self.text(&changes.iter().collect::<Vec<_>>());
        let are_apart = self.ours.iter().all(|a| self.theirs.iter().all(|b| a.to < b.from || b.to < a.from));
        let both = are_apart.then(|| self.text(&self.ours.iter().chain(&self.theirs).collect::<Vec<_>>()));
        ([all(&[]), all(&self.ours), all(&self.theirs)], both)
    }
}

/// Merges with git. Returns `None` on a conflict.
fn git(folder: &std::path::Path, [base, ours, theirs]: &[String; 3]) -> Option<String> {
    for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let arguments = ["merge-file", "-p", "--diff3", "ours", "base", "theirs"];
    let output = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.code().is_some_and(|code| code < 128), "{output:?}");
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[derive(Debug, Default)]
struct Tally {
    /// Both merge cleanly, with equal results.
    both_clean: usize,
    both_conflict: usize,
    /// Only git merges, since the position is uncertain.
    only_git: usize,
    /// Only this crate merges, since changes touch without an unchanged line between them.
    only_ours: usize,
    /// Git puts a change in a wrong position.
    git_wrong: usize,
    /// Both merge cleanly, with different results.
    differ: usize,
    /// This crate puts a change in a wrong position.
    wrong: usize,
    /// An unchanged line separates every two changes of different sides.
    apart: usize,
    apart_clean: usize,
}

#[test]
fn merge_agrees_with_git_and_construction() {
    let folder = tempfile::tempdir().unwrap();
    let count = std::env::var(COUNT).map_or(150, |count| count.parse().unwrap());
    let mut random = Random(0xdeed);
    let mut tally = Tally::default();
    for _ in 0..count {
        let (texts, expected) = Case::draw(&mut random).texts();
        let [base, ours, theirs] = texts.each_ref().map(String::as_str);
        let found = merged("a.py", base, ours, theirs);
        let git = git(folder.path(), &texts);
        if let Some(expected) = &expected {
            tally.apart += 1;
            tally.apart_clean += usize::from(found.is_some());
            if found.as_ref().is_some_and(|found| found != expected) {
                tally.wrong += 1;
            }
            tally.git_wrong += usize::from(git.as_ref().is_some_and(|git| git != expected));
        }
        match (&found, &git) {
            (Some(a), Some(b)) if a == b => tally.both_clean += 1,
            (Some(_), Some(_)) => tally.differ += 1,
            (None, None) => tally.both_conflict += 1,
            (None, Some(_)) => tally.only_git += 1,
            (Some(_), None) => tally.only_ours += 1,
        }
    }
    eprintln!("{tally:?}");
    assert_eq!((tally.differ, tally.wrong), (0, 0));
}
