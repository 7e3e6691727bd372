//! [`EvalSet`]: the test cases of a skill, from its `evals/evals.json`.
//!
//! The format is that of the standard's guide, with `assertions`, and of skill-creator, with `expectations`. Sentences
//! are decided by a person or a judge, and machine-checkable assertions by [`Check`]s. [`read()`] reports every problem
//! with its line, and [`grade()`] evaluates a run of a case. This module does not execute runs.
//!
//! [`TriggerSet`] has the queries that show when agents choose the skill by its description, and [`TriggerReport`] their
//! evaluation.

mod assertion;
mod grade;
mod json_path;
mod lines;
mod read;
mod results;
mod trigger_report;
mod triggers;

use serde_json::Value;
use skill::{Bundle, Digest, SkillPath};

pub use assertion::{Assertion, Check, Target};
pub use grade::{ExitReason, Graded, Judgement, Observed, Witness, grade};
pub use read::{Reading, read};
pub use results::{Grading, Metrics, RunResult, Side, Summary, Timing, benchmark};
pub use trigger_report::{Neighbour, QueryResult, QueryRuns, Share, TRIGGER_RATE, TriggerReport, is_expected};
pub use triggers::{QUERIES_FILE, TriggerQuery, TriggerReading, TriggerSet, read_queries, with_queries};

/// Path of the file with a skill's cases.
pub const EVALS_FILE: &str = "evals/evals.json";

/// Folder with everything that determines how a skill is judged.
pub const EVALS_FOLDER: &str = "evals";

/// Limits on the content of evals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalLimits {
    /// Number of cases of a skill.
    pub cases: usize,
    /// Number of assertions of a case.
    pub assertions_per_case: usize,
    /// Length in characters of a prompt, an expected output, or an assertion.
    pub text_chars: usize,
    /// Length of an id in characters.
    pub id_chars: usize,
    /// Length of a regular expression in bytes.
    pub pattern_bytes: usize,
    /// Length of quoted evidence in characters.
    pub evidence_chars: usize,
    /// Number of queries about triggering of a skill.
    pub queries: usize,
    /// Length of a query in characters.
    pub query_chars: usize,
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
            queries: 500,
            query_chars: 10_000,
        }
    }
}

/// Cases of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalSet {
    /// Cases, at least one.
    pub cases: Vec<Case>,
}

/// Test case: a user's prompt and the assertions on the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Id of the case as text.
    pub id: String,
    /// Id as written in the file, a number or a text.
    pub written_id: Value,
    /// Display name for people.
    pub name: Option<String>,
    /// Prompt of the user.
    pub prompt: String,
    /// Expected output in words.
    pub expected_output: Option<String>,
    /// Files of the skill that the case starts with.
    pub files: Vec<SkillPath>,
    /// Assertions on the result.
    pub assertions: Vec<Assertion>,
}

impl Case {
    /// Returns the name of the folder for its results.
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

    /// Returns the path of an input file in the working folder of a case, without the leading evals folders.
    pub fn place_of(path: &SkillPath) -> &str {
        let text = path.as_str();
        ["evals/files/", "evals/"].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text)
    }
}

/// Returns a skill without its evals, for running cases, so that a run cannot see the assertions.
pub fn without_evals(skill: &Bundle) -> Bundle {
    let evals: Vec<SkillPath> = skill.paths().filter(|path| is_eval(path)).cloned().collect();
    evals.iter().fold(skill.clone(), |skill, path| skill.without_file(path))
}

/// Returns whether a file belongs to the evals.
pub fn is_eval(path: &SkillPath) -> bool {
    let folded = path.folded();
    folded == EVALS_FOLDER || folded.starts_with("evals/")
}

/// Returns the digest of all evals of a skill.
pub fn evals_digest(skill: &Bundle) -> Digest {
    let others: Vec<SkillPath> = skill.paths().filter(|path| !is_eval(path)).cloned().collect();
    others.iter().fold(skill.clone(), |skill, path| skill.without_file(path)).digest()
}

/// Returns whether a case is held out. Such a case is never shown to an optimiser, and is reported separately in
/// comparisons. The decision depends on the id alone, so that a case keeps its side when others are added or removed.
pub fn is_held_out(id: &str, percent: u8) -> bool {
    let sum = Digest::of_bytes(format!("skillhub-hold-out-v1\0{id}").as_bytes());
    let number = sum.as_bytes().iter().take(4).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    number % 100 < u64::from(percent)
}

#[cfg(test)]
mod tests {
    use testkit::bundle;

    use super::*;

    #[test]
    fn tested_skill_has_no_evals() {
        let one = bundle(&[("SKILL.md", "a"), ("evals/evals.json", "{}"), ("evals/files/x", "1")]);
        assert_eq!(without_evals(&one).paths().map(SkillPath::as_str).collect::<Vec<_>>(), ["SKILL.md"]);
        let other = bundle(&[("SKILL.md", "b"), ("evals/evals.json", "{}"), ("evals/files/x", "1")]);
        assert_eq!(evals_digest(&one), evals_digest(&other));
        let third = bundle(&[("SKILL.md", "a"), ("evals/evals.json", "{}"), ("evals/files/x", "2")]);
        assert_ne!(evals_digest(&one), evals_digest(&third));
    }

    #[test]
    fn held_out_share_is_deterministic() {
        let held = (0..10_000).filter(|n| is_held_out(&n.to_string(), 25)).count();
        assert!((2_300..2_700).contains(&held), "{held}");
        assert!((0..100).all(|n| !is_held_out(&n.to_string(), 0) && is_held_out(&n.to_string(), 100)));
        let first: Vec<u32> = (1..=12).filter(|n| is_held_out(&n.to_string(), 25)).collect();
        assert_eq!(first, (1..=12).filter(|n| is_held_out(&n.to_string(), 25)).collect::<Vec<_>>());
    }
}
