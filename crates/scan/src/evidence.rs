//! [`Evidence`]: weight of a signal, and the severity that follows from it.

use std::{fmt, str::FromStr};

use crate::{LevelError, Role, Severity};

/// Weight of a single signal, ordered from `Note` to `Conclusive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// Worth a mention in a report; allowed.
    Note,
    /// Common in honest skills too. Several different ones in one file deserve a look.
    Weak,
    /// Rare in honest skills, so a person should look. Warns.
    Strong,
    /// Whole chain of an attack, such as a flow from a secret to a foreign host. Blocks.
    Hard,
    /// Harmful in any reading. Blocks.
    Conclusive,
}

impl Evidence {
    /// All variants in ascending order.
    const ALL: [Self; 5] = [Self::Note, Self::Weak, Self::Strong, Self::Hard, Self::Conclusive];

    /// Returns the name used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Weak => "weak",
            Self::Strong => "strong",
            Self::Hard => "hard",
            Self::Conclusive => "conclusive",
        }
    }

    /// Returns the evidence whose findings have the given severity.
    pub(crate) fn of(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Note,
            Severity::Low => Self::Weak,
            Severity::Medium => Self::Strong,
            Severity::High => Self::Hard,
            Severity::Critical => Self::Conclusive,
        }
    }

    /// Returns the severity of a finding with this evidence.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::Note => Severity::Info,
            Self::Weak => Severity::Low,
            Self::Strong => Severity::Medium,
            Self::Hard => Severity::High,
            Self::Conclusive => Severity::Critical,
        }
    }

    /// Returns the reduced evidence of a match outside its rule's scope, or in a lesson or quotation. Prose is reduced
    /// further than commands.
    #[must_use]
    pub fn elsewhere(self, role: Role) -> Self {
        match (self, role) {
            (Self::Hard | Self::Conclusive, Role::Fact | Role::Command) => Self::Strong,
            (Self::Hard | Self::Conclusive, Role::Speech | Role::Planted | Role::Test) | (Self::Strong, _) => {
                Self::Weak
            }
            (Self::Weak | Self::Note, _) => Self::Note,
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Evidence {
    type Err = LevelError;
    fn from_str(text: &str) -> Result<Self, LevelError> {
        let expected = "note, weak, strong, hard, conclusive";
        Self::ALL.into_iter().find(|e| e.as_str() == text).ok_or_else(|| LevelError { text: text.to_owned(), expected })
    }
}
