//! [`compare`]: a comparison of a candidate with its base, by paired runs of the same cases.
//!
//! Base and candidate run alternately. A pair is one run of each on one case, and its sign shows which of the two
//! satisfied more assertions. If both perform equally, either sign is equally likely for every case, so the number of
//! candidate wins among the pairs that differ is binomial with probability one half. This gives the exact sign test,
//! which for one assertion per case is McNemar's. It is applied to all pairs and, with Holm's correction, to the pairs
//! of each case, so that improvements elsewhere do not hide one case that got worse. Assertions that differ between
//! runs of the base alone are flaky and excluded beforehand. Those runs are not used again.
//!
//! Guarantee: if candidate and base perform equally on every case and the runs are independent, `worse` has a
//! probability of at most `alpha`, and `better` of at most `promote_alpha`. Nothing is guaranteed about cases outside
//! the set.

use serde::{Deserialize, Serialize};

use crate::evals::is_held_out;

/// Share of `alpha` for the test over all pairs. The tests of single cases share the rest.
const SHARE_OF_ALL: f64 = 0.8;

/// Error rates and hold-out share of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Largest probability of a false `worse`.
    pub alpha: f64,
    /// Largest probability of a false `better`.
    pub promote_alpha: f64,
    /// Percentage of cases that are held out.
    pub held_out_percent: u8,
}

impl Default for Rules {
    fn default() -> Self {
        Self { alpha: 0.05, promote_alpha: 0.01, held_out_percent: 25 }
    }
}

/// Results of the assertions in one run, in order. `None` for undecided ones.
pub type AssertionResults = Vec<Option<bool>>;

/// All runs of one case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaseRuns {
    /// Id of the case.
    pub id: String,
    /// Runs of the base for the detection of flaky assertions.
    pub trial: Vec<AssertionResults>,
    /// Alternating runs of base and candidate.
    pub pairs: Vec<(AssertionResults, AssertionResults)>,
}

/// Result of a comparison for the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonResult {
    /// The candidate is significantly better.
    Better,
    /// No significant difference was found.
    NoDifference,
    /// The candidate is significantly worse.
    Worse,
}

impl ComparisonResult {
    /// Returns the decision in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NoDifference => "no difference",
            Self::Worse => "worse",
        }
    }
}

/// Counts of pairs by winner, with their significance.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs in which the candidate satisfied more assertions.
    pub wins: usize,
    /// Pairs in which the base satisfied more assertions.
    pub losses: usize,
    /// Pairs without a difference.
    pub ties: usize,
    /// Probability of so few wins if both perform equally.
    pub p_worse: f64,
    /// Probability of so many wins if both perform equally.
    pub p_better: f64,
}

impl Tally {
    fn of(signs: impl Iterator<Item = i8>) -> Self {
        let mut tally = Self::default();
        for sign in signs {
            match sign {
                0 => tally.ties += 1,
                1.. => tally.wins += 1,
                _ => tally.losses += 1,
            }
        }
        let differing = tally.wins + tally.losses;
        Self { p_worse: upper_tail(differing, tally.losses), p_better: upper_tail(differing, tally.wins), ..tally }
    }
}

/// Result of a comparison for one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseCompared {
    /// Id of the case.
    pub id: String,
    /// True if the case is held out.
    pub held_out: bool,
    /// Counts of its pairs.
    pub tally: Tally,
    /// True if this case alone makes the candidate worse.
    pub worse: bool,
    /// Share of assertions that the base satisfied.
    pub base_rate: Option<f64>,
    /// Share of assertions that the candidate satisfied.
    pub candidate_rate: Option<f64>,
    /// Indices, from 0, of assertions that differ between runs of the base. They are excluded.
    pub flaky: Vec<usize>,
    /// Indices of assertions that held in every run of both, and are therefore uninformative.
    pub telling_nothing: Vec<usize>,
    /// Indices of assertions that were never decided.
    pub undecided: Vec<usize>,
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Overall decision on the candidate.
    pub decision: ComparisonResult,
    /// Reasons, as sentences.
    pub reasons: Vec<String>,
    /// Rules that were applied.
    pub rules: Rules,
    /// Counts over all pairs.
    pub overall: Tally,
    /// Counts over the pairs of held-out cases.
    pub held_out: Tally,
    /// Results per case, in order.
    pub cases: Vec<CaseCompared>,
}

