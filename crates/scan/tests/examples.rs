//! Every rule fires on its harmful examples, and not, at its full severity, on its harmless ones.

use scan::{Report, Rule, Severity, rules, scan};
use skill::{Bundle, File, Limits, SkillPath};

fn scan_file(path: &str, text: &str) -> Report {
    let file = File { bytes: text.as_bytes().into(), executable: false };
    let files = [(SkillPath::parse(path).unwrap(), file)];
    scan(&Bundle::from_files(files, &Limits::default()).unwrap())
}

fn severity_of(rule: &Rule, (path, text): (&str, &str)) -> Option<Severity> {
    let report = scan_file(path, text);
    report.findings.iter().filter(|finding| finding.rule == rule.id).map(|finding| finding.severity).max()
}

/// Rules that are only about the scan itself have no file as an example.
fn is_about_files(rule: &Rule) -> bool {
    !matches!(rule.id, "scanner-failure" | "scan-budget")
}

#[test]
fn every_rule_fires_on_each_harmful_example() {
    for rule in rules().iter().filter(|rule| is_about_files(rule)) {
        assert!(!rule.harmful.is_empty(), "{} has no harmful example", rule.id);
        for example in rule.harmful {
            assert_eq!(severity_of(rule, *example), Some(rule.severity), "{} on {example:?}", rule.id);
        }
    }
}

#[test]
fn no_rule_fires_on_a_harmless_example() {
    for rule in rules().iter().filter(|rule| is_about_files(rule)) {
        assert!(!rule.harmless.is_empty(), "{} has no harmless example", rule.id);
        for example in rule.harmless {
            let found = severity_of(rule, *example);
            let fine = found.is_none_or(|severity| severity < rule.severity && severity <= Severity::Medium);
            assert!(fine, "{} on {example:?} is {found:?}", rule.id);
        }
    }
}

#[test]
fn rules_are_told_apart_and_explained() {
    let mut ids: Vec<_> = rules().iter().map(|rule| rule.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), rules().len(), "ids are unique");
    for rule in rules() {
        assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", rule.id);
        assert!(!rule.category.is_empty() && !rule.message.is_empty() && !rule.remedy.is_empty(), "{}", rule.id);
        assert!(rule.elsewhere <= rule.severity, "{}", rule.id);
        assert_eq!(scan::rule(rule.id).map(|found| found.id), Some(rule.id));
    }
}
