//! Output in SARIF 2.1.0, the format in which code hosts accept static analysis results.

use std::path::Path;

use scan::{Cause, Finding, Related, Scanner, Severity, causes};
use serde_json::{Value, json};
use skill::Digest;

use super::{Scanned, taxa};
use crate::print::waiver_words;

/// URI base id of the folder in which the command runs.
const ROOT: &str = "%SRCROOT%";

/// The whole document: one run, all rules, one result a cause. A skill that could not be read is a
/// notification of the tool.
pub(super) fn document(scanned: &[Scanned], scanner: Scanner, root: &Path) -> Value {
    let results: Vec<Value> = scanned.iter().flat_map(|skill| results_of(skill, root)).collect();
    let notifications: Vec<Value> = scanned.iter().filter_map(|skill| notification(skill, root)).collect();
    let mut document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "skillhub",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "properties": {"ruleset": scanner.ruleset()},
                "rules": scanner.rules().map(|one| rule(one, scanner)).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": notifications.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "taxonomies": taxa::taxonomies(scanner.rules()),
            "originalUriBaseIds": {ROOT: {"uri": format!("file://{}/", skill::uri::path(&root.display().to_string()))}},
            "results": results,
        }],
    });
    let deltas: Vec<Value> = scanned.iter().filter_map(|skill| delta(skill, root)).collect();
    if !deltas.is_empty() {
        document["runs"][0]["properties"] = json!({"capabilityDeltas": deltas});
    }
    document
}

/// Returns the capabilities that an installed skill has beyond those of its head.
fn delta(skill: &Scanned, root: &Path) -> Option<Value> {
    let mut delta = json!(skill.delta.as_ref()?);
    delta["location"] = location(&skill.target.path, root);
    Some(delta)
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// Returns the score, from 0 to 10, by which code hosts rank results in bands.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.0",
    }
}

/// Computes a fingerprint that is stable when lines above the finding are added or removed.
fn fingerprint(finding: &Finding) -> String {
    let Finding { rule, path, excerpt, message, .. } = finding;
    let digest = Digest::of_bytes([rule, path.as_str(), excerpt.as_str(), message].join("\0").as_bytes());
    digest.hex().chars().take(32).collect()
}

fn rule(rule: &scan::Rule, scanner: Scanner) -> Value {
    let severity = scanner.severity(rule);
    let risk = rule.harm().map(|harm| format!("Risk: {harm}.\n\n")).unwrap_or_default();
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.message},
        "help": {"text": format!("{risk}To do: {}.", rule.remedy)},
        "helpUri": taxa::page(rule),
        "defaultConfiguration": {"level": severity.map_or("none", level)},
        "relationships": taxa::relationships(rule),
        "properties": {
            "tags": ["security", rule.category], "severity": severity,
            "security-severity": severity.map_or("0.0", security_severity),
            "risk": rule.risk, "technique": rule.technique,
        },
    })
}

fn results_of(skill: &Scanned, root: &Path) -> Vec<Value> {
    let findings = skill.result.as_ref().map(|report| report.findings.as_slice()).unwrap_or_default();
    causes(findings).iter().map(|cause| result(skill, cause, root)).collect()
}

/// The result for a cause: the first place of it, and those where the same was found again as related.
fn result(skill: &Scanned, cause: &Cause<'_>, root: &Path) -> Value {
    let finding = cause.first;
    let why = finding.why.as_ref().map(|why| format!("; {} here: {why}", finding.severity)).unwrap_or_default();
    let risk = finding.risk.as_ref().map(|risk| format!("; risk: {risk}")).unwrap_or_default();
    let place = |one: &Finding| json!({"artifactLocation": location(&skill.target.place_of(&one.path), root), "region": region(one)});
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": {"text": format!("{}{risk}; to do: {}{why}", finding.message, finding.remedy)},
        "partialFingerprints": {"skillhubFinding/v1": fingerprint(finding)},
        "baselineState": if finding.new { "new" } else { "unchanged" },
        "locations": [{"physicalLocation": place(finding)}],
    });
    let end = |one: &Related| {
        let region = json!({"startLine": one.line.max(1), "snippet": {"text": one.excerpt}});
        json!({"artifactLocation": location(&skill.target.place_of(&one.path), root), "region": region})
    };
    let ends =
        finding.related.iter().map(|one| RelatedPlace { place: end(one), text: format!("{} this line", one.label) });
    let again = cause.again.iter().map(|one| RelatedPlace { place: place(one), text: "same finding".to_owned() });
    let other = |one: &&Finding| RelatedPlace { place: place(one), text: format!("{} ({})", one.message, one.rule) };
    let others = cause.others.iter().map(other);
    let related: Vec<Value> = again.chain(ends).chain(others).zip(1..).map(|(one, id)| one.document(id)).collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    if !cause.others.is_empty() {
        result["properties"] = json!({"also": cause.others.iter().map(|one| &one.rule).collect::<Vec<_>>()});
    }
    if let Some(waiver) = &finding.waiver {
        let justification = waiver_words(waiver);
        result["suppressions"] = json!([{
            "kind": "external", "status": "accepted", "justification": justification,
            "properties": {"id": waiver.id, "by": waiver.by, "reason": waiver.reason, "until": waiver.until},
        }]);
    }
    result
}

/// Another location of a result, with a note on it.
struct RelatedPlace {
    place: Value,
    text: String,
}

impl RelatedPlace {
    fn document(self, id: usize) -> Value {
        json!({"id": id, "physicalLocation": self.place, "message": {"text": self.text}})
    }
}

/// Returns the region in the file. Columns are counted in characters.
fn region(finding: &Finding) -> Value {
    let mut region = json!({"startLine": finding.line.max(1), "snippet": {"text": finding.excerpt}});
    if finding.column > 0 {
        region["startColumn"] = json!(finding.column);
    }
    // The end of a match that is shown in part, or over several lines, is not known from its excerpt.
    let is_whole = finding.column > 0 && !finding.excerpt_parts()[1].contains('…') && finding.related.is_empty();
    if let Some((from, to)) = finding.matched.filter(|_| is_whole) {
        region["endColumn"] = json!(finding.column + to.saturating_sub(from));
    }
    region
}

fn notification(skill: &Scanned, root: &Path) -> Option<Value> {
    let error = skill.result.as_ref().err()?;
    Some(json!({
        "level": "error",
        "message": {"text": error.message},
        "locations": [{"physicalLocation": {"artifactLocation": location(&skill.target.path, root)}}],
    }))
}

/// Returns the location of a file, relative to the working folder if it is inside. Code hosts need that to find it in
/// their own checkout.
fn location(path: &Path, root: &Path) -> Value {
    match path.strip_prefix(root) {
        Ok(below) => json!({"uri": skill::uri::path(&below.display().to_string()), "uriBaseId": ROOT}),
        Err(_) if path.is_absolute() => {
            json!({"uri": format!("file://{}", skill::uri::path(&path.display().to_string()))})
        }
        Err(_) => json!({"uri": "stdin"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(location("/a b/技.md".as_ref(), "/c".as_ref()), json!({"uri": "file:///a%20b/%E6%8A%80.md"}));
        assert_eq!(location("/c/d e".as_ref(), "/c".as_ref()), json!({"uri": "d%20e", "uriBaseId": ROOT}));
    }
}
