//! An earlier scan, so that only what is new fails.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::Scanned;
use crate::exit::{CliError, Exit, io_at};

/// Findings of an earlier answer of `scan --json`: skill, rule, path and excerpt. The line is not
/// compared, since it moves when something is added above.
pub(super) struct Known(BTreeSet<[String; 4]>);

impl Known {
    /// Reads the answer.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let bad = |why: &str| {
            let message = format!("{} is no answer of `skillhub scan --json`: {why}", path.display());
            CliError::new("invalid_baseline", Exit::Usage, message)
                .hint("write one with `skillhub scan PATH --json > FILE`")
        };
        let text = std::fs::read(path).map_err(io_at(path))?;
        let document: Value = serde_json::from_slice(&text).map_err(|error| bad(&error.to_string()))?;
        let skills = document["skills"].as_array().ok_or_else(|| bad("it has no list of skills"))?;
        let findings = skills.iter().flat_map(|skill| {
            let name = text_of(&skill["name"]);
            let findings = skill["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
            findings
                .iter()
                .map(move |f| [name.clone(), text_of(&f["rule"]), text_of(&f["path"]), text_of(&f["excerpt"])])
        });
        Ok(Self(findings.collect()))
    }

    /// Marks the findings that are known as not new.
    pub fn mark(&self, scanned: &mut [Scanned]) {
        for skill in scanned {
            let name = skill.name.clone().unwrap_or_default();
            let findings = skill.result.as_mut().map(|report| report.findings.as_mut_slice()).unwrap_or_default();
            for finding in findings {
                let key = [name.clone(), finding.rule.to_string(), finding.path.clone(), finding.excerpt.clone()];
                finding.new = !self.0.contains(&key);
            }
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
