//! Findings as SARIF 2.1.0, the format in which code hosts take the results of static analysis.

use scan::{Finding, Severity};
use serde_json::{Value, json};

use super::Scanned;
use crate::print::waiver_words;

/// The whole document: one run, all rules, one result a finding. A skill that could not be read is a
/// notification of the tool.
pub(super) fn document(scanned: &[Scanned]) -> Value {
    let results: Vec<Value> = scanned.iter().flat_map(results_of).collect();
    let notifications: Vec<Value> = scanned.iter().filter_map(notification).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "skillhub",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": scan::rules().iter().map(rule).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": notifications.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn rule(rule: &scan::Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.message},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": level(rule.severity)},
        "properties": {"tags": [rule.category], "severity": rule.severity},
    })
}

fn results_of(skill: &Scanned) -> Vec<Value> {
    let findings = skill.result.as_ref().map(|report| report.findings.as_slice()).unwrap_or_default();
    findings.iter().map(|finding| result(skill, finding)).collect()
}

fn result(skill: &Scanned, finding: &Finding) -> Value {
    let uri = match skill.found.archive {
        true => uri(&skill.found.path.display().to_string()),
        false => uri(&skill.found.path.join(&finding.path).display().to_string()),
    };
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": {"text": format!("{}; {}", finding.message, finding.remedy)},
        "baselineState": if finding.new { "new" } else { "unchanged" },
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": finding.line.max(1), "snippet": {"text": finding.excerpt}},
        }}],
    });
    if let Some(waiver) = &finding.waiver {
        let justification = waiver_words(waiver);
        result["suppressions"] = json!([{
            "kind": "external", "status": "accepted", "justification": justification,
            "properties": {"id": waiver.id, "by": waiver.by, "reason": waiver.reason, "until": waiver.until},
        }]);
    }
    result
}

fn notification(skill: &Scanned) -> Option<Value> {
    let error = skill.result.as_ref().err()?;
    let uri = uri(&skill.found.path.display().to_string());
    Some(json!({
        "level": "error",
        "message": {"text": error.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}}}],
    }))
}

/// An absolute path as a `file://` URI, everything but plain characters as percent escapes.
fn uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("/a b/技.md"), "file:///a%20b/%E6%8A%80.md");
    }
}
