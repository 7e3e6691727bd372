//! [`DeclineTest`]: sequential evidence that runs succeed less often than the runs of a reference.
//!
//! The rate of the reference is unknown. So each possible rate gets an e-value of its own: the evidence of the reference
//! that its rate is higher, times the wealth of bettors against "later runs succeed at least as often". If a rate is the
//! true one, the product exceeds `1/alpha` with probability at most `alpha`, however often it is inspected. The evidence
//! of the test is the lowest product over all rates (`docs/GATE.md`). Only basic arithmetic and square roots are used,
//! so that every machine computes the same bits.

use crate::eprocess::Bettor;

/// Number of runs from which the rate of a reference is estimated.
pub const REFERENCE_RUNS: u32 = 100;

/// Largest number of runs in a reference. The newest count.
pub const MOST_REFERENCE_RUNS: u32 = 500;

/// Largest probability that a line of revisions without a decline is reported.
pub const DECLINE_ALPHA: f64 = 0.01;

/// Bettors on a decline. They were chosen for even falls by a tenth to a half, with other seeds than those of the suite.
const BETTORS: [Bettor; 3] =
    [Bettor { drop: 0.07, share: 0.25 }, Bettor { drop: 0.14, share: 0.5 }, Bettor { drop: 0.28, share: 0.25 }];

/// Number of runs in which half of the money is given to bettors. The rest follows ever more slowly, so that a decline
/// may begin at any time.
const HALF_GIVEN: f64 = 100.0;

/// Alternatives to a rate, for the evidence of a reference: the distance in standard deviations, and the share.
const ALTERNATIVES: [(f64, f64); 3] = [(0.0, 0.1), (1.0, 0.1), (2.0, 0.8)];

/// Lowest and highest odds of success that are tested, and the factor between neighbours. With a smaller factor, no
/// evidence changes by more than a tenth.
const ODDS: (f64, f64, f64) = (0.01, 1000.0, 1.08);

/// Test of a decline against a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclineTest {
    rates: Vec<RateTest>,
    observed: u32,
    highest: f64,
}

/// Test against one possible rate of the reference.
#[derive(Debug, Clone, PartialEq)]
struct RateTest {
    odds: f64,
    /// Evidence of the reference that its rate is higher than this one.
    reference: f64,
    wealth: [f64; 3],
}

impl DeclineTest {
    /// Creates the test from the results of the reference, of which at most [`MOST_REFERENCE_RUNS`] may be given.
    pub fn new(successes: u32, failures: u32) -> Self {
        let (lowest, highest, step) = ODDS;
        let odds = std::iter::successors(Some(lowest), |odds| Some(odds * step)).take_while(|odds| *odds <= highest);
        let rates = odds.map(|odds| RateTest {
            odds,
            reference: above(odds / (1.0 + odds), successes, failures),
            wealth: [0.0; 3],
        });
        Self { rates: rates.collect(), observed: 0, highest: 0.0 }
    }

    /// Adds the result of a later run.
    pub fn observe(&mut self, success: bool) {
        let before = f64::from(self.observed);
        let given = HALF_GIVEN / ((before + HALF_GIVEN) * (before + 1.0 + HALF_GIVEN));
        for rate in &mut self.rates {
            let gain = if success { -1.0 } else { rate.odds };
            for (wealth, bettor) in rate.wealth.iter_mut().zip(BETTORS) {
                *wealth = (*wealth + given * bettor.share) * (1.0 + bettor.drop * gain);
            }
        }
        self.observed += 1;
        self.highest = self.highest.max(self.value());
    }

    /// Returns the current evidence.
    pub fn value(&self) -> f64 {
        let not_given = HALF_GIVEN / (f64::from(self.observed) + HALF_GIVEN);
        let product = |rate: &RateTest| rate.reference * (not_given + rate.wealth.iter().sum::<f64>());
        self.rates.iter().map(product).fold(f64::INFINITY, f64::min)
    }

    /// Returns the highest evidence so far. Decisions use it, so that the time of inspection does not matter.
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// Returns the number of observed runs.
    pub fn observed(&self) -> u32 {
        self.observed
    }
}

/// Returns the evidence of a reference that its rate is above a given one: a mean of likelihood ratios. Its expected
/// value is 1 at this rate, and at most 1 if this is the mean rate of runs with different rates.
fn above(rate: f64, successes: u32, failures: u32) -> f64 {
    let deviation = (rate * (1.0 - rate) / f64::from((successes + failures).max(1))).sqrt();
    let ratio = |(distance, share): (f64, f64)| {
        let higher = (rate + distance * deviation).min(1.0 - (1.0 - rate) / 4.0);
        share * power(higher / rate, successes) * power((1.0 - higher) / (1.0 - rate), failures)
    };
    ALTERNATIVES.into_iter().map(ratio).sum()
}

/// Returns a power by repeated multiplication, which unlike `powi` has the same bits everywhere.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the probability of each number of successes in 20 runs.
    fn binomial(rate: f64) -> Vec<f64> {
        let mut row = vec![1.0];
        for _ in 0..20 {
            let fails = row.iter().map(|share| share * (1.0 - rate)).chain([0.0]);
            let succeeds = [0.0].into_iter().chain(row.iter().map(|share| share * rate));
            row = fails.zip(succeeds).map(|(one, other)| one + other).collect();
        }
        row
    }

    #[test]
    fn expected_reference_evidence_is_one() {
        for rate in [0.05, 0.5, 0.7, 0.95, 0.999] {
            let mean: f64 =
                (0_u32..).zip(binomial(rate)).map(|(good, chance)| chance * above(rate, good, 20 - good)).sum();
            assert!((mean - 1.0).abs() < 1e-9, "{rate}: {mean}");
        }
    }

    #[test]
    fn expected_wealth_is_constant_at_equal_rate() {
        // The mean over all 2^12 courses of 12 runs, for the odds of one half.
        let mut test = DeclineTest::new(1, 1);
        test.rates = vec![RateTest { odds: 1.0, reference: 1.0, wealth: [0.0; 3] }];
        let value = |course: u32| {
            let mut test = test.clone();
            (0..12).for_each(|run| test.observe(course >> run & 1 == 1));
            test.value()
        };
        let mean = (0_u32..1 << 12).map(value).sum::<f64>() / 4096.0;
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        assert!((BETTORS.iter().map(|bettor| bettor.share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((ALTERNATIVES.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn larger_references_give_earlier_evidence() {
        let runs = |good, bad| {
            let mut test = DeclineTest::new(good, bad);
            (1..=400).find(|run| {
                test.observe(run % 2 == 0);
                test.highest() >= 1.0 / DECLINE_ALPHA
            })
        };
        let delays = [runs(27, 3), runs(90, 10), runs(450, 50)];
        assert!(delays.is_sorted_by(|few, many| few > many) && delays.iter().all(Option::is_some), "{delays:?}");
        assert_eq!(runs(50, 50), None, "half of them succeeded before");
        let mut perfect = DeclineTest::new(500, 0);
        (0..500).for_each(|_| perfect.observe(true));
        assert!(perfect.highest() < 2.0, "{}", perfect.highest());
        assert!(DeclineTest::new(0, 500).value().is_finite());
    }
}
