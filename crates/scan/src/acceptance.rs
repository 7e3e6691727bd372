//! [`Acceptance`]: the decision that a finding does not count.

use serde::{Deserialize, Serialize};

use crate::rules;

/// Author, reason and end of an acceptance, shown with the finding. Its contents have no effect on the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// ID of the waiver within its library. Empty if it is not a person's waiver.
    pub id: String,
    /// Author, as `person:id`, `configuration` or `judge`.
    pub by: String,
    /// Reason for which the finding is acceptable.
    pub reason: String,
    /// Time from which the finding counts again, RFC 3339 in UTC. Empty if there is no end.
    pub until: String,
}

impl Acceptance {
    /// Author of acceptances by the `[scan]` table of a configuration.
    const CONFIGURATION: &str = "configuration";

    /// Author of acceptances by the judge, if `[scan.judge]` allows them.
    const JUDGE: &str = "judge";

    /// Creates an acceptance by a configuration.
    pub(crate) fn of_configuration(reason: &str, until: Option<&str>) -> Self {
        let (by, until) = (Self::CONFIGURATION.to_owned(), until.unwrap_or_default().to_owned());
        Self { id: String::new(), by, reason: reason.to_owned(), until }
    }

    /// Creates an acceptance by the judge.
    pub(crate) fn of_judge(reason: &str) -> Self {
        Self { by: Self::JUDGE.to_owned(), reason: reason.to_owned(), ..Self::default() }
    }

    /// Returns true if a configuration or its judge accepted the finding, not a person.
    pub(crate) fn is_of_configuration(&self) -> bool {
        self.by == Self::CONFIGURATION || self.by == Self::JUDGE
    }
}

/// Returns whether a person can accept the findings of a rule. An incomplete scan cannot be accepted. Neither can the
/// judge's opinion, which is about the whole skill and may differ next time.
#[must_use]
pub fn can_be_waived(rule: &str) -> bool {
    ![rules::SCANNER_FAILURE.id, rules::SCAN_BUDGET.id, rules::JUDGE.id].contains(&rule)
}
