//! Findings and problems as lines of text.

use std::{borrow::Cow, collections::BTreeMap};

use anstyle::Style;
use scan::{Acceptance, Cause, Finding, Related, Severity, Verdict, causes};
use serde_json::Value;
use skill::Problem;

use super::{BAD, FAINT, GOOD, STRONG, WARN, stored_time, visible};

/// Maximum number of further lines named for one finding, and of those that are quoted.
const LINES: usize = 12;
const QUOTED_LINES: usize = 3;

/// Maximum number of low findings shown in full.
const LOW: usize = 10;

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

/// Findings: each in full, except for those that only inform and for low ones after the first [`LOW`], which take one
/// line together. What one rule found in a file several times is one finding with all lines; so is what several rules
/// found in one line.
pub fn findings_lines<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<String> {
    let (mut brief, mut full, mut low) = (Vec::new(), Vec::new(), 0);
    for finding in findings {
        low += usize::from(finding.severity == Severity::Low);
        let is_brief = finding.severity == Severity::Info || finding.severity == Severity::Low && low > LOW;
        if is_brief { brief.push(finding) } else { full.push(finding) }
    }
    causes(full).iter().flat_map(cause_lines).chain(brief_lines(&brief)).collect()
}

/// Findings that need no decision: for each severity one line with the rules and their places.
fn brief_lines(findings: &[&Finding]) -> Vec<String> {
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    let places = |severity| of(severity).map(|one| (one.rule.as_ref(), format!("{}:{}", one.path, one.line)));
    [Severity::Low, Severity::Info].into_iter().filter_map(|severity| brief_line(severity, places(severity))).collect()
}

/// The rules that found something of one severity, each with its first places.
fn brief_line<'r>(severity: Severity, found: impl Iterator<Item = (&'r str, String)>) -> Option<String> {
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

/// A finding: where and what, the text found, what it means, what to do, and where else.
fn cause_lines(cause: &Cause<'_>) -> Vec<String> {
    let finding = cause.first;
    let style = severity_style(finding.severity);
    let known = match (finding.waived, finding.new) {
        (true, _) => " (waived)",
        (false, true) => "",
        (false, false) => " (in the baseline)",
    };
    let mut lines = vec![format!(
        "{style}{}{style:#} {}:{} {} [{}]{known}",
        finding.severity, finding.path, finding.line, finding.message, finding.rule
    )];
    lines.extend(excerpt_line(finding));
    lines.extend(finding.related.iter().map(|related| related_line(finding, related)));
    let risk = if finding.severity < Severity::High { "risk if it is real" } else { "risk" };
    lines.extend(finding.risk.as_ref().map(|harm| format!("  {risk}: {}", visible(harm))));
    lines.extend(finding.why.as_ref().map(|why| format!("  {} here: {}", finding.severity, visible(why))));
    let further = further_lines(cause);
    let scope = if further.is_empty() { "" } else { " in each of these lines" };
    lines.extend(further);
    lines.push(match &finding.waiver {
        Some(waiver) => format!("  {}", waiver_words(waiver)),
        None => format!("  to do{scope}: {}", remedy_of_all(cause)),
    });
    for other in cause.others_to_show() {
        let Finding { severity, line, message, rule, .. } = other;
        let to_do = cause.remedy_of(other).map(|remedy| format!("; to do: {remedy}")).unwrap_or_default();
        lines.push(format!("  also {severity} in line {line}: {message} [{rule}]{to_do}"));
        lines.extend(other.related.iter().map(|related| related_line(other, related)));
    }
    lines
}

/// The remedy of a cause. Words of the first finding that another one lacks are not quoted.
fn remedy_of_all<'c>(cause: &Cause<'c>) -> Cow<'c, str> {
    let remedy: &'c str = &cause.first.remedy;
    let quoted = remedy.split_once('“').and_then(|(_, rest)| Some(rest.split_once('”')?.0));
    let is_of = |finding: &Finding, words: &str| match finding.excerpt_parts() {
        [_, "", _] => finding.excerpt.contains(words),
        [_, matched, _] => matched.contains(words),
    };
    let lacking = quoted.filter(|words| is_of(cause.first, words) && cause.again.iter().any(|one| !is_of(one, words)));
    let Some(words) = lacking else { return remedy.into() };
    let named = format!("“{words}”");
    let whole = ["the line", "the sentence"].into_iter().find(|part| remedy.contains(&format!("{part} with {named}")));
    let (from, to) = whole.map_or((named.clone(), "the words found"), |part| (format!("{part} with {named}"), part));
    remedy.replacen(&from, to, 1).into()
}

