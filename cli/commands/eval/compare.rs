//! `skillhub eval compare` runs a candidate against its base, on the base's cases.

use clap::Args;
use evolve::{
    compare::{CaseRuns, Comparison, ComparisonResult, Rules, Tally, compare},
    evals::{Case, RunResult, Side as Way, benchmark, evals_digest},
};
use serde_json::json;

use super::{
    RunnerArgs,
    runner::{CaseRun, Results, Runner, write_json},
    side::{Side, evals_of},
    store::{Store, Stored},
    trigger,
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, GOOD, STRONG, Table, WARN, time, visible},
};

/// Flags of `eval compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub eval compare my-skill head k7m3qx --runner ./run.sh
  skillhub eval compare my-skill 3 head --runner ./run.sh --repeat 10
  skillhub eval compare my-skill ./main/my-skill ./branch/my-skill --runner ./run.sh --json
  skillhub eval compare my-skill head k7m3qx --trigger --runner ./choose.sh

Runs base and candidate in turns on the base's cases, after running the base against itself to find flaky
assertions. An exact paired test decides: better, no difference, or worse. Exit code 1: the candidate is
worse.")]
pub struct CompareArgs {
    /// Skill in the library, or a skill folder
    #[arg(value_name = "SKILL")]
    skill: String,
    /// Current state: a revision, a folder or a proposal
    base: String,
    /// New state: a revision, a folder or a proposal
    candidate: String,
    /// Pairs of runs for each case; fewer than 5 can never show `worse`
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Number of extra runs of the base in each case, which find assertions that pass only sometimes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1000))]
    trial: u32,
    /// Accepted probability that an equally good candidate is reported as `worse`
    #[arg(long, value_name = "SHARE", default_value_t = Rules::default().alpha, value_parser = share)]
    alpha: f64,
    /// Accepted probability that an equally good candidate is reported as `better`
    #[arg(long, value_name = "SHARE", default_value_t = Rules::default().promote_alpha, value_parser = share)]
    promote_alpha: f64,
    #[command(flatten)]
    runner: RunnerArgs,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if share > 0.0 && share <= 0.5 { Ok(share) } else { Err("it must be above 0 and at most 0.5".to_owned()) }
}

/// Both sides with the runner and the cases.
struct Match<'a> {
    base: &'a Side,
    candidate: &'a Side,
    runner: Runner<'a>,
    cases: Vec<Case>,
    results: Results,
}

/// Runs the comparison and stores its result.
pub(super) fn run(context: &Context, args: &CompareArgs) -> Result<Exit, CliError> {
    let base = Side::parse(context, &args.skill, &args.base)?;
    let candidate = Side::parse(context, &args.skill, &args.candidate)?;
    let rules = Rules { alpha: args.alpha, promote_alpha: args.promote_alpha, ..Rules::default() };
    if args.runner.trigger {
        let terms = trigger::Terms { repeat: args.repeat, trial: args.trial, rules };
        return trigger::compare(context, &terms, &args.runner, [&base, &candidate]);
    }
    let set = evals_of(&base)?;
    let runner = Runner::new(context, &args.runner, &base.name, &base.bundle);
    let cases = runner.cases(&set)?;
    let store = Store::of(context);
    let results = Results::make(match &args.runner.out {
        Some(out) => context.absolute(out),
        None => store.results(context, &base.name, "compare"),
    })?;
    let work = Match { base: &base, candidate: &candidate, runner, cases, results };
    let (runs, of_cases) = work.runs(context, args)?;
    let comparison = compare(&of_cases, rules);
    let digests = [base.bundle.digest(), candidate.bundle.digest(), evals_digest(&base.bundle)].map(|d| d.to_string());
    let metadata = json!({
        "timestamp": time(context.now), "runner": args.runner.runner, "evals": digests[2],
        "configurations": {"with_skill": candidate.document(), "without_skill": base.document()},
    });
    write_json(
        &work.results.path.join("benchmark.json"),
        &benchmark(&base.name, metadata, &runs, &comparison.reasons),
    )?;
    write_json(&work.results.path.join("comparison.json"), &json!(comparison))?;
    let is_whole = args.runner.cases.is_empty();
    if is_whole {
        let at = work.results.path.clone();
        store.keep(&Stored::new(
            &base.name,
            digests,
            time(context.now),
            args.runner.command(),
            at,
            comparison.clone(),
        ))?;
    }
    show(context, &work, &comparison, is_whole)
}

