//! Record of one run, step by step ([`Trace`]).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use skill::failure::FailureKind;

use crate::{
    compile::hex_digest,
    host::{Approval, ToolFault},
    scope::size,
};

/// Number of calls per step that are kept in a trace that is too large.
const CALLS_KEPT: usize = 20;

/// Size limit of a value in a stored trace, in bytes. Larger values are replaced by their size and digest.
const VALUE_BYTES: usize = 16 * 1024;

/// Result of a run, step or call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Completed successfully.
    Done,
    /// Failed and was skipped, or its `when` was false.
    Skipped,
    /// Failed with an error.
    Failed,
    /// Was not permitted to start.
    Refused,
    /// Was cancelled by the caller.
    Cancelled,
    /// Not reached, because an earlier step ended the run.
    NotRun,
}

impl Status {
    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not_run",
        }
    }
}

/// Reason for a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Stable code, in `snake_case`.
    pub code: String,
    /// Description for people.
    pub message: String,
    /// Suggested remedy for the user, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<&ToolFault> for Failure {
    fn from(fault: &ToolFault) -> Self {
        Self { code: fault.code.to_owned(), message: fault.message.clone(), hint: fault.hint.clone() }
    }
}

/// One run of a composed tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Name of the tool.
    pub tool: String,
    /// Skill that declares it.
    pub skill: String,
    /// Digest of the skill from which it was compiled.
    pub source: String,
    /// Strictest approval level of its steps when it ran.
    pub approval: Approval,
    /// Result of the run.
    pub status: Status,
    /// Input, including defaults.
    pub input: Value,
    /// Output; `null` unless the run completed.
    pub output: Value,
    /// Reason for the failure, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Steps, in order.
    pub steps: Vec<StepTrace>,
    /// Duration of the run in microseconds.
    pub took_micros: u64,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTrace {
    /// Index of the step, from 0.
    pub step: usize,
    /// Id of the step, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the tool that it calls.
    pub tool: String,
    /// Result of the step.
    pub status: Status,
    /// Reason why it failed or was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Calls: one, or one per element of its list.
    pub calls: Vec<CallTrace>,
}

/// One call of a tool, with all attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTrace {
    /// Index of the element in a loop, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// Result of the call.
    pub status: Status,
    /// Input of the tool.
    pub input: Value,
    /// Output of the tool.
    pub output: Value,
    /// Attempts, in order: the first one and the retries.
    pub attempts: Vec<Attempt>,
    /// Trace of the inner run, if the tool is a composed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Trace>>,
}

/// One attempt of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Duration of the attempt in microseconds.
    pub took_micros: u64,
    /// Reason for its failure, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Trace {
    /// Redacts inputs and outputs: all of them if `all` is true, otherwise those over a size limit. Their size and a
    /// digest remain, so that equal values of two runs can be recognised.
    #[must_use]
    pub fn redacted(mut self, all: bool) -> Self {
        self.redact(all);
        self
    }

    /// Redacts all values and keeps only the first few calls of each step, without inner runs.
    #[must_use]
    pub fn without_calls(self) -> Self {
        let mut short = self.redacted(true);
        for step in &mut short.steps {
            step.calls.truncate(CALLS_KEPT);
            step.calls.iter_mut().for_each(|call| call.run = None);
        }
        short
    }

    fn redact(&mut self, all: bool) {
        redact(&mut self.input, all);
        redact(&mut self.output, all);
        conceal(&mut self.error, all);
        for step in &mut self.steps {
            conceal(&mut step.error, all);
        }
        for call in self.steps.iter_mut().flat_map(|step| &mut step.calls) {
            redact(&mut call.input, all);
            redact(&mut call.output, all);
            call.attempts.iter_mut().for_each(|attempt| conceal(&mut attempt.error, all));
            if let Some(run) = &mut call.run {
                run.redact(all);
            }
        }
    }
}

/// Redacts the message of an error, which may contain values. The code remains.
fn conceal(error: &mut Option<Failure>, all: bool) {
    if let Some(error) = error.as_mut().filter(|_| all) {
        error.message = "redacted".to_owned();
        error.hint = None;
    }
}

fn redact(value: &mut Value, all: bool) {
    let bytes = size(value);
    if (all && !value.is_null()) || bytes > VALUE_BYTES {
        *value = json!({"redacted": true, "bytes": bytes, "sha256": hex_digest(value.to_string().as_bytes())});
    }
}

/// Returns the id of a run that began at this time. Ids sort by time.
pub fn trace_id(now: jiff::Timestamp) -> String {
    let nanos = now.as_nanosecond();
    let told = now.strftime("%Y%m%dT%H%M%S").to_string();
    format!("{told}-{:09}-{:04x}", nanos.rem_euclid(1_000_000_000), library::random_process_id() & 0xffff)
}

/// Maps the code of a run's failure to its class.
pub fn class_of(code: &str) -> FailureKind {
    match code {
        "approval_needed" | "policy_denied" | "not_allowed" => FailureKind::Refused,
        "invalid_input" => FailureKind::Usage,
        "damaged" => FailureKind::Integrity,
        _ => FailureKind::Failed,
    }
}

/// Returns the code of a run's failure if it is a documented one, otherwise `tool_failed`.
pub fn known_code(code: &str) -> &'static str {
    const CODES: [&str; 18] = [
        "approval_needed", "policy_denied", "not_allowed", "invalid_input", "invalid_step_input", "invalid_output",
        "invalid_schema", "damaged", "cancelled", "timeout", "too_large", "too_large_run", "too_deep",
        "too_many_calls", "too_many_items", "no_value", "not_a_list", "unknown_tool",
    ];
    CODES.into_iter().find(|known| *known == code).unwrap_or("tool_failed")
}
