//! [`RuleFile`]: TOML format of rules. The build parses the files in `rules/` with it, and a run the files of a user.

use serde::Deserialize;

/// File with the rules of one technique.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    /// Values for the rules of this file that do not set them.
    #[serde(default)]
    pub defaults: Defaults,
    /// Rules, each in a table `[[rule]]`; at most 1000 in all files.
    #[serde(default, rename = "rule")]
    pub rules: Vec<RuleEntry>,
}

/// Default values for the rules of a file.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {
    /// Category of the findings, `local` by default.
    pub category: Option<String>,
    /// Id of the technique in MITRE ATT&CK or ATLAS.
    pub technique: Option<String>,
    /// Id of the risk in the OWASP Agentic Skills Top 10.
    pub risk: Option<String>,
    /// Files in which a match has its full severity: `any`, `script`, `code`, `machine` or `prose`.
    pub scope: Option<String>,
    /// Contexts that lower the severity: `fact`, `command`, `test`, `speech` or `planted`.
    pub role: Option<String>,
    /// Advice to the author, at most 500 characters.
    pub remedy: Option<String>,
}

/// Rule as written in the file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleEntry {
    /// Unique id, at most 64 characters. The id of a built-in rule changes its evidence only.
    pub id: String,
    /// Category of the findings, `local` by default.
    pub category: Option<String>,
    /// Id of the technique in MITRE ATT&CK or ATLAS.
    pub technique: Option<String>,
    /// Id of the risk in the OWASP Agentic Skills Top 10.
    pub risk: Option<String>,
    /// Weight of a match: `note`, `weak`, `strong`, `hard` or `conclusive`.
    pub evidence: String,
    /// Files in which a match has its full severity: `any`, `script`, `code`, `machine` or `prose`.
    pub scope: Option<String>,
    /// Contexts that lower the severity: `fact`, `command`, `test`, `speech` or `planted`.
    pub role: Option<String>,
    /// Explanation of a finding, at most 500 characters.
    #[serde(default)]
    pub message: String,
    /// Advice to the author, at most 500 characters.
    pub remedy: Option<String>,
    /// Loss for the user if a match is real, as a clause of at most 500 characters; that of the category by default.
    #[serde(default)]
    pub harm: String,
    /// Condition, after the word "if", under which a match that does not block needs no change. At most 500 characters.
    #[serde(default)]
    pub harmless_if: String,
    /// Other messages, by words of the match.
    #[serde(default)]
    pub cases: Vec<CaseEntry>,
    /// Texts of 3 to 200 bytes, one of which a file must contain; at most 64 with those of `also`.
    #[serde(default)]
    pub literals: Vec<String>,
    /// Regular expression, or a list of alternatives; at most 4096 bytes.
    #[serde(default)]
    pub pattern: Pattern,
    /// Further texts, one of which a file must contain as well.
    #[serde(default)]
    pub also: Vec<String>,
    /// Meanings of words that count as a match. Built-in rules only.
    #[serde(default)]
    pub senses: Vec<String>,
    /// Function of the scanner that has to agree. Built-in rules only.
    pub condition: Option<String>,
    /// True if code refers to the rule, although a pattern detects it.
    #[serde(default)]
    pub in_code: bool,
    /// True if the match is a secret, which is not shown.
    #[serde(default)]
    pub secret: bool,
    /// Samples that the rule must find.
    #[serde(default)]
    pub harmful: Vec<ExampleFile>,
    /// Samples that the rule must not find.
    #[serde(default)]
    pub harmless: Vec<ExampleFile>,
}

/// Message for one of a rule's alternatives, chosen by words of the match.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseEntry {
    /// Words of the match that choose this message.
    pub words: Vec<String>,
    /// Explanation of the finding.
    pub message: String,
    /// Advice to the author; that of the rule if empty.
    #[serde(default)]
    pub remedy: String,
    /// Condition as in the rule's `harmless_if`; that of the rule if empty.
    #[serde(default)]
    pub harmless_if: String,
    /// Loss as in the rule's `harm`; that of the rule if empty.
    #[serde(default)]
    pub harm: String,
}

/// Regular expression, or a list of alternatives.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Pattern {
    One(String),
    Any(Vec<String>),
}

/// Example file on which a rule fires or stays silent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleFile {
    /// Path inside a skill.
    pub file: String,
    /// Content of the file.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_schema_is_published() {
        let schema = testkit::file_schema::<RuleFile>("Rules of skillhub's scanner");
        testkit::assert_published_value("rules", &schema);
    }
}
