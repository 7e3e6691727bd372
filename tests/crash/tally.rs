//! [`Tally`]: results and faults of many trials.

use std::fmt;

use super::checks::{Faults, Found};

/// Counts of trials by the progress found after them.
#[derive(Debug, Default)]
pub struct Tally {
    pub trials: usize,
    /// Trials in which the recovery was killed as well.
    pub second_kills: usize,
    pub nothing: usize,
    pub part: usize,
    pub everything: usize,
    /// Trials whose report was printed before the death.
    pub reported: usize,
    pub faults: Faults,
}

impl Tally {
    /// Counts one trial.
    pub fn of(found: Option<Found>, is_reported: bool, faults: Faults) -> Self {
        let is = |kind| usize::from(found == Some(kind));
        let [nothing, part, everything] = [Found::Nothing, Found::Part, Found::Everything].map(is);
        Self { trials: 1, second_kills: 0, nothing, part, everything, reported: usize::from(is_reported), faults }
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Self) {
        self.trials += other.trials;
        self.second_kills += other.second_kills;
        self.nothing += other.nothing;
        self.part += other.part;
        self.everything += other.everything;
        self.reported += other.reported;
        self.faults.extend(other.faults);
    }

    /// Panics if there were faults, or if a kind of trial is missing.
    #[track_caller]
    pub fn assert_good(&self) {
        let first: String = self.faults.iter().take(40).map(|fault| format!("\n{fault}")).collect();
        assert!(self.faults.is_empty(), "{} faults:{first}", self.faults.len());
        let is_one_scenario = std::env::var_os("SKILLHUB_CRASH_ONLY").is_some();
        assert!(is_one_scenario || (self.nothing > 0 && self.everything > 0 && self.reported > 0), "{self}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nothing, part, everything, reported, .. } = self;
        write!(f, "nothing done {nothing}, some whole operations {part}, all {everything}; reported {reported}; ")?;
        write!(f, "{} faults", self.faults.len())
    }
}
