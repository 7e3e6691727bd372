//! [`Severity`] of a finding and [`Verdict`] on a skill.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Severity of a finding, ordered from `Info` to `Critical`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, but not a fault.
    Info,
    /// Habit that is better avoided.
    Low,
    /// Suspicious enough that a person should look. The verdict is a warning.
    Medium,
    /// Very likely harmful. The verdict is a block.
    High,
    /// Harmful in any reading. The verdict is a block.
    Critical,
}

/// Verdict on a skill, ordered from `Allow` to `Block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Usable without review.
    Allow,
    /// Usable, with findings that a person should look at.
    Warn,
    /// Not to be installed, published or served.
    Block,
}

/// Parse error for a text that is not a known level.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not one of {expected}")]
pub struct LevelError {
    /// Rejected text, as given.
    pub text: String,
    /// List of valid names, for the message.
    pub expected: &'static str,
}

impl Severity {
    /// Returns the name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Returns the verdict for a skill whose worst new finding has this severity. High and critical block, medium
    /// warns, and the rest allows.
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
    /// Returns the name used in reports.
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
