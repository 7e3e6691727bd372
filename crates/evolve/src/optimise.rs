//! [`OptimiserRequest`] and [`read_answer`]: the input for an external optimiser, and the validation of its answer.
//!
//! The program is not trusted. It gets the files of a skill without its evals, and only the training cases. Its edits
//! are subject to the same rules as those of any agent, and to more: no change below `evals/`, no creation or deletion
//! of skills. Its rationale is text for a person, truncated and stripped of terminal control characters. The result is
//! a [`ChangeRequest`] for `skill_manage`, to be made under a policy that holds everything.
//!
//! `optimiser-request.json` in `docs/schemas` describes the input, and [`ANSWER_SCHEMA`] the answer.

mod document;

use json_schema::Schema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use skill::{
    Bundle, Edit, Limits, SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind},
};
use skill_manage::{ChangeRequest, RequestError};
use thiserror::Error;

use self::document::{RequestCase, RequestDocument, RequestFile, RequestInput};
use crate::evals::{Assertion, Case, EvalSet, is_eval, is_held_out, without_evals};

/// JSON Schema of the optimiser's answer.
pub const ANSWER_SCHEMA: &str = include_str!("../../../docs/schemas/optimiser-answer.json");

/// Limits on an optimiser and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OptimiserLimits {
    /// Largest running time in seconds.
    pub seconds: u64,
    /// Largest size in bytes of each of standard output and standard error.
    pub output_bytes: usize,
    /// Largest number of edits in one answer.
    pub patches: usize,
    /// Number of characters of the rationale to keep.
    pub rationale_chars: usize,
    /// Largest memory of each of its processes in MiB, on systems that enforce it.
    pub memory_mib: u64,
}

impl Default for OptimiserLimits {
    fn default() -> Self {
        Self { seconds: 600, output_bytes: 4 << 20, patches: 50, rationale_chars: 1_500, memory_mib: 1_024 }
    }
}

/// Assertion that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownFailure {
    /// Id of the case.
    pub case: String,
    /// Text of the assertion.
    pub text: String,
    /// Evidence of the failure.
    pub evidence: String,
}

/// Input for an optimiser.
#[derive(Debug)]
pub struct OptimiserRequest<'a> {
    /// Name of the skill.
    pub skill: &'a SkillName,
    /// Revision of the skill.
    pub revision: &'a str,
    /// Files of the skill, including evals.
    pub bundle: &'a Bundle,
    /// Cases of the skill, if any.
    pub evals: Option<&'a EvalSet>,
    /// Failures of the last run.
    pub failures: &'a [KnownFailure],
    /// Outcomes of its uses.
    pub outcomes: Option<Value>,
    /// Limits on the optimiser.
    pub limits: OptimiserLimits,
    /// Percentage of cases that are held out.
    pub held_out_percent: u8,
}

impl OptimiserRequest<'_> {
    /// Builds the JSON document. `base64` encodes files that are not text.
    pub fn document(&self, base64: impl Fn(&[u8]) -> String) -> Value {
        let bundle = without_evals(self.bundle);
        let files = bundle.files().map(|(path, file)| RequestFile {
            path: path.as_str(),
            text: file.text(),
            base64: file.text().is_none().then(|| base64(&file.bytes)),
            executable: file.executable,
        });
        let is_shown = |id: &str| !is_held_out(id, self.held_out_percent);
        let cases = self.evals.iter().flat_map(|set| &set.cases).filter(|case| is_shown(&case.id));
        json!(RequestDocument {
            v: 1,
            protocol: "skillhub-optimiser",
            skill: self.skill.as_str(),
            revision: self.revision,
            files: files.collect(),
            cases: cases.map(|case| self.case(case)).collect(),
            failures: self.failures.iter().filter(|failure| is_shown(&failure.case)).collect(),
            outcomes: self.outcomes.as_ref(),
            limits: self.limits,
        })
    }

    fn case<'c>(&'c self, case: &'c Case) -> RequestCase<'c> {
        let input = |path: &'c SkillPath| RequestInput {
            path: Case::place_of(path),
            text: self.bundle.get(path).and_then(|file| file.text()),
        };
        let sentences = case.assertions.iter().filter(|assertion| assertion.document().is_none());
        RequestCase {
            id: &case.written_id,
            prompt: &case.prompt,
            expected_output: case.expected_output.as_deref(),
            files: case.files.iter().map(input).collect(),
            assertions: sentences.map(|assertion| assertion.text.as_str()).collect(),
            checks: case.assertions.iter().filter_map(Assertion::document).collect(),
        }
    }
}

/// Accepted part of an optimiser's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Improvement {
    /// Change to propose. `None` if the optimiser proposes none.
    pub request: Option<ChangeRequest>,
    /// Rationale, made safe for display.
    pub rationale: String,
}

