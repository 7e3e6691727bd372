//! Findings and problems as lines of text.

use std::collections::BTreeMap;

use anstyle::Style;
use scan::{Acceptance, Cause, Finding, Related, Severity, Verdict, causes};
use serde_json::Value;
use skill::Problem;

use super::{BAD, FAINT, GOOD, STRONG, WARN, stored_time, visible};

/// Maximum number of further lines named for one finding.
const LINES: usize = 12;

/// Places that are named of a rule whose findings need no decision.
const PLACES: usize = 3;

/// The colour of a verdict; the word stands beside it.
pub fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Allow => GOOD,
        Verdict::Warn => WARN,
        Verdict::Block => BAD,
    }
}

/// Returns the colour of a severity, which is always printed beside the word.
pub fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical | Severity::High => BAD,
        Severity::Medium => WARN,
        Severity::Low | Severity::Info => FAINT,
    }
}

/// Findings: each that a person should look at in full, and one line each for those that are low and that only inform. What one rule found in a
/// file several times is told once, with all lines; so is what several rules found in one line.
pub fn findings_lines<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<String> {
    let (low, grave): (Vec<&Finding>, Vec<&Finding>) =
        findings.into_iter().partition(|finding| finding.severity.verdict() == Verdict::Allow);
    causes(grave).iter().flat_map(cause_lines).chain(low_lines(&low)).collect()
}

/// Findings that need no decision: for each severity one line with the rules and their places.
fn low_lines(findings: &[&Finding]) -> Vec<String> {
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    let places = |severity| of(severity).map(|one| (one.rule.as_ref(), format!("{}:{}", one.path, one.line)));
    [Severity::Low, Severity::Info].into_iter().filter_map(|severity| low_line(severity, places(severity))).collect()
}

/// The rules that found something of one severity, each with its first places.
fn low_line<'r>(severity: Severity, found: impl Iterator<Item = (&'r str, String)>) -> Option<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    found.for_each(|(rule, place)| places.entry(rule).or_default().push(place));
    let all: usize = places.values().map(Vec::len).sum();
    let of_rule = |(rule, places): (&str, Vec<String>)| {
        let more = if places.len() > PLACES { format!(" and {} more", places.len() - PLACES) } else { String::new() };
        let first: Vec<&str> = places.iter().take(PLACES).map(String::as_str).collect();
        format!("{rule} in {}{more}", visible(&first.join(", ")))
    };
    let rules: Vec<String> = places.into_iter().map(of_rule).collect();
    let word = if all == 1 { "finding" } else { "findings" };
    (all > 0).then(|| format!("{FAINT}{severity}{FAINT:#} {all} {word}: {}", rules.join("; ")))
}

/// A finding: where and what, the text found, what to do, and where else.
fn cause_lines(cause: &Cause<'_>) -> Vec<String> {
    let finding = cause.first;
    let style = severity_style(finding.severity);
    let known = match (finding.waived, finding.new) {
        (true, _) => " (waived)",
        (false, true) => "",
        (false, false) => " (in the baseline)",
    };
    let mut lines = vec![
        format!(
            "{style}{}{style:#} {}:{} {} [{}]{known}",
            finding.severity, finding.path, finding.line, finding.message, finding.rule
        ),
        excerpt_line(finding),
    ];
    lines.extend(finding.related.iter().map(|related| related_line(finding, related)));
    lines.push(match &finding.waiver {
        Some(waiver) => format!("  {}", waiver_words(waiver)),
        None => format!("  {}", finding.remedy),
    });
    lines.extend(finding.why.as_ref().map(|why| format!("  {} here: {}", finding.severity, visible(why))));
    let further = cause.further_lines();
    if !further.is_empty() {
        let all: Vec<String> = further.iter().take(LINES).map(ToString::to_string).collect();
        let more = if further.len() > LINES { ", …" } else { "" };
        let word = if further.len() == 1 { "line" } else { "lines" };
        lines.push(format!("  also in {word} {}{more}", all.join(", ")));
    }
    for other in &cause.others {
        let Finding { severity, line, message, remedy, rule, .. } = other;
        lines.push(format!("  also {severity} in line {line}: {message}; {remedy} [{rule}]"));
        lines.extend(other.related.iter().map(|related| related_line(other, related)));
    }
    lines
}

