//! Findings and problems as lines of text.

use std::collections::BTreeMap;

use anstyle::Style;
use scan::{Acceptance, Finding, Severity, Verdict};
use serde_json::Value;
use skill::Problem;

use super::{BAD, FAINT, GOOD, STRONG, WARN, stored_time, visible};

/// Further lines of one finding that are named.
const LINES: usize = 12;

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

/// Findings: each that a person should look at in full, and one line for all that are low. What one rule found in a
/// file several times is told once, with all lines; so is what several rules found in one line.
pub fn findings_lines<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<String> {
    let (low, grave): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| finding.severity.verdict() == Verdict::Allow);
    let rules = low.iter().map(|finding| finding.rule.as_ref());
    folded(&grave).iter().flat_map(finding_lines).chain(low_line(rules)).collect()
}

/// A finding, with others that have the same cause.
struct Folded<'f> {
    first: &'f Finding,
    /// Further lines in which the rule found the same.
    lines: Vec<usize>,
    /// Findings of other rules in the line of the first.
    others: Vec<&'f Finding>,
}

/// Findings with the same cause together, in the order of the first of each.
fn folded<'f>(findings: &[&'f Finding]) -> Vec<Folded<'f>> {
    let mut all: Vec<Folded<'f>> = Vec::new();
    for finding in findings {
        let is_alike = |other: &Finding| other.path == finding.path && decision(other) == decision(finding);
        let same = |one: &&mut Folded<'_>| {
            is_alike(one.first) && one.first.rule == finding.rule && one.first.message == finding.message
        };
        let there = |one: &&mut Folded<'_>| {
            is_alike(one.first) && one.first.line == finding.line && one.first.severity >= finding.severity
        };
        if let Some(one) = all.iter_mut().find(|one| same(one) && one.first.severity == finding.severity) {
            one.lines.push(finding.line);
        } else if let Some(one) = all.iter_mut().find(there) {
            one.others.push(finding);
        } else {
            all.push(Folded { first: finding, lines: Vec::new(), others: Vec::new() });
        }
    }
    all
}

/// What a person or an earlier scan said of a finding.
fn decision(finding: &Finding) -> (bool, bool, Option<&Acceptance>) {
    (finding.waived, finding.new, finding.waiver.as_ref())
}

/// How often each rule found something that needs no decision.
fn low_line<'r>(rules: impl Iterator<Item = &'r str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rules.for_each(|rule| *counts.entry(rule).or_default() += 1);
    let all: usize = counts.values().sum();
    let of_rule = |(rule, count): (&str, usize)| if count == 1 { rule.to_owned() } else { format!("{rule} {count}") };
    let rules: Vec<String> = counts.into_iter().map(of_rule).collect();
    let word = if all == 1 { "finding" } else { "findings" };
    (all > 0)
        .then(|| format!("{FAINT}low{FAINT:#} {all} {word} ({}); --json lists each with its line", rules.join(", ")))
}

/// A finding: where and what, the text found, what to do, and where else.
fn finding_lines(found: &Folded<'_>) -> Vec<String> {
    let finding = found.first;
    let style = severity_style(finding.severity);
    let known = match (finding.waived, finding.new) {
        (true, _) => " (waived)",
        (false, true) => "",
        (false, false) => " (known before)",
    };
    let mut lines = vec![
        format!(
            "{style}{}{style:#} {}:{} {} [{}]{known}",
            finding.severity, finding.path, finding.line, finding.message, finding.rule
        ),
        excerpt_line(finding),
        match &finding.waiver {
            Some(waiver) => format!("  {}", waiver_words(waiver)),
            None => format!("  {}", finding.remedy),
        },
    ];
    if !found.lines.is_empty() {
        let all: Vec<String> = found.lines.iter().take(LINES).map(ToString::to_string).collect();
        let more = if found.lines.len() > LINES { ", …" } else { "" };
        let word = if all.len() == 1 { "line" } else { "lines" };
        lines.push(format!("  also in {word} {}{more}", all.join(", ")));
    }
    let others = found.others.iter();
    lines.extend(others.map(|other| format!("  also {} {} [{}]", other.severity, other.message, other.rule)));
    lines
}

/// The text of a finding, in which what matched stands out.
fn excerpt_line(finding: &Finding) -> String {
    let [before, matched, after] = finding.excerpt_parts().map(visible);
    format!("{FAINT}  | {before}{FAINT:#}{STRONG}{matched}{STRONG:#}{FAINT}{after}{FAINT:#}")
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
            column: 1,
            matched: None,
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
    fn one_cause_is_told_once() {
        let again = Finding { line: 9, ..finding("b", Severity::High) };
        let elsewhere = Finding { path: "a.sh".into(), ..finding("b", Severity::High) };
        let other = finding("c", Severity::Medium);
        let lines = findings_lines(&[finding("b", Severity::High), again, elsewhere, other]);
        assert_eq!(lines.len(), 3 + 2 + 3, "{lines:?}");
        assert_eq!(lines[3], "  also in line 9");
        assert!(lines[4].contains("medium") && lines[4].ends_with("does so [c]"), "{lines:?}");
    }

    #[test]
    fn error_details_count_low_findings() {
        let found = [finding("a", Severity::High), finding("b", Severity::Low), finding("c", Severity::Low)];
        let lines = detail_lines(&serde_json::json!({ "findings": found }));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[2].contains("2 findings (b, c)"), "{lines:?}");
    }
}
