//! Findings and problems as lines of text.

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

/// A finding: where and what, the text found, and what to do.
pub fn finding_lines(finding: &Finding) -> Vec<String> {
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
    format!("accepted by {by} until {} as {id}: {reason}", stored_time(&waiver.until))
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
    // The message of an error tells the worst finding in full.
    for finding in findings.iter().filter(|_| findings.len() > 1) {
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
    lines
}