/// Formats another place of a finding, such as the statement that reads the data.
fn related_line(finding: &Finding, related: &Related) -> String {
    let Related { label, path, line, excerpt } = related;
    let place = if *path == finding.path { format!("line {line}") } else { format!("{path}:{line}") };
    format!("  {label} {place}: {FAINT}{}{FAINT:#}", visible(excerpt))
}

/// Formats the excerpt of a finding, with the matched part highlighted.
fn excerpt_line(finding: &Finding) -> String {
    let [before, matched, after] = finding.excerpt_parts().map(visible);
    format!("{FAINT}  | {before}{FAINT:#}{STRONG}{matched}{STRONG:#}{FAINT}{after}{FAINT:#}")
}

/// Describes a waiver: reviewer, expiry and reason.
pub fn waiver_words(waiver: &Acceptance) -> String {
    let (id, by, reason) = (visible(&waiver.id), visible(&waiver.by), visible(&waiver.reason));
    let until = match waiver.until.as_str() {
        "" => String::new(),
        until => format!(" until {}", stored_time(until)),
    };
    let id = if id.is_empty() { id } else { format!(" as {id}") };
    format!("accepted by {by}{until}{id}: {reason}")
}

/// Formats a problem: severity, location and message.
pub fn problem_line(problem: &Problem) -> String {
    let (style, word) = if problem.is_error() { (BAD, "error") } else { (WARN, "warning") };
    let place = match problem.line {
        Some(line) => format!("{}:{line}", problem.path),
        None => problem.path.clone(),
    };
    format!("{style}{word}{style:#} {place} {} [{}]", problem.message, problem.code)
}

/// Formats the details of an error that people need: findings, problems, and lines of a match.
pub fn detail_lines(details: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let list = |key: &str| details.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    // An error with a count of matches lists them. Otherwise the closest lines are in its message.
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
    // The error message already has the worst finding in full.
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
    for severity in [Severity::Low, Severity::Info] {
        let of = low.iter().filter(|finding| finding["severity"].as_str() == Some(severity.as_str()));
        let places = of.filter_map(|finding| {
            let place = [text(finding, "path"), text(finding, "line")].map(Option::unwrap_or_default).join(":");
            Some((finding["rule"].as_str()?, place))
        });
        lines.extend(low_line(severity, places));
    }
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
            related: Vec::new(),
            excerpt: "text".into(),
            message: "does so".into(),
            remedy: "do not".into(),
            why: None,
            new: true,
            waived: false,
            waiver: None,
        }
    }

    #[test]
    fn low_findings_and_notes_take_a_line_each() {
        let found = [finding("a", Severity::Low), finding("b", Severity::High), finding("a", Severity::Info)];
        let lines = findings_lines(&found);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines[0].contains("SKILL.md:3"), "{lines:?}");
        assert!(lines[3].contains("low") && lines[3].ends_with("1 finding: a in SKILL.md:3"), "{lines:?}");
        assert!(lines[4].contains("info") && lines[4].ends_with("1 finding: a in SKILL.md:3"), "{lines:?}");
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
        assert!(lines[4].contains("medium") && lines[4].ends_with("does so; do not [c]"), "{lines:?}");
    }

    #[test]
    fn other_ends_have_their_lines() {
        let place =
            |path: &str| Related { label: "read in".into(), path: path.into(), line: 1, excerpt: "k = 1".into() };
        let both = Finding { related: vec![place("SKILL.md"), place("a.sh")], ..finding("b", Severity::High) };
        let lines = findings_lines(&[both, finding("c", Severity::Medium)]).join("\n");
        for told in ["read in line 1: ", "read in a.sh:1: ", "also medium in line 3: does so; do not [c]"] {
            assert!(lines.contains(told), "{lines}");
        }
    }

    #[test]
    fn error_details_count_low_findings() {
        let found = [finding("a", Severity::High), finding("b", Severity::Low), finding("c", Severity::Low)];
        let lines = detail_lines(&serde_json::json!({ "findings": found }));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[2].ends_with("2 findings: b in SKILL.md:3; c in SKILL.md:3"), "{lines:?}");
    }
}
