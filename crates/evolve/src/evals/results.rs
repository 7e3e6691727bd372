//! [`RunResult`], [`Grading`], [`Timing`], [`benchmark`]: what is written of runs, as skill-creator's viewer reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Case, Graded};

/// Which of two ways of running a case a run was. The names are those that viewers know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// With the skill; in a comparison, with the candidate.
    WithSkill,
    /// Without it; in a comparison, with the base.
    WithoutSkill,
}

impl Side {
    /// Its name in files and folders.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WithSkill => "with_skill",
            Self::WithoutSkill => "without_skill",
        }
    }
}

/// `grading.json`: what became of the assertions of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grading {
    /// Those that were decided.
    pub expectations: Vec<Graded>,
    /// Those that nobody decided; they count nowhere.
    #[serde(default)]
    pub ungraded: Vec<Graded>,
    /// The counts.
    pub summary: Summary,
    /// What the runner told of itself.
    pub execution_metrics: Metrics,
    /// How long it took.
    pub timing: Timing,
}

/// Counts of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Assertions that hold.
    pub passed: usize,
    /// Those that do not.
    pub failed: usize,
    /// Both.
    pub total: usize,
    /// The share that holds, from 0 to 1; 0 where nothing was decided.
    pub pass_rate: f64,
}

/// What a runner may write into the file that `SKILLHUB_EVAL_METRICS` names; unknown fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Calls of each tool.
    pub tool_calls: BTreeMap<String, u64>,
    /// All of them.
    pub total_tool_calls: u64,
    /// Tokens used.
    pub total_tokens: u64,
    /// Steps made.
    pub total_steps: u64,
    /// Errors met.
    pub errors_encountered: u64,
    /// Characters that the run printed.
    pub output_chars: u64,
}

/// `timing.json`: how long one run took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Tokens used, where the runner told.
    pub total_tokens: u64,
    /// The run, in milliseconds.
    pub duration_ms: u64,
    /// The run and its grading, in seconds.
    pub total_duration_seconds: f64,
    /// The run, in seconds.
    pub executor_duration_seconds: f64,
    /// Its grading, in seconds.
    pub grader_duration_seconds: f64,
}

/// One run of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// The case's id as its file has it.
    pub case: Value,
    /// The case's name for people.
    pub name: String,
    /// Which way it was run.
    pub side: Side,
    /// Counted from 1, for each case and way.
    pub number: usize,
    /// What became of it.
    pub grading: Grading,
}

impl Grading {
    /// The document of a run.
    #[must_use]
    pub fn new(graded: Vec<Graded>, execution_metrics: Metrics, timing: Timing) -> Self {
        let (expectations, ungraded): (Vec<_>, Vec<_>) = graded.into_iter().partition(|graded| graded.passed.is_some());
        let passed = expectations.iter().filter(|graded| graded.passed == Some(true)).count();
        let total = expectations.len();
        let pass_rate = if total == 0 { 0.0 } else { rounded(passed as f64 / total as f64) };
        let summary = Summary { passed, failed: total - passed, total, pass_rate };
        Self { expectations, ungraded, summary, execution_metrics, timing }
    }
}

impl RunResult {
    /// The name of a case for people: its own, else its id.
    #[must_use]
    pub fn name_of(case: &Case) -> String {
        case.name.clone().unwrap_or_else(|| case.id.clone())
    }

    fn document(&self) -> Value {
        let Grading { expectations, ungraded, summary, execution_metrics, timing } = &self.grading;
        json!({
            "eval_id": self.case, "eval_name": self.name, "configuration": self.side.as_str(),
            "run_number": self.number,
            "result": {
                "pass_rate": summary.pass_rate, "passed": summary.passed, "failed": summary.failed,
                "total": summary.total, "time_seconds": timing.executor_duration_seconds,
                "tokens": timing.total_tokens, "tool_calls": execution_metrics.total_tool_calls,
                "errors": execution_metrics.errors_encountered,
            },
            "expectations": expectations, "ungraded": ungraded, "notes": [],
        })
    }
}

/// `benchmark.json`: all runs, and what they come to for each way of running.
#[must_use]
pub fn benchmark(skill: &str, metadata: Value, runs: &[RunResult], notes: &[String]) -> Value {
    let mut ids: Vec<&Value> = Vec::new();
    for run in runs {
        if !ids.contains(&&run.case) {
            ids.push(&run.case);
        }
    }
    let mut about = json!({
        "skill_name": skill, "evals_run": ids,
        "runs_per_configuration": runs.iter().map(|run| run.number).max().unwrap_or(0),
    });
    if let (Some(about), Value::Object(more)) = (about.as_object_mut(), metadata) {
        about.extend(more);
    }
    let mut summary = serde_json::Map::new();
    for side in [Side::WithSkill, Side::WithoutSkill] {
        let of_side: Vec<&RunResult> = runs.iter().filter(|run| run.side == side).collect();
        if !of_side.is_empty() {
            summary.insert(side.as_str().to_owned(), summarised(&of_side));
        }
    }
    if summary.len() == 2 {
        let delta = |key: &str, digits: usize| {
            let mean = |side: Side| summary.get(side.as_str()).and_then(|s| s[key]["mean"].as_f64()).unwrap_or(0.0);
            json!(format!("{:+.digits$}", mean(Side::WithSkill) - mean(Side::WithoutSkill)))
        };
        let delta = json!({"pass_rate": delta("pass_rate", 2), "time_seconds": delta("time_seconds", 1), "tokens": delta("tokens", 0)});
        summary.insert("delta".to_owned(), delta);
    }
    json!({
        "metadata": about, "runs": runs.iter().map(RunResult::document).collect::<Vec<_>>(), "run_summary": summary,
        "notes": notes,
    })
}

fn summarised(runs: &[&RunResult]) -> Value {
    let of = |value: fn(&RunResult) -> f64| spread(&runs.iter().map(|run| value(run)).collect::<Vec<_>>());
    json!({
        "pass_rate": of(|run| run.grading.summary.pass_rate),
        "time_seconds": of(|run| run.grading.timing.executor_duration_seconds),
        "tokens": of(|run| run.grading.timing.total_tokens as f64),
    })
}

fn spread(values: &[f64]) -> Value {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let over = (count - 1.0).max(1.0);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / over;
    let (min, max) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    json!({"mean": rounded(mean), "stddev": rounded(variance.sqrt()), "min": rounded(min), "max": rounded(max)})
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_has_the_fields_that_viewers_read() {
        let graded = |passed| Graded { text: "t".to_owned(), passed, evidence: "e".to_owned() };
        let run = |side, passed: bool, number| RunResult {
            case: json!(1),
            name: "one".to_owned(),
            side,
            number,
            grading: Grading::new(
                vec![graded(Some(passed)), graded(Some(true)), graded(None)],
                Metrics::default(),
                Timing::default(),
            ),
        };
        let runs = [run(Side::WithSkill, true, 1), run(Side::WithoutSkill, false, 1), run(Side::WithSkill, true, 2)];
        let document = benchmark("demo", json!({"timestamp": "now"}), &runs, &[]);
        assert_eq!(document["metadata"]["runs_per_configuration"], 2);
        assert_eq!(document["runs"][1]["result"]["pass_rate"], 0.5);
        assert_eq!(document["runs"][1]["configuration"], "without_skill");
        assert_eq!(document["run_summary"]["with_skill"]["pass_rate"]["mean"], 1.0);
        assert_eq!(document["run_summary"]["delta"]["pass_rate"], "+0.50");
        assert_eq!(document["runs"][0]["ungraded"].as_array().unwrap().len(), 1);
    }
}
