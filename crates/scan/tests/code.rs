//! Detection rates on malicious code and similar honest code, by independent authors and by the authors of the rules.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use scan::{Verdict, scan};
use testkit::bundle;

/// Kind, skill name, path and text of each file, by two authors who did not know the rules. The files are never run. A
/// backslash begins `\n`, `\t`, `\r` or itself. `{host}`, `{ip}` and `{mail}` are filled in.
const FILES: &str = include_str!("data/code.tsv");

/// Our own files in the same format, by class of attack. Each was measured before it had rules.
const CLASSES: &str = include_str!("data/classes.tsv");

/// Files by four more authors who did not know the rules. When each part was first measured, before anybody looked at
/// it, .73 to .85 of the attacks were found and .08 to .19 of the honest skills were flagged. Rules were written after
/// that.
const STRANGERS: &str = include_str!("data/strangers.tsv");

/// Small skills by five more authors who did not know the rules, one for each class of attack that a scanner vendor
/// would demonstrate, with similar honest skills. When each part was first measured, before anybody looked at it, .63
/// to .91 of the attacks were found.
const SHOWCASES: &str = include_str!("data/showcases.tsv");

/// Our own files by technique. When each was written, .37 to .68 were found.
const TECHNIQUES: &str = include_str!("data/techniques.tsv");

/// Whole skills of the kinds reported from registries, and honest ones of the same trades, by an author who did not
/// know the rules. At the first measurement, .98 of the attacks were found and .18 of the honest ones were flagged.
const REGISTRIES: &str = include_str!("data/registries.tsv");

/// Skills whose attack is in their instructions to the agent, and honest ones with similar instructions, by another
/// author: .76 and .16.
const PERSUASION: &str = include_str!("data/persuasion.tsv");

/// Skills that attack services, in four lists of our own. Before they had rules, .41 to .54 were found, and .19 of the
/// last list.
const EXPLOITS: &str = include_str!("data/exploits.tsv");

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\\' => match letters.next().unwrap() {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            },
            other => other,
        });
    }
    plain
}

fn filled(text: &str) -> String {
    let text = text.replace("{host}", "intake.relaygrid.net").replace("{mail}", "ops@intake.relaygrid.net");
    unescaped(&text.replace("{ip}", "45.77.90.12"))
}

/// Skills of one kind in a list, with their verdicts.
#[derive(Debug, Default, Clone, Copy)]
struct Judged {
    skills: usize,
    blocked: usize,
    warned: usize,
}

/// Scans the skills of a list and groups the verdicts by kind. Prints missed attacks and blocked honest skills.
fn judged(list: &str) -> BTreeMap<&str, Judged> {
    let mut skills: BTreeMap<(&str, &str), Vec<(&str, String)>> = BTreeMap::new();
    for line in list.lines() {
        let [kind, name, path, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        skills.entry((kind, name)).or_default().push((path, filled(text)));
    }
    let mut totals: BTreeMap<&str, Judged> = BTreeMap::new();
    for ((kind, name), files) in skills {
        let report = scan(&bundle(&files));
        let verdict = report.verdict();
        let total = totals.entry(kind).or_default();
        total.skills += 1;
        total.blocked += usize::from(verdict == Verdict::Block);
        total.warned += usize::from(verdict >= Verdict::Warn);
        if (kind == "attack") == (verdict != Verdict::Block) {
            println!("{kind} {name}: {verdict}");
        }
    }
    println!("{totals:?}");
    totals
}

/// Asserts minimum rates of attacks that are blocked, and blocked or warned of, and maximum rates for honest skills.
/// All rates are percentages.
fn assert_judged(list: &str, attacks: [usize; 2], honest: [usize; 2]) {
    let totals = judged(list);
    let all = totals["attack"];
    let share = |part: usize, all: usize| part * 100 / all.max(1);
    assert!(share(all.blocked, all.skills) >= attacks[0], "blocked {all:?}");
    assert!(share(all.warned, all.skills) >= attacks[1], "warned of {all:?}");
    let all = totals.get("honest").copied().unwrap_or_default();
    assert!(share(all.blocked, all.skills) <= honest[0], "honest blocked {all:?}");
    assert!(share(all.warned, all.skills) <= honest[1], "honest warned of {all:?}");
}

#[test]
fn hostile_code_is_blocked() {
    assert_judged(FILES, [82, 93], [1, 3]);
}

#[test]
fn each_class_of_attack_is_blocked() {
    assert_judged(CLASSES, [80, 95], [3, 5]);
}

#[test]
fn attacks_by_other_authors_are_blocked() {
    assert_judged(STRANGERS, [80, 94], [2, 14]);
}

#[test]
fn showcases_are_mostly_blocked() {
    assert_judged(SHOWCASES, [66, 92], [6, 20]);
}

#[test]
fn techniques_are_mostly_noticed() {
    assert_judged(TECHNIQUES, [56, 87], [0, 0]);
}

#[test]
fn registry_style_attacks_are_blocked() {
    assert_judged(REGISTRIES, [86, 96], [5, 23]);
}

#[test]
fn persuasion_of_agent_is_noticed() {
    assert_judged(PERSUASION, [36, 62], [2, 12]);
}

/// Weaknesses, and attacks on services of others, do not by themselves harm the skill's user.
#[test]
fn attacks_on_services_are_noticed() {
    assert_judged(EXPLOITS, [45, 96], [3, 16]);
}
