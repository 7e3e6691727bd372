//! `skillhub eval lint` reports every problem in the cases of skills.

use std::path::Path;

use clap::Args;
use evolve::evals::{Check, EVALS_FILE, EvalLimits, Reading, read, read_queries};
use serde_json::json;
use skill::{Problem, counted};

use super::side::Side;
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, GOOD, STRONG, problem_line, visible},
};

/// Flags of `eval lint`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub eval lint ./my-skill
  skillhub eval lint my-skill other-skill --json

Exit code 3: a problem prevents the cases from running.")]
pub struct LintArgs {
    /// Skill folders, or names of skills in the library
    #[arg(required = true, value_name = "SKILL")]
    skills: Vec<String>,
}

/// Checks the cases of all given skills.
pub(super) fn run(context: &Context, args: &LintArgs) -> Result<Exit, CliError> {
    let (mut documents, mut lines, mut is_good) = (Vec::new(), Vec::new(), true);
    for written in &args.skills {
        let side = Side::of_skill(context, written)?;
        let mut reading = read(&side.bundle, &EvalLimits::default());
        let queries = queries(&side, &mut reading);
        let valid = !reading.problems.iter().any(Problem::is_error);
        is_good &= valid;
        let cases = reading.set.as_ref().map_or(0, |set| set.cases.len());
        let assertions = reading.set.iter().flat_map(|set| &set.cases).flat_map(|case| &case.assertions);
        let (mut machine, mut judged) = (0, 0);
        assertions
            .for_each(|assertion| *if assertion.check == Check::Judged { &mut judged } else { &mut machine } += 1);
        documents.push(json!({
            "skill": written, "name": side.name, "valid": valid, "cases": cases, "machine": machine, "judged": judged,
            "queries": queries, "problems": reading.problems,
        }));
        let (style, word) = if valid { (GOOD, "valid") } else { (BAD, "invalid") };
        let mut counts =
            format!("{}, {}, {judged} for a judge", counted(cases, "case"), counted(machine, "automatic check"));
        if let Some(queries) = queries {
            counts.push_str(&format!(", {}", counted(queries, "query")));
        }
        lines.push(format!("{style}{word}{style:#} {STRONG}{}{STRONG:#}  {counts}", visible(written)));
        for problem in reading.problems {
            let path = Path::new(written).join(&problem.path).display().to_string();
            lines.push(format!(
                "  {}",
                problem_line(&Problem { path: visible(&path), message: visible(&problem.message), ..problem })
            ));
        }
    }
    let document = json!({"ok": is_good, "skills": documents});
    context.out.answer(&document, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(if is_good { Exit::Done } else { Exit::Invalid })
}

/// Adds the problems of the queries about triggering. Returns their number, or `None` if the skill has no such file.
/// With queries, a skill does not need cases.
fn queries(side: &Side, cases: &mut Reading) -> Option<usize> {
    let found = read_queries(&side.bundle, &EvalLimits::default());
    if found.problems.iter().any(|problem| problem.code == "evals_missing") {
        return None;
    }
    if found.set.as_ref().is_some_and(|set| set.path == EVALS_FILE) {
        cases.problems.clear();
    }
    cases.problems.retain(|problem| problem.code != "evals_missing");
    cases.problems.extend(found.problems);
    Some(found.set.map_or(0, |set| set.queries.len()))
}
