//! [`RuleFile`]: the TOML form of rules. The build reads the files in `rules/` by it, and a run the files of a user.

use serde::Deserialize;

/// Rules of one technique.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    #[serde(default)]
    pub defaults: Defaults,
    #[serde(default, rename = "rule")]
    pub rules: Vec<RuleEntry>,
}

/// Values of a file's rules that do not name their own.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {
    pub category: Option<String>,
    pub technique: Option<String>,
    pub risk: Option<String>,
    pub scope: Option<String>,
    pub role: Option<String>,
    pub remedy: Option<String>,
}

/// One rule as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleEntry {
    pub id: String,
    pub category: Option<String>,
    pub technique: Option<String>,
    pub risk: Option<String>,
    pub evidence: String,
    pub scope: Option<String>,
    pub role: Option<String>,
    #[serde(default)]
    pub message: String,
    pub remedy: Option<String>,
    #[serde(default)]
    pub literals: Vec<String>,
    #[serde(default)]
    pub pattern: Pattern,
    #[serde(default)]
    pub also: Vec<String>,
    #[serde(default)]
    pub senses: Vec<String>,
    pub condition: Option<String>,
    /// Whether code finds it too, beside the pattern.
    #[serde(default)]
    pub in_code: bool,
    #[serde(default)]
    pub secret: bool,
    #[serde(default)]
    pub harmful: Vec<ExampleFile>,
    #[serde(default)]
    pub harmless: Vec<ExampleFile>,
}

/// A regular expression, or several of which one has to match.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Pattern {
    One(String),
    Any(Vec<String>),
}

/// A file on which a rule fires, or does not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleFile {
    pub file: String,
    pub text: String,
}

impl Default for Pattern {
    fn default() -> Self {
        Self::Any(Vec::new())
    }
}

impl Pattern {
    /// The expression as one.
    pub fn joined(&self) -> String {
        match self {
            Self::One(pattern) => pattern.clone(),
            Self::Any(patterns) => patterns.join("|"),
        }
    }
}
