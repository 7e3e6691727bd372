//! [`RunResult`], [`Grading`], [`Timing`], [`benchmark`]: documents about runs, in the format of skill-creator's
//! viewer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Case, Graded};

/// Side of a run in a comparison. The names are those that viewers expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Run with the skill, or with the candidate in a comparison.
    WithSkill,
    /// Run without the skill, or with the base in a comparison.
    WithoutSkill,
}

impl Side {
    /// Returns its name in files and folders.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WithSkill => "with_skill",
            Self::WithoutSkill => "without_skill",
        }
    }
}

/// Content of `grading.json`: the assertion results of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grading {
    /// Decided assertions with their results.
    pub expectations: Vec<Graded>,
    /// Undecided assertions, which are excluded from the counts.
    #[serde(default)]
    pub ungraded: Vec<Graded>,
    /// Counts of the decided assertions.
    pub summary: Summary,
    /// Metrics reported by the runner.
    pub execution_metrics: Metrics,
    /// Duration of the run.
    pub timing: Timing,
}

/// Counts of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of assertions that hold.
    pub passed: usize,
    /// Number of assertions that do not hold.
    pub failed: usize,
    /// Number of decided assertions.
    pub total: usize,
    /// Share that holds, from 0 to 1. 0 if nothing was decided.
    pub pass_rate: f64,
}

/// Metrics that a runner may write to the file named by `SKILLHUB_EVAL_METRICS`. Unknown fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Number of calls per tool.
    pub tool_calls: BTreeMap<String, u64>,
    /// Total number of tool calls.
    pub total_tool_calls: u64,
    /// Number of tokens used.
    pub total_tokens: u64,
    /// Number of steps made.
    pub total_steps: u64,
    /// Number of errors encountered.
    pub errors_encountered: u64,
    /// Number of characters printed by the run.
    pub output_chars: u64,
}

/// Content of `timing.json`: the duration of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Tokens used, if the runner reported them.
    pub total_tokens: u64,
    /// Duration of the run, in milliseconds.
    pub duration_ms: u64,
    /// Duration of the run and its grading, in seconds.
    pub total_duration_seconds: f64,
    /// Duration of the run, in seconds.
    pub executor_duration_seconds: f64,
    /// Duration of its grading, in seconds.
    pub grader_duration_seconds: f64,
}

/// One run of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// Id of the case as written in its file.
    pub case: Value,
    /// Display name of the case.
    pub name: String,
    /// Side of the comparison.
    pub side: Side,
    /// Number of the run, from 1, per case and side.
    pub number: usize,
    /// Result of the run.
    pub grading: Grading,
}

impl Grading {
    /// Builds the document of a run from its graded assertions.
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
    /// Returns the display name of a case: its own name, or else its id.
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

/// Builds the content of `benchmark.json`: all runs, and a summary for each side.
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
    fn benchmark_has_the_viewers_fields() {
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
