//! `skillhub stats` shows how skills perform, and how the revisions of one did.

use std::io::{self, Write};

use clap::Args;
use client::{RunCounts, RunsByRevision};
use evolve::{Count, DAYS, Day, GateDecision, RevisionStats, SkillStats, Stats};
use library::{EventStatus, Library};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, STRONG, Table, WARN, past_time, stored_past_time, visible, wrapped},
};

/// Bar characters by height, from empty to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Width, in columns, of the names of skills without runs.
const NAMES_COLUMNS: usize = 56;

/// Next step for a person without outcomes.
const NO_OUTCOMES: &str = "No outcomes recorded.
The hooks of Claude Code, Codex, Gemini CLI and OpenCode record those of their
sessions: skillhub setup";

/// Explanation of a missing success rate.
const NO_SUCCESS: &str = "No success was reported, so no rate is shown: the hooks report only failures
and corrections. To report how a run ended: skillhub record --help";

/// Flags of `stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub stats                                 all skills, with the trend of their success
  skillhub stats my-skill                        the revisions of one
  skillhub stats my-skill --json

The interval is the 95 % Wilson interval, which is valid for a single look at a single revision. Trials
are decided by other figures, which stay valid after every run: skillhub evolve status my-skill")]
pub struct StatsArgs {
    /// Skill [default: all]
    name: Option<String>,
}

/// Prints a table of skills, or of the revisions of one.
pub fn run(context: &Context, args: &StatsArgs) -> Result<Exit, CliError> {
    match &args.name {
        Some(name) => one(context, &context.skill_called(name)?),
        None => all(context),
    }
}

/// Prints each skill in one line.
fn all(context: &Context) -> Result<Exit, CliError> {
    let (is_seen, mut skills, mut without) = (context.seen()?, Vec::new(), Vec::new());
    for library in context.visible_libraries()? {
        for (name, _) in library.heads().map_err(failed)?.into_iter().filter(|(name, _)| is_seen(name.as_str())) {
            match SkillStats::of(&library, &name, context.now)? {
                Some(stats) => skills.push(stats),
                None => without.push(name.to_string()),
            }
        }
    }
    let documents: Vec<Value> = skills.iter().map(SkillStats::document).collect();
    context.out.answer(&json!({"ok": true, "skills": documents, "without_runs": without}), |out| {
        if !skills.is_empty() {
            let mut table = Table::new(&["skill", "runs", "rate", "95 %", "failed", "trend", "since you looked"]);
            skills.iter().for_each(|skill| table.row(&summary(skill)));
            table.write(out)?;
        }
        if !without.is_empty() {
            let names = wrapped(&without.join(", "), NAMES_COLUMNS).join("\n  ");
            writeln!(out, "{FAINT}no run is recorded of{FAINT:#} {names}")?;
        }
        if skills.iter().any(|skill| skill.count.runs > 0 && skill.count.successes == 0) {
            writeln!(out, "{NO_SUCCESS}")?;
        }
        if skills.is_empty() { writeln!(out, "{NO_OUTCOMES}") } else { Ok(()) }
    })
}

fn summary(skill: &SkillStats) -> Vec<String> {
    let (rate, interval) = match skill.rate() {
        Some((rate, (low, high))) => (percent(rate), range(low, high)),
        None => ("not reported".to_owned(), String::new()),
    };
    let since = match (skill.since.known(), skill.count.successes) {
        (0, _) => String::new(),
        (_, 0) => format!("{} failed", skill.since.failures),
        (known, _) => format!("{} of {}", skill.since.successes, counted(known, "run")),
    };
    let (name, runs, failed) = (&skill.skill, skill.count.runs, skill.count.failures);
    vec![name.to_string(), runs.to_string(), rate, interval, failed.to_string(), curve(&skill.trend), since]
}