impl Match<'_> {
    fn runs(&self, context: &Context, args: &CompareArgs) -> Result<(Vec<RunResult>, Vec<CaseRuns>), CliError> {
        let mut of_cases: Vec<CaseRuns> =
            self.cases.iter().map(|case| CaseRuns { id: case.id.clone(), ..CaseRuns::default() }).collect();
        let working = context.out.working("running cases");
        let total = self.cases.len() * (args.trial + 2 * args.repeat) as usize;
        let mut done = 0;
        let mut step = || {
            working.at("running cases", done, total);
            done += 1;
        };
        for _ in 0..args.trial {
            for (case, runs) in self.cases.iter().zip(&mut of_cases) {
                step();
                runs.trial.push(self.runner.run(case, Some(&self.base.bundle))?.marks);
            }
            self.runner.check_started()?;
        }
        let mut kept = Vec::new();
        for number in 1..=args.repeat as usize {
            for (index, (case, runs)) in self.cases.iter().zip(&mut of_cases).enumerate() {
                // Alternating the order exposes both sides equally to drift over time.
                let base_first = (number + index) % 2 == 0;
                let first = self.one(case, base_first)?;
                step();
                let second = self.one(case, !base_first)?;
                step();
                let (base, candidate) = if base_first { (first, second) } else { (second, first) };
                runs.pairs.push((base.marks.clone(), candidate.marks.clone()));
                for (way, ran) in [(Way::WithoutSkill, base), (Way::WithSkill, candidate)] {
                    self.results.keep(case, way.as_str(), number, &ran)?;
                    let (case, name) = (case.written_id.clone(), RunResult::name_of(case));
                    kept.push(RunResult { case, name, side: way, number, grading: ran.grading });
                }
            }
            self.runner.check_started()?;
        }
        Ok((kept, of_cases))
    }

    fn one(&self, case: &Case, is_base: bool) -> Result<CaseRun, CliError> {
        let side = if is_base { self.base } else { self.candidate };
        self.runner.run(case, Some(&side.bundle))
    }

    fn changes_evals(&self) -> bool {
        evals_digest(&self.base.bundle) != evals_digest(&self.candidate.bundle)
    }
}

fn show(context: &Context, work: &Match<'_>, comparison: &Comparison, is_whole: bool) -> Result<Exit, CliError> {
    let Match { base, candidate, cases, results, .. } = work;
    let is_worse = comparison.decision == ComparisonResult::Worse;
    let mut document = json!(comparison);
    if let Some(fields) = document.as_object_mut() {
        fields.insert("ok".to_owned(), json!(!is_worse));
        fields.insert("name".to_owned(), json!(base.name));
        fields.insert("base".to_owned(), base.document());
        fields.insert("candidate".to_owned(), candidate.document());
        fields.insert("evals".to_owned(), json!(evals_digest(&base.bundle).to_string()));
        fields.insert("evals_changed".to_owned(), json!(work.changes_evals()));
        fields.insert("kept".to_owned(), json!(is_whole));
        fields.insert("results".to_owned(), json!(results.path));
    }
    context.out.answer(&document, |out| {
        let mut table = Table::new(&["case", "base", "candidate", "better", "equal", "worse", ""]);
        for (case, seen) in cases.iter().zip(&comparison.cases) {
            let percent = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
            let Tally { wins, losses, ties, .. } = seen.tally;
            let note = if seen.held_out { "held out" } else { "" };
            let cells = [case.id.clone(), percent(seen.base_rate), percent(seen.candidate_rate), wins.to_string(), ties.to_string(), losses.to_string(), note.to_owned()];
            table.row(&cells.map(|cell| visible(&cell)));
        }
        table.write(out)?;
        for (case, seen) in cases.iter().zip(&comparison.cases) {
            let text = |index: &usize| case.assertions.get(*index).map(|a| visible(&a.text)).unwrap_or_default();
            for (told, list) in [("flaky, left out", &seen.flaky), ("always holds, so it shows nothing", &seen.telling_nothing), ("not graded", &seen.undecided)] {
                for index in list {
                    writeln!(out, "  {}: {told}: {}", visible(&case.id), text(index))?;
                }
            }
        }
        if work.changes_evals() {
            writeln!(out, "{WARN}The candidate changes its own evals{WARN:#}. They were not used here; review them before you accept it.")?;
        }
        let style = match comparison.decision {
            ComparisonResult::Better => GOOD,
            ComparisonResult::NoDifference => STRONG,
            ComparisonResult::Worse => BAD,
        };
        let word = comparison.decision.words();
        writeln!(out, "{style}{word}{style:#}: {} against {}: {}", candidate.label, base.label, comparison.reasons.join("; "))?;
        writeln!(out, "Results: {}", context.short(&results.path))
    })?;
    Ok(if is_worse { Exit::Failed } else { Exit::Done })
}
