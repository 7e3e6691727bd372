//! Interface to the tools that steps call ([`ToolHost`]).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// Consent by a person that a tool needs. A later level includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It runs without consent.
    #[default]
    None,
    /// A person has to consent to the plan.
    PlanConfirm,
    /// A person has to consent to each run, since it is not contained by skillhub.
    ExecEscalation,
}

impl Approval {
    /// All levels, from weakest to strictest.
    pub const ALL: [Self; 3] = [Self::None, Self::PlanConfirm, Self::ExecEscalation];

    /// Returns the word used in documents and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::PlanConfirm => "plan_confirm",
            Self::ExecEscalation => "exec_escalation",
        }
    }

    /// Parses the word of a level; `None` if it is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// Interface of a tool that steps may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name as a step writes it under `tool`: `web_fetch`, `mcp__server__tool`.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// JSON Schema of its input; `true` if unknown.
    pub input: Value,
    /// JSON Schema of its answer, if known.
    pub output: Option<Value>,
    /// Consent that it needs.
    pub approval: Approval,
}

/// Failure of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ToolFault {
    /// Stable code in `snake_case`: `not_allowed`, `timeout`, `not_found`.
    pub code: &'static str,
    /// Description of the failure for people.
    pub message: String,
    /// Suggested remedy for the user, if there is one.
    pub hint: Option<String>,
    /// True if a retry of the same call may succeed.
    pub transient: bool,
}

impl ToolFault {
    /// Creates a permanent fault.
    pub fn permanent(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, transient: false }
    }

    /// Creates a transient fault.
    pub fn transient(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, transient: true }
    }

    /// Adds a suggested remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Limits of one call.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Time by which it must end.
    pub deadline: Instant,
    /// Cancellation flag, set when the caller no longer waits.
    pub cancelled: &'a AtomicBool,
    /// Size limit of its answer as JSON, in bytes.
    pub answer_bytes: usize,
    /// Level that the tool needed when the run began. If it needs a stricter one by now, the call is refused.
    pub level: Approval,
}

impl Bounds<'_> {
    /// Returns the time until the deadline.
    ///
    /// # Errors
    /// The deadline has passed (`timeout`), or the run was cancelled (`cancelled`).
    pub fn remaining(&self) -> Result<Duration, ToolFault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ToolFault::permanent("cancelled", "the run was cancelled"));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ToolFault::transient("timeout", "the call timed out")) } else { Ok(left) }
    }
}

/// Provider of tools: native ones, or those of MCP servers.
pub trait ToolHost: Send + Sync {
    /// Returns the tools available now, without duplicate names.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Returns whether this host has a tool with this name. Called before each call.
    fn has(&self, tool: &str) -> bool {
        self.tools().iter().any(|known| known.name == tool)
    }

    /// Returns the names of servers whose tools are unavailable, each with the reason.
    fn faults(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Calls one of the tools. The input matches [`ToolSpec::input`]; the answer is the tool's result as JSON: an
    /// object, a list, a text.
    ///
    /// # Errors
    /// The tool does not exist, refuses the input, or failed.
    fn call(&self, tool: &str, input: &Value, bounds: &Bounds<'_>) -> Result<Value, ToolFault>;
}