/// Reason why an answer is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// The answer is not a single JSON document.
    #[error("the optimiser's answer is not valid JSON: {0}")]
    NoJson(String),
    /// The answer does not conform to the schema.
    #[error("the optimiser's answer does not match the documented format: {0}")]
    Form(String),
    /// The answer has too many edits.
    #[error("the optimiser proposes {count} edits; the limit is {limit}")]
    TooMany {
        /// Number of edits found.
        count: usize,
        /// Number of edits allowed.
        limit: usize,
    },
    /// An edit would change the evals.
    #[error("the optimiser may not change {0}, which defines how the skill is judged")]
    Evals(String),
    /// An edit is invalid.
    #[error("the optimiser's edits are invalid: {0}")]
    Edits(#[from] RequestError),
}

impl Fails for AnswerError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoJson(_) | Self::Form(_) | Self::TooMany { .. } => {
                Failure::new(FailureKind::Invalid, "optimiser_answer")
                    .hint("see docs/guides/optimisers.md for the format of an answer and how to test an optimiser")
            }
            Self::Evals(_) => {
                Failure::new(FailureKind::Refused, "policy_denied").hint("ask a person to change evals/evals.json")
            }
            Self::Edits(RequestError::Path(_)) => Failure::new(FailureKind::Invalid, "invalid_path")
                .hint("use a path inside the skill, such as scripts/run.sh"),
            Self::Edits(_) => Failure::new(FailureKind::Invalid, "optimiser_answer")
                .hint("use edits of skill_manage: edit, patch, write_file, remove_file"),
        }
    }
}

/// Parses and validates an answer to a request about a skill at a revision.
///
/// # Errors
/// [`AnswerError`], in which case nothing of the answer is used.
pub fn read_answer(
    answer: &[u8],
    skill: &SkillName,
    revision: &str,
    limits: &OptimiserLimits,
) -> Result<Improvement, AnswerError> {
    let document: Value = serde_json::from_slice(answer).map_err(|error| AnswerError::NoJson(error.to_string()))?;
    let form = serde_json::from_str(ANSWER_SCHEMA).map_err(|error| AnswerError::Form(error.to_string()))?;
    let form = Schema::of_any_dialect(&form).map_err(|fault| AnswerError::Form(fault.to_string()))?;
    let faults: Vec<_> = form.faults(&document, 5).iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(AnswerError::Form(sanitise(&faults.join("; "), 500)));
    }
    let rationale =
        sanitise(document.get("rationale").and_then(Value::as_str).unwrap_or_default(), limits.rationale_chars);
    let patches = document.get("patches").and_then(Value::as_array).cloned().unwrap_or_default();
    if patches.len() > limits.patches {
        return Err(AnswerError::TooMany { count: patches.len(), limit: limits.patches });
    }
    if patches.is_empty() {
        return Ok(Improvement { request: None, rationale });
    }
    let request = json!({
        "name": skill.as_str(), "operations": patches, "reason": rationale, "expected_revision": revision,
    });
    // The size of the answer was already checked. The regular limit on requests is meant for agents.
    let wide = Limits { request_bytes: u64::MAX, ..Limits::default() };
    let request = ChangeRequest::from_json(request.to_string().as_bytes(), &wide)?;
    match request.edits.iter().find_map(touched_eval) {
        Some(path) => Err(AnswerError::Evals(path)),
        None => Ok(Improvement { request: Some(request), rationale }),
    }
}

/// Returns the path of an edit that changes the evals.
fn touched_eval(edit: &Edit) -> Option<String> {
    let path = match edit {
        Edit::Patch(patch) => &patch.path,
        Edit::WriteFile { path, .. } | Edit::RemoveFile { path } => path,
        Edit::Create { .. } | Edit::Edit { .. } | Edit::Delete => return None,
    };
    is_eval(path).then(|| path.to_string())
}

