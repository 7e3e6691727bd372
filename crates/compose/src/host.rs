//! [`ToolHost`]: where the tools are that steps call.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// How much of a person's consent a tool needs; a later level includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It runs.
    #[default]
    None,
    /// A person has to agree to the plan.
    PlanConfirm,
    /// A person has to agree to each run, knowing that it acts outside what skillhub contains.
    ExecEscalation,
}

impl Approval {
    /// All, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::PlanConfirm, Self::ExecEscalation];

    /// As it is written in documents and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::PlanConfirm => "plan_confirm",
            Self::ExecEscalation => "exec_escalation",
        }
    }

    /// The level of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

/// A tool that steps may call, as compiling knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What a step writes under `tool`: `web_fetch`, `mcp__server__tool`.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// The JSON Schema of its input; `true` where nothing is known of it.
    pub input: Value,
    /// The JSON Schema of what it answers, where that is known.
    pub output: Option<Value>,
    /// What it needs of a person.
    pub approval: Approval,
}

/// Why a call of a tool came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ToolFault {
    /// The stable name, in `snake_case`: `not_allowed`, `timeout`, `not_found`.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the same call may succeed when it is made again.
    pub transient: bool,
}

impl ToolFault {
    /// One that stays when the call is made again.
    #[must_use]
    pub fn lasting(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, transient: false }
    }

    /// One that may pass.
    #[must_use]
    pub fn passing(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, transient: true }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// What one call is held to.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// When it has to be over.
    pub deadline: Instant,
    /// Set when nobody waits for it any more.
    pub cancelled: &'a AtomicBool,
    /// Bytes that its answer may have, as JSON.
    pub answer_bytes: usize,
    /// What the tool needed of a person when the run began. One that needs more by now is refused.
    pub level: Approval,
}

impl Bounds<'_> {
    /// How long it may still take; a [`ToolFault`] once that is nothing.
    ///
    /// # Errors
    /// The time is over (`timeout`), or the run was cancelled (`cancelled`).
    pub fn remaining(&self) -> Result<Duration, ToolFault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ToolFault::lasting("cancelled", "the run was cancelled"));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(ToolFault::passing("timeout", "the time for this call is over")),
            false => Ok(left),
        }
    }
}

/// Where tools are: those of our own, those of servers that speak MCP.
pub trait ToolHost: Send + Sync {
    /// The tools that there are now, each name once.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Whether a tool of this name is this host's to call. It is asked before each call.
    fn has(&self, tool: &str) -> bool {
        self.tools().iter().any(|known| known.name == tool)
    }

    /// What is missing among the tools: the names of servers, each with why its tools are not there.
    fn faults(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Calls one of them. Its input is what [`ToolSpec::input`] takes; the answer is what the tool gives as
    /// JSON: an object, a list, a text.
    ///
    /// # Errors
    /// There is no such tool, it refuses the input, or it failed.
    fn call(&self, tool: &str, input: &Value, bounds: &Bounds<'_>) -> Result<Value, ToolFault>;
}
