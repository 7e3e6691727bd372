//! Hostile code and its honest likes, by two authors who knew no rule and by those who wrote the rules: what of it is found.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use scan::{Report, Severity, scan};
use skill::{Bundle, File, Limits, SkillPath};

/// Kind, name of the skill, path and text of each file; never run. A backslash begins `\n`, `\t`, `\r` or
/// itself; `{host}`, `{ip}` and `{mail}` are filled in.
const FILES: &str = include_str!("data/code.tsv");

/// The same of our own, by classes of attack; each was measured before there were rules for it.
const CLASSES: &str = include_str!("data/classes.tsv");

/// The same by four more authors who knew no rule. When each part was measured, before anybody looked at it, .73 to
/// .85 of the attacks were found and .08 to .19 of the honest skills taken for some; rules were written after that.
const STRANGERS: &str = include_str!("data/strangers.tsv");

/// One small skill for each class of attack that a maker of scanners would show, by five more authors who knew no rule,
/// with honest skills that come near. When each part was measured, before anybody looked at it, .63 to .91 of the
/// attacks were found.
const SHOWCASES: &str = include_str!("data/showcases.tsv");

/// The same of our own, by techniques; when each was written, .37 to .68 were found.
const TECHNIQUES: &str = include_str!("data/techniques.tsv");

/// Whole skills of the kinds that are reported of registries, and honest ones of the same trades, by an author who knew no
/// rule: .98 of the attacks were found when they were first looked at, and .18 of the honest ones taken for some.
const REGISTRIES: &str = include_str!("data/registries.tsv");

/// Skills whose attack is in what they tell the agent, and honest ones that tell it similar things, by another: .76
/// and .16.
const PERSUASION: &str = include_str!("data/persuasion.tsv");

/// Skills that attack services, in four lists of our own: .41 to .54, the last .19, before there were rules for it.
const EXPLOITS: &str = include_str!("data/exploits.tsv");

/// Attacks of which this share at least is found, in hundredths, and honest skills of which this share at
/// most is taken for attacks.
const FOUND: usize = 92;
const MISTAKEN: usize = 7;

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

/// Whether a scan points at an attack: a finding blocks, or prose alone warns.
fn points_at_attack(report: &Report) -> bool {
    report.findings.iter().any(|finding| {
        let least = if finding.rule.starts_with("prose-") { Severity::Medium } else { Severity::High };
        finding.severity >= least
    })
}

/// Kinds with how many skills there are and how many of them are flagged.
fn judged(list: &str) -> BTreeMap<&str, (usize, usize)> {
    let mut skills: BTreeMap<(&str, &str), Vec<(SkillPath, File)>> = BTreeMap::new();
    for line in list.lines() {
        let [kind, name, path, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let file = File { bytes: filled(text).into_bytes().into(), executable: false };
        skills.entry((kind, name)).or_default().push((SkillPath::parse(path).unwrap(), file));
    }
    let mut totals: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for ((kind, name), files) in skills {
        let report = scan(&Bundle::from_files(files, &Limits::default()).unwrap());
        let is_flagged = points_at_attack(&report);
        let (all, flagged) = totals.entry(kind).or_default();
        (*all, *flagged) = (*all + 1, *flagged + usize::from(is_flagged));
        if is_flagged != (kind == "attack") {
            println!("{kind} {name}: worst {:?}", report.worst());
        }
    }
    println!("{totals:?}");
    totals
}

#[test]
fn most_attacks_are_found_and_few_honest_skills_are_mistaken() {
    let totals = judged(FILES);
    let ((attacks, found), (honest, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(attacks >= 60 && honest >= 40);
    assert!(found * 100 >= attacks * FOUND, "found {found} of {attacks}");
    assert!(mistaken * 100 <= honest * MISTAKEN, "mistaken {mistaken} of {honest}");
}

#[test]
fn of_each_class_of_attack_most_are_found() {
    let totals = judged(CLASSES);
    let ((attacks, found), (_, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(found * 100 >= attacks * 94, "found {found} of {attacks}");
    assert!(mistaken <= 1, "mistaken {mistaken}");
}

#[test]
fn of_what_strangers_wrote_most_is_found() {
    let totals = judged(STRANGERS);
    let ((attacks, found), (honest, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(attacks >= 220 && honest >= 170);
    assert!(found * 100 >= attacks * 96, "found {found} of {attacks}");
    assert!(mistaken * 100 <= honest * 5, "mistaken {mistaken} of {honest}");
}

#[test]
fn of_showcases_by_strangers_most_are_found() {
    let totals = judged(SHOWCASES);
    let ((attacks, found), (honest, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(attacks >= 450 && honest >= 160);
    assert!(found * 100 >= attacks * 94, "found {found} of {attacks}");
    assert!(mistaken * 100 <= honest * 10, "mistaken {mistaken} of {honest}");
}

#[test]
fn of_techniques_most_are_found() {
    let (attacks, found) = judged(TECHNIQUES)["attack"];
    assert!(attacks >= 500 && found * 100 >= attacks * 93, "found {found} of {attacks}");
}

#[test]
fn of_skills_like_those_of_registries_most_are_found() {
    let totals = judged(REGISTRIES);
    let ((attacks, found), (honest, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(found * 100 >= attacks * 96, "found {found} of {attacks}");
    assert!(mistaken * 100 <= honest * 18, "mistaken {mistaken} of {honest}");
}

#[test]
fn of_what_is_only_told_to_the_agent_most_is_found() {
    let totals = judged(PERSUASION);
    let ((attacks, found), (honest, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(found * 100 >= attacks * 75, "found {found} of {attacks}");
    assert!(mistaken * 100 <= honest * 17, "mistaken {mistaken} of {honest}");
}

#[test]
fn of_attacks_on_services_most_are_found() {
    let totals = judged(EXPLOITS);
    let ((attacks, found), (honest, mistaken)) = (totals["attack"], totals["honest"]);
    assert!(found * 100 >= attacks * 94, "found {found} of {attacks}");
    assert!(mistaken * 100 <= honest * 3, "mistaken {mistaken} of {honest}");
}
