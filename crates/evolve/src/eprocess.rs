//! [`EProcess`]: sequential evidence that may be inspected after every run.
//!
//! It is the wealth of a bettor against the null hypothesis "this is not worse", at fair odds. Under the null
//! hypothesis the expected wealth does not grow, so the probability that it ever reaches `1/alpha` is at most `alpha`,
//! however often it is inspected (`docs/GATE.md` gives the proof). Several bettors with different stakes share the
//! initial money, and the wealth is their total. Only sums and products are used, so that every machine computes the
//! same bits.

/// Bettor, with the relative drop of the success rate that it bets on and its share of the initial money.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bettor {
    /// Drop between 0 and 1: `0.25` bets on a fall to three quarters of the rate.
    pub drop: f64,
    /// Share of the initial money. All shares add up to 1.
    pub share: f64,
}

/// Bettors of every test. They were chosen for losses of a tenth to two thirds of a success rate, before the gate suite
/// was measured with other seeds.
pub const BETTORS: [Bettor; 4] = [
    Bettor { drop: 0.10, share: 0.1 },
    Bettor { drop: 0.25, share: 0.4 },
    Bettor { drop: 0.45, share: 0.4 },
    Bettor { drop: 0.70, share: 0.1 },
];

/// Wealth of all bettors.
#[derive(Debug, Clone, PartialEq)]
pub struct EProcess {
    wealth: [f64; 4],
    highest: f64,
    observed: u32,
}

impl Default for EProcess {
    fn default() -> Self {
        Self { wealth: BETTORS.map(|bettor| bettor.share), highest: 1.0, observed: 0 }
    }
}

impl EProcess {
    /// Adds an observation. `gain` is the profit of a stake of 1: at least -1, and on average not above 0 under the
    /// null hypothesis.
    pub fn observe(&mut self, gain: f64) {
        for (wealth, bettor) in self.wealth.iter_mut().zip(BETTORS) {
            *wealth *= 1.0 + bettor.drop * gain;
        }
        self.observed += 1;
        self.highest = self.highest.max(self.value());
    }

    /// Returns the current evidence.
    pub fn value(&self) -> f64 {
        self.wealth.iter().sum()
    }

    /// Returns the highest evidence so far. Decisions use it, so that the time of inspection does not matter.
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// Returns the number of observations.
    pub fn observed(&self) -> u32 {
        self.observed
    }
}

/// Returns the gain of a success or failure against a known success rate. The rate is clamped to the range 0.001 to
/// 0.999, since no bet is possible against 0 or 1.
pub fn against_rate(rate: f64, success: bool) -> f64 {
    let rate = rate.clamp(0.001, 0.999);
    if success { -1.0 } else { rate / (1.0 - rate) }
}

/// Returns the gain of a pair of simultaneous runs, where `theirs` should be the better one. It is 0 if both have the
/// same result. If both runs have the same success rate, the expected gain is 0, whatever the rate is and however it
/// changes.
pub fn of_pair(theirs: bool, ours: bool) -> f64 {
    match (theirs, ours) {
        (true, false) => 1.0,
        (false, true) => -1.0,
        _ => 0.0,
    }
}

/// Returns the gain of a pair against the hypothesis "theirs is better by the margin". It is positive if both have the
/// same result, so that enough such pairs refute the hypothesis.
pub fn of_pair_with_margin(theirs: bool, ours: bool, margin: f64) -> f64 {
    let difference = f64::from(u8::from(ours)) - f64::from(u8::from(theirs));
    (difference + margin) / (1.0 - margin)
}

/// Returns the gain of a run against the hypothesis "the rate is lower than the known one by the margin".
pub fn above_rate(rate: f64, margin: f64, success: bool) -> f64 {
    let floor = (rate - margin).clamp(0.001, 0.999);
    if success { (1.0 - floor) / floor } else { -1.0 }
}

/// Detector of a change at an unknown time: the total wealth of bettors, with new ones starting at every run. Without a
/// change, the mean number of runs to an alarm at `level` is at least `level`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detector {
    wealth: [f64; 4],
    observed: u32,
}

