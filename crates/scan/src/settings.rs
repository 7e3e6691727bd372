//! [`Settings`]: what a user or a company says of the scanner, as the table `[scan]` of their configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::{JudgeSettings, LevelError, Severity};

/// What a user or a company adds to the rules of the scanner. No file of a project or a skill is ever read as this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Folders with files of rules; whoever reads the settings reads those files.
    pub rules: Vec<String>,
    /// Hosts to which skills may send: each with all below it.
    pub own_hosts: Vec<String>,
    /// Hosts from which packages and repositories come.
    pub own_registries: Vec<String>,
    /// Names of packages that are nobody's imitation; a `*` at the end stands for any rest.
    pub own_packages: Vec<String>,
    /// Hosts, and hosts with the beginning of a path, whose installers may be run.
    pub own_installers: Vec<String>,
    /// By a rule's id how much its findings weigh.
    pub severities: BTreeMap<String, Weight>,
    /// Findings that are accepted.
    pub accepted: Vec<Accepted>,
    /// Who is asked for a second opinion.
    pub judge: Option<JudgeSettings>,
}

/// How much a rule's findings weigh: a severity, or nothing, since it is `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Weight(pub Option<Severity>);

/// What a rule finds and a policy accepts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The rule's id.
    pub rule: String,
    /// Why, for those who see the finding.
    pub reason: String,
    /// The file inside the skill; any without it.
    #[serde(default)]
    pub path: Option<String>,
    /// The sha256 of the file; any content without it.
    #[serde(default)]
    pub content: Option<String>,
    /// The first day on which it counts again, as `2027-01-31`. Who reads the settings leaves out what has ended.
    #[serde(default)]
    pub until: Option<String>,
}

/// Why rules or settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A file that is no list of rules.
    #[error("the rules in {file} cannot be used: {message}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, with the line.
        message: String,
    },
    /// A rule that cannot be used.
    #[error("{file}:{line}: the rule {rule:?} cannot be used: {message}")]
    Rule {
        /// The file.
        file: String,
        /// The line with its id.
        line: usize,
        /// Its id.
        rule: String,
        /// What is wrong.
        message: String,
    },
    /// A value that makes no sense.
    #[error("{key} in [scan] cannot be used: {message}")]
    Value {
        /// Its key.
        key: String,
        /// What is wrong.
        message: String,
    },
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
    /// Both together. Of two weights of one rule the graver holds, of two judges the other one.
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

    /// The same with the names of hosts and packages in lower case.
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
            _ if self.reason.trim().is_empty() => "it has no reason",
            Some(content) if !is_digest(content) => "its content is no sha256",
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
