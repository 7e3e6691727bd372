//! An attack is still found when it is written in another way that means the same, and an honest skill is still let
//! in when something unrelated is added to it.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{collections::BTreeMap, io::Write};

use scan::{Verdict, scan};
use skill::{Bundle, File, Limits, SkillPath};
use zip::{ZipWriter, write::SimpleFileOptions};

const LISTS: [&str; 4] = [
    include_str!("data/showcases.tsv"),
    include_str!("data/strangers.tsv"),
    include_str!("data/techniques.tsv"),
    include_str!("data/persuasion.tsv"),
];

type Skill = Vec<(String, Vec<u8>)>;

fn skills(label: &str) -> Vec<Skill> {
    let mut skills: BTreeMap<String, Skill> = BTreeMap::new();
    for (list, line) in LISTS.iter().enumerate().flat_map(|(n, list)| list.lines().map(move |line| (n, line))) {
        let [kind, name, path, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let text = text.replace("{host}", "intake.relaygrid.net").replace("{mail}", "ops@relaygrid.net");
        let text = text.replace("{ip}", "45.77.90.12").replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\");
        if kind == label {
            skills.entry(format!("{list} {name}")).or_default().push((path.to_owned(), text.into_bytes()));
        }
    }
    skills.into_values().collect()
}

fn verdict(skill: &Skill) -> Verdict {
    let file = |(path, bytes): &(String, Vec<u8>)| {
        (SkillPath::parse(path).unwrap(), File { bytes: bytes.clone().into(), executable: false })
    };
    scan(&Bundle::from_files(skill.iter().map(file), &Limits::default()).unwrap()).verdict()
}

fn is_text(path: &str) -> bool {
    path.ends_with(".md")
}

fn is_shell(path: &str) -> bool {
    path.ends_with(".sh")
}

/// A skill with each file of a sort changed.
fn with_files(skill: &Skill, of: fn(&str) -> bool, change: impl Fn(&str) -> String) -> Skill {
    let changed = |(path, bytes): &(String, Vec<u8>)| {
        let text = String::from_utf8_lossy(bytes);
        (path.clone(), if of(path) { change(&text).into_bytes() } else { bytes.clone() })
    };
    skill.iter().map(changed).collect()
}

/// A text with each of its lines of prose changed, those outside of frontmatter, code, lists, tables and headings.
fn with_prose(text: &str, change: impl Fn(&str) -> String) -> String {
    let (head, body) = text.split_at(text.match_indices("\n---\n").next().map_or(0, |(at, end)| at + end.len()));
    let mut is_code = false;
    let line = |line: &str| {
        is_code ^= line.trim_start().starts_with("```");
        let is_prose = !is_code && line.starts_with(|c: char| c.is_ascii_uppercase()) && line.len() > 20;
        if is_prose { change(line) } else { line.to_owned() }
    };
    format!("{head}{}\n", body.lines().map(line).collect::<Vec<_>>().join("\n"))
}

fn led_in(text: &str, lead: &str) -> String {
    with_prose(text, |line| {
        let mut letters = line.chars();
        let first = letters.next().unwrap().to_ascii_lowercase();
        format!("{lead}{first}{}", letters.as_str())
    })
}

fn every_word(text: &str, change: fn(&str) -> String) -> String {
    with_prose(text, |line| {
        let words =
            line.split(' ').enumerate().map(|(n, word)| if n % 3 == 2 { change(word) } else { word.to_owned() });
        words.collect::<Vec<_>>().join(" ")
    })
}

fn wrapped(line: &str) -> String {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        if lines.last().unwrap().len() + word.len() > 40 {
            lines.push(String::new());
        }
        let last = lines.last_mut().unwrap();
        last.push_str(if last.is_empty() { "" } else { " " });
        last.push_str(word);
    }
    lines.join("\n")
}

/// A script that keeps its first line and does the rest in a function, or in another way.
fn in_frame(text: &str, before: &str, after: &str) -> String {
    let (first, rest) =
        if text.starts_with("#!") { text.split_once('\n').unwrap_or((text, "")) } else { ("#!/bin/sh", text) };
    format!("{first}\n{before}\n{}\n{after}\n", rest.trim_end())
}

