//! [`Executor`]: runs composed tools.

mod plan;
mod run;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    host::{Approval, ToolHost, ToolSpec},
    tool::ComposedTool,
    trace::{Failure, Status, Trace},
};

/// What a run is held to, all tools that it calls counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Calls of tools, each attempt counted.
    pub calls: usize,
    /// Elements that one loop may have.
    pub loop_items: usize,
    /// Bytes that its inputs and outputs may have together.
    pub bytes: usize,
    /// Bytes of one tool's answer.
    pub answer_bytes: usize,
    /// Milliseconds that it may take.
    pub millis: u64,
    /// Milliseconds that one call may take, where the step says nothing.
    pub call_millis: u64,
    /// Milliseconds before a call is made again; the second time four times as many.
    pub back_off_millis: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            calls: 1_000,
            loop_items: 1_000,
            bytes: 32 << 20,
            answer_bytes: 4 << 20,
            millis: 600_000,
            call_millis: 60_000,
            back_off_millis: 200,
        }
    }
}

/// Who runs a tool, and what it may do.
pub struct Executor<'a> {
    /// The tools that steps may call.
    pub host: &'a dyn ToolHost,
    /// The composed tools that there are.
    pub composed: &'a [ComposedTool],
    /// Whether who runs it may use a tool of this name.
    pub may_use: &'a dyn Fn(&str) -> bool,
    /// What a person agreed to.
    pub approved: Approval,
    /// The limits.
    pub limits: RunLimits,
    /// Set when nobody waits for the run any more.
    pub cancelled: &'a AtomicBool,
}

/// What all parts of one run share.
struct Shared<'e, 'a> {
    executor: &'e Executor<'a>,
    specs: HashMap<String, ToolSpec>,
    checks: RefCell<HashMap<String, std::rc::Rc<jsonschema::Validator>>>,
    budget: Cell<usize>,
    calls: Cell<usize>,
    deadline: Instant,
}

impl Executor<'_> {
    /// Runs a tool. Whatever happens is in the trace.
    #[must_use]
    pub fn run(&self, tool: &ComposedTool, input: Value) -> Trace {
        let shared = self.shared();
        let approval = shared.level(tool, 0);
        let refusal = shared.refusal(tool, approval);
        match refusal {
            Some(refusal) => {
                Trace { approval, status: Status::Refused, error: Some(refusal), ..empty_trace(tool, input) }
            }
            None => shared.run(tool, input, 0, shared.deadline),
        }
    }

    /// What a run would do, as far as that is known before it: `{"tool","approval","steps":[{"step","id","tool","approval","input","for_each","when","on_error",
    /// "retries"}]}`. References that only the run can answer stay as they are written.
    ///
    /// # Errors
    /// The input is not what the tool takes, or what is stored of the tool cannot be read.
    pub fn plan(&self, tool: &ComposedTool, input: Value) -> Result<Value, Failure> {
        plan::plan(&self.shared(), tool, input)
    }

    /// The strictest level of what a tool calls, by the tools as they are now.
    #[must_use]
    pub fn level(&self, tool: &ComposedTool) -> Approval {
        self.shared().level(tool, 0)
    }

    fn shared(&self) -> Shared<'_, '_> {
        Shared {
            executor: self,
            specs: self.host.tools().into_iter().map(|spec| (spec.name.clone(), spec)).collect(),
            checks: RefCell::default(),
            budget: Cell::new(self.limits.bytes),
            calls: Cell::new(0),
            deadline: Instant::now() + Duration::from_millis(self.limits.millis),
        }
    }
}

fn empty_trace(tool: &ComposedTool, input: Value) -> Trace {
    Trace {
        tool: tool.name.clone(),
        skill: tool.skill.clone(),
        source: tool.source.clone(),
        approval: tool.approval,
        status: Status::Done,
        input,
        output: Value::Null,
        error: None,
        steps: Vec::new(),
        took_micros: 0,
    }
}

#[cfg(test)]
mod tests;
