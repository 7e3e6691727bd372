//! [`offers`]: the commands that the texts of an answer offer to its reader.

use std::{collections::HashSet, process::Command, sync::LazyLock};

use serde_json::Value;

use crate::support::Answer;

/// A command offered by an answer.
pub struct Offer {
    /// Line that contains it.
    pub text: String,
    /// The command as a person would paste it.
    pub command: String,
    /// True if nothing marks its beginning and end.
    pub is_loose: bool,
}

/// Fields of documents with texts of the program itself.
const FIELDS: [&str; 8] = ["hint", "next", "command", "repair", "message", "notes", "warnings", "remedy"];

/// Commands whose standard output contains text of skills or of other programs.
const OF_OTHERS: [&str; 11] =
    ["read", "show", "prompt", "diff", "blame", "scan", "tour", "completions", "to-prompt", "help", "serve"];

/// Names of all commands, from shell completion.
static VERBS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let script = Command::new(env!("CARGO_BIN_EXE_skillhub")).args(["completions", "bash"]).output().unwrap();
    let script = String::from_utf8(script.stdout).unwrap();
    let verbs = script.lines().filter_map(|line| line.trim().strip_prefix("skillhub,")?.strip_suffix(')'));
    let verbs: HashSet<_> = verbs.map(str::to_owned).collect();
    assert!(verbs.len() > 40 && verbs.contains("install"), "the commands could not be read: {script}");
    verbs
});

/// Returns every offer of an answer, without duplicates.
pub fn offers(answer: &Answer, asked: &Command) -> Vec<Offer> {
    let args: Vec<_> = asked.get_args().map(|arg| arg.to_string_lossy()).collect();
    let mut texts = vec![answer.stderr.clone()];
    if args.iter().any(|arg| arg == "tour") {
        return Vec::new();
    }
    match serde_json::from_slice(&answer.stdout) {
        Ok(document) => collect(&document, false, &mut texts),
        Err(_) if args.iter().any(|arg| OF_OTHERS.contains(&&**arg) || arg == "--help") => {}
        Err(_) => texts.push(String::from_utf8_lossy(&answer.stdout).into_owned()),
    }
    let mut seen = HashSet::new();
    // The examples of a help page use imaginary skills.
    texts.retain(|text| !text.contains("Examples:\n"));
    let offers = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.starts_with("Usage:"))
        .flat_map(|line| in_line(&without_styles(line)));
    offers.filter(|offer| seen.insert(format!("{}\0{}", offer.text, offer.command))).collect()
}

/// Returns the texts of a document that the program itself wrote.
fn collect(value: &Value, is_own: bool, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if is_own => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, is_own, texts)),
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, FIELDS.contains(&name.as_str()), texts);
            }
        }
        _ => {}
    }
}

/// Returns the commands of one line: in backticks, or from a colon or indentation to the end.
fn in_line(line: &str) -> Vec<Offer> {
    const PROGRAM: &str = "skillhub ";
    let mut offers: Vec<Offer> = Vec::new();
    for (at, _) in line.match_indices(PROGRAM) {
        let before = &line[..at];
        let rest = &line[at + PROGRAM.len()..];
        let word = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap_or_default();
        let is_command = VERBS.contains(word) || word.starts_with('-');
        // `process 12 (skillhub adopt)` names a command that ran.
        let is_process = before.ends_with('(') && before.contains("process ");
        if is_process || before.ends_with(|c: char| c.is_alphanumeric() || "-_/.~'".contains(c)) || !is_command {
            continue;
        }
        let quoted = before.matches('`').count() % 2 == 1;
        let (command, is_loose) = if quoted {
            let start = before.rfind('`').unwrap_or_default() + 1;
            (line[start..].split('`').next().unwrap_or_default(), false)
        } else {
            let start = before.rfind(": ").map_or(0, |colon| colon + 2);
            let lead = before[start..].trim();
            let is_lead = lead.is_empty() || lead.ends_with("&&") || lead.ends_with('|') || lead.contains('=');
            let end = line[at..].find("  ").map_or(line.len(), |end| at + end);
            (line[start..end].trim(), !is_lead)
        };
        let command = command.trim_end_matches('.').to_owned();
        if !offers.iter().any(|offer| offer.command == command || (!offer.is_loose && offer.command.contains(&command)))
        {
            offers.push(Offer { text: line.trim().to_owned(), command, is_loose });
        }
    }
    offers
}

/// Removes terminal colours from a text.
fn without_styles(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    first
        + &pieces
            .map(|piece| piece.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest))
            .collect::<String>()
}

#[test]
fn hinted_commands_end_correctly() {
    let commands = |line: &str| -> Vec<(String, bool)> {
        in_line(line).into_iter().map(|offer| (offer.command, offer.is_loose)).collect()
    };
    let one = |command: &str| vec![(command.to_owned(), false)];
    assert_eq!(commands("hint: `skillhub list` shows the skills"), one("skillhub list"));
    assert_eq!(commands("hint: see them: skillhub log --json"), one("skillhub log --json"));
    assert_eq!(commands("  skillhub setup     manage the skills"), one("skillhub setup"));
    assert_eq!(commands("run `cd '/a b' && skillhub doctor`"), one("cd '/a b' && skillhub doctor"));
    assert!(commands("use a newer skillhub that knows format 3").is_empty());
    assert_eq!(commands("hint: the skillhub list shows them").len(), 1);
    assert!(commands("hint: the skillhub list shows them")[0].1, "nothing shows where it ends");
}
