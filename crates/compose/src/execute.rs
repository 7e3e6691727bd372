//! [`Executor`]: runs composed tools.

mod plan;
mod run;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use agent::Decision;
use serde_json::{Map, Value, json};

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
            bytes: 64 << 20,
            answer_bytes: 8 << 20,
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
    /// Whether who runs it may use a tool of this name. What is to be asked for takes a person's consent to the plan.
    pub decision: &'a dyn Fn(&str) -> Decision,
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
    composed: HashMap<&'e str, &'e ComposedTool>,
    checks: RefCell<HashMap<String, std::rc::Rc<jsonschema::Validator>>>,
    /// The levels of composed tools, by name, as far as they were asked for.
    levels: RefCell<HashMap<String, Approval>>,
    budget: Cell<usize>,
    calls: Cell<usize>,
    deadline: Instant,
}

impl Executor<'_> {
    /// Runs a tool. Whatever happens is in the trace.
    #[must_use]
    pub fn run(&self, tool: &ComposedTool, input: Value) -> Trace {
        let shared = self.shared();
        let input = shared.whole_input(tool, input);
        let approval = shared.level(tool);
        // Nobody is asked to agree to a run whose input is refused anyway.
        let fits = shared.judge(&tool.name, "input", &tool.input, &input).is_ok();
        match shared.refusal(tool, fits.then_some(approval)) {
            Some(refusal) => {
                Trace { approval, status: Status::Refused, error: Some(refusal), ..empty_trace(tool, input) }
            }
            None => shared.run(tool, input, 0, shared.deadline),
        }
    }

    /// What a run would do, as far as that is known before it: `{"tool","approval","input","tools","reaches","steps":[{"step","id","tool","approval","input","for_each","when","on_error",
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
        self.shared().level(tool)
    }

    /// What a person's consent to a run holds for: `{"input","level","tools":{NAME: what it is now}}` of the tool and all below it. Another document
    /// is another run.
    #[must_use]
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
