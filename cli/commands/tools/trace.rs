//! `skillhub tools trace` shows the recorded runs of compiled tools.

use clap::Args;
use compose::{CallTrace, StoreError, Trace, summary};
use serde_json::{Value, json};

use crate::{
    composing::Composing,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, Table},
};

/// Maximum number of runs in the list.
const LISTED: usize = 20;

/// Flags of `tools trace`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools trace                           recent runs
  skillhub tools trace 20260102T030405-8f3a      the steps of one run
  skillhub tools trace 20260102T030405-8f3a --json")]
pub struct TraceArgs {
    /// Run, by id [default: list the recent runs]
    id: Option<String>,
}

/// Lists the runs, or prints one.
pub fn run(context: &Context, args: &TraceArgs) -> Result<Exit, CliError> {
    let composing = Composing::new(context, None)?;
    let store = composing.workshop().store().map_err(failed)?;
    if let Some(id) = &args.id {
        let trace = store.trace(id).map_err(failed)?;
        if composing.hides_run(&trace) {
            return Err(failed(StoreError::NoTrace(id.clone())));
        }
        context.out.answer(&json!({"ok": true, "id": id, "trace": trace}), |out| write(out, &trace, 0))?;
        return Ok(Exit::Done);
    }
    let ids = store.ids().map_err(failed)?;
    // An unreadable trace must not hide the others.
    let runs: Vec<(String, Result<Trace, String>)> = ids
        .into_iter()
        .map(|id| {
            let trace = store.trace(&id).map_err(|error| error.to_string());
            (id, trace)
        })
        .filter(|(_, trace)| !trace.as_ref().is_ok_and(|trace| composing.hides_run(trace)))
        .take(LISTED)
        .collect();
    let document = |(id, trace): &(String, Result<Trace, String>)| match trace {
        Ok(trace) => summary(id, trace),
        Err(why) => json!({"id": id, "status": "unreadable", "error": {"code": "damaged", "message": why}}),
    };
    let documents: Vec<Value> = runs.iter().map(document).collect();
    context.out.answer(&json!({"ok": true, "runs": documents}), |out| {
        if runs.is_empty() {
            return writeln!(out, "{FAINT}No runs yet.{FAINT:#}");
        }
        let mut table = Table::new(&["run", "tool", "status", "took", "error"]);
        for (id, trace) in &runs {
            let row = match trace {
                Ok(trace) => {
                    let error = trace.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
                    [trace.tool.clone(), trace.status.as_str().to_owned(), took(trace.took_micros), error]
                }
                Err(why) => [String::new(), "unreadable".to_owned(), String::new(), why.clone()],
            };
            let [tool, status, took, error] = row;
            table.row(&[id.clone(), tool, status, took, error]);
        }
        table.write(out)
    })
}

fn write(out: &mut dyn std::io::Write, trace: &Trace, depth: usize) -> std::io::Result<()> {
    let pad = "    ".repeat(depth);
    writeln!(
        out,
        "{pad}{STRONG}{}{STRONG:#} {} in {}, level {}",
        trace.tool,
        trace.status.as_str(),
        took(trace.took_micros),
        trace.approval.as_str()
    )?;
    for step in &trace.steps {
        let id = step.id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        let calls = if step.calls.len() > 1 { format!(", {} calls", step.calls.len()) } else { String::new() };
        writeln!(out, "{pad}  {}{id} {STRONG}{}{STRONG:#} {}{calls}", step.step, step.tool, step.status.as_str())?;
        if let Some(error) = &step.error {
            writeln!(out, "{pad}      {}", error.message)?;
        }
        for call in &step.calls {
            write_call(out, call, depth)?;
        }
    }
    if depth == 0 {
        writeln!(out, "{FAINT}output{FAINT:#} {}", short(&trace.output))?;
    }
    Ok(())
}

fn write_call(out: &mut dyn std::io::Write, call: &CallTrace, depth: usize) -> std::io::Result<()> {
    let pad = "    ".repeat(depth);
    let item = call.item.map(|item| format!("[{item}] ")).unwrap_or_default();
    let spent: u64 = call.attempts.iter().map(|attempt| attempt.took_micros).sum();
    let tries = if call.attempts.len() > 1 { format!(", {} attempts", call.attempts.len()) } else { String::new() };
    writeln!(
        out,
        "{pad}      {item}{} in {}{tries}  {FAINT}{} -> {}{FAINT:#}",
        call.status.as_str(),
        took(spent),
        short(&call.input),
        short(&call.output)
    )?;
    for attempt in call.attempts.iter().filter_map(|attempt| attempt.error.as_ref()) {
        writeln!(out, "{pad}          {}", attempt.message)?;
    }
    call.run.iter().try_for_each(|run| write(out, run, depth + 2))
}

fn short(value: &Value) -> String {
    skill::shortened(&value.to_string(), 100)
}

fn took(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}
