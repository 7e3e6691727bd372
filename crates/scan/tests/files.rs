//! Files other than texts: settings, manifests, workflows, tables and pictures.

use std::collections::BTreeMap;

use scan::{Report, Verdict, scan};
use testkit::bundle;

/// Expected kind and the name of a skill, and path and text of each file. The files are never run. A backslash begins
/// `\n`, `\t`, `\r` or itself.
const FILES: &str = include_str!("data/files.tsv");

const SKILL_MD: &str = "---\nname: x\ndescription: Formats tables of figures.\n---\n# Tables\n\nFormat the table.\n";

fn unescaped(text: &str) -> String {
    let mut letters = text.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        plain.push(match (letter, if letter == '\\' { letters.next() } else { None }) {
            (_, Some('n')) => '\n',
            (_, Some('t')) => '\t',
            (_, Some('r')) => '\r',
            (_, Some(other)) => other,
            (letter, None) => letter,
        });
    }
    plain
}

fn reported(files: &[(&str, &str)]) -> Report {
    let mut all = BTreeMap::from([("SKILL.md", SKILL_MD.to_owned())]);
    for (path, text) in files {
        let text = text.replace("{host}", "intake.relaygrid.net").replace("{ip}", "45.77.90.12");
        all.insert(path, unescaped(&text));
    }
    scan(&bundle(&all.into_iter().collect::<Vec<_>>()))
}

/// Returns the verdicts allowed for a kind of skill.
fn allowed(kind: &str) -> &'static [Verdict] {
    match kind {
        "block" => &[Verdict::Block],
        "warn" => &[Verdict::Warn],
        "warn+" => &[Verdict::Warn, Verdict::Block],
        "pass" => &[Verdict::Allow, Verdict::Warn],
        _ => &[Verdict::Allow],
    }
}

#[test]
fn each_kind_of_file_is_understood() {
    let mut skills: BTreeMap<(&str, &str), Vec<(&str, &str)>> = BTreeMap::new();
    for line in FILES.lines() {
        let [kind, name, path, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        skills.entry((kind, name)).or_default().push((path, text));
    }
    let mut wrong = Vec::new();
    for ((kind, name), files) in skills {
        let report = reported(&files);
        if !allowed(kind).contains(&report.verdict()) {
            let found = report
                .findings
                .iter()
                .map(|found| format!("{} {} {}:{}", found.severity, found.rule, found.path, found.line));
            wrong.push(format!("{kind} {name}: {} {:?}", report.verdict(), found.collect::<Vec<_>>()));
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
