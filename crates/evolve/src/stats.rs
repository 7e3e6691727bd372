//! [`Stats`]: statistics on the revisions of a skill, for display.

use jiff::{Timestamp, tz::TimeZone};
use library::{Library, LibraryError, Revision};
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    eprocess::wilson,
    gate::Count,
    runs::{Result as RunResult, Run, runs},
};

/// Number of days in the small chart.
pub const DAYS: usize = 14;

/// Largest number of revisions to examine.
const REVISIONS: usize = 100_000;

/// Statistics on the runs with one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionStats {
    /// Revision that the runs had.
    pub revision: Revision,
    /// Counts of its runs.
    pub count: Count,
    /// Number of runs that may still be in progress.
    pub open: u32,
    /// Median duration of its runs, in milliseconds.
    pub latency_ms: Option<u64>,
    /// Median number of tokens read.
    pub tokens_in: Option<u64>,
    /// Median number of tokens written.
    pub tokens_out: Option<u64>,
    /// Time of its latest run.
    pub last: Option<Timestamp>,
    /// True if any run of the skill was reported as a success. Hooks of hosts report failures only, and a rate of
    /// these alone would always be 0.
    pub is_rated: bool,
}

/// Successes and failures of one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Day {
    /// Number of successful runs.
    pub successes: u32,
    /// Number of failed runs.
    pub failures: u32,
}

impl Day {
    /// Returns the number of runs with a known result.
    pub fn runs(&self) -> u32 {
        self.successes + self.failures
    }
}

/// Statistics on all revisions of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Name of the skill.
    pub skill: SkillName,
    /// Revisions with runs, newest first.
    pub revisions: Vec<RevisionStats>,
    /// Days up to today, oldest first.
    pub days: [Day; DAYS],
    /// Number of unreadable lines of the log.
    pub unreadable: usize,
}

impl Count {
    /// Returns the share of successes among the runs with a known result. `is_rated` states that other runs of the skill
    /// were reported as successes; without any success, the result is `None`.
    pub fn rate(&self, is_rated: bool) -> Option<f64> {
        let (known, is_rated) = (self.known(), is_rated || self.successes > 0);
        (is_rated && known > 0).then(|| f64::from(self.successes) / f64::from(known))
    }

    /// Describes the results in words. Without a reported success, only the failures are known.
    pub fn words(&self, is_rated: bool) -> String {
        let Self { runs, successes, failures, .. } = *self;
        match is_rated || successes > 0 {
            true => format!("{successes} of {} succeeded", skill::counted(self.known(), "run")),
            false if failures == 1 => format!("1 of {} failed or was corrected", skill::counted(runs, "run")),
            false => format!("{failures} of {} failed or were corrected", skill::counted(runs, "run")),
        }
    }

    /// Returns the counts, the rate and its interval as JSON, without individual runs.
    pub fn document(&self, is_rated: bool) -> Value {
        let (rate, (low, high)) = (self.rate(is_rated), wilson(self.successes, self.known()));
        json!({
            "runs": self.runs, "successes": self.successes, "failures": self.failures, "unknown": self.unknown,
            "rate": rate, "interval": {"kind": "wilson", "level": 0.95, "low": low, "high": high},
        })
    }
}

impl RevisionStats {
    /// Returns the share of successes among the runs with a known result. `None` if no run of the skill succeeded.
    pub fn rate(&self) -> Option<f64> {
        self.count.rate(self.is_rated)
    }

    /// Returns the 95 % Wilson interval of the rate. It is valid for a single inspection, and no decision uses it.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.count.successes, self.count.known())
    }

    /// Describes the statistics in one sentence.
    pub fn sentence(&self) -> String {
        let Count { runs, successes, failures, unknown } = self.count;
        let counts = format!(
            "{} of revision {}: {successes} succeeded, {failures} failed, {unknown} unknown",
            skill::counted(runs, "run"),
            self.revision.number
        );
        let (low, high) = self.interval();
        match self.rate() {
            Some(rate) => {
                format!("{counts}; {:.0} % succeed ({:.0} to {:.0} % at 95 %)", rate * 100.0, low * 100.0, high * 100.0)
            }
            None => counts,
        }
    }

    /// Returns the statistics as JSON.
    pub fn document(&self) -> Value {
        let (low, high) = self.interval();
        json!({
            "revision": self.revision.id, "number": self.revision.number, "runs": self.count.runs,
            "successes": self.count.successes, "failures": self.count.failures, "unknown": self.count.unknown,
            "open": self.open, "rate": self.rate(), "interval": {"kind": "wilson", "level": 0.95, "low": low, "high": high},
            "latency_ms": self.latency_ms, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out,
            "last": self.last.map(|time| time.to_string()),
        })
    }
}

impl Stats {
    /// Computes the statistics of a skill.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn of(library: &Library, skill: &SkillName, now: Timestamp) -> Result<Self, LibraryError> {
        let log = library.outcomes(skill)?;
        let runs = runs(&log.outcomes, now);
        let mut stats =
            Self { skill: skill.clone(), revisions: Vec::new(), days: Default::default(), unreadable: log.unreadable };
        if runs.is_empty() {
            return Ok(stats);
        }
        let is_rated = runs.iter().any(|run| run.result == RunResult::Success);
        for revision in library.revisions(skill, REVISIONS)? {
            let of_revision: Vec<&Run<'_>> = runs.iter().filter(|run| *run.revision == revision.id).collect();
            if !of_revision.is_empty() {
                stats.revisions.push(of_runs(revision, &of_revision, is_rated));
            }
        }
        let date = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
        for run in &runs {
            let ago = (date(now) - date(run.time)).get_days();
            let place = usize::try_from(ago).ok().and_then(|ago| (DAYS - 1).checked_sub(ago));
            let Some(day) = place.and_then(|place| stats.days.get_mut(place)) else { continue };
            match run.result {
                RunResult::Success => day.successes += 1,
                RunResult::Failure => day.failures += 1,
                RunResult::Unknown | RunResult::Open => {}
            }
        }
        Ok(stats)
    }

    /// Returns whether runs ended, none of them with a reported success.
    pub fn lacks_success(&self) -> bool {
        self.revisions.iter().any(|one| one.count.runs > 0) && self.revisions.iter().all(|one| !one.is_rated)
    }

    /// Returns the statistics as JSON.
    pub fn document(&self) -> Value {
        let revisions: Vec<Value> = self.revisions.iter().map(RevisionStats::document).collect();
        let days: Vec<Value> =
            self.days.iter().map(|day| json!({"successes": day.successes, "failures": day.failures})).collect();
        json!({"ok": true, "name": self.skill.as_str(), "revisions": revisions, "days": days, "unreadable": self.unreadable})
    }
}

fn of_runs(revision: Revision, runs: &[&Run<'_>], is_rated: bool) -> RevisionStats {
    let mut count = Count::default();
    runs.iter().for_each(|run| count.add(run.result));
    RevisionStats {
        revision,
        count,
        open: u32::try_from(runs.len()).unwrap_or(u32::MAX).saturating_sub(count.runs),
        latency_ms: median(runs.iter().filter_map(|run| run.latency_ms)),
        tokens_in: median(runs.iter().filter_map(|run| run.tokens_in)),
        tokens_out: median(runs.iter().filter_map(|run| run.tokens_out)),
        last: runs.iter().map(|run| run.time).max(),
        is_rated,
    }
}

/// Returns the median, which is the lower of the two middle values for an even count.
fn median(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    numbers.get(numbers.len().checked_sub(1)? / 2).copied()
}
