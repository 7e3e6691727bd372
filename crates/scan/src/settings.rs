//! [`Settings`]: scanner settings of a user or a company, the table `[scan]` of their configuration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{JudgeSettings, LevelError, Severity};

mod error;

pub use error::SettingsError;

/// Rule file of a user or a company.
#[derive(Debug, Clone)]
pub struct RuleText {
    /// Name for messages.
    pub name: String,
    /// Content in the format of the built-in rule files.
    pub text: String,
}

/// Additions to the built-in rules by a user or a company. Files of a project or a skill are never read as settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Folders with rule files, relative to the folder of this file. Together, they may have 64 files of up to 256 KiB.
    pub rules: Vec<String>,
    /// Hosts to which skills may send data, each with its subdomains.
    pub own_hosts: Vec<String>,
    /// Hosts of trusted registries for packages and repositories.
    pub own_registries: Vec<String>,
    /// Package names that are not imitations. A `*` at the end matches any suffix.
    pub own_packages: Vec<String>,
    /// Hosts, or hosts with the beginning of a path, whose installers may be run.
    pub own_installers: Vec<String>,
    /// Severities that override those of rules, by rule ID: `off`, `info`, `low`, `medium`, `high` or `critical`.
    pub severities: BTreeMap<String, Weight>,
    /// Findings accepted by the configuration.
    pub accepted: Vec<Accepted>,
    /// Judge to ask for a second opinion.
    pub judge: Option<JudgeSettings>,
}

/// Severity of a rule's findings, or `None` if the rule is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Weight(pub Option<Severity>);

/// Finding that a configuration accepts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// ID of the rule that fires.
    pub rule: String,
    /// Reason shown with the finding, never blank.
    pub reason: String,
    /// Path inside the skill, or `None` for any file.
    #[serde(default)]
    pub path: Option<String>,
    /// SHA-256 of the file, or `None` for any content.
    #[serde(default)]
    pub content: Option<String>,
    /// First day on which the finding counts again, such as `2027-01-31`. The code that reads the settings drops
    /// expired entries.
    #[serde(default)]
    pub until: Option<String>,
}

impl TryFrom<String> for Weight {
    type Error = LevelError;

    fn try_from(text: String) -> Result<Self, LevelError> {
        match text.as_str() {
            "off" => Ok(Self(None)),
            text => text.parse().map(|severity| Self(Some(severity))).map_err(|error: LevelError| LevelError {
                expected: "off, info, low, medium, high, critical",
                ..error
            }),
        }
    }
}

impl Settings {
    /// Merges two settings. The higher severity of a rule wins, and the judge of `other` takes precedence.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rules.extend(other.rules);
        self.own_hosts.extend(other.own_hosts);
        self.own_registries.extend(other.own_registries);
        self.own_packages.extend(other.own_packages);
        self.own_installers.extend(other.own_installers);
        self.accepted.extend(other.accepted);
        self.judge = other.judge.or(self.judge);
        for (rule, weight) in other.severities {
            let known = self.severities.entry(rule).or_insert(weight);
            *known = weight.max(*known);
        }
        self
    }

    /// Validates the settings. Returns a copy with host and package names in lower case.
    pub(crate) fn checked(&self) -> Result<Self, SettingsError> {
        let host = |text: &str| !text.contains('/') && is_host(text);
        let installer = |text: &str| is_host(text.split('/').next().unwrap_or(""));
        let package = |text: &str| !text.trim_end_matches('*').is_empty() && !text.contains(char::is_whitespace);
        let name = "write a host without scheme and port, such as \"acme.example\"";
        for accepted in &self.accepted {
            accepted.check()?;
        }
        Ok(Self {
            own_hosts: names("own_hosts", &self.own_hosts, host, name)?,
            own_registries: names("own_registries", &self.own_registries, host, name)?,
            own_installers: names("own_installers", &self.own_installers, installer, name)?,
            own_packages: names("own_packages", &self.own_packages, package, "write a name, such as \"acme-*\"")?,
            ..self.clone()
        })
    }
}

impl Accepted {
    fn check(&self) -> Result<(), SettingsError> {
        let is_digest = |text: &String| text.parse::<skill::Digest>().is_ok();
        let message = match &self.content {
            _ if self.reason.trim().is_empty() => "the reason is missing",
            Some(content) if !is_digest(content) => "the content is not a SHA-256 digest",
            _ => return Ok(()),
        };
        Err(SettingsError::Value { key: format!("accepted ({})", self.rule), message: message.to_owned() })
    }
}

fn is_host(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.contains(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_part) && !text.starts_with('.')
}

fn names(key: &str, names: &[String], is_one: impl Fn(&str) -> bool, form: &str) -> Result<Vec<String>, SettingsError> {
    let wrong = |name: &String| SettingsError::Value { key: key.to_owned(), message: format!("{name:?}; {form}") };
    let one = |name: &String| is_one(name).then(|| name.to_ascii_lowercase()).ok_or_else(|| wrong(name));
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_weights_the_graver_holds() {
        let with = |weight| Settings { severities: [("a".to_owned(), Weight(weight))].into(), ..Settings::default() };
        for (one, other) in [(None, Some(Severity::Low)), (Some(Severity::Low), None)] {
            assert_eq!(with(one).and(with(other)), with(Some(Severity::Low)));
        }
    }

    #[test]
    fn a_host_has_no_scheme_port_or_path() {
        for bad in ["https://a.example", "a.example:80", "a.example/x", "*.a.example", ".example", ""] {
            let settings = Settings { own_hosts: vec![bad.to_owned()], ..Settings::default() };
            assert!(settings.checked().is_err(), "{bad}");
        }
    }
}
