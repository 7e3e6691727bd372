//! [`compare`]: whether a candidate does worse or better than its base, by paired runs of the same cases.
//!
//! Base and candidate are run in turns. A pair is one run of each on one case, and its sign says which of the two
//! held more assertions. If both do equally well, either sign is as likely as the other whatever the case, so that the
//! number of pairs for the candidate among those that differ is binomial with one half: the exact sign test, which for
//! one assertion a case is McNemar's. It is made over all pairs and, with Holm's correction, over those of each case,
//! so that a case that got worse is not hidden by others that got better. Assertions that differ between runs of the
//! base alone are flaky and left out before; those runs are not used again.
//!
//! What is guaranteed: where candidate and base do equally well on every case, `worse` comes with a probability of at
//! most `alpha`, `better` of at most `promote_alpha`, for runs that do not hang together. Nothing is said of cases that
//! are not in the set.

use serde::{Deserialize, Serialize};

use crate::evals::is_held_out;

/// The share of `alpha` that the test over all pairs has; the tests of single cases have the rest together.
const SHARE_OF_ALL: f64 = 0.8;

/// How a comparison decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// How often `worse` may be wrong.
    pub alpha: f64,
    /// How often `better` may be wrong.
    pub promote_alpha: f64,
    /// How many cases of a hundred are held out.
    pub held_out_percent: u8,
}

impl Default for Rules {
    fn default() -> Self {
        Self { alpha: 0.05, promote_alpha: 0.01, held_out_percent: 25 }
    }
}

/// What became of the assertions in one run, in their order; `None` for those that nobody decided.
pub type Marks = Vec<Option<bool>>;

/// All runs of a case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaseRuns {
    /// The case.
    pub id: String,
    /// Runs of the base to find what is flaky.
    pub trial: Vec<Marks>,
    /// Runs of base and candidate, made in turns.
    pub pairs: Vec<(Marks, Marks)>,
}

/// What a comparison says of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It does better.
    Better,
    /// Nothing shows that it does otherwise.
    NoDifference,
    /// It does worse.
    Worse,
}

impl Decision {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NoDifference => "no difference",
            Self::Worse => "worse",
        }
    }
}

/// Pairs by who did better in them, and what that says.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs in which the candidate held more.
    pub wins: usize,
    /// Pairs in which the base held more.
    pub losses: usize,
    /// Pairs that do not differ.
    pub ties: usize,
    /// How likely so few wins are if both do equally well.
    pub p_worse: f64,
    /// How likely so many wins are then.
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

/// What a comparison says of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseCompared {
    /// The case.
    pub id: String,
    /// Whether it is held out.
    pub held_out: bool,
    /// Its pairs.
    pub tally: Tally,
    /// Whether it alone makes the candidate worse.
    pub worse: bool,
    /// The share of assertions that the base held.
    pub base_rate: Option<f64>,
    /// The share that the candidate held.
    pub candidate_rate: Option<f64>,
    /// Assertions, from 0, that differ between runs of the base and were left out.
    pub flaky: Vec<usize>,
    /// Assertions that held in every run of both, and so tell nothing.
    pub telling_nothing: Vec<usize>,
    /// Assertions that nobody decided.
    pub undecided: Vec<usize>,
}

/// What a comparison says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The word.
    pub decision: Decision,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// By which rules.
    pub rules: Rules,
    /// All pairs.
    pub overall: Tally,
    /// The pairs of cases that are held out.
    pub held_out: Tally,
    /// The cases, in their order.
    pub cases: Vec<CaseCompared>,
}

/// Decides about a candidate.
#[must_use]
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
        (true, _) => Decision::Worse,
        (false, true) if held_out.losses > held_out.wins => {
            reasons.push(format!(
                "better in {} pairs and worse in {}, but not in the cases held out",
                overall.wins, overall.losses
            ));
            Decision::NoDifference
        }
        (false, true) => {
            reasons.push(format!(
                "better in {} pairs and worse in {} (p = {:.4})",
                overall.wins, overall.losses, overall.p_better
            ));
            Decision::Better
        }
        (false, false) => {
            reasons.push(match overall.wins + overall.losses {
                0 => format!("none of {} pairs differs", overall.ties),
                n => format!("{n} pairs differ, {} of them for the candidate, which shows nothing", overall.wins),
            });
            Decision::NoDifference
        }
    };
    Comparison { decision, reasons, rules, overall, held_out, cases: compared }
}

fn look(case: &CaseRuns, rules: Rules) -> CaseCompared {
    let count = case.trial.iter().chain(case.pairs.iter().flat_map(|(a, b)| [a, b])).map(Vec::len).max().unwrap_or(0);
    let at = |marks: &Marks, index: usize| marks.get(index).copied().flatten();
    let is_flaky = |index: &usize| case.trial.windows(2).any(|two| at(&two[0], *index) != at(&two[1], *index));
    let flaky: Vec<usize> = (0..count).filter(is_flaky).collect();
    let all = |index: usize, wanted: Option<bool>| {
        !case.pairs.is_empty()
            && case.pairs.iter().all(|(base, candidate)| at(base, index) == wanted && at(candidate, index) == wanted)
    };
    let rate = |marks: &mut dyn Iterator<Item = &Marks>| {
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

/// For each pair who held more of what is not flaky: 1 the candidate, -1 the base. What one side left undecided
/// counts for neither.
fn signs(case: &CaseRuns, flaky: &[usize]) -> Vec<i8> {
    let sign = |(base, candidate): &(Marks, Marks)| {
        let both = base.iter().zip(candidate).enumerate().filter(|(index, _)| !flaky.contains(index));
        let balance: i64 =
            both.filter_map(|(_, (base, candidate))| Some(i64::from((*candidate)?) - i64::from((*base)?))).sum();
        i8::try_from(balance.signum()).unwrap_or(0)
    };
    case.pairs.iter().map(sign).collect()
}

/// Holm's step-down over the cases, with `alpha` for all of them.
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

/// The probability that at least `least` of `count` fair coins fall one way.
fn upper_tail(count: usize, least: usize) -> f64 {
    if least == 0 {
        return 1.0;
    }
    // Terms as logarithms, so that thousands of pairs neither overflow nor vanish.
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
