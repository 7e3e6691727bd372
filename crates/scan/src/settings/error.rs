//! [`SettingsError`]: error in a rule file or in the settings.

use thiserror::Error;

/// Error in a rule file or in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The file is not a valid list of rules.
    #[error("cannot load the rules in {file}: {message}")]
    File {
        /// Name of the rule file.
        file: String,
        /// Parse error with the line.
        message: String,
    },
    /// A rule is not usable.
    #[error("{file}:{line}: rule {rule:?} is invalid: {message}")]
    Rule {
        /// Name of the rule file.
        file: String,
        /// Line of the rule's ID, from 1.
        line: usize,
        /// ID of the rule.
        rule: String,
        /// Description of the problem.
        message: String,
    },
    /// The value of a setting is invalid.
    #[error("{key} in [scan] is invalid: {message}")]
    Value {
        /// Key of the setting, relative to `[scan]`.
        key: String,
        /// Description of the problem.
        message: String,
    },
}
