//! `skillhub stats` shows the outcomes of a skill's revisions.

use clap::Args;
use evolve::{Day, RevisionStats, Stats};
use serde_json::json;
use skill::counted;

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, STRONG, Table},
};

/// Bar characters by height, from empty to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Width of a full bar, in characters.
const BAR: usize = 20;

/// Flags of `stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub stats my-skill
  skillhub stats my-skill --json

The interval is the 95 % Wilson interval, which is valid for a single look at a single revision. Trials
are decided by other figures, which stay valid after every run: skillhub evolve status my-skill")]
pub struct StatsArgs {
    /// Skill
    name: String,
}

/// Prints a table of revisions with their outcomes.
pub fn run(context: &Context, args: &StatsArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let library = context.library_with(&name)?;
    let stats = Stats::of(&library, &name, context.now)?;
    if stats.unreadable > 0 {
        context.out.note(&format!("{} in the outcomes of {name} cannot be read", counted(stats.unreadable, "line")));
    }
    context.out.answer(&stats.document(), |out| {
        if stats.revisions.is_empty() {
            return writeln!(out, "No outcomes recorded for {STRONG}{name}{STRONG:#}; see `skillhub record --help`");
        }
        let mut table = Table::new(&["rev", "runs", "good", "bad", "unknown", "rate", "95 %", "ms", "tokens", ""]);
        stats.revisions.iter().for_each(|revision| table.row(&cells(revision)));
        table.write(out)?;
        let days = json!(chart(&stats.days));
        writeln!(out, "{FAINT}finished runs, last 14 days{FAINT:#}  {}", days.as_str().unwrap_or_default())
    })?;
    Ok(Exit::Done)
}

fn cells(stats: &RevisionStats) -> Vec<String> {
    let (low, high) = stats.interval();
    let percent = |rate: f64| format!("{:.0}", rate * 100.0);
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
        rate.map_or_else(|| "-".to_owned(), |rate| format!("{} %", percent(rate))),
        format!("{}-{}", percent(low), percent(high)),
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
