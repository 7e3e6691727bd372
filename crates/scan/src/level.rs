//! [`Severity`] of a finding and [`Verdict`] on a skill.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How much a finding weighs; ordered from `Info` to `Critical`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; no fault.
    Info,
    /// A habit that is better avoided.
    Low,
    /// A person should look: the verdict is a warning.
    Medium,
    /// Very likely harmful: the verdict is a block.
    High,
    /// Harmful in any reading: the verdict is a block.
    Critical,
}

/// What follows from a report; ordered from `Allow` to `Block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing that a person need look at.
    Allow,
    /// Usable, with findings that a person should look at.
    Warn,
    /// Not to be installed, published or served.
    Block,
}

/// The text names no level.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is none of {expected}")]
pub struct LevelError {
    /// The text as given.
    pub text: String,
    /// The levels there are, for a message.
    pub expected: &'static str,
}

impl Severity {
    /// The severity as it is written in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The verdict on a skill whose worst new finding this is: high and critical block, medium
    /// warns, the rest allows.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Critical | Self::High => Verdict::Block,
            Self::Medium => Verdict::Warn,
            Self::Low | Self::Info => Verdict::Allow,
        }
    }
}

impl Verdict {
    /// The verdict as it is written in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Block => "block",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = LevelError;
    fn from_str(text: &str) -> Result<Self, LevelError> {
        let all = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];
        let expected = "info, low, medium, high, critical";
        all.into_iter().find(|s| s.as_str() == text).ok_or_else(|| LevelError { text: text.to_owned(), expected })
    }
}

impl FromStr for Verdict {
    type Err = LevelError;
    fn from_str(text: &str) -> Result<Self, LevelError> {
        let all = [Self::Allow, Self::Warn, Self::Block];
        let expected = "allow, warn, block";
        all.into_iter().find(|v| v.as_str() == text).ok_or_else(|| LevelError { text: text.to_owned(), expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_round_trip_as_text() {
        assert!(Severity::Info < Severity::Low && Severity::High < Severity::Critical);
        assert!(Verdict::Allow < Verdict::Warn && Verdict::Warn < Verdict::Block);
        for text in ["info", "low", "medium", "high", "critical"] {
            assert_eq!(text.parse::<Severity>().unwrap().to_string(), text);
        }
        for text in ["allow", "warn", "block"] {
            assert_eq!(text.parse::<Verdict>().unwrap().to_string(), text);
        }
        assert!("HIGH".parse::<Severity>().is_err());
        assert!("".parse::<Verdict>().is_err());
    }

    #[test]
    fn high_blocks_medium_warns_and_less_allows() {
        assert_eq!(Severity::Critical.verdict(), Verdict::Block);
        assert_eq!(Severity::High.verdict(), Verdict::Block);
        assert_eq!(Severity::Medium.verdict(), Verdict::Warn);
        assert_eq!(Severity::Low.verdict(), Verdict::Allow);
    }
}
