//! Findings and problems as lines of text.

use std::collections::BTreeMap;

use anstyle::Style;
use scan::{Acceptance, Finding, Severity, Verdict};
use serde_json::Value;
use skill::Problem;

use super::{BAD, FAINT, GOOD, WARN, stored_time, visible};

/// The colour of a verdict; the word stands beside it.
pub fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Allow => GOOD,
        Verdict::Warn => WARN,
        Verdict::Block => BAD,
    }
}

/// The colour of a severity; the word stands beside it.
pub fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical | Severity::High => BAD,
        Severity::Medium => WARN,
        Severity::Low | Severity::Info => FAINT,
    }
}

/// Findings: each that a person should look at in full, and one line for all that are low.
pub fn findings_lines<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<String> {
    let (low, grave): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| finding.severity.verdict() == Verdict::Allow);
    let rules = low.iter().map(|finding| finding.rule.as_ref());
    grave.into_iter().flat_map(finding_lines).chain(low_line(rules)).collect()
}

/// How often each rule found something that needs no decision.
fn low_line<'r>(rules: impl Iterator<Item = &'r str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rules.for_each(|rule| *counts.entry(rule).or_default() += 1);
    let all: usize = counts.values().sum();
    let of_rule = |(rule, count): (&str, usize)| if count == 1 { rule.to_owned() } else { format!("{rule} {count}") };
    let rules: Vec<String> = counts.into_iter().map(of_rule).collect();
    let word = if all == 1 { "finding" } else { "findings" };
    (all > 0).then(|| format!("{FAINT}low{FAINT:#} {all} {word} ({}), listed by --json", rules.join(", ")))
}

/// A finding: where and what, the text found, and what to do.
fn finding_lines(finding: &Finding) -> Vec<String> {
    let style = severity_style(finding.severity);
    let known = match (finding.waived, finding.new) {
        (true, _) => " (waived)",
        (false, true) => "",
        (false, false) => " (known before)",
    };
    vec![
        format!(
            "{style}{}{style:#} {}:{} {} [{}]{known}",
            finding.severity, finding.path, finding.line, finding.message, finding.rule
        ),
        format!("{FAINT}  | {}{FAINT:#}", visible(&finding.excerpt)),
        match &finding.waiver {
            Some(waiver) => format!("  {}", waiver_words(waiver)),
            None => format!("  {}", finding.remedy),
        },
    ]
}

/// Who accepted a finding, until when, and why.
pub fn waiver_words(waiver: &Acceptance) -> String {
    let (id, by, reason) = (visible(&waiver.id), visible(&waiver.by), visible(&waiver.reason));
    let until = match waiver.until.as_str() {
        "" => String::new(),
        until => format!(" until {}", stored_time(until)),
    };
    let id = if id.is_empty() { id } else { format!(" as {id}") };
    format!("accepted by {by}{until}{id}: {reason}")
}

/// A problem: how grave, where, what.
pub fn problem_line(problem: &Problem) -> String {
    let (style, word) = if problem.is_error() { (BAD, "error") } else { (WARN, "warning") };
    let place = match problem.line {
        Some(line) => format!("{}:{line}", problem.path),
        None => problem.path.clone(),
    };
    format!("{style}{word}{style:#} {place} {} [{}]", problem.message, problem.code)
}

/// The details of an error that people want to see: findings, and places of a match.
pub fn detail_lines(details: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let list = |key: &str| details.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    // An error that tells how many places there are lists them; the nearest places are in its message.
    let matches = if details.get("found").is_some() { list("matches") } else { Vec::new() };
    for found in matches {
        let (line, content) = (text(&found, "line"), text(&found, "text"));
        let content = visible(content.unwrap_or_default().lines().next().unwrap_or_default());
        lines.push(format!("line {}: {content}", line.unwrap_or_default()));
    }
    let problems = list("problems");
    for problem in problems.iter().filter(|_| problems.len() > 1) {
        let field = |key| text(problem, key).unwrap_or_default();
        let line = problem.get("line").and_then(Value::as_u64).map(|line| format!(":{line}")).unwrap_or_default();
        lines.push(format!("{} {}{line} {} [{}]", field("severity"), field("path"), field("message"), field("code")));
    }
    let mut findings = list("findings");
    findings.retain(|finding| finding.get("waived") != Some(&Value::Bool(true)));
    let is_low = |finding: &&Value| matches!(finding["severity"].as_str(), Some("low" | "info"));
    let (low, grave): (Vec<&Value>, Vec<&Value>) = findings.iter().partition(is_low);
    // The message of an error tells the worst finding in full.
    for finding in grave.into_iter().filter(|_| findings.len() > 1) {
        let field = |key| text(finding, key).unwrap_or_default();
        lines.push(format!(
            "{} {}:{} {} [{}]",
            field("severity"),
            field("path"),
            field("line"),
            field("message"),
            field("rule")
        ));
        lines.push(format!("  {}", field("remedy")));
    }
    lines.extend(low_line(low.into_iter().filter_map(|finding| finding["rule"].as_str())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &'static str, severity: Severity) -> Finding {
        Finding {
            rule: rule.into(),
            severity,
            category: "c".into(),
            path: "SKILL.md".into(),
            line: 3,
            excerpt: "text".into(),
            message: "does so".into(),
            remedy: "do not".into(),
            new: true,
            waived: false,
            waiver: None,
        }
    }

    #[test]
    fn low_findings_take_one_line() {
        let found = [finding("a", Severity::Low), finding("b", Severity::High), finding("a", Severity::Info)];
        let lines = findings_lines(&found);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].contains("SKILL.md:3") && lines[3].contains("2 findings (a 2)"), "{lines:?}");
        assert!(findings_lines(&[]).is_empty());
    }

    #[test]
    fn error_details_count_low_findings() {
        let found = [finding("a", Severity::High), finding("b", Severity::Low), finding("c", Severity::Low)];
        let lines = detail_lines(&serde_json::json!({ "findings": found }));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[2].contains("2 findings (b, c)"), "{lines:?}");
    }
}