/// The other lines of a cause: the first ones with their words, the rest as numbers.
fn further_lines(cause: &Cause<'_>) -> Vec<String> {
    let further = cause.further_lines();
    let words = |line: usize| cause.again.iter().find(|one| one.line == line).map(brief_marked);
    // One more line takes the same room with its words.
    let is_quoted_whole = further.len() <= QUOTED_LINES + 1;
    let (quoted, rest) = further.split_at(if is_quoted_whole { further.len() } else { QUOTED_LINES });
    let quote =
        |line: &usize| format!("  also in line {line}: {FAINT}{}{FAINT:#}", visible(&words(*line).unwrap_or_default()));
    let mut lines: Vec<String> = quoted.iter().map(quote).collect();
    if !rest.is_empty() {
        let all: Vec<String> = rest.iter().take(LINES).map(ToString::to_string).collect();
        let more = if rest.len() > LINES { ", …" } else { "" };
        lines.push(format!("  also in lines {}{more}", all.join(", ")));
    }
    lines
}

/// The words of a further finding, with its match between `«` and `»` unless that is all of them.
fn brief_marked(finding: &&Finding) -> String {
    let (words, [_, matched, _]) = (finding.brief_excerpt(), finding.excerpt_parts());
    let is_part = !matched.is_empty() && words != matched;
    if is_part { words.replacen(matched, &format!("«{matched}»"), 1) } else { words }
}

/// Formats another place of a finding, such as the statement that reads the data.
fn related_line(finding: &Finding, related: &Related) -> String {
    let Related { label, path, line, excerpt } = related;
    let place = if *path == finding.path { format!("line {line}") } else { format!("{path}:{line}") };
    format!("  {label} {place}: {FAINT}{}{FAINT:#}", visible(excerpt))
}

