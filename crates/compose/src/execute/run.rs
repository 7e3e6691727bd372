//! Execution of one run, step by step ([`Shared`]).

use std::{
    collections::BTreeSet,
    rc::Rc,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use agent::PermissionDecision;
use json_schema::{Fault, Schema};
use serde_json::{Map, Value};

use super::{Shared, empty_trace};
use crate::{
    compile::DEPTH,
    declaration::{Declaration, Filling, OnError, Step},
    host::{Approval, Bounds, ToolFault},
    names::PREFIX,
    schema,
    scope::{Absent, Scope, StepResult, depth, size},
    tool::{ComposedTool, reach},
    trace::{Attempt, CallTrace, Failure, Status, StepTrace, Trace},
};

/// Maximum nesting depth of values. A trace contains them up to [`DEPTH`] runs deep with five levels each, and the
/// JSON parser's limit is 128.
const VALUE_DEPTH: usize = 64;

/// Maximum delay until a wait notices that the run was cancelled.
const NAP: Duration = Duration::from_millis(20);

impl Shared<'_, '_> {
    /// Returns the composed tool with this name.
    pub(super) fn composed(&self, name: &str) -> Option<&ComposedTool> {
        self.composed.get(name).copied()
    }

    /// Returns a composed tool and all tools below it, without duplicates.
    pub(super) fn all_of<'s>(&'s self, tool: &'s ComposedTool) -> BTreeSet<&'s str> {
        reach(tool, |name| self.composed(name))
    }

    /// Returns the approval level of a tool by itself. A missing tool has the strictest level.
    fn own_level(&self, name: &str) -> Approval {
        let level = match self.composed(name) {
            Some(composed) => composed.approval,
            None => self.specs.get(name).map_or(Approval::ExecEscalation, |spec| spec.approval),
        };
        match (self.executor.decision)(name) {
            PermissionDecision::Ask => level.max(Approval::PlanConfirm),
            PermissionDecision::Allow | PermissionDecision::Deny => level,
        }
    }

    /// Returns the strictest approval level of all tools that a tool calls, in their current form. A missing tool has
    /// the strictest level.
    pub(super) fn level(&self, tool: &ComposedTool) -> Approval {
        if let Some(known) = self.levels.borrow().get(&tool.name) {
            return *known;
        }
        let levels = self.all_of(tool).into_iter().map(|name| self.own_level(name));
        let level = levels.max().unwrap_or_default().max(tool.approval);
        self.levels.borrow_mut().insert(tool.name.clone(), level);
        level
    }

    /// Returns the reason why a run may not start: a denied tool, or missing consent to `level`. `None` for `level`
    /// skips the check of consent.
    pub(super) fn refusal(&self, tool: &ComposedTool, level: Option<Approval>) -> Option<Failure> {
        if let Some(denied) = self.all_of(tool).into_iter().find(|name| self.is_denied(name)) {
            return Some(Failure {
                code: "policy_denied".to_owned(),
                message: format!("`{}` needs `{denied}`, which is not allowed here", tool.name),
                hint: Some("ask a person to allow it with [[permissions]] in config.toml".to_owned()),
            });
        }
        level.filter(|level| *level > self.executor.approved).map(|level| Failure {
            code: "approval_needed".to_owned(),
            message: format!("`{}` needs a person's consent ({})", tool.name, level.as_str()),
            hint: Some(format!("check its plan with `--dry-run`, then run it with `--approve {}`", level.as_str())),
        })
    }

    fn is_denied(&self, name: &str) -> bool {
        (self.executor.decision)(name) == PermissionDecision::Deny
    }

    /// Completes an input with the defaults of the schema.
    pub(super) fn with_defaults(&self, tool: &ComposedTool, mut input: Value) -> Value {
        if input.is_null() {
            input = Value::Object(Map::new());
        }
        schema::fill_defaults(&tool.input, &mut input);
        input
    }

    /// Runs a tool at a nesting depth until a deadline.
    pub(super) fn run(&self, tool: &ComposedTool, input: Value, depth: usize, deadline: Instant) -> Trace {
        let begun = Instant::now();
        let mut trace = empty_trace(tool, self.with_defaults(tool, input));
        trace.approval = self.level(tool);
        let outcome = match tool.declaration() {
            Some(declaration) => self.steps(tool, &declaration, &mut trace, depth, deadline),
            None => Err(lasting("damaged", "the stored definition of this tool is damaged".to_owned())),
        };
        match outcome {
            Ok(output) => trace.output = output,
            Err(fault) => {
                trace.status = if fault.code == "cancelled" { Status::Cancelled } else { Status::Failed };
                trace.error = Some(Failure::from(&fault));
            }
        }
        trace.took_micros = micros(begun);
        trace
    }

    fn steps(
        &self,
        tool: &ComposedTool,
        declaration: &Declaration,
        trace: &mut Trace,
        depth: usize,
        deadline: Instant,
    ) -> Result<Value, ToolFault> {
        self.judge(&tool.name, "input", &tool.input, &trace.input)?;
        self.spend(&trace.input)?;
        let mut given: Vec<StepResult> = Vec::new();
        let mut failed: Option<ToolFault> = None;
        for (index, step) in declaration.steps.iter().enumerate() {
            let mut told = StepTrace {
                step: index,
                id: step.id.clone(),
                tool: step.tool.clone(),
                status: Status::NotRun,
                error: None,
                calls: Vec::new(),
            };
            if failed.is_none() {
                match self.step(step, &trace.input, &given, &mut told, depth, deadline) {
                    Ok(output) => {
                        let error = told.error.as_ref().map(|error| error.message.clone());
                        given.push(StepResult { id: step.id.clone(), output, error });
                    }
                    Err(fault) => {
                        told.status = if fault.code == "cancelled" { Status::Cancelled } else { Status::Failed };
                        told.error = Some(Failure::from(&fault));
                        failed = Some(ToolFault {
                            // The caller's input was valid, so the error concerns the step's input.
                            code: if fault.code == "invalid_input" { "invalid_step_input" } else { fault.code },
                            message: format!("step {}: {}", name_of(index, step), fault.message),
                            ..fault
                        });
                    }
                }
            }
            trace.steps.push(told);
        }
        if let Some(fault) = failed {
            return Err(fault);
        }
        let output = match &declaration.returns {
            Some((_, returns)) => {
                let scope = Scope { input: &trace.input, steps: &given, item: None, budget: &self.budget };
                fill(returns, &scope).map_err(absent)?.unwrap_or_default()
            }
            None => given.pop().map(|last| last.output).unwrap_or_default(),
        };
        flat_enough(&output)?;
        if let Some(schema) = &tool.output {
            self.judge(&tool.name, "output", schema, &output)?;
        }
        Ok(output)
    }

    /// Runs one step with all its calls. An error ends the run. A skipped failure is recorded in `told`.
    fn step(
        &self,
        step: &Step,
        input: &Value,
        given: &[StepResult],
        told: &mut StepTrace,
        depth: usize,
        deadline: Instant,
    ) -> Result<Value, ToolFault> {
        let plain = Scope { input, steps: given, item: None, budget: &self.budget };
        let Some(list) = &step.for_each else {
            let output = self.call(step, &plain, told, depth, deadline)?;
            told.status = told.calls.last().map_or(Status::Skipped, |call| call.status);
            return Ok(output);
        };
        let items = match list.fill(&plain).map_err(absent) {
            Ok(Some(Value::Array(items))) => items,
            Ok(None | Some(Value::Null)) => Vec::new(),
            Ok(Some(other)) => {
                let fault =
                    lasting("not_a_list", format!("`for_each` needs a list, but found {}", crate::scope::kind(&other)));
                return pass_over(step, fault, told);
            }
            Err(fault) => return pass_over(step, fault, told),
        };
        if items.len() > self.executor.limits.loop_items {
            let message = format!(
                "the list has {} elements; the limit for a loop is {}",
                items.len(),
                self.executor.limits.loop_items
            );
            return Err(lasting("too_many_items", message));
        }
        let mut outputs = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let scope = Scope { item: Some((item, index)), ..plain };
            outputs.push(self.call(step, &scope, told, depth, deadline)?);
        }
        told.status = Status::Done;
        Ok(Value::Array(outputs))
    }

    /// Makes one call, if its condition holds.
    fn call(
        &self,
        step: &Step,
        scope: &Scope<'_>,
        told: &mut StepTrace,
        depth: usize,
        deadline: Instant,
    ) -> Result<Value, ToolFault> {
        let item = scope.item.map(|(_, index)| index);
        let mut call = CallTrace {
            item,
            status: Status::Skipped,
            input: Value::Null,
            output: Value::Null,
            attempts: Vec::new(),
            run: None,
        };
        let outcome = self.attempts(step, scope, &mut call, depth, deadline);
        if let Ok(output) = &outcome {
            call.output.clone_from(output);
        }
        if let Err(fault) = &outcome {
            call.status = if fault.code == "cancelled" { Status::Cancelled } else { Status::Failed };
        }
        let outcome = match outcome {
            Err(fault) if step.on_error == OnError::Skip && !ends_all(&fault) && Instant::now() < deadline => {
                call.status = Status::Skipped;
                if call.attempts.is_empty() {
                    call.attempts.push(Attempt { took_micros: 0, error: Some(Failure::from(&fault)) });
                }
                told.error = Some(Failure::from(&fault));
                Ok(Value::Null)
            }
            other => other,
        };
        told.calls.push(call);
        outcome
    }

    fn attempts(
        &self,
        step: &Step,
        scope: &Scope<'_>,
        call: &mut CallTrace,
        depth: usize,
        deadline: Instant,
    ) -> Result<Value, ToolFault> {
        if let Some(when) = &step.when
            && !when.holds(scope).map_err(absent)?
        {
            return Ok(Value::Null);
        }
        call.input = fill(&step.input, scope).map_err(absent)?.unwrap_or_default();
        flat_enough(&call.input)?;
        let allowed = step.timeout.unwrap_or(Duration::from_millis(self.executor.limits.call_millis));
        let mut again = 0;
        loop {
            let begun = Instant::now();
            let end = deadline.min(begun + allowed);
            let outcome = self.once(&step.tool, &call.input, &mut call.run, depth, end);
            let error = outcome.as_ref().err().map(Failure::from);
            call.attempts.push(Attempt { took_micros: micros(begun), error });
            match outcome {
                Ok(output) => {
                    self.spend(&output)?;
                    call.status = Status::Done;
                    return Ok(output);
                }
                Err(fault) if !fault.transient || again == step.retries => return Err(fault),
                Err(_) => {}
            }
            self.wait(Duration::from_millis(self.executor.limits.back_off_millis << (2 * again)), deadline)?;
            again += 1;
        }
    }

    /// Makes one attempt of a call.
    fn once(
        &self,
        tool: &str,
        input: &Value,
        run: &mut Option<Box<Trace>>,
        depth: usize,
        end: Instant,
    ) -> Result<Value, ToolFault> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() > self.executor.limits.calls {
            return Err(lasting(
                "too_many_calls",
                format!("the run made more than {} calls", self.executor.limits.calls),
            ));
        }
        let bounds = Bounds {
            deadline: end,
            cancelled: self.executor.cancelled,
            answer_bytes: self.executor.limits.answer_bytes.min(self.budget.get()),
            level: self.specs.get(tool).map(|spec| spec.approval).unwrap_or_default(),
        };
        bounds.remaining()?;
        if self.is_denied(tool) {
            return Err(lasting("policy_denied", format!("`{tool}` is not allowed here")));
        }
        if tool.starts_with(PREFIX) {
            return self.nested(tool, input, run, depth, end);
        }
        let spec = self
            .specs
            .get(tool)
            .ok_or_else(|| lasting("unknown_tool", format!("the tool `{tool}` no longer exists")))?;
        let needed = self.own_level(tool);
        if needed > self.executor.approved {
            return Err(lasting("approval_needed", format!("`{tool}` needs a person's consent ({})", needed.as_str())));
        }
        self.judge(tool, "input", &spec.input, input)?;
        let output = self.executor.host.call(tool, input, &bounds)?;
        match size(&output) > bounds.answer_bytes {
            true => Err(lasting(
                "too_large",
                format!("the output of `{tool}` is larger than {} bytes", bounds.answer_bytes),
            )),
            false => Ok(output),
        }
    }

    fn nested(
        &self,
        tool: &str,
        input: &Value,
        run: &mut Option<Box<Trace>>,
        depth: usize,
        end: Instant,
    ) -> Result<Value, ToolFault> {
        let inner = self
            .composed(tool)
            .ok_or_else(|| lasting("unknown_tool", format!("the tool `{tool}` no longer exists")))?;
        if depth >= DEPTH {
            return Err(lasting("too_nested", format!("composed tools are nested more than {DEPTH} levels deep")));
        }
        let trace = self.run(inner, input.clone(), depth + 1, end);
        let outcome = match &trace.error {
            None => Ok(trace.output.clone()),
            // The inner steps had their own retries. The inner run as a whole is not retried.
            Some(error) => Err(ToolFault {
                code: kept_code(&error.code),
                message: format!("{tool}: {}", error.message),
                hint: error.hint.clone(),
                transient: false,
            }),
        };
        *run = Some(Box::new(trace));
        outcome
    }

    fn wait(&self, time: Duration, deadline: Instant) -> Result<(), ToolFault> {
        let end = (Instant::now() + time).min(deadline);
        while Instant::now() < end {
            if self.executor.cancelled.load(Ordering::Relaxed) {
                return Err(lasting("cancelled", "the run was cancelled".to_owned()));
            }
            std::thread::sleep(NAP.min(end.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn spend(&self, value: &Value) -> Result<(), ToolFault> {
        flat_enough(value)?;
        let bytes = size(value);
        let left = self.budget.get().checked_sub(bytes).ok_or_else(|| absent(Absent::TooLarge))?;
        self.budget.set(left);
        Ok(())
    }

    /// Validates a value by a schema, whose validator is compiled once per run.
    pub(super) fn judge(&self, tool: &str, of: &str, schema: &Value, value: &Value) -> Result<(), ToolFault> {
        let key = format!("{tool} {of}");
        let known = self.checks.borrow().get(&key).cloned();
        let check = match known {
            Some(check) => check,
            None => {
                let made = Schema::of_2020_12(schema).map(Rc::new).map_err(|Fault { message, .. }| {
                    lasting("invalid_schema", format!("the {of} schema of `{tool}` is invalid: {message}"))
                })?;
                self.checks.borrow_mut().insert(key, Rc::clone(&made));
                made
            }
        };
        let faults: Vec<_> = check.faults(value, schema::FAULTS).iter().map(ToString::to_string).collect();
        if faults.is_empty() {
            return Ok(());
        }
        let code = if of == "input" { "invalid_input" } else { "invalid_output" };
        Err(lasting(code, format!("the {of} of `{tool}` does not match its schema: {}", faults.join("; "))))
    }
}

/// Fills a value. Returns `None` for a single reference to an optional input that is missing; such fields of an
/// object are left out.
pub(super) fn fill(filling: &Filling, scope: &Scope<'_>) -> Result<Option<Value>, Absent> {
    Ok(Some(match filling {
        Filling::Text(template) => return template.fill(scope),
        Filling::Constant(value) => value.clone(),
        Filling::Unreadable => return Ok(None),
        Filling::List(elements) => {
            let elements = elements.iter().map(|element| Ok(fill(element, scope)?.unwrap_or_default()));
            Value::Array(elements.collect::<Result<_, Absent>>()?)
        }
        Filling::Fields(fields) => {
            let mut filled = Map::new();
            for (key, value) in fields {
                if let Some(value) = fill(value, scope)? {
                    filled.insert(key.clone(), value);
                }
            }
            Value::Object(filled)
        }
    }))
}

/// Refuses a value nested so deeply that its trace could not be parsed again.
fn flat_enough(value: &Value) -> Result<(), ToolFault> {
    match depth(value) > VALUE_DEPTH {
        true => Err(lasting("too_deep", format!("a value is nested more than {VALUE_DEPTH} levels deep"))),
        false => Ok(()),
    }
}

/// Handles a failure before any call: skips the step if it allows that.
fn pass_over(step: &Step, fault: ToolFault, told: &mut StepTrace) -> Result<Value, ToolFault> {
    if step.on_error == OnError::Abort || ends_all(&fault) {
        return Err(fault);
    }
    told.status = Status::Skipped;
    told.error = Some(Failure::from(&fault));
    Ok(Value::Null)
}

/// Returns whether a fault ends the whole run, so that no step may skip it: limits, cancellation, missing
/// permissions.
fn ends_all(fault: &ToolFault) -> bool {
    ["cancelled", "too_many_calls", "too_large_run", "too_deep", "approval_needed", "policy_denied"]
        .contains(&fault.code)
}

fn absent(absent: Absent) -> ToolFault {
    let code = match absent {
        Absent::Missing { .. } => "no_value",
        Absent::TooLarge => "too_large_run",
    };
    lasting(code, absent.to_string())
}

fn lasting(code: &'static str, message: String) -> ToolFault {
    ToolFault::permanent(code, message)
}

/// Returns codes of an inner run unchanged if they mean the same for the outer one.
fn kept_code(code: &str) -> &'static str {
    let kept =
        ["not_allowed", "cancelled", "too_many_calls", "too_large_run", "approval_needed", "policy_denied", "timeout"];
    kept.into_iter().find(|kept| *kept == code).unwrap_or("tool_failed")
}

fn name_of(index: usize, step: &Step) -> String {
    match &step.id {
        Some(id) => format!("{index} ({id}, {})", step.tool),
        None => format!("{index} ({})", step.tool),
    }
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