fn range(low: f64, high: f64) -> String {
    format!("{:.0}-{:.0} %", low * 100.0, high * 100.0)
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

/// Renders rates from 0 to 1 as a line of small vertical bars.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is between 0 and 1")]
fn curve(rates: &[f64]) -> String {
    let highest = (BARS.len() - 1) as f64;
    rates.iter().filter_map(|rate| BARS.get(((rate * highest).round() as usize).max(1))).collect()
}

/// Prints a table of revisions with their outcomes, then the review checkpoint and the gate's decisions.
fn one(context: &Context, name: &SkillName) -> Result<Exit, CliError> {
    let library = context.library_with(name)?;
    let stats = Stats::of(&library, name, context.now)?;
    if stats.unreadable > 0 {
        context.out.note(&format!("{} in the outcomes of {name} cannot be read", counted(stats.unreadable, "line")));
    }
    let (checkpoint, decisions) = (library.review_checkpoint(name)?, GateDecision::all_of(&library, name)?);
    let mut document = stats.document();
    document["checkpoint"] = json!(checkpoint.as_ref().map(|kept| kept.number));
    let elsewhere = elsewhere(context, &library, name);
    document["other_machines"] = json!(elsewhere.map(|[runs, successes, failures, unknown]| {
        json!({"runs": runs, "successes": successes, "failures": failures, "unknown": unknown})
    }));
    document["decisions"] = decisions.iter().map(GateDecision::document).collect();
    context.out.answer(&document, |out| {
        if let Some([runs, successes, failures, unknown]) = elsewhere {
            let words = Count { runs, successes, failures, unknown }.words(false);
            writeln!(out, "{FAINT}on other machines{FAINT:#}  {words}")?;
        }
        if stats.revisions.is_empty() {
            writeln!(out, "{STRONG}{name}{STRONG:#}: {NO_OUTCOMES}")?;
        } else {
            write_revisions(out, &stats)?;
        }
        if let Some(kept) = &checkpoint {
            let by = if kept.is_by_gate() { ", with which the gate restored what you kept" } else { "" };
            let time = past_time(kept.stamp.time);
            writeln!(out, "{FAINT}review checkpoint{FAINT:#}  revision {} ({time}){by}", kept.number)?;
        }
        decisions.iter().try_for_each(|decision| writeln!(out, "{}", line(decision)))
    })
}

/// Writes the table of revisions, and the runs of the last days.
fn write_revisions(out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
    let mut table = Table::new(&["rev", "runs", "ok", "failed", "unknown", "rate", "95 %", "median", "tokens in, out"]);
    stats.revisions.iter().for_each(|revision| table.row(&cells(revision)));
    table.write(out)?;
    let most = stats.days.iter().map(Day::runs).max().unwrap_or(0);
    if most > 0 {
        let days = chart(&stats.days);
        writeln!(out, "{FAINT}ended runs on each of the last {DAYS} days, at most {most}{FAINT:#}  {days}")?;
    }
    if stats.lacks_success() { writeln!(out, "{NO_SUCCESS}") } else { Ok(()) }
}

/// Returns the sum of the runs on other machines, which no decision uses. `None` without any.
fn elsewhere(context: &Context, library: &Library, name: &SkillName) -> Option<RunCounts> {
    let counts = client::runs_elsewhere(library, name).unwrap_or_else(|error| {
        context.out.note(&format!("the runs on other machines cannot be read: {error}"));
        RunsByRevision::new()
    });
    counts.into_values().reduce(|mut sum, counts| {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        sum
    })
}

/// Renders a decision of the gate.
fn line(decision: &GateDecision) -> String {
    let style = if decision.status == EventStatus::Promoted { GOOD } else { WARN };
    let (time, word) = (stored_past_time(&decision.time), decision.word());
    format!("{FAINT}{time}{FAINT:#}  {style}{word}{style:#}: {}", visible(&decision.why))
}

fn cells(stats: &RevisionStats) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let tokens = match (stats.tokens_in, stats.tokens_out) {
        (None, None) => "-".to_owned(),
        (read, written) => format!("{}, {}", number(read), number(written)),
    };
    let (rate, (low, high)) = (stats.rate(), stats.interval());
    vec![
        stats.revision.number.to_string(),
        stats.count.runs.to_string(),
        stats.count.successes.to_string(),
        stats.count.failures.to_string(),
        stats.count.unknown.to_string(),
        rate.map_or_else(|| "-".to_owned(), percent),
        rate.map_or_else(|| "-".to_owned(), |_| range(low, high)),
        stats.latency_ms.map_or_else(|| "-".to_owned(), |time| format!("{time} ms")),
        tokens,
    ]
}

/// Renders the runs of each day as a line of small vertical bars.
fn chart(days: &[Day]) -> String {
    let most = days.iter().map(Day::runs).max().unwrap_or(0).max(1);
    let height = |day: &Day| (day.runs() as usize * 8).div_ceil(most as usize);
    days.iter().filter_map(|day| BARS.get(height(day))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_bars() {
        let day = |successes, failures| Day { successes, failures };
        assert_eq!(chart(&[day(0, 0), day(1, 0), day(4, 4)]), " ▁█");
        assert_eq!(chart(&[day(0, 0)]), " ");
    }
}
