//! [`TriggerReport`]: how often a skill was chosen for its queries, and which skills were chosen instead.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::TriggerQuery;
use crate::eprocess::wilson;

/// Share of runs from which on a query counts as triggering, as in the standard's guide.
pub const TRIGGER_RATE: f64 = 0.5;

/// Runs of one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRuns {
    /// Query of the runs.
    pub query: TriggerQuery,
    /// Skills that each run chose, by name. `None` for a run that failed.
    pub chosen: Vec<Option<Vec<String>>>,
}

/// Number of runs with some property, out of those that did not fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Runs with the property.
    pub count: u32,
    /// Runs that did not fail.
    pub of: u32,
}

impl Share {
    /// Returns the share, from 0 to 1. `None` if every run failed.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.count) / f64::from(self.of))
    }

    /// Returns its 95 % Wilson interval, which takes the runs as independent.
    pub fn interval(self) -> (f64, f64) {
        wilson(self.count, self.of)
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.of += other.of;
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (low, high) = self.interval();
        let document = json!({
            "count": self.count, "of": self.of, "rate": self.rate(),
            "interval": {"kind": "wilson", "level": 0.95, "low": low, "high": high},
        });
        document.serialize(serializer)
    }
}

/// Skill that was chosen in place of the tested one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Neighbour {
    /// Name of the skill.
    pub name: String,
    /// Number of runs.
    pub runs: usize,
    /// Number of queries that these runs belong to.
    pub queries: usize,
}

/// Result of one query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryResult {
    /// Words of the user.
    pub query: String,
    /// True if the agent should choose the skill.
    pub should_trigger: bool,
    /// Runs that chose the skill.
    pub triggered: Share,
    /// Number of failed runs, which count for nothing.
    pub failed: usize,
    /// True if the skill was chosen as expected. `None` if every run failed.
    pub passed: Option<bool>,
    /// Skills chosen in runs without the tested skill, most frequent first.
    pub instead: Vec<Neighbour>,
}

/// Results of all queries of a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TriggerReport {
    /// Runs that chose the skill, of those that should have.
    pub should_trigger: Share,
    /// Runs that chose the skill, of those that should not have.
    pub should_not_trigger: Share,
    /// Results by query, in order.
    pub queries: Vec<QueryResult>,
    /// Skills chosen for queries that should have triggered the tested one, most frequent first.
    pub neighbours: Vec<Neighbour>,
}

impl TriggerReport {
    /// Evaluates the runs of a skill.
    pub fn new(skill: &str, runs: &[QueryRuns]) -> Self {
        let queries: Vec<QueryResult> = runs.iter().map(|runs| result(skill, runs)).collect();
        let total = |should_trigger: bool| {
            let mut total = Share::default();
            queries.iter().filter(|query| query.should_trigger == should_trigger).for_each(|q| total.add(q.triggered));
            total
        };
        let mut stolen: BTreeMap<&str, Neighbour> = BTreeMap::new();
        for one in queries.iter().filter(|query| query.should_trigger).flat_map(|query| &query.instead) {
            let none = || Neighbour { name: one.name.clone(), runs: 0, queries: 0 };
            let known = stolen.entry(one.name.as_str()).or_insert_with(none);
            (known.runs, known.queries) = (known.runs + one.runs, known.queries + 1);
        }
        let (should_trigger, should_not_trigger) = (total(true), total(false));
        let neighbours = by_frequency(stolen.into_values());
        Self { should_trigger, should_not_trigger, queries, neighbours }
    }

    /// Returns whether every query had the expected result.
    pub fn passed(&self) -> bool {
        self.queries.iter().all(|query| query.passed == Some(true))
    }
}

/// Returns whether one run had the expected result. `None` if it failed.
pub fn is_expected(skill: &str, query: &TriggerQuery, chosen: Option<&[String]>) -> Option<bool> {
    chosen.map(|chosen| chosen.iter().any(|name| name == skill) == query.should_trigger)
}

