//! Hints: an operation that has a `NextStep` is not named as the text of a command.

use std::{collections::BTreeSet, ops::RangeInclusive};

use super::{
    source::{Source, closing},
    tree::{Fault, Tree},
};

/// The file with the steps, and the function with the command of each.
const STEPS: (&str, &str) = ("crates/skill/src/next_step.rs", "command");

/// Files with hints that are the same for every client, and the number of commands in them.
const SAME_FOR_ALL: [(&str, usize); 16] = [
    // Only a person at a terminal may do it.
    ("crates/library/src/failures.rs", 1),
    ("crates/library/src/library/decision.rs", 2),
    ("crates/mcp/src/tools/marketplace.rs", 1),
    ("crates/skill_manage/src/conclude.rs", 1),
    ("crates/skill_manage/src/review/error.rs", 2),
    ("crates/skill_manage/src/rollback.rs", 1),
    // Only the command line or a registry has the failure.
    ("crates/client/src/adopt.rs", 1),
    ("crates/client/src/agent_folders.rs", 2),
    ("crates/client/src/publish/fork/error.rs", 1),
    ("crates/client/src/undo/error.rs", 1),
    ("crates/client/src/uninstall.rs", 1),
    ("crates/server/src/foreign/plugins.rs", 1),
    ("crates/skill_manage/src/waive.rs", 2),
    // The text is stored, with a compiled tool or a run.
    ("crates/compose/src/declaration.rs", 1),
    ("crates/compose/src/native/files.rs", 1),
    ("crates/compose/src/workshop.rs", 1),
];

/// Finds hints below the command line that contain the command of a step.
pub fn fixed_commands(tree: &Tree) -> Vec<Fault> {
    let commands = commands_of_steps(tree);
    let mut faults = Vec::new();
    for source in tree.sources().iter().filter(|source| source.path.contains("/src/") && !source.is_test_file()) {
        let hints = hints(source);
        let found: Vec<usize> = hints
            .iter()
            .filter(|lines| !source.is_test_line(*lines.start()))
            .flat_map(|lines| vec![*lines.start(); count(source, lines, &commands)])
            .collect();
        let listed = SAME_FOR_ALL.iter().find(|(path, _)| *path == source.path).map_or(0, |(_, count)| *count);
        if found.len() != listed {
            let message = format!("{} commands of a `NextStep` in hints, but {listed} are listed", found.len());
            faults.push(Fault::new(&source.path, found.last().copied().unwrap_or(1), message));
        }
    }
    faults
}

/// Returns the words of each step's command before its arguments.
fn commands_of_steps(tree: &Tree) -> BTreeSet<String> {
    let (path, name) = STEPS;
    let Some(source) = tree.sources().iter().find(|source| source.path == path) else { return BTreeSet::new() };
    let function = source.functions().into_iter().find(|function| function.name == name);
    let Some(function) = function else { return BTreeSet::new() };
    let lines = source.text.lines().skip(function.line).take(function.lines);
    let literals = lines.filter_map(|line| line.split_once("=> ")?.1.split('"').nth(1));
    let words = literals.map(|text| text.split('{').next().unwrap_or_default().trim());
    words.filter(|words| !words.is_empty() && !words.starts_with('-')).map(str::to_owned).collect()
}

/// Returns the lines of each value whose name contains `hint`: the arguments of a call, the body of a function, or what
/// a field or a variable is set to.
fn hints(source: &Source) -> Vec<RangeInclusive<usize>> {
    let mut found: Vec<RangeInclusive<usize>> = Vec::new();
    for at in (0..source.tokens.len()).filter(|at| source.text_at(*at).to_ascii_lowercase().contains("hint")) {
        let line = source.tokens[at].line;
        let is_function = at > 0 && source.text_at(at - 1) == "fn";
        let end = match (source.text_at(at + 1), source.text_at(at + 2)) {
            _ if is_function => {
                let open = (at..source.tokens.len()).find(|at| source.text_at(*at) == "{");
                open.map_or(at, |open| closing(&source.tokens, open))
            }
            ("(", _) => closing(&source.tokens, at + 1),
            (":", ":") => source.tokens[at..]
                .iter()
                .position(|token| token.text == "(")
                .map_or(at, |open| closing(&source.tokens, at + open)),
            (":" | "=", _) => value_end(source, at + 2),
            _ => at,
        };
        let last = source.tokens.get(end).or(source.tokens.last()).map_or(line, |token| token.line);
        if found.last().is_none_or(|outer| last > *outer.end()) {
            found.push(line..=last);
        }
    }
    found
}

/// Returns the token that ends the value at `at`, of a field or a variable.
fn value_end(source: &Source, mut at: usize) -> usize {
    loop {
        match source.text_at(at) {
            "" | "," | ";" | "}" | ")" => return at,
            "(" | "{" | "[" => at = closing(&source.tokens, at) + 1,
            _ => at += 1,
        }
    }
}

/// Counts the commands in the literals of these lines, which may be broken with a backslash.
fn count(source: &Source, lines: &RangeInclusive<usize>, commands: &BTreeSet<String>) -> usize {
    let lines = source.text.lines().skip(lines.start() - 1).take(lines.end() - lines.start() + 1);
    let text: String = lines.map(|line| line.trim_start().trim_end_matches('\\').to_owned() + " ").collect();
    let text = text.replace("  ", " ");
    let is_command = |rest: &&str| {
        commands.iter().any(|command| {
            rest.strip_prefix(command.as_str()).is_some_and(|rest| {
                !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-' || next == '_')
            })
        })
    };
    text.split("skillhub ").skip(1).filter(is_command).count()
}

#[test]
fn commands_in_hints_are_found() {
    let steps = "fn command(&self) -> String {\n let words = match self {\n Self::A => \"review list\".to_owned(),\n \
                 Self::B(name) => format!(\"enable {name}\"),\n };\n}\n";
    let bad = "//! \nfn f() {\n failure.hint(format!(\n \"see `skillhub \\\n review list`\"\n ));\n \
               let hint = match x {\n true => \"run: skillhub enable pdf\",\n };\n \
               A { hint: \"`skillhub enable x`\".into(), b }\n Hint::from(\"skillhub enable\");\n}\n\
               fn hint() { \"skillhub review list\" }\n";
    let good = "//! \nfn f() {\n failure.hint(\"`skillhub doctor`, `skillhub review`, skillhub enabled\");\n \
                message(\"skillhub enable x\");\n // hint(\"skillhub enable x\")\n let hint = a;\n \
                b(\"skillhub enable\");\n}\n#[cfg(test)]\nmod tests {\n fn f() { hint(\"skillhub enable\") }\n}\n";
    let tree = Tree::of(&[
        (STEPS.0, steps),
        ("crates/a/src/bad.rs", bad),
        ("crates/a/src/good.rs", good),
        ("cli/commands/a.rs", bad),
    ]);
    let found: Vec<String> = fixed_commands(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["crates/a/src/bad.rs:13: 5 commands of a `NextStep` in hints, but 0 are listed"]);
}
