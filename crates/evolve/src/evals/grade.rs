//! [`grade()`]: the evaluation of one run against the assertions of its case.

use json_schema::Schema;
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::{SkillPath, shortened};

use super::{Assertion, Case, Check, EvalLimits, Target, json_path};

/// Largest memory of a compiled regular expression, in bytes.
const PATTERN_MEMORY_BYTES: usize = 4 << 20;

/// Way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitReason {
    /// The process exited, or was ended by a signal.
    Exited,
    /// The process exceeded the time limit and was killed.
    TimedOut,
    /// The process exceeded the output limit and was killed.
    TooMuchOutput,
}

impl ExitReason {
    /// Returns a sentence about the end, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exited => "it exited normally",
            Self::TimedOut => "it exceeded the time limit and was killed",
            Self::TooMuchOutput => "it exceeded the output limit and was killed",
        }
    }
}

/// Observable result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Exit code. `None` if a signal ended it.
    pub exit: Option<i32>,
    /// Way in which it ended.
    pub ended: ExitReason,
    /// Standard output of the run.
    pub stdout: String,
    /// Standard error of the run.
    pub stderr: String,
}

/// Result of an assertion with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// True if the assertion holds. `None` if it could not be decided.
    pub passed: Option<bool>,
    /// Reason for the result.
    pub evidence: String,
}

/// Access to the environment of a run.
pub trait Witness {
    /// Returns the content of a regular file that the run left. `None` if it does not exist or cannot be read.
    fn file(&self, path: &SkillPath) -> Option<Vec<u8>>;

    /// Runs a script of the evals and returns its result.
    fn script(&self, path: &SkillPath) -> Judgement;

    /// Returns the judgement of each sentence, in order.
    fn judge(&self, case: &Case, sentences: &[&str], observed: &Observed) -> Vec<Judgement>;
}

/// Assertion with its result, decided or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graded {
    /// Text of the assertion.
    pub text: String,
    /// True if it holds. `None` if it is undecided.
    pub passed: Option<bool>,
    /// Evidence for the result.
    pub evidence: String,
}

/// Evaluates every assertion of a case, in order.
pub fn grade(case: &Case, observed: &Observed, witness: &dyn Witness, limits: &EvalLimits) -> Vec<Graded> {
    let is_whole = observed.ended == ExitReason::Exited;
    let sentences: Vec<&str> =
        case.assertions.iter().filter(|a| a.check == Check::Judged).map(|a| a.text.as_str()).collect();
    let said = if is_whole && !sentences.is_empty() { witness.judge(case, &sentences, observed) } else { Vec::new() };
    let mut said = said.into_iter();
    let mut decide = |assertion: &Assertion| match (is_whole, &assertion.check) {
        (false, _) => Judgement { passed: Some(false), evidence: observed.ended.words().to_owned() },
        (true, Check::Judged) => said.next().unwrap_or_else(|| undecided("no judge was given; see --judge")),
        (true, Check::Script(path)) => witness.script(path),
        (true, check) => decide_machine(check, observed, witness, limits),
    };
    let graded = |assertion: &Assertion| {
        let Judgement { passed, evidence } = decide(assertion);
        Graded { text: assertion.text.clone(), passed, evidence: shortened(&evidence, limits.evidence_chars) }
    };
    case.assertions.iter().map(graded).collect()
}

fn undecided(why: &str) -> Judgement {
    Judgement { passed: None, evidence: why.to_owned() }
}

fn decided(passed: bool, evidence: impl Into<String>) -> Judgement {
    Judgement { passed: Some(passed), evidence: evidence.into() }
}

fn decide_machine(check: &Check, observed: &Observed, witness: &dyn Witness, limits: &EvalLimits) -> Judgement {
    let bytes = |target: &Target| match target {
        Target::Stdout => Some(observed.stdout.clone().into_bytes()),
        Target::Stderr => Some(observed.stderr.clone().into_bytes()),
        Target::File(path) => witness.file(path),
    };
    match check {
        Check::ExitCode(code) => match observed.exit {
            Some(exit) => decided(exit == *code, format!("the exit code was {exit}")),
            None => decided(false, "it was killed by a signal"),
        },
        Check::File { path, there } => {
            let is_there = witness.file(path).is_some();
            decided(is_there == *there, format!("{path} {}", if is_there { "exists" } else { "does not exist" }))
        }
        Check::Size { target, at_least, at_most } => match bytes(target).map(|bytes| bytes.len() as u64) {
            Some(size) => {
                let fits = size >= *at_least && at_most.is_none_or(|most| size <= most);
                decided(fits, format!("{} has {size} bytes", target.words()))
            }
            None => decided(false, format!("{} does not exist", target.words())),
        },
        Check::Regex { pattern, target, matches } => match bytes(target) {
            Some(bytes) => match_pattern(pattern, &bytes, *matches, limits),
            None => decided(false, format!("{} does not exist", target.words())),
        },
        Check::JsonPath { target, at, equals } => match document(target, bytes(target)) {
            Ok(document) => at_path(&document, at, equals.as_ref()),
            Err(why) => decided(false, why),
        },
        Check::JsonSchema { target, schema } => match document(target, bytes(target)) {
            Ok(document) => against_schema(&document, schema),
            Err(why) => decided(false, why),
        },
        Check::Judged | Check::Script(_) => undecided("this needs a person or a judge"),
    }
}

