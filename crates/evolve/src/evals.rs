//! [`EvalSet`]: the cases by which a skill is tried, from its `evals/evals.json`.
//!
//! The format is that of the standard's guide, with `assertions`, and of skill-creator, with `expectations`. Beside
//! sentences, which a person or a judge has to decide, there may be checks that a machine decides ([`Check`]).
//! [`read()`] tells every problem with its line, [`grade()`] holds a run to a case. Running is not done here.

mod assertion;
mod grade;
mod json_path;
mod lines;
mod read;
mod results;

use serde_json::Value;
use skill::{Bundle, Digest, SkillPath};

pub use assertion::{Assertion, Check, Target};
pub use grade::{Ended, Graded, Judgement, Observed, Witness, grade};
pub use read::{Reading, read};
pub use results::{Grading, Metrics, RunResult, Side, Summary, Timing, benchmark};

/// Where a skill keeps its cases.
pub const EVALS_FILE: &str = "evals/evals.json";

/// The folder of a skill that says how it is judged.
pub const EVALS_FOLDER: &str = "evals";

/// What is read of evals at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalLimits {
    /// Cases of a skill.
    pub cases: usize,
    /// Assertions of a case.
    pub assertions_per_case: usize,
    /// Characters of a prompt, of what is expected, and of an assertion.
    pub text_chars: usize,
    /// Characters of an id.
    pub id_chars: usize,
    /// Bytes of a regular expression.
    pub pattern_bytes: usize,
    /// Characters of a file that are told as evidence.
    pub evidence_chars: usize,
}

impl Default for EvalLimits {
    fn default() -> Self {
        Self {
            cases: 500,
            assertions_per_case: 100,
            text_chars: 50_000,
            id_chars: 100,
            pattern_bytes: 2_000,
            evidence_chars: 300,
        }
    }
}

/// The cases of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalSet {
    /// The skill that the file names, if it names one.
    pub skill_name: Option<String>,
    /// The cases, at least one.
    pub cases: Vec<Case>,
}

/// One case: what a user says, and what has to hold afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its id as text.
    pub id: String,
    /// Its id as the file has it, a number or a text.
    pub written_id: Value,
    /// A name for people.
    pub name: Option<String>,
    /// What the user says.
    pub prompt: String,
    /// What should come out, in words.
    pub expected_output: Option<String>,
    /// Files of the skill that the case starts with.
    pub files: Vec<SkillPath>,
    /// What has to hold.
    pub assertions: Vec<Assertion>,
}

impl Case {
    /// The name of the folder for its results.
    #[must_use]
    pub fn folder(&self) -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match self.id.chars().all(fits) {
            true => format!("eval-{}", self.id),
            false => {
                let plain: String = self.id.chars().filter(|c| fits(*c)).take(32).collect();
                let sum: String = Digest::of_bytes(self.id.as_bytes()).hex().chars().take(8).collect();
                format!("eval-{plain}-{sum}")
            }
        }
    }

    /// Where an input file stands in the folder in which the case is tried: without the folders that only say
    /// that it belongs to the evals.
    #[must_use]
    pub fn place_of(path: &SkillPath) -> &str {
        let text = path.as_str();
        ["evals/files/", "evals/"].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text)
    }
}

/// A skill as it is tried: without its evals, which would tell what is looked for.
#[must_use]
pub fn without_evals(skill: &Bundle) -> Bundle {
    let evals: Vec<SkillPath> = skill.paths().filter(|path| is_eval(path)).cloned().collect();
    evals.iter().fold(skill.clone(), |skill, path| skill.without_file(path))
}

/// Whether a file says how its skill is judged.
#[must_use]
pub fn is_eval(path: &SkillPath) -> bool {
    let folded = path.folded();
    folded == EVALS_FOLDER || folded.starts_with("evals/")
}

/// The digest of all that says how a skill is judged.
#[must_use]
pub fn evals_digest(skill: &Bundle) -> Digest {
    let others: Vec<SkillPath> = skill.paths().filter(|path| !is_eval(path)).cloned().collect();
    others.iter().fold(skill.clone(), |skill, path| skill.without_file(path)).digest()
}

/// Whether a case is held out: it is never shown to what proposes changes, and has a word of its own in a
/// comparison. The id alone decides, so that a case stays on its side when others come and go.
#[must_use]
pub fn is_held_out(id: &str, percent: u8) -> bool {
    let sum = Digest::of_bytes(format!("skillhub-hold-out-v1\0{id}").as_bytes());
    let number = sum.as_bytes().iter().take(4).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    number % 100 < u64::from(percent)
}

#[cfg(test)]
mod tests {
    use skill::{File, Limits};

    use super::*;

    fn bundle(files: &[(&str, &str)]) -> Bundle {
        let files = files.iter().map(|(path, text)| {
            (SkillPath::parse(path).unwrap(), File { bytes: text.as_bytes().to_vec().into(), executable: false })
        });
        Bundle::from_files(files, &Limits::default()).unwrap()
    }

    #[test]
    fn what_is_tried_has_no_evals_and_their_digest_is_theirs_alone() {
        let one = bundle(&[("SKILL.md", "a"), ("evals/evals.json", "{}"), ("evals/files/x", "1")]);
        assert_eq!(without_evals(&one).paths().map(SkillPath::as_str).collect::<Vec<_>>(), ["SKILL.md"]);
        let other = bundle(&[("SKILL.md", "b"), ("evals/evals.json", "{}"), ("evals/files/x", "1")]);
        assert_eq!(evals_digest(&one), evals_digest(&other));
        let third = bundle(&[("SKILL.md", "a"), ("evals/evals.json", "{}"), ("evals/files/x", "2")]);
        assert_ne!(evals_digest(&one), evals_digest(&third));
    }

    #[test]
    fn about_the_share_that_was_asked_for_is_held_out_and_always_the_same() {
        let held = (0..10_000).filter(|n| is_held_out(&n.to_string(), 25)).count();
        assert!((2_300..2_700).contains(&held), "{held}");
        assert!((0..100).all(|n| !is_held_out(&n.to_string(), 0) && is_held_out(&n.to_string(), 100)));
        let first: Vec<u32> = (1..=12).filter(|n| is_held_out(&n.to_string(), 25)).collect();
        assert_eq!(first, (1..=12).filter(|n| is_held_out(&n.to_string(), 25)).collect::<Vec<_>>());
    }
}
