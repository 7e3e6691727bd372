//! `skillhub tools call` runs a compiled tool, or shows its plan.

use std::io::Read;

use clap::Args;
use compose::{Approval, Executor, Failure, Trace};
use ops::Refusal;
use serde_json::{Value, json};
use skill::counted;

use crate::{
    composing::Composing,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG},
};

/// Maximum size of an input, in bytes.
const INPUT_BYTES: u64 = 4 << 20;

/// Flags of `tools call`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools call site-monitor --input '{\"sites\":[\"https://a.example\"]}' --dry-run
  skillhub tools call site-monitor --input '{\"sites\":[\"https://a.example\"]}' --approve plan_confirm
  echo '{\"sites\":[]}' | skillhub tools call site-monitor --input -
  skillhub tools call site-monitor --redact      keep inputs and outputs out of the trace

A tool has the strictest level of its steps. Level none runs at once; plan_confirm and exec_escalation
need --approve; exec_escalation also needs a person (a terminal, or a token of `skillhub reviewer new`).
Each run leaves a trace (`skillhub tools trace`), even if Ctrl-C ends it.
Exit codes: 1 a step failed, 2 the input is invalid, 5 not allowed.")]
pub struct CallArgs {
    /// Tool, by its name or its skill's name
    name: String,
    /// Input as JSON, `-` for stdin
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Approve calls up to this level: none, plan_confirm or exec_escalation
    #[arg(long, value_name = "LEVEL", default_value = "none", default_missing_value = "plan_confirm", num_args = 0..=1, value_parser = level)]
    approve: Approval,
    /// Show the plan, and call nothing
    #[arg(long)]
    dry_run: bool,
    /// Store only sizes and digests of inputs and outputs in the trace
    #[arg(long)]
    redact: bool,
    /// Apply the permissions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

fn level(text: &str) -> Result<Approval, String> {
    let names: Vec<&str> = Approval::ALL.iter().map(|level| level.as_str()).collect();
    Approval::parse(text).ok_or_else(|| format!("a level is one of {}", names.join(", ")))
}

/// Runs the tool and stores a trace of it.
pub fn run(context: &Context, args: &CallArgs) -> Result<Exit, CliError> {
    let input = input(&args.input)?;
    let composing = Composing::new(context, args.agent.as_deref())?;
    let entries = composing.workshop().follow().map_err(failed)?;
    let tool = composing.tool(&entries, &args.name)?;
    let composed: Vec<_> = entries.values().filter_map(|entry| entry.tool().cloned()).collect();
    let (access, cancelled) = (composing.access(), mcp::interrupt());
    let decision = |part: &str| access.decision_within(&tool.name, part);
    let executor = Executor::new(composing.host(), &composed, &decision, &cancelled);
    let executor = Executor { approved: args.approve, ..executor };
    if args.dry_run {
        return plan(context, &executor, tool, input);
    }
    if args.approve == Approval::ExecEscalation && executor.level(tool) == args.approve {
        // Commands run without a sandbox, so an unproven claim to be a person is not enough.
        context.reviewer("run commands")?;
    }
    let trace = executor.run(tool, input);
    let id = compose::trace_id(context.now);
    // The steps have run, so their result is reported even if no trace can be stored.
    let kept = composing.workshop().store().map_err(failed)?.keep(&id, &trace.clone().redacted(args.redact));
    if let Err(error) = kept {
        context.out.note(&format!("cannot store the trace of this run: {error}"));
    }
    tell(context, &id, &trace)
}

fn input(text: &str) -> Result<Value, CliError> {
    let mut piped = String::new();
    let text = match text {
        "-" => {
            std::io::stdin().lock().take(INPUT_BYTES).read_to_string(&mut piped)?;
            piped.as_str()
        }
        text => text,
    };
    serde_json::from_str(text).map_err(|error| {
        CliError::usage(format!("the input is not JSON: {error}"))
            .hint("pass an object, such as '{\"url\":\"https://a.example\"}'")
    })
}

fn plan(
    context: &Context,
    executor: &Executor<'_>,
    tool: &compose::ComposedTool,
    input: Value,
) -> Result<Exit, CliError> {
    let plan = executor.plan(tool, input).map_err(|failure| Refusal::of_tool(&failure, Value::Null))?;
    let mut document = json!({"ok": true, "status": "dry_run"});
    document["plan"] = plan;
    context.out.answer(&document, |out| {
        let plan = &document["plan"];
        writeln!(out, "{STRONG}{}{STRONG:#} needs level {}", tool.name, plan["approval"].as_str().unwrap_or_default())?;
        for step in plan["steps"].as_array().into_iter().flatten() {
            let id = step["id"].as_str().map(|id| format!(" ({id})")).unwrap_or_default();
            writeln!(out, "{}{id} {STRONG}{}{STRONG:#}", step["step"], step["tool"].as_str().unwrap_or_default())?;
            for key in ["when", "for_each", "input", "inputs"] {
                match &step[key] {
                    Value::Null => {}
                    value => writeln!(out, "    {FAINT}{key:<8}{FAINT:#} {value}")?,
                }
            }
        }
        writeln!(out, "{FAINT}Nothing was called.{FAINT:#}")
    })
}

/// Reports the result of a run.
fn tell(context: &Context, id: &str, trace: &Trace) -> Result<Exit, CliError> {
    if let Some(failure) = &trace.error {
        let hint = failure.hint.clone().unwrap_or_else(|| format!("see every step: skillhub tools trace {id}"));
        let failure = Failure { hint: Some(hint), ..failure.clone() };
        return Err(Refusal::of_tool(&failure, json!({"trace": id, "status": trace.status})).into());
    }
    let skipped = trace.steps.iter().filter(|step| step.error.is_some()).count();
    if skipped > 0 {
        context.out.note(&format!(
            "{skipped} of {} failed and {} skipped; see why with `skillhub tools trace {id}`",
            counted(trace.steps.len(), "step"),
            if skipped == 1 { "was" } else { "were" }
        ));
    }
    let document = json!({"ok": true, "status": trace.status, "tool": trace.tool, "output": trace.output, "trace": id});
    context.out.answer(&document, |out| match &trace.output {
        Value::String(text) => writeln!(out, "{text}"),
        other => writeln!(out, "{}", serde_json::to_string_pretty(other).unwrap_or_default()),
    })
}
