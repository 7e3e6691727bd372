//! [`details`]: what the errors of this crate give a program.

use scan::Report;
use serde_json::{Value, json};
use skill::Problem;

/// What the scanner found and what is wrong with the skill, as far as either is the reason.
pub(crate) fn details(report: Option<&Report>, problems: &[Problem]) -> Value {
    let mut details = json!({});
    if let Some(report) = report {
        details["findings"] = json!(report.findings);
    }
    if !problems.is_empty() {
        details["problems"] = json!(problems);
    }
    details
}