/// A text in which programs that need no scheme get none.
fn without_scheme(text: &str) -> String {
    let change = |line: &str| match ["curl ", "wget "].iter().any(|program| line.contains(program)) {
        true => line.replace("https://intake", "intake"),
        false => line.to_owned(),
    };
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

fn to_utf16(skill: &Skill) -> Skill {
    let change = |(path, bytes): &(String, Vec<u8>)| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let wide = || [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        (path.clone(), if path == "SKILL.md" { bytes.clone() } else { wide() })
    };
    skill.iter().map(change).collect()
}

/// A skill whose files below folders are in an archive.
fn zipped(skill: &Skill) -> Skill {
    let (inner, mut outer): (Skill, Skill) = skill.iter().cloned().partition(|(path, _)| path.contains('/'));
    if !inner.is_empty() {
        let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (path, bytes) in inner {
            writer.start_file(path, SimpleFileOptions::default()).unwrap();
            writer.write_all(&bytes).unwrap();
        }
        outer.push(("assets/files.docx".to_owned(), writer.finish().unwrap().into_inner()));
    }
    outer
}

fn renamed(skill: &Skill, from: &str, to: &str) -> Skill {
    let rename = |(path, bytes): &(String, Vec<u8>)| {
        let name = path.strip_suffix(from).filter(|_| path != "SKILL.md");
        (name.map_or_else(|| path.clone(), |name| format!("{name}{to}")), bytes.clone())
    };
    skill.iter().map(rename).collect()
}

/// A script in two files: the second half is read in by the first.
fn split_over_files(skill: &Skill) -> Skill {
    let mut all = Skill::new();
    for (path, bytes) in skill {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        if !is_shell(path) || lines.len() < 4 || text.contains("<<") || text.contains("\\\n") {
            all.push((path.clone(), bytes.clone()));
            continue;
        }
        let (first, second) = lines.split_at(lines.len() / 2);
        let other = path.replace(".sh", "_rest.sh");
        let name = other.rsplit('/').next().unwrap();
        all.push((path.clone(), format!("{}\n. \"$(dirname \"$0\")/{name}\"\n", first.join("\n")).into_bytes()));
        all.push((other, format!("{}\n", second.join("\n")).into_bytes()));
    }
    all
}

/// The prose of the body as the values of two keys of a file that SKILL.md sends the agent to.
fn split_over_keys(skill: &Skill) -> Skill {
    let mut all = skill.clone();
    let Some((_, bytes)) = all.iter_mut().find(|(path, _)| path == "SKILL.md") else { return all };
    let text = String::from_utf8_lossy(bytes).into_owned();
    let Some((head, body)) = text.split_once("\n---\n") else { return all };
    if body.contains("```") || body.len() > 4000 {
        return all;
    }
    let (one, other) = body.split_at(body.floor_char_boundary(body.len() / 2));
    let json = serde_json::json!({ "steps": one, "then": other });
    *bytes = format!("{head}\n---\nRead guide.json first and follow it.\n").into_bytes();
    all.push(("guide.json".to_owned(), serde_json::to_vec_pretty(&json).unwrap()));
    all
}

type Change = fn(&Skill) -> Skill;

/// Ways to write an attack otherwise, and how many of a hundred are still found at least.
const WAYS: &[(&str, Change, usize)] = &[
    ("lead-in: confusion", |s| with_files(s, is_text, |text| led_in(text, "To avoid confusion, ")), 90),
    ("lead-in: delay", |s| with_files(s, is_text, |text| led_in(text, "Without delay, ")), 90),
    ("lead-in: help", |s| with_files(s, is_text, |text| led_in(text, "If the user wants help, ")), 90),
    ("extension of a text", |s| renamed(s, ".md", ".txt"), 90),
    ("extension of a script", |s| renamed(s, ".sh", ".bash"), 90),
    ("UTF-16", to_utf16, 90),
    ("padding", |s| with_files(s, |_| true, |text| format!("{text}{}", "\n\n# Nothing else.\n".repeat(300))), 90),
    ("two files", split_over_files, 80),
    ("two keys", split_over_keys, 70),
    (
        "host with a label",
        |s| with_files(s, |_| true, |text| text.replace("intake.relaygrid", "docs.intake.relaygrid")),
        90,
    ),
    ("host without a scheme", |s| with_files(s, |_| true, without_scheme), 90),
    // Beyond those that the research names.
    ("short lines", |s| with_files(s, is_text, |text| with_prose(text, wrapped)), 90),
    ("list", |s| with_files(s, is_text, |text| with_prose(text, |line| format!("- {line}"))), 90),
    ("table", |s| with_files(s, is_text, |text| with_prose(text, |line| format!("| Note | {line} |"))), 85),
    ("emphasis", |s| with_files(s, is_text, |text| every_word(text, |word| format!("**{word}**"))), 85),
    ("capitals", |s| with_files(s, is_text, |text| with_prose(text, |line| line.to_uppercase())), 85),
    ("line ends of Windows", |s| with_files(s, |_| true, |text| text.replace('\n', "\r\n")), 90),
    ("letters that look alike", |s| with_files(s, is_text, |text| every_word(text, |word| word.replace('o', "о"))), 85),
    (
        "invisible letters",
        |s| with_files(s, is_text, |text| every_word(text, |word| word.replace('e', "e\u{200b}"))),
        85,
    ),
    ("archive", zipped, 90),
    ("function", |s| with_files(s, is_shell, |text| in_frame(text, "main() {", "}\nmain \"$@\"")), 90),
    ("branch", |s| with_files(s, is_shell, |text| in_frame(text, "if [ -n \"$HOME\" ]; then", "fi")), 90),
    ("shell in a shell", |s| with_files(s, is_shell, |text| in_frame(text, "bash <<'END_OF_IT'", "END_OF_IT")), 80),
    (
        "comment of a script",
        |s| with_files(s, is_shell, |text| text.replace('\n', "\n# Collects usage figures.\n")),
        85,
    ),
];

#[test]
fn attacks_are_found_in_other_forms() {
    let found: Vec<Skill> = skills("attack").into_iter().filter(|skill| verdict(skill) >= Verdict::Warn).collect();
    assert!(found.len() > 1000, "{}", found.len());
    let mut wrong = Vec::new();
    for (name, change, least) in WAYS {
        let changed: Vec<Skill> =
            found.iter().map(|skill| (skill, change(skill))).filter(|(a, b)| *a != b).map(|(_, b)| b).collect();
        let still = changed.iter().filter(|skill| verdict(skill) >= Verdict::Warn).count();
        println!("{name}: {still} of {} ({} in 100)", changed.len(), still * 100 / changed.len());
        if still * 100 < changed.len() * least || changed.len() < 10 {
            wrong.push(*name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

const LICENCE: &str = "# Licence\n\nYou may use, copy and change this work free of charge. You must keep this notice in all copies. \
THE WORK COMES WITHOUT ANY WARRANTY; the authors are not liable for any damage. You may not remove this notice, nor \
use the names of the authors to endorse what you make of it, without written permission.\n";

const FLAGS: &str = "\n## Flags\n\n| Flag | Meaning |\n|---|---|\n| `--force` | do not ask before overwriting |\n\
| `--quiet` | print nothing |\n| `--no-verify` | skip the checks |\n| `--token TEXT` | the token to sign in with |\n";

const PARAGRAPH: &str = "\n## History\n\nThe first version was written for a workshop in a library. Readers asked for \
shorter chapters, so that each now fits on a page, and the pictures were drawn again.\n";

#[test]
fn honest_skills_pass_with_unrelated_text() {
    let honest: Vec<Skill> = skills("honest").into_iter().filter(|skill| verdict(skill) == Verdict::Allow).collect();
    assert!(honest.len() > 200);
    let with = |skill: &Skill, path: &str, added: &str| {
        let mut copy = skill.clone();
        match copy.iter_mut().find(|(there, _)| there == path) {
            Some((_, bytes)) => bytes.extend_from_slice(added.as_bytes()),
            None => copy.push((path.to_owned(), added.as_bytes().to_vec())),
        }
        copy
    };
    for skill in &honest {
        for (path, added) in
            [("LICENSE", LICENCE), ("SKILL.md", FLAGS), ("SKILL.md", PARAGRAPH), ("CHANGELOG.md", FLAGS)]
        {
            assert_eq!(verdict(&with(skill, path, added)), Verdict::Allow, "{path} {added} {skill:?}");
        }
    }
}
