//! Rules and settings of a user: their effects on a scan, without an effect on other scans.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use scan::{Baseline, RuleText, Scanner, Settings, Verdict, clear, clear_by};
use testkit::bundle;

const RULE: &str = "[[rule]]\nid = \"acme-purple\"\nevidence = \"hard\"\nmessage = \"m\"\nliterals = [\"purple\"]\n\
                    pattern = 'paint --purple'\n";

fn file(text: &str) -> RuleText {
    RuleText { name: "a.toml".to_owned(), text: text.to_owned() }
}

fn with_rule() -> Scanner {
    Scanner::new(&Settings::default(), &[file(RULE)]).unwrap()
}

#[test]
fn rule_applies_only_to_its_scanner() {
    let purple = bundle(&[("scripts/a.sh", "paint --purple\n")]);
    assert_eq!(with_rule().scan(&purple).verdict(), Verdict::Block);
    assert_eq!(scan::scan(&purple).verdict(), Verdict::Allow);
    assert!(clear_by(purple.clone(), Baseline::None, &with_rule()).is_err() && clear(purple, Baseline::None).is_ok());
}

#[test]
fn large_skill_is_scanned_by_same_rules() {
    let filler = "echo all is well here\n".repeat(8_000);
    let last = format!("{filler}paint --purple\n");
    let files = bundle(&[("scripts/a.sh", &filler), ("scripts/b.sh", &last), ("scripts/c.sh", &last)]);
    let found = with_rule().scan(&files).findings;
    assert_eq!(found.iter().filter(|finding| finding.rule == "acme-purple").count(), 2, "{found:?}");
}

#[test]
fn evidence_of_former_rule_has_no_effect() {
    let of = |id: &str| {
        let text = format!("[[rule]]\nid = \"{id}\"\nevidence = \"weak\"\n");
        Scanner::new(&Settings::default(), &[file(&text)])
    };
    assert!(of("miner-deployed").is_ok(), "a file of an earlier build");
    assert!(of("miner-deployd").is_err(), "a misspelt id");
}

#[test]
fn ruleset_depends_on_rules_and_settings() {
    let named = |settings: &Settings, text: &str| Scanner::new(settings, &[file(text)]).unwrap().ruleset().to_owned();
    let settings = Settings { own_hosts: vec!["acme.test".to_owned()], ..Settings::default() };
    let all = [
        scan::ruleset().to_owned(),
        named(&Settings::default(), RULE),
        named(&Settings::default(), &RULE.replace("hard", "weak")),
        named(&settings, RULE),
    ];
    assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)), "{all:?}");
    assert_eq!(named(&settings, RULE), all[3]);
    assert_eq!(Scanner::new(&Settings::default(), &[]).unwrap().ruleset(), scan::ruleset());
    assert_eq!(with_rule().scan(&skill::Bundle::default()).ruleset, all[1]);
}

#[test]
fn custom_rules_search_joined_text() {
    let found = with_rule().scan(&bundle(&[("scripts/a.sh", "a='paint --pur'\nb='ple'\neval \"$a$b\"\n")])).findings;
    assert!(found.iter().any(|finding| finding.rule == "acme-purple"), "{found:?}");
}

#[test]
fn acceptance_ends_with_its_settings() {
    let purple = bundle(&[("scripts/a.sh", "paint --purple\n")]);
    let accepted = vec![scan::Accepted {
        rule: "acme-purple".to_owned(),
        reason: "our colour".to_owned(),
        path: None,
        content: None,
        until: None,
    }];
    let settings = Settings { accepted, ..Settings::default() };
    let lenient = Scanner::new(&settings, &[file(RULE)]).unwrap();
    let mut report = lenient.scan(&purple);
    report.waive(&purple, &scan::Waivers::default());
    assert_eq!(report.verdict(), Verdict::Allow, "that nobody waived it takes nothing back");
    with_rule().accept(&mut report, &purple);
    assert_eq!(report.verdict(), Verdict::Block);
}
