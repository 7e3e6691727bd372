//! [`Evidence`]: how much a signal proves, and the severity that follows from it.

use std::{fmt, str::FromStr};

use crate::{LevelError, Role, Severity};

/// How much a signal proves by itself; ordered from `Note` to `Conclusive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// Worth knowing in a report.
    Note,
    /// Common in honest skills too; several different ones in a file deserve a look.
    Weak,
    /// Rare in honest skills: a person should look.
    Strong,
    /// A whole chain of an attack, as from a secret to a foreign host: blocks.
    Hard,
    /// Harmful in any reading: blocks.
    Conclusive,
}

impl Evidence {
    /// All, in their order.
    const ALL: [Self; 5] = [Self::Note, Self::Weak, Self::Strong, Self::Hard, Self::Conclusive];

    /// The evidence as it is written in rule files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Weak => "weak",
            Self::Strong => "strong",
            Self::Hard => "hard",
            Self::Conclusive => "conclusive",
        }
    }

    /// The evidence whose findings have a severity.
    pub(crate) fn of(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Note,
            Severity::Low => Self::Weak,
            Severity::Medium => Self::Strong,
            Severity::High => Self::Hard,
            Severity::Critical => Self::Conclusive,
        }
    }

    /// The severity of a finding with this evidence.
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

    /// What remains of it outside a rule's own place, or where the text is a lesson or a quotation. Words weigh
    /// less there than commands.
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