/// Compares a candidate with its base.
pub fn compare(cases: &[CaseRuns], rules: Rules) -> Comparison {
    let mut compared: Vec<CaseCompared> = cases.iter().map(|case| look(case, rules)).collect();
    let signs: Vec<(bool, Vec<i8>)> =
        cases.iter().zip(&compared).map(|(case, seen)| (seen.held_out, signs(case, &seen.flaky))).collect();
    let overall = Tally::of(signs.iter().flat_map(|(_, signs)| signs.iter().copied()));
    let held_out = Tally::of(signs.iter().filter(|(held, _)| *held).flat_map(|(_, signs)| signs.iter().copied()));
    mark_worse(&mut compared, rules.alpha * (1.0 - SHARE_OF_ALL));
    let mut reasons = Vec::new();
    let mut is_worse = false;
    if overall.losses > overall.wins && overall.p_worse <= rules.alpha * SHARE_OF_ALL {
        is_worse = true;
        reasons.push(format!(
            "worse in {} pairs and better in {} (p = {:.4})",
            overall.losses, overall.wins, overall.p_worse
        ));
    }
    for case in compared.iter().filter(|case| case.worse) {
        is_worse = true;
        let Tally { wins, losses, p_worse, .. } = case.tally;
        reasons.push(format!("case {}: worse in {losses} pairs and better in {wins} (p = {p_worse:.5})", case.id));
    }
    let wins = overall.p_better <= rules.promote_alpha && overall.wins > 0;
    let decision = match (is_worse, wins) {
        (true, _) => ComparisonResult::Worse,
        (false, true) if held_out.losses > held_out.wins => {
            reasons.push(format!(
                "better in {} pairs and worse in {}, but not in the held-out cases",
                overall.wins, overall.losses
            ));
            ComparisonResult::NoDifference
        }
        (false, true) => {
            reasons.push(format!(
                "better in {} pairs and worse in {} (p = {:.4})",
                overall.wins, overall.losses, overall.p_better
            ));
            ComparisonResult::Better
        }
        (false, false) => {
            reasons.push(match overall.wins + overall.losses {
                0 => format!("all {} pairs have equal results", overall.ties),
                n => format!(
                    "{n} pairs differ, {} of them in favour of the candidate, which is not significant",
                    overall.wins
                ),
            });
            ComparisonResult::NoDifference
        }
    };
    Comparison { decision, reasons, rules, overall, held_out, cases: compared }
}

fn look(case: &CaseRuns, rules: Rules) -> CaseCompared {
    let count = case.trial.iter().chain(case.pairs.iter().flat_map(|(a, b)| [a, b])).map(Vec::len).max().unwrap_or(0);
    let at = |marks: &AssertionResults, index: usize| marks.get(index).copied().flatten();
    let is_flaky = |index: &usize| case.trial.windows(2).any(|two| at(&two[0], *index) != at(&two[1], *index));
    let flaky: Vec<usize> = (0..count).filter(is_flaky).collect();
    let all = |index: usize, wanted: Option<bool>| {
        !case.pairs.is_empty()
            && case.pairs.iter().all(|(base, candidate)| at(base, index) == wanted && at(candidate, index) == wanted)
    };
    let rate = |marks: &mut dyn Iterator<Item = &AssertionResults>| {
        let mut counts = (0_usize, 0_usize);
        for mark in
            marks.flat_map(|marks| marks.iter().enumerate().filter(|(i, _)| !flaky.contains(i)).filter_map(|(_, m)| *m))
        {
            counts = (counts.0 + usize::from(mark), counts.1 + 1);
        }
        (counts.1 > 0).then(|| counts.0 as f64 / counts.1 as f64)
    };
    CaseCompared {
        id: case.id.clone(),
        held_out: is_held_out(&case.id, rules.held_out_percent),
        tally: Tally::of(signs(case, &flaky).into_iter()),
        worse: false,
        base_rate: rate(&mut case.pairs.iter().map(|(base, _)| base)),
        candidate_rate: rate(&mut case.pairs.iter().map(|(_, candidate)| candidate)),
        telling_nothing: (0..count).filter(|index| all(*index, Some(true))).collect(),
        undecided: (0..count).filter(|index| all(*index, None)).collect(),
        flaky,
    }
}

/// Returns the sign of each pair over the assertions that are not flaky: 1 if the candidate satisfied more, -1 if the
/// base did. An assertion that is undecided on either side is skipped.
fn signs(case: &CaseRuns, flaky: &[usize]) -> Vec<i8> {
    let sign = |(base, candidate): &(AssertionResults, AssertionResults)| {
        let both = base.iter().zip(candidate).enumerate().filter(|(index, _)| !flaky.contains(index));
        let balance: i64 =
            both.filter_map(|(_, (base, candidate))| Some(i64::from((*candidate)?) - i64::from((*base)?))).sum();
        i8::try_from(balance.signum()).unwrap_or(0)
    };
    case.pairs.iter().map(sign).collect()
}

/// Applies Holm's step-down procedure to the cases, with `alpha` for all of them.
fn mark_worse(cases: &mut [CaseCompared], alpha: f64) {
    let mut order: Vec<usize> = (0..cases.len()).filter(|index| cases[*index].tally.losses > 0).collect();
    order.sort_by(|a, b| cases[*a].tally.p_worse.total_cmp(&cases[*b].tally.p_worse));
    let count = cases.len();
    for (rank, index) in order.into_iter().enumerate() {
        let bound = alpha / (count - rank) as f64;
        if cases[index].tally.p_worse > bound {
            return;
        }
        cases[index].worse = true;
    }
}

/// Returns the probability that at least `least` of `count` fair coins fall the same given way.
fn upper_tail(count: usize, least: usize) -> f64 {
    if least == 0 {
        return 1.0;
    }
    // Terms are logarithms, so that thousands of pairs neither overflow nor underflow.
    let mut log_term = -(count as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for k in 0..=count {
        if k > 0 {
            log_term += ((count - k + 1) as f64).ln() - (k as f64).ln();
        }
        if k >= least {
            sum += log_term.exp();
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
