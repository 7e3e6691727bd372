//! Baseline of an earlier scan, so that only new findings fail.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use super::Scanned;
use crate::{
    exit::{CliError, Exit, io_at},
    reading::text_at,
};

/// Maximum size of a baseline file, in bytes.
const BYTES: u64 = 64 << 20;

/// Findings of an earlier `scan --json`, counted by skill, rule, path and excerpt. An additional occurrence is new.
/// Line numbers are not compared, because edits above a finding move it.
pub(super) struct BaselineFindings(BTreeMap<[String; 4], usize>);

impl BaselineFindings {
    /// Reads a baseline file.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let bad = |why: &str| {
            let message = format!("{} is not a report of `scan --json`: {why}", path.display());
            CliError::new("invalid_baseline", Exit::Usage, message)
                .hint("create one with `skillhub scan PATH --json > FILE`")
        };
        let text = text_at(path, BYTES).map_err(io_at(path))?;
        let document: Value = serde_json::from_str(&text).map_err(|error| bad(&error.to_string()))?;
        let skills = document["skills"].as_array().ok_or_else(|| bad("it has no list of skills"))?;
        let findings = skills.iter().flat_map(|skill| {
            let name = text_of(&skill["name"]);
            let findings = skill["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
            findings
                .iter()
                .map(move |f| [name.clone(), text_of(&f["rule"]), text_of(&f["path"]), text_of(&f["excerpt"])])
        });
        let mut known = BTreeMap::new();
        findings.for_each(|key| *known.entry(key).or_default() += 1);
        Ok(Self(known))
    }

    /// Marks the findings of the baseline as not new.
    pub fn mark(mut self, scanned: &mut [Scanned]) {
        for skill in scanned {
            let name = skill.name.clone().unwrap_or_default();
            let findings = skill.result.as_mut().map(|report| report.findings.as_mut_slice()).unwrap_or_default();
            for finding in findings {
                let key = [name.clone(), finding.rule.to_string(), finding.path.clone(), finding.excerpt.clone()];
                let left = self.0.get_mut(&key).filter(|left| **left > 0);
                finding.new = left.is_none();
                left.into_iter().for_each(|left| *left -= 1);
            }
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
