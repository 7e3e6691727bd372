//! [`RuleFile`]: TOML format of rules. The build parses the files in `rules/` with it, and a run the files of a user.

use serde::Deserialize;

/// File with the rules of one technique.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    #[serde(default)]
    pub defaults: Defaults,
    #[serde(default, rename = "rule")]
    pub rules: Vec<RuleEntry>,
}

/// Default values for the rules of a file.
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

/// Rule as written in the file.
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
    pub cases: Vec<CaseEntry>,
    #[serde(default)]
    pub literals: Vec<String>,
    #[serde(default)]
    pub pattern: Pattern,
    #[serde(default)]
    pub also: Vec<String>,
    #[serde(default)]
    pub senses: Vec<String>,
    pub condition: Option<String>,
    /// True if code detects it too, in addition to the pattern.
    #[serde(default)]
    pub in_code: bool,
    #[serde(default)]
    pub secret: bool,
    #[serde(default)]
    pub harmful: Vec<ExampleFile>,
    #[serde(default)]
    pub harmless: Vec<ExampleFile>,
}

/// Message for one of a rule's alternatives, chosen by words of the match.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseEntry {
    pub words: Vec<String>,
    pub message: String,
    #[serde(default)]
    pub remedy: String,
}

/// Regular expression, or a list of alternatives.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Pattern {
    One(String),
    Any(Vec<String>),
}

/// Example file on which a rule fires or stays silent.
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
    /// Returns the alternatives joined into one expression.
    pub fn joined(&self) -> String {
        match self {
            Self::One(pattern) => pattern.clone(),
            Self::Any(patterns) => patterns.join("|"),
        }
    }
}