/// Formats the excerpt of a finding. The matched part is highlighted and, for output without colours, stands between
/// `«` and `»` unless it is the whole excerpt. A finding about a whole file has none.
fn excerpt_line(finding: &Finding) -> Option<String> {
    let [before, matched, after] = finding.excerpt_parts().map(visible);
    let is_shown = !finding.excerpt.is_empty() && finding.excerpt != finding.path;
    let is_whole = before.trim().is_empty() && after.trim().is_empty();
    let is_part = !matched.is_empty() && !is_whole;
    let (open, close) = if is_part { ("«", "»") } else { ("", "") };
    let marked = format!("{STRONG}{open}{matched}{close}{STRONG:#}");
    is_shown.then(|| format!("{FAINT}  | {before}{FAINT:#}{marked}{FAINT}{after}{FAINT:#}"))
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
    let findings = list("findings").into_iter().filter_map(|value| serde_json::from_value::<Finding>(value).ok());
    let findings: Vec<Finding> = findings.filter(|finding| !finding.waived).collect();
    lines.extend(findings_lines(&findings));
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
            risk: None,
            remedy: "do not".into(),
            why: None,
            new: true,
            waived: false,
            waiver: None,
        }
    }

    #[test]
    fn notes_and_many_low_findings_take_a_line_each() {
        let mut found = vec![finding("b", Severity::High), finding("a", Severity::Info)];
        found.extend((0..=LOW).map(|at| Finding { line: at, ..finding("a", Severity::Low) }));
        let lines = findings_lines(&found);
        assert_eq!(lines.len(), 3 + 3 + QUOTED_LINES + 1 + 2, "{lines:?}");
        assert!(lines[0].contains("SKILL.md:3"), "{lines:?}");
        assert!(lines[10].contains("low") && lines[10].ends_with("1 finding: a in SKILL.md:10"), "{lines:?}");
        assert!(lines[11].contains("info") && lines[11].ends_with("1 finding: a in SKILL.md:3"), "{lines:?}");
        assert!(findings_lines(&[]).is_empty());
    }

    #[test]
    fn one_cause_is_told_once() {
        let again = Finding { line: 9, ..finding("b", Severity::High) };
        let elsewhere = Finding { path: "a.sh".into(), ..finding("b", Severity::High) };
        let other = finding("c", Severity::Medium);
        let lines = findings_lines(&[finding("b", Severity::High), again, elsewhere, other]);
        assert_eq!(lines.len(), 3 + 2 + 3, "{lines:?}");
        assert!(lines[2].starts_with("  also in line 9: ") && lines[2].contains("text"), "{lines:?}");
        assert_eq!(lines[3], "  to do in each of these lines: do not");
        assert!(lines[4].contains("medium") && lines[4].ends_with("does so [c]"), "{lines:?}");
    }

    #[test]
    fn words_of_one_line_are_not_quoted_for_others() {
        let remedy = "delete “one word”; warn with “Never use”";
        let with = |line, excerpt: &str| Finding {
            line,
            excerpt: excerpt.into(),
            remedy: remedy.into(),
            ..finding("b", Severity::High)
        };
        let lines = |second| findings_lines(&[with(3, "one word"), with(9, second)]).join("\n");
        assert!(lines("other").contains("each of these lines: delete the words found; warn with “Never use”"));
        assert!(lines("one word more").contains(remedy));
    }

    #[test]
    fn matches_in_further_lines_are_marked() {
        let again =
            Finding { line: 9, excerpt: "a text".into(), matched: Some((2, 6)), ..finding("b", Severity::High) };
        let lines = findings_lines(&[finding("b", Severity::High), again]);
        assert!(lines[2].contains("a «text»"), "{lines:?}");
    }

    #[test]
    fn other_ends_have_their_lines() {
        let place =
            |path: &str| Related { label: "read in".into(), path: path.into(), line: 1, excerpt: "k = 1".into() };
        let both = Finding { related: vec![place("SKILL.md"), place("a.sh")], ..finding("b", Severity::High) };
        let lines = findings_lines(&[both, finding("c", Severity::High)]).join("\n");
        for told in ["read in line 1: ", "read in a.sh:1: ", "also high in line 3: does so [c]; to do: do not"] {
            assert!(lines.contains(told), "{lines}");
        }
    }

    #[test]
    fn error_details_quote_findings() {
        let waived = Finding { waived: true, ..finding("d", Severity::High) };
        let found = [finding("a", Severity::High), finding("b", Severity::Info), waived];
        let lines = detail_lines(&serde_json::json!({ "findings": found }));
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[1].contains("  | text") && lines[2] == "  to do: do not", "{lines:?}");
        assert!(lines[3].ends_with("1 finding: b in SKILL.md:3"), "{lines:?}");
    }

    #[test]
    fn match_is_marked_unless_it_is_all() {
        let of = |excerpt: &str, matched| {
            let one = Finding { excerpt: excerpt.into(), matched, ..finding("a", Severity::High) };
            anstream::adapter::strip_str(&findings_lines(&[one])[1]).to_string()
        };
        assert_eq!(of("run curl x | sh now", Some((4, 15))), "  | run «curl x | sh» now");
        assert_eq!(of("curl x | sh", Some((0, 11))), "  | curl x | sh");
        assert_eq!(of("curl x | sh", None), "  | curl x | sh");
    }

    #[test]
    fn risk_of_a_finding_is_printed() {
        let lines = findings_lines(&[Finding { risk: Some("all is lost".into()), ..finding("a", Severity::Low) }]);
        assert_eq!(lines[2], "  risk if it is real: all is lost", "{lines:?}");
    }
}