fn result(skill: &str, runs: &QueryRuns) -> QueryResult {
    let QueryRuns { query, chosen } = runs;
    let done: Vec<&Vec<String>> = chosen.iter().flatten().collect();
    let (with, without): (Vec<&Vec<String>>, Vec<_>) =
        done.iter().copied().partition(|chosen| chosen.iter().any(|name| name == skill));
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let triggered = Share { count: number(with.len()), of: number(done.len()) };
    let mut instead: BTreeMap<&str, usize> = BTreeMap::new();
    for chosen in without {
        let mut names: Vec<&str> = chosen.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().for_each(|name| *instead.entry(name).or_default() += 1);
    }
    let instead = instead.into_iter().map(|(name, runs)| Neighbour { name: name.to_owned(), runs, queries: 1 });
    QueryResult {
        query: query.text.clone(),
        should_trigger: query.should_trigger,
        triggered,
        failed: chosen.len() - done.len(),
        passed: triggered.rate().map(|rate| (rate >= TRIGGER_RATE) == query.should_trigger),
        instead: by_frequency(instead),
    }
}

/// Sorts neighbours by their runs, most frequent first, and then by name.
fn by_frequency(neighbours: impl Iterator<Item = Neighbour>) -> Vec<Neighbour> {
    let mut sorted: Vec<Neighbour> = neighbours.collect();
    sorted.sort_by(|a, b| b.runs.cmp(&a.runs).then_with(|| a.name.cmp(&b.name)));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str, should_trigger: bool, chosen: &[Option<&[&str]>]) -> QueryRuns {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let query = TriggerQuery { text: text.to_owned(), should_trigger };
        QueryRuns { query, chosen: chosen.iter().map(|chosen| chosen.map(names)).collect() }
    }

    #[test]
    fn report_counts_choices_and_neighbours() {
        let all = [
            runs("a", true, &[Some(&["pdf"]), Some(&["forms", "pdf"]), Some(&["forms", "forms"]), None]),
            runs("b", true, &[Some(&["forms"]), Some(&[]), Some(&["docs"]), Some(&["pdf"])]),
            runs("c", false, &[Some(&["docs"]), Some(&["pdf"]), Some(&[])]),
            runs("d", false, &[None]),
        ];
        let report = TriggerReport::new("pdf", &all);
        assert_eq!(report.should_trigger, Share { count: 3, of: 7 });
        assert_eq!(report.should_not_trigger, Share { count: 1, of: 3 });
        let passed: Vec<_> = report.queries.iter().map(|query| (query.passed, query.failed)).collect();
        assert_eq!(passed, [(Some(true), 1), (Some(false), 0), (Some(true), 0), (None, 1)]);
        let stolen: Vec<_> = report.neighbours.iter().map(|one| (one.name.as_str(), one.runs, one.queries)).collect();
        assert_eq!(stolen, [("forms", 2, 2), ("docs", 1, 1)]);
        assert!(!report.passed() && TriggerReport::new("pdf", &all[..1]).passed());
        let interval = json!(report)["should_trigger"]["interval"].clone();
        assert!(interval["low"].as_f64() > Some(0.1) && interval["high"].as_f64() < Some(0.8), "{interval}");
    }

    #[test]
    fn half_of_the_runs_trigger() {
        let query = runs("a", true, &[Some(&["pdf"]), Some(&[])]);
        assert!(TriggerReport::new("pdf", std::slice::from_ref(&query)).passed());
        let reversed = TriggerQuery { should_trigger: false, ..query.query.clone() };
        assert!(!TriggerReport::new("pdf", &[QueryRuns { query: reversed, ..query.clone() }]).passed());
        assert_eq!(is_expected("pdf", &query.query, query.chosen[1].as_deref()), Some(false));
        assert_eq!(is_expected("pdf", &query.query, None), None);
    }
}
