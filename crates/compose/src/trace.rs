//! [`Trace`]: what one run did, step by step.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use skill::failure::FailureKind;

use crate::{
    compile::hex_digest,
    host::{Approval, ToolFault},
    scope::size,
};

/// Calls of a step that stay in a trace that is too large.
const CALLS_KEPT: usize = 20;

/// Bytes of one value that a kept trace holds; of a larger one it holds the size.
const VALUE_BYTES: usize = 16 * 1024;

/// How a run or a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It gave what it should.
    Done,
    /// It failed and was passed over, or its `when` did not hold.
    Skipped,
    /// It failed.
    Failed,
    /// It was not allowed to begin.
    Refused,
    /// Somebody stopped it.
    Cancelled,
    /// An earlier step ended the run.
    NotRun,
}

impl Status {
    /// As it is written in documents.
    #[must_use]
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

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The stable name, in `snake_case`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
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
    /// The tool.
    pub tool: String,
    /// The skill that declares it.
    pub skill: String,
    /// The digest of the skill that it was compiled from.
    pub source: String,
    /// The strictest level of its steps when it ran.
    pub approval: Approval,
    /// How it ended.
    pub status: Status,
    /// What it was called with, defaults filled in.
    pub input: Value,
    /// What it gave.
    pub output: Value,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Its steps, in order.
    pub steps: Vec<StepTrace>,
    /// Microseconds that it took.
    pub took_micros: u64,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTrace {
    /// Its number, from 0.
    pub step: usize,
    /// Its id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool that it calls.
    pub tool: String,
    /// How it ended.
    pub status: Status,
    /// Why it failed or was passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Its calls: one, or one an element of its list.
    pub calls: Vec<CallTrace>,
}

/// One call of a tool, with all attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTrace {
    /// The number of the element, from 0, in a loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// How it ended.
    pub status: Status,
    /// What the tool was called with.
    pub input: Value,
    /// What it gave.
    pub output: Value,
    /// Each time that it was made.
    pub attempts: Vec<Attempt>,
    /// The run of a composed tool that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Trace>>,
}

/// One time that a call was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Microseconds that it took.
    pub took_micros: u64,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Trace {
    /// The same trace without what it may not keep: every input and output where `all` says so, else those over a size. Of what is left out the size and a
    /// digest stay, so that two runs can be told to have had the same.
    #[must_use]
    pub fn redacted(mut self, all: bool) -> Self {
        self.redact(all);
        self
    }

    /// The same trace without values, and of the calls of each step only the first few, those of runs inside not among them.
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

/// Leaves the words of an error out, which may hold values: its code says what kind it is.
fn conceal(error: &mut Option<Failure>, all: bool) {
    if let Some(error) = error.as_mut().filter(|_| all) {
        error.message = "left out".to_owned();
        error.hint = None;
    }
}

fn redact(value: &mut Value, all: bool) {
    let bytes = size(value);
    if (all && !value.is_null()) || bytes > VALUE_BYTES {
        *value = json!({"redacted": true, "bytes": bytes, "sha256": hex_digest(value.to_string().as_bytes())});
    }
}

/// The id of a run that began at this time; ids sort by time.
#[must_use]
pub fn trace_id(now: jiff::Timestamp) -> String {
    let nanos = now.as_nanosecond();
    let told = now.strftime("%Y%m%dT%H%M%S").to_string();
    format!("{told}-{:09}-{:04x}", nanos.rem_euclid(1_000_000_000), library::random_process_id() & 0xffff)
}

/// The class of a failure of a run, by its code.
#[must_use]
pub fn class_of(code: &str) -> FailureKind {
    match code {
        "approval_needed" | "policy_denied" | "not_allowed" => FailureKind::Refused,
        "invalid_input" => FailureKind::Usage,
        "damaged" => FailureKind::Integrity,
        _ => FailureKind::Failed,
    }
}

/// The codes of runs that programs may tell apart; a tool's own are `tool_failed`.
#[must_use]
pub fn known_code(code: &str) -> &'static str {
    const CODES: [&str; 18] = [
        "approval_needed",
        "policy_denied",
        "not_allowed",
        "invalid_input",
        "invalid_step_input",
        "invalid_output",
        "invalid_schema",
        "damaged",
        "cancelled",
        "timeout",
        "too_large",
        "too_large_run",
        "too_deep",
        "too_many_calls",
        "too_many_items",
        "no_value",
        "not_a_list",
        "unknown_tool",
    ];
    CODES.into_iter().find(|known| *known == code).unwrap_or("tool_failed")
}
