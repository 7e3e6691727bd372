//! [`EProcess`]: evidence that grows with every run and may be looked at after each.
//!
//! It is the wealth of one who bets against "this is no worse" with fair odds. Where that is true, wealth does
//! not grow in the mean, and so it ever comes to `1/alpha` in at most the share `alpha` of all cases, however
//! often and whenever somebody looks (`docs/GATE.md` has the reasons). Several bettors, each with a stake of
//! their own, share the money at the start; the wealth is what they have together. Only sums and products are
//! used, so that every machine comes to the same bits.

/// A bettor: which part of the success rate it bets to be gone, and its share of the money at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bettor {
    /// `0.25` bets on three quarters of the rate, between 0 and 1.
    pub drop: f64,
    /// All shares together are 1.
    pub share: f64,
}

/// The bettors of every test. They were chosen for losses of a tenth to two thirds of a success rate, before
/// the gate suite was measured with other seeds.
pub const BETTORS: [Bettor; 4] = [
    Bettor { drop: 0.10, share: 0.1 },
    Bettor { drop: 0.25, share: 0.4 },
    Bettor { drop: 0.45, share: 0.4 },
    Bettor { drop: 0.70, share: 0.1 },
];

/// The wealth of all bettors.
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
    /// One more observation: `gain` is what a stake of 1 wins, at least -1, and in the mean not above 0 where
    /// nothing is worse.
    pub fn observe(&mut self, gain: f64) {
        for (wealth, bettor) in self.wealth.iter_mut().zip(BETTORS) {
            *wealth *= 1.0 + bettor.drop * gain;
        }
        self.observed += 1;
        self.highest = self.highest.max(self.value());
    }

    /// The evidence now.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.wealth.iter().sum()
    }

    /// The most that it ever was: what decides, so that nobody has to look at the right moment.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.highest
    }

    /// How many observations it has.
    #[must_use]
    pub fn observed(&self) -> u32 {
        self.observed
    }
}

/// What a success or failure wins against a success rate that is known. A rate of all or nothing cannot be
/// bet against; it is taken for one run in a thousand less or more.
#[must_use]
pub fn against_rate(rate: f64, success: bool) -> f64 {
    let rate = rate.clamp(0.001, 0.999);
    if success { -1.0 } else { rate / (1.0 - rate) }
}

/// What a pair of runs at one time wins, of which `theirs` ought to be the better one: nothing where both go
/// alike. Whatever the rate is, and however it changes, two runs of one rate win nothing in the mean.
#[must_use]
pub fn of_pair(theirs: bool, ours: bool) -> f64 {
    match (theirs, ours) {
        (true, false) => 1.0,
        (false, true) => -1.0,
        _ => 0.0,
    }
}

/// What a pair wins against "theirs is better by the margin": more than nothing where both go alike, so that
/// enough of them show that it is not.
#[must_use]
pub fn of_pair_with_margin(theirs: bool, ours: bool, margin: f64) -> f64 {
    let difference = f64::from(u8::from(ours)) - f64::from(u8::from(theirs));
    (difference + margin) / (1.0 - margin)
}

/// What a run wins against "the rate is lower than the known one by the margin".
#[must_use]
pub fn above_rate(rate: f64, margin: f64, success: bool) -> f64 {
    let floor = (rate - margin).clamp(0.001, 0.999);
    if success { (1.0 - floor) / floor } else { -1.0 }
}

/// Watches for a change that may come at any time: the wealth of bettors one of whom begins with every run.
/// While nothing changes, the mean number of runs to an alarm at `level` is at least `level`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Detector {
    wealth: [f64; 4],
    observed: u32,
}

impl Detector {
    /// One more observation, as [`EProcess::observe`].
    pub fn observe(&mut self, gain: f64) {
        for (wealth, bettor) in self.wealth.iter_mut().zip(BETTORS) {
            *wealth = (*wealth + bettor.share) * (1.0 + bettor.drop * gain);
        }
        self.observed += 1;
    }

    /// The evidence now.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.wealth.iter().sum()
    }

    /// How many observations it has.
    #[must_use]
    pub fn observed(&self) -> u32 {
        self.observed
    }
}

/// The Wilson interval of a success rate, for people to look at: it holds for one look, not for many.
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_worse_nothing_is_won_in_the_mean() {
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
    fn the_exact_chance_of_a_false_alarm_stays_below_alpha() {
        // All 2^16 courses of 16 runs at a rate of one half: those on which 20 was ever reached, counted.
        let mut reached = 0;
        for course in 0_u32..1 << 16 {
            let mut evidence = EProcess::default();
            (0..16).for_each(|run| evidence.observe(against_rate(0.5, course >> run & 1 == 1)));
            reached += u32::from(evidence.highest() >= 20.0);
        }
        assert!(reached > 0 && f64::from(reached) / 65536.0 <= 0.05, "{reached}");
    }

    #[test]
    fn the_order_of_observations_does_not_matter_for_the_end() {
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
    fn the_interval_is_wilsons() {
        let (low, high) = wilson(9, 10);
        assert!((low - 0.5958).abs() < 1e-3 && (high - 0.9821).abs() < 1e-3, "{low} {high}");
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        let (low, high) = wilson(0, 5);
        assert!(low == 0.0 && high < 0.5);
    }
}
