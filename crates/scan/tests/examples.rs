//! Examples of every rule: it fires on the harmful ones, and not with its full severity on the harmless ones.

use scan::{Evidence, Finding, Report, Rule, Severity, rules, scan};
use testkit::bundle;

fn scan_file(path: &str, text: &str) -> Report {
    scan(&bundle(&[(path, text)]))
}

/// Returns the highest severity of a rule's findings. Words that a prose rule takes for an instruction have that of the
/// rule, although such a finding is a note.
fn severity_of(rule: &Rule, (path, text): (&str, &str)) -> Option<Severity> {
    let report = scan_file(path, text);
    let full = |one: &Finding| (!rule.senses.is_empty() && one.why.is_none()).then_some(rule.severity());
    let found = report.findings.iter().filter(|one| one.rule == rule.id);
    found.map(|one| full(one).map_or(one.severity, |full| full.max(one.severity))).max()
}

/// Returns whether a rule is about the scan itself, or about binary or large files. Such rules have no examples.
fn is_about_files(rule: &Rule) -> bool {
    const OTHERS: &[&str] = &[
        "judge", "scanner-failure", "scan-budget", "flow-too-deep", "flow-too-much", "encoded-too-large",
        "encrypted-archive",
    ];
    !OTHERS.contains(&rule.id)
}

#[test]
fn rules_fire_on_harmful_examples() {
    let mut wrong = Vec::new();
    for rule in rules().iter().filter(|rule| is_about_files(rule)) {
        assert!(!rule.harmful.is_empty(), "{} has no harmful example", rule.id);
        let quiet = rule.harmful.iter().map(|example| (example, severity_of(rule, *example)));
        wrong.extend(quiet.filter(|(_, found)| *found < Some(rule.severity())).map(|(e, found)| (rule.id, e, found)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rules_ignore_harmless_examples() {
    let mut wrong = Vec::new();
    for rule in rules().iter().filter(|rule| is_about_files(rule)) {
        assert!(!rule.harmless.is_empty(), "{} has no harmless example", rule.id);
        let heard = rule.harmless.iter().filter_map(|example| Some((example, severity_of(rule, *example)?)));
        let is_note = rule.evidence == Evidence::Note;
        let bad = heard.filter(|(_, found)| *found >= rule.severity() && !is_note || *found > Severity::Medium);
        wrong.extend(bad.map(|(example, found)| (rule.id, example, found)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rules_have_unique_ids_and_explanations() {
    let mut ids: Vec<_> = rules().iter().map(|rule| rule.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), rules().len(), "ids are unique");
    for rule in rules() {
        assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", rule.id);
        assert!(!rule.category.is_empty() && !rule.message.is_empty() && !rule.remedy.is_empty(), "{}", rule.id);
        assert!(rule.elsewhere() <= rule.evidence, "{}", rule.id);
        assert_eq!(scan::rule(rule.id).map(|found| found.id), Some(rule.id));
    }
}
