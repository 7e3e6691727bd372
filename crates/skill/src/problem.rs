//! [`Problem`]: one departure from the Agent Skills standard.

use serde::Serialize;

/// How much a [`Problem`] weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Advice; the skill loads and may be published.
    Warning,
    /// The skill is not valid.
    Error,
}

/// One departure from the standard, told so that an author can mend it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Problem {
    /// A stable name of the rule, in `snake_case`.
    pub code: &'static str,
    /// Whether it makes the skill invalid.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub message: String,
    /// The file, relative to the skill's folder.
    pub path: String,
    /// The line in that file, from 1, where one can be named.
    pub line: Option<usize>,
}

impl Problem {
    /// A problem of `SKILL.md`.
    #[must_use]
    pub fn of_skill_md(code: &'static str, severity: Severity, message: String, line: Option<usize>) -> Self {
        Self { code, severity, message, path: "SKILL.md".to_owned(), line }
    }

    /// Whether the same problem, on whatever line, is among `known` ones.
    #[must_use]
    pub fn is_among(&self, known: &[Self]) -> bool {
        known.iter().any(|k| (k.code, &k.message, &k.path) == (self.code, &self.message, &self.path))
    }

    /// Whether clients load a skill that has this problem and warn, as the standard's guide for them asks.
    #[must_use]
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

    /// Whether this makes the skill invalid.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
