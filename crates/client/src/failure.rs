//! [`details`]: structured error details for JSON output.

use scan::{Report, causes};
use serde_json::{Value, json};
use skill::Problem;

/// Returns the scan findings, also grouped by cause, and the problems of the skill, as far as either caused the error.
pub(crate) fn details(report: Option<&Report>, problems: &[Problem]) -> Value {
    let mut details = json!({});
    if let Some(report) = report {
        details["findings"] = json!(report.findings);
        details["causes"] = json!(causes(&report.findings));
    }
    if !problems.is_empty() {
        details["problems"] = json!(problems);
    }
    details
}
