//! [`SkillStats`]: the performance of a skill in one line, with the trend of its success rate.

use std::collections::HashSet;

use jiff::Timestamp;
use library::{Library, LibraryError, RevisionId};
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    eprocess::wilson,
    gate::Count,
    runs::{Result as RunResult, runs},
};

/// Number of the newest runs in a trend.
const RUNS: usize = 200;

/// Number of equal parts into which a trend divides its runs.
const PARTS: usize = 10;

/// Performance of a skill over all its revisions.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillStats {
    /// Name of the skill.
    pub skill: SkillName,
    /// Counts of all runs.
    pub count: Count,
    /// Counts of the runs with revisions after the review checkpoint.
    pub since: Count,
    /// Success rates of up to ten equal parts of the newest 200 runs with a known result, oldest first. Empty if no
    /// success was ever reported.
    pub trend: Vec<f64>,
    /// Number of the review checkpoint.
    pub checkpoint: Option<u64>,
}

impl SkillStats {
    /// Computes the performance of a skill. `None` if no run is recorded.
    ///
    /// # Errors
    /// The library cannot be read.
    pub fn of(library: &Library, skill: &SkillName, now: Timestamp) -> Result<Option<Self>, LibraryError> {
        let log = library.outcomes(skill)?;
        let runs = runs(&log.outcomes, now);
        if runs.is_empty() {
            return Ok(None);
        }
        let unreviewed = library.unreviewed(skill)?;
        let new: HashSet<&RevisionId> = unreviewed.revisions.iter().map(|revision| &revision.id).collect();
        let (mut count, mut since, mut known) = (Count::default(), Count::default(), Vec::new());
        for run in &runs {
            count.add(run.result);
            if new.contains(run.revision) {
                since.add(run.result);
            }
            match run.result {
                RunResult::Success => known.push(true),
                RunResult::Failure => known.push(false),
                RunResult::Unknown | RunResult::Open => {}
            }
        }
        let trend = if count.successes > 0 { trend(&known) } else { Vec::new() };
        let checkpoint = unreviewed.checkpoint.map(|kept| kept.number);
        Ok(Some(Self { skill: skill.clone(), count, since, trend, checkpoint }))
    }

    /// Returns the share of successes among the runs with a known result, with its 95 % Wilson interval. `None` if no
    /// success was ever reported.
    pub fn rate(&self) -> Option<(f64, (f64, f64))> {
        Some((self.count.rate(false)?, wilson(self.count.successes, self.count.known())))
    }

    /// Returns the performance as JSON.
    pub fn document(&self) -> Value {
        let is_rated = self.count.successes > 0;
        let mut document = self.count.document(is_rated);
        document["name"] = json!(self.skill.as_str());
        document["since_review"] = self.since.document(is_rated);
        document["trend"] = json!(self.trend);
        document["checkpoint"] = json!(self.checkpoint);
        document
    }
}

/// Returns the success rates of equal parts of the newest results.
fn trend(results: &[bool]) -> Vec<f64> {
    let newest = results.get(results.len().saturating_sub(RUNS)..).unwrap_or_default();
    let part = newest.len().div_ceil(PARTS).max(1);
    let rate = |part: &[bool]| part.iter().filter(|success| **success).count() as f64 / part.len() as f64;
    newest.chunks(part).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trend_follows_the_newest_runs() {
        let falls = [[true; 300].as_slice(), &[true; 100], &[false; 100]].concat();
        assert_eq!(trend(&falls), [[1.0; 5], [0.0; 5]].concat());
        assert_eq!((trend(&[]), trend(&[true, false])), (vec![], vec![1.0, 0.0]));
        assert_eq!(trend(&[true; 25]).len(), 9, "parts of three runs");
    }
}
