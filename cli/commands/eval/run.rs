//! `skillhub eval run` runs a skill on its cases.

use clap::Args;
use evolve::evals::{RunResult, Side as Way, benchmark, evals_digest, is_held_out};
use serde_json::{Value, json};

use super::{
    RunnerArgs,
    runner::{Results, Runner, write_json},
    side::{Side, evals_of},
    store::{FailedAssertion, LastRun, Store},
    trigger,
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, GOOD, STRONG, Table, time, visible},
};

/// Flags of `eval run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub eval run ./my-skill --runner ./run.sh
  skillhub eval run my-skill --runner ./run.sh --repeat 3 --baseline
  skillhub eval run my-skill@4 --runner ./run.sh --judge ./judge.py --out results

The runner works in a temporary folder with the case's files, and prints the answer. It gets
SKILLHUB_EVAL_PROMPT, SKILLHUB_EVAL_SKILL (the skill's folder, without its evals), SKILLHUB_EVAL_NAME,
SKILLHUB_EVAL_CASE, SKILLHUB_EVAL_WORK and SKILLHUB_EVAL_METRICS (a file to write figures such as
total_tokens to), and the same as JSON on stdin. Exit code 1: an assertion fails.")]
pub struct RunArgs {
    /// Skill folder, or a skill in the library: NAME or NAME@REV
    #[arg(value_name = "SKILL")]
    skill: String,
    /// Run each case N times [default: 1; with --trigger: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: Option<u32>,
    /// Also run each case without the skill
    #[arg(long, conflicts_with = "trigger")]
    baseline: bool,
    #[command(flatten)]
    runner: RunnerArgs,
}

/// Runs all cases and prints the results.
pub(super) fn run(context: &Context, args: &RunArgs) -> Result<Exit, CliError> {
    let side = Side::of_skill(context, &args.skill)?;
    if args.runner.trigger {
        return trigger::run(context, &side, args.repeat, &args.runner);
    }
    let (set, repeat) = (evals_of(&side)?, args.repeat.unwrap_or(1) as usize);
    let runner = Runner::new(context, &args.runner, &side.name, &side.bundle);
    let cases = runner.cases(&set)?;
    let store = Store::of(context);
    let results = Results::make(match &args.runner.out {
        Some(out) => context.absolute(out),
        None => store.results(context, &side.name, "run"),
    })?;
    let ways: &[Way] = if args.baseline { &[Way::WithSkill, Way::WithoutSkill] } else { &[Way::WithSkill] };
    let mut runs = Vec::new();
    let working = context.out.working("running cases");
    let of = cases.len() * repeat * ways.len();
    for number in 1..=repeat {
        for case in &cases {
            for way in ways {
                working.at("running cases", runs.len(), of);
                let ran = runner.run(case, (*way == Way::WithSkill).then_some(&side.bundle))?;
                results.keep(case, way.as_str(), number, &ran)?;
                let (case, name) = (case.written_id.clone(), RunResult::name_of(case));
                runs.push(RunResult { case, name, side: *way, number, grading: ran.grading });
            }
        }
        runner.check_started()?;
    }
    drop(working);
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let metadata = json!({
        "skill_path": side.label, "digest": side.bundle.digest().to_string(), "timestamp": time(context.now),
        "evals": evals_digest(&side.bundle).to_string(), "runner": args.runner.runner,
    });
    write_json(&results.path.join("benchmark.json"), &benchmark(&side.name, metadata, &runs, &[]))?;
    let failures = failures(&cases.iter().map(|case| (&case.written_id, case.id.as_str())).collect::<Vec<_>>(), &runs);
    let last =
        LastRun { digest: side.bundle.digest().to_string(), time: time(context.now), failures, ..LastRun::default() };
    store.keep_last(&side.name, &last)?;
    show(context, &side, &ids, &runs, &results)
}

fn failures(ids: &[(&Value, &str)], runs: &[RunResult]) -> Vec<FailedAssertion> {
    let mut failures: Vec<FailedAssertion> = Vec::new();
    for run in runs.iter().filter(|run| run.side == Way::WithSkill) {
        let Some((_, id)) = ids.iter().find(|(written, _)| **written == run.case) else { continue };
        for graded in run.grading.expectations.iter().filter(|graded| graded.passed == Some(false)) {
            let is_known = |known: &FailedAssertion| known.case == *id && known.text == graded.text;
            if !failures.iter().any(is_known) {
                let (case, text, evidence) = ((*id).to_owned(), graded.text.clone(), graded.evidence.clone());
                failures.push(FailedAssertion { case, text, evidence });
            }
        }
    }
    failures
}

fn show(context: &Context, side: &Side, ids: &[&str], runs: &[RunResult], results: &Results) -> Result<Exit, CliError> {
    let with = || runs.iter().filter(|run| run.side == Way::WithSkill);
    let (mut documents, mut table) =
        (Vec::new(), Table::new(&["case", "runs", "passed", "failed", "ungraded", "seconds"]));
    let mut totals = (0, 0, 0);
    let cases = ids.iter().zip(unique(runs));
    for (id, written) in cases {
        let of_case: Vec<&RunResult> = with().filter(|run| run.case == written).collect();
        let sum = |of: fn(&RunResult) -> usize| of_case.iter().map(|run| of(run)).sum::<usize>();
        let (passed, failed) = (sum(|run| run.grading.summary.passed), sum(|run| run.grading.summary.failed));
        let ungraded = sum(|run| run.grading.ungraded.len());
        totals = (totals.0 + passed, totals.1 + failed, totals.2 + ungraded);
        let seconds: f64 = of_case.iter().map(|run| run.grading.timing.executor_duration_seconds).sum();
        documents.push(json!({
            "id": written, "runs": of_case.len(), "passed": passed, "failed": failed, "ungraded": ungraded,
            "held_out": is_held_out(id, evolve::compare::Rules::default().held_out_percent),
        }));
        let cells = [
            (*id).to_owned(),
            of_case.len().to_string(),
            passed.to_string(),
            failed.to_string(),
            ungraded.to_string(),
            format!("{seconds:.1}"),
        ];
        table.row(&cells.map(|cell| visible(&cell)));
    }
    let (passed, failed, ungraded) = totals;
    let document = json!({
        "ok": failed == 0, "name": side.name, "skill": side.document(), "passed": passed, "failed": failed,
        "ungraded": ungraded, "cases": documents, "results": results.path,
    });
    context.out.answer(&document, |out| {
        table.write(out)?;
        let (style, word) = if failed == 0 { (GOOD, "passed") } else { (BAD, "failed") };
        let decided = passed + failed;
        writeln!(out, "{style}{word}{style:#} {STRONG}{}{STRONG:#}, {}: {passed} of {decided} assertions hold, {ungraded} ungraded", side.name, side.label)?;
        for run in with() {
            for graded in run.grading.expectations.iter().filter(|graded| graded.passed == Some(false)) {
                writeln!(out, "  {} run {}: {}: {}", visible(&run.name), run.number, visible(&graded.text), visible(&graded.evidence))?;
            }
        }
        writeln!(out, "Results: {}", context.short(&results.path))
    })?;
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// Returns the ids of the cases that were run, without duplicates, in order.
fn unique(runs: &[RunResult]) -> Vec<Value> {
    let mut ids: Vec<Value> = Vec::new();
    for run in runs {
        if !ids.contains(&run.case) {
            ids.push(run.case.clone());
        }
    }
    ids
}