/// Makes an untrusted text safe for display. The result is a single paragraph of at most `chars` characters, without
/// control, invisible and bidirectional characters.
pub fn sanitise(text: &str, chars: usize) -> String {
    let is_unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{2028}' | '\u{2029}')
    };
    let spaced: String = text
        .chars()
        .take(chars.saturating_mul(4))
        .filter(|c| !is_unseen(*c))
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    skill::shortened(&spaced.split_whitespace().collect::<Vec<_>>().join(" "), chars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evals::{EvalLimits, read},
        gate::Count,
    };

    fn answer(document: &Value) -> Result<Improvement, AnswerError> {
        read_answer(document.to_string().as_bytes(), &testkit::name("demo"), "head", &OptimiserLimits::default())
    }

    fn code(document: &Value) -> &'static str {
        answer(document).unwrap_err().failure().code
    }

    #[test]
    fn request_omits_held_out_cases() {
        let cases: Vec<Value> = (1..=40).map(|n| json!({"id": n, "prompt": format!("prompt {n}."), "files": ["evals/files/in.txt"], "assertions": [format!("secret {n}.")], "checks": [{"type": "regex", "path": "x", "pattern": format!("check {n}.")}]})).collect();
        let evals = json!({"evals": cases}).to_string();
        let bundle = testkit::bundle(&[
            ("SKILL.md", &b"---\nname: demo\n---\n"[..]),
            ("assets/x", &[0, 255]),
            ("evals/evals.json", evals.as_bytes()),
            ("evals/files/in.txt", b"in"),
        ]);
        let set = read(&bundle, &EvalLimits::default()).set.unwrap();
        let failures: Vec<KnownFailure> = (1..=40)
            .map(|n| KnownFailure { case: n.to_string(), text: format!("failed {n}."), evidence: String::new() })
            .collect();
        let request = OptimiserRequest {
            skill: &testkit::name("demo"),
            revision: "abc",
            bundle: &bundle,
            evals: Some(&set),
            failures: &failures,
            outcomes: Some(Count { runs: 3, successes: 2, failures: 0, unknown: 1 }.document(true)),
            limits: OptimiserLimits::default(),
            held_out_percent: 25,
        };
        let document = request.document(|_| "AP8=".to_owned());
        let schema = include_str!("../../../docs/schemas/optimiser-request.json");
        let schema = Schema::of_any_dialect(&serde_json::from_str(schema).unwrap()).unwrap();
        assert_eq!(schema.faults(&document, 5), []);
        assert_eq!((&document["outcomes"]["rate"], &document["outcomes"]["runs"]), (&json!(1.0), &json!(3)));
        for bad in [json!({}), json!({"runs": 3}), json!([])] {
            let mut other = document.clone();
            other["outcomes"] = bad;
            assert_ne!(schema.faults(&other, 5), []);
        }
        let mut other = document.clone();
        other["outcomes"] = Value::Null;
        assert_eq!(schema.faults(&other, 5), []);
        let text = document.to_string();
        for n in 1..=40 {
            let is_shown = !is_held_out(&n.to_string(), 25);
            for word in ["prompt", "secret", "failed", "check"] {
                assert_eq!(text.contains(&format!("{word} {n}.")), is_shown, "{word} {n}");
            }
        }
        assert!(!text.contains("evals.json") && document["files"].as_array().unwrap().len() == 2, "{text}");
    }

    #[test]
    fn edits_target_the_revision_seen() {
        let good =
            json!({"v": 1, "rationale": "shorter", "patches": [{"action": "patch", "find": "a", "replace": "b"}]});
        let improvement = answer(&good).unwrap();
        let request = improvement.request.unwrap();
        assert_eq!(
            (request.expected_revision.as_deref(), request.notes.reason.as_deref()),
            (Some("head"), Some("shorter"))
        );
        let none = answer(&json!({"v": 1, "rationale": "", "patches": []})).unwrap();
        assert!(none.request.is_none());
    }

    #[test]
    fn forbidden_patch_refuses_whole_answer() {
        let of = |patch: Value| json!({"v": 1, "rationale": "r", "patches": [{"action": "patch", "find": "a", "replace": "b"}, patch]});
        for path in ["evals/evals.json", "evals/x", "EVALS/evals.json", "Evals/x", "./evals/x"] {
            assert_eq!(
                code(&of(json!({"action": "write_file", "path": path, "content": "x"}))),
                "policy_denied",
                "{path}"
            );
            assert_eq!(code(&of(json!({"action": "remove_file", "path": path}))), "policy_denied", "{path}");
        }
        for path in ["../x", "/etc/passwd", "scripts/../../x", "scripts\\..\\x", "a\u{0}b", "C:/x"] {
            assert_eq!(
                code(&of(json!({"action": "write_file", "path": path, "content": "x"}))),
                "invalid_path",
                "{path}"
            );
        }
        for patch in [
            json!({"action": "delete"}),
            json!({"action": "create", "content": "x"}),
            json!({"action": "patch", "name": "other", "find": "a", "replace": "b"}),
            json!({"action": "patch", "find": "a", "replace": "b", "expected_revision": "x"}),
            json!("x"),
            json!({"find": "a"}),
        ] {
            assert_eq!(code(&of(patch.clone())), "optimiser_answer", "{patch}");
        }
        let many: Vec<Value> = (0..51).map(|_| json!({"action": "remove_file", "path": "assets/x"})).collect();
        assert_eq!(code(&json!({"v": 1, "rationale": "", "patches": many})), "optimiser_answer");
        for bad in [
            json!([]),
            json!({"v": 2, "rationale": "", "patches": []}),
            json!({"v": 1, "patches": []}),
            json!({"v": 1, "rationale": "", "patches": [], "policy": "open"}),
        ] {
            assert_eq!(code(&bad), "optimiser_answer", "{bad}");
        }
        let no_json =
            read_answer(b"Sure! Here is {\"v\":1}", &testkit::name("demo"), "head", &OptimiserLimits::default());
        assert!(matches!(no_json, Err(AnswerError::NoJson(_))));
    }

    #[test]
    fn reasons_are_sanitised_and_truncated() {
        let hostile = format!("ok\u{1b}[2J\u{7}\r\nAccepted by\u{202e} ann\u{200b}\u{e0041}{}", "x".repeat(100_000));
        let tamed = sanitise(&hostile, 1_500);
        assert!(tamed.starts_with("ok [2J Accepted by annx") && tamed.chars().count() == 1_501, "{tamed}");
        assert!(!tamed.chars().any(char::is_control));
    }
}