fn against_schema(document: &Value, schema: &Value) -> Judgement {
    let schema = match Schema::of_any_dialect(schema) {
        Ok(schema) => schema,
        Err(fault) => return undecided(&format!("this is not a valid JSON Schema: {fault}")),
    };
    let faults: Vec<_> = schema.faults(document, 5).iter().map(ToString::to_string).collect();
    let told = if faults.is_empty() { "it matches the schema".to_owned() } else { faults.join("; ") };
    decided(faults.is_empty(), told)
}

fn document(target: &Target, bytes: Option<Vec<u8>>) -> Result<Value, String> {
    let bytes = bytes.ok_or_else(|| format!("{} does not exist", target.words()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{} is not valid JSON: {error}", target.words()))
}

fn at_path(document: &Value, at: &str, equals: Option<&Value>) -> Judgement {
    match json_path::find(document, at) {
        Err(why) => undecided(&why),
        Ok(found) => {
            let passed =
                equals.map_or(!found.is_empty(), |value| !found.is_empty() && found.iter().all(|f| *f == value));
            let seen: Vec<String> = found.iter().take(3).map(ToString::to_string).collect();
            decided(
                passed,
                if seen.is_empty() { format!("{at} does not exist") } else { format!("{at} is {}", seen.join(", ")) },
            )
        }
    }
}

fn match_pattern(pattern: &str, bytes: &[u8], wanted: bool, limits: &EvalLimits) -> Judgement {
    let regex = match pattern_of(pattern) {
        Ok(regex) => regex,
        Err(why) => return undecided(&why),
    };
    match regex.find(bytes) {
        Some(found) => {
            let seen = String::from_utf8_lossy(bytes.get(found.range()).unwrap_or_default()).into_owned();
            decided(wanted, format!("it matches: {}", shortened(&seen, limits.evidence_chars / 2)))
        }
        None => decided(!wanted, "no match was found"),
    }
}

/// Compiles a regular expression of a skill with a memory limit. Matching takes time linear in the text.
pub(super) fn pattern_of(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_MEMORY_BYTES)
        .dfa_size_limit(PATTERN_MEMORY_BYTES)
        .build()
        .map_err(|error| format!("{:?} is not a valid regular expression: {error}", shortened(pattern, 60)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evals::{EVALS_FILE, read};

    struct Left;

    impl Witness for Left {
        fn file(&self, path: &SkillPath) -> Option<Vec<u8>> {
            (path.as_str() == "out.json").then(|| br#"{"items":[{"n":1},{"n":1}]}"#.to_vec())
        }
        fn script(&self, path: &SkillPath) -> Judgement {
            decided(path.file_name() == "good.sh", "ran")
        }
        fn judge(&self, _case: &Case, sentences: &[&str], _observed: &Observed) -> Vec<Judgement> {
            sentences.iter().map(|sentence| decided(sentence.contains("good"), "said")).collect()
        }
    }

    fn marks(checks: &Value, ended: ExitReason) -> Vec<Option<bool>> {
        let evals = json!({"evals": [{"id": 1, "prompt": "p", "checks": checks}]}).to_string();
        let skill = testkit::bundle(&[(EVALS_FILE, evals.as_str()), ("evals/good.sh", ""), ("evals/bad.sh", "")]);
        let reading = read(&skill, &EvalLimits::default());
        assert_eq!(reading.problems, []);
        let observed = Observed { exit: Some(3), ended, stdout: "Version 2.4.0\n".to_owned(), stderr: String::new() };
        let case = &reading.set.unwrap().cases[0];
        grade(case, &observed, &Left, &EvalLimits::default()).into_iter().map(|graded| graded.passed).collect()
    }

    #[test]
    fn every_check_can_pass_and_fail() {
        let pairs = [
            (json!({"type": "exit_code", "equals": 3}), json!({"type": "exit_code"})),
            (json!({"type": "file_exists", "path": "out.json"}), json!({"type": "file_exists", "path": "none"})),
            (json!({"type": "file_absent", "path": "none"}), json!({"type": "file_absent", "path": "out.json"})),
            (
                json!({"type": "regex", "pattern": r"2\.4\.\d"}),
                json!({"type": "regex", "pattern": "3", "path": "none"}),
            ),
            (json!({"type": "not_regex", "pattern": "beta"}), json!({"type": "not_regex", "pattern": "(?i)version"})),
            (
                json!({"type": "json_path", "path": "out.json", "at": "$.items[*].n", "equals": 1}),
                json!({"type": "json_path", "path": "out.json", "at": "$.items[*].m", "equals": 1}),
            ),
            (
                json!({"type": "json_schema", "path": "out.json", "schema": {"required": ["items"]}}),
                json!({"type": "json_schema", "path": "out.json", "schema": {"required": ["more"]}}),
            ),
            (json!({"type": "script", "path": "evals/good.sh"}), json!({"type": "script", "path": "evals/bad.sh"})),
            (json!({"type": "size", "at_least": 3, "at_most": 14}), json!({"type": "size", "at_most": 13})),
            (json!("it is good"), json!("it is bad")),
        ];
        for (holds, fails) in pairs {
            assert_eq!(marks(&json!([holds, fails]), ExitReason::Exited), [Some(true), Some(false)], "{holds} {fails}");
            assert_eq!(marks(&json!([holds]), ExitReason::TimedOut), [Some(false)], "{holds}");
        }
    }
}
