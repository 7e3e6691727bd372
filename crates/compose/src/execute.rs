//! Execution of composed tools ([`Executor`]).

mod plan;
mod run;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use agent::PermissionDecision;
use json_schema::Schema;
use serde_json::{Map, Value, json};

use crate::{
    host::{Approval, ToolHost, ToolSpec},
    tool::ComposedTool,
    trace::{Failure, Status, Trace},
};

/// Limits of a run, including all tools that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum number of tool calls, counting each attempt.
    pub calls: usize,
    /// Maximum number of elements of a loop.
    pub loop_items: usize,
    /// Total size limit of its inputs and outputs, in bytes.
    pub bytes: usize,
    /// Size limit of one tool's answer, in bytes.
    pub answer_bytes: usize,
    /// Time limit of the run, in milliseconds.
    pub millis: u64,
    /// Default timeout of one call, in milliseconds.
    pub call_millis: u64,
    /// Delay before the first retry, in milliseconds. Quadruples for each further retry.
    pub back_off_millis: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            calls: 1_000,
            loop_items: 1_000,
            bytes: 64 << 20,
            answer_bytes: 8 << 20,
            millis: 600_000,
            call_millis: 60_000,
            back_off_millis: 200,
        }
    }
}

/// Environment and permissions of a run.
pub struct Executor<'a> {
    /// Host of the tools that steps may call.
    pub host: &'a dyn ToolHost,
    /// All composed tools, which steps may call as well.
    pub composed: &'a [ComposedTool],
    /// Returns the decision for a tool by name. `Ask` requires a person's consent to the plan.
    pub decision: &'a dyn Fn(&str) -> PermissionDecision,
    /// Highest approval level to which a person consented.
    pub approved: Approval,
    /// Limits of the run.
    pub limits: RunLimits,
    /// Cancellation flag, set when the caller no longer waits for the run.
    pub cancelled: &'a AtomicBool,
}

/// State shared by all parts of one run.
struct Shared<'e, 'a> {
    executor: &'e Executor<'a>,
    specs: HashMap<String, ToolSpec>,
    composed: HashMap<&'e str, &'e ComposedTool>,
    checks: RefCell<HashMap<String, std::rc::Rc<Schema>>>,
    /// Approval levels of composed tools by name, computed on demand.
    levels: RefCell<HashMap<String, Approval>>,
    budget: Cell<usize>,
    calls: Cell<usize>,
    deadline: Instant,
}

impl<'a> Executor<'a> {
    /// Creates an executor with the default limits. No approval level is approved yet.
    pub fn new(
        host: &'a dyn ToolHost,
        composed: &'a [ComposedTool],
        decision: &'a dyn Fn(&str) -> PermissionDecision,
        cancelled: &'a AtomicBool,
    ) -> Self {
        Self { host, composed, decision, approved: Approval::None, limits: RunLimits::default(), cancelled }
    }

    /// Runs a tool. Failures are in the trace as well.
    #[must_use]
    pub fn run(&self, tool: &ComposedTool, input: Value) -> Trace {
        let shared = self.shared();
        let input = shared.with_defaults(tool, input);
        let approval = shared.level(tool);
        // An invalid input fails without asking for consent.
        let fits = shared.judge(&tool.name, "input", &tool.input, &input).is_ok();
        match shared.refusal(tool, fits.then_some(approval)) {
            Some(refusal) => {
                Trace { approval, status: Status::Refused, error: Some(refusal), ..empty_trace(tool, input) }
            }
            None => shared.run(tool, input, 0, shared.deadline),
        }
    }

    /// Returns the plan of a run, as far as it is known in advance:
    /// `{"tool","approval","input","tools","reaches","steps":[{"step","id","tool","approval","input","for_each","when",
    /// "on_error","retries"}]}`.
    /// References that can only be resolved during the run remain as written.
    ///
    /// # Errors
    /// The input does not match the tool's schema, or the stored tool cannot be read.
    pub fn plan(&self, tool: &ComposedTool, input: Value) -> Result<Value, Failure> {
        plan::plan(&self.shared(), tool, input)
    }

    /// Returns the strictest approval level of all tools that a tool calls, in their current form.
    pub fn level(&self, tool: &ComposedTool) -> Approval {
        self.shared().level(tool)
    }

    /// Returns the document to which a person's consent to a run applies: `{"input","level","tools":{NAME: current
    /// state}}` with the tool and everything below it. A run with a different document needs new consent.
    pub fn consent(&self, tool: &ComposedTool, input: &Value) -> Value {
        let shared = self.shared();
        let tools = shared.all_of(tool).into_iter().map(|name| {
            let own = (tool.name == name).then_some(tool);
            let state = match own.or_else(|| shared.composed(name)) {
                Some(composed) => json!([composed.source, composed.uses]),
                None => json!(shared.specs.get(name)),
            };
            (name.to_owned(), state)
        });
        json!({"input": input, "level": shared.level(tool), "tools": tools.collect::<Map<_, _>>()})
    }

    fn shared(&self) -> Shared<'_, '_> {
        Shared {
            executor: self,
            specs: self.host.tools().into_iter().map(|spec| (spec.name.clone(), spec)).collect(),
            composed: self.composed.iter().map(|tool| (tool.name.as_str(), tool)).collect(),
            checks: RefCell::default(),
            levels: RefCell::default(),
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
