//! `skillhub stats` shows how skills perform, and how the revisions of one did.

use clap::Args;
use client::{RunCounts, RunsByRevision};
use evolve::{Day, GateDecision, RevisionStats, SkillStats, Stats};
use library::{EventStatus, Library};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{BAD, FAINT, GOOD, STRONG, Table, WARN, past_time, stored_past_time, visible},
};

/// Bar characters by height, from empty to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Width of a full bar, in characters.
const BAR: usize = 20;

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

/// Prints each skill with runs in one line.
fn all(context: &Context) -> Result<Exit, CliError> {
    let (is_seen, mut skills) = (context.seen()?, Vec::new());
    for library in context.visible_libraries()? {
        for (name, _) in library.heads().map_err(failed)?.into_iter().filter(|(name, _)| is_seen(name.as_str())) {
            skills.extend(SkillStats::of(&library, &name, context.now)?);
        }
    }
    let documents: Vec<Value> = skills.iter().map(SkillStats::document).collect();
    context.out.answer(&json!({"ok": true, "skills": documents}), |out| {
        if skills.is_empty() {
            return writeln!(out, "No outcomes recorded; see `skillhub record --help`");
        }
        let mut table = Table::new(&["skill", "runs", "succeeded", "95 %", "trend", "since you looked"]);
        skills.iter().for_each(|skill| table.row(&summary(skill)));
        table.write(out)
    })?;
    Ok(Exit::Done)
}

fn summary(skill: &SkillStats) -> Vec<String> {
    let (rate, interval) = match skill.rate() {
        Some((rate, (low, high))) => (percent(rate), format!("{:.0}-{:.0}", low * 100.0, high * 100.0)),
        None => ("-".to_owned(), String::new()),
    };
    let since = match skill.since.known() {
        0 => String::new(),
        known => format!("{} of {}", skill.since.successes, counted(known, "run")),
    };
    vec![skill.skill.to_string(), skill.count.runs.to_string(), rate, interval, curve(&skill.trend), since]
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
        if let Some([runs, successes, ..]) = elsewhere {
            let runs = counted(runs, "run");
            writeln!(out, "{FAINT}on other machines{FAINT:#}  {successes} of {runs} succeeded")?;
        }
        if stats.revisions.is_empty() {
            return writeln!(out, "No outcomes recorded for {STRONG}{name}{STRONG:#}; see `skillhub record --help`");
        }
        let mut table = Table::new(&["rev", "runs", "good", "bad", "unknown", "rate", "95 %", "ms", "tokens", ""]);
        stats.revisions.iter().for_each(|revision| table.row(&cells(revision)));
        table.write(out)?;
        let days = json!(chart(&stats.days));
        writeln!(out, "{FAINT}finished runs, last 14 days{FAINT:#}  {}", days.as_str().unwrap_or_default())?;
        if let Some(kept) = &checkpoint {
            writeln!(out, "{FAINT}kept last{FAINT:#}  revision {}, {}", kept.number, past_time(kept.stamp.time))?;
        }
        decisions.iter().try_for_each(|decision| writeln!(out, "{}", line(decision)))
    })?;
    Ok(Exit::Done)
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
    let (low, high) = stats.interval();
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let tokens = match (stats.tokens_in, stats.tokens_out) {
        (None, None) => "-".to_owned(),
        (read, written) => format!("{}/{}", number(read), number(written)),
    };
    let rate = stats.rate();
    vec![
        stats.revision.number.to_string(),
        stats.count.runs.to_string(),
        stats.count.successes.to_string(),
        stats.count.failures.to_string(),
        stats.count.unknown.to_string(),
        rate.map_or_else(|| "-".to_owned(), percent),
        format!("{:.0}-{:.0}", low * 100.0, high * 100.0),
        number(stats.latency_ms),
        tokens,
        rate.map(bar).unwrap_or_default(),
    ]
}

/// Renders a rate as a horizontal bar.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is between 0 and 1")]
fn bar(rate: f64) -> String {
    let full = (rate * BAR as f64).round() as usize;
    let style = if rate >= 0.5 { GOOD } else { BAD };
    format!("{style}{}{style:#}", "█".repeat(full.min(BAR)))
}

/// Renders the runs of each day as a line of small vertical bars.
fn chart(days: &[Day]) -> String {
    let most = days.iter().map(|day| day.successes + day.failures).max().unwrap_or(0).max(1);
    let height = |day: &Day| ((day.successes + day.failures) as usize * 8).div_ceil(most as usize);
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
