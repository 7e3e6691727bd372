//! [`Problem`]: one deviation from the Agent Skills standard.

use serde::Serialize;

/// Severity of a [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Advice. The skill loads and may be published.
    Warning,
    /// The skill is not valid.
    Error,
}

/// One deviation from the standard, with advice for the author.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Problem {
    /// Stable name of the rule, in `snake_case`.
    pub code: &'static str,
    /// Severity; an error makes the skill invalid.
    pub severity: Severity,
    /// Description of the fault and its correction.
    pub message: String,
    /// File, relative to the skill's folder.
    pub path: String,
    /// Line in that file, from 1, if known.
    pub line: Option<usize>,
}

impl Problem {
    /// Returns a problem of `SKILL.md`.
    pub fn of_skill_md(code: &'static str, severity: Severity, message: String, line: Option<usize>) -> Self {
        Self { code, severity, message, path: "SKILL.md".to_owned(), line }
    }

    /// Returns whether `known` contains the same problem, on any line.
    pub fn is_among(&self, known: &[Self]) -> bool {
        known.iter().any(|k| (k.code, &k.message, &k.path) == (self.code, &self.message, &self.path))
    }

    /// Returns whether clients load a skill with this problem and show a warning, as the standard's guide for clients
    /// recommends.
    pub fn is_loaded_with_warning(&self) -> bool {
        matches!(
            self.code,
            "description_too_long"
                | "name_invalid"
                | "name_mismatch"
                | "name_missing"
                | "second_skill_md"
                | "yaml_unquoted"
        )
    }

    /// Returns whether this makes the skill invalid.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