impl Detector {
    /// Adds an observation, as in [`EProcess::observe`].
    pub fn observe(&mut self, gain: f64) {
        for (wealth, bettor) in self.wealth.iter_mut().zip(BETTORS) {
            *wealth = (*wealth + bettor.share) * (1.0 + bettor.drop * gain);
        }
        self.observed += 1;
    }

    /// Returns the current evidence.
    pub fn value(&self) -> f64 {
        self.wealth.iter().sum()
    }

    /// Returns the number of observations.
    pub fn observed(&self) -> u32 {
        self.observed
    }
}

/// Returns the 95 % Wilson interval of a success rate, for display. It is valid for a single inspection, not for
/// repeated ones.
pub fn wilson(successes: u32, runs: u32) -> (f64, f64) {
    if runs == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (f64::from(runs), 1.959_964);
    let rate = f64::from(successes) / n;
    let middle = rate + z * z / (2.0 * n);
    let half = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

/// Formats an e-value with the threshold of its test, large values in scientific notation.
pub(crate) fn describe(e_value: f64, threshold: f64) -> String {
    let value = if e_value < 10_000.0 { format!("{e_value:.1}") } else { format!("{e_value:.1e}") };
    format!("evidence {value}, threshold {threshold:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_gain_is_zero_under_null() {
        for rate in [0.5, 0.7, 0.9, 0.99] {
            let mean = rate * against_rate(rate, true) + (1.0 - rate) * against_rate(rate, false);
            assert!(mean.abs() < 1e-12, "{rate}");
            let pairs = [(true, true), (true, false), (false, true), (false, false)];
            let chance = |won: bool, rate: f64| if won { rate } else { 1.0 - rate };
            let mean: f64 = pairs.iter().map(|(a, b)| chance(*a, rate) * chance(*b, rate) * of_pair(*a, *b)).sum();
            assert!(mean.abs() < 1e-12, "{rate}");
            let worse = rate - 0.1;
            let margin =
                |(a, b): &(bool, bool)| chance(*a, rate) * chance(*b, worse) * of_pair_with_margin(*a, *b, 0.1);
            assert!(pairs.iter().map(margin).sum::<f64>().abs() < 1e-12, "{rate}");
            let mean = worse * above_rate(rate, 0.1, true) + (1.0 - worse) * above_rate(rate, 0.1, false);
            assert!(mean.abs() < 1e-12, "{rate}");
        }
        assert!(BETTORS.iter().map(|bettor| bettor.share).sum::<f64>() == 1.0);
    }

    #[test]
    fn false_alarm_rate_stays_below_alpha() {
        // Of all 2^16 courses of 16 runs at a rate of one half, count those that ever reach 20.
        let mut reached = 0;
        for course in 0_u32..1 << 16 {
            let mut evidence = EProcess::default();
            (0..16).for_each(|run| evidence.observe(against_rate(0.5, course >> run & 1 == 1)));
            reached += u32::from(evidence.highest() >= 20.0);
        }
        assert!(reached > 0 && f64::from(reached) / 65536.0 <= 0.05, "{reached}");
    }

    #[test]
    fn final_evidence_ignores_order() {
        let mut gains = vec![1.0, -1.0, 0.0, 1.0, 0.5, -0.25];
        let value = |gains: &[f64]| {
            let mut evidence = EProcess::default();
            gains.iter().for_each(|gain| evidence.observe(*gain));
            evidence.value()
        };
        let forwards = value(&gains);
        gains.reverse();
        assert!((forwards - value(&gains)).abs() < 1e-12);
    }

    #[test]
    fn interval_is_wilson_score() {
        let (low, high) = wilson(9, 10);
        assert!((low - 0.5958).abs() < 1e-3 && (high - 0.9821).abs() < 1e-3, "{low} {high}");
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        let (low, high) = wilson(0, 5);
        assert!(low == 0.0 && high < 0.5);
    }
}
