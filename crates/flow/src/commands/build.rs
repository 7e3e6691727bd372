//! Readers for files whose lines are build commands or variable assignments: [`docker`], [`make`], [`just`] and
//! [`batch`].

use super::{Page, json, variable, with_variables};

/// Joins lines that end in a backslash. Each logical line comes with the number of its first line, counted from 0.
fn logical(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with('#');
        match all.last_mut().filter(|_| goes_on) {
            Some((_, whole)) => {
                whole.push('\n');
                whole.push_str(if is_comment { "\\" } else { line });
            }
            None => all.push((at, line.to_owned())),
        }
        goes_on = line.trim_end().ends_with('\\') || goes_on && is_comment;
    }
    all
}

/// Extracts the instructions of a Dockerfile that run commands, set variables or download files.
pub(super) fn docker(text: &str, page: &mut Page) {
    for (at, line) in logical(text) {
        let Some((word, rest)) = line.trim_start().split_once([' ', '\t']) else { continue };
        let rest = rest.trim_start();
        match word.to_ascii_uppercase().as_str() {
            "RUN" | "CMD" | "ENTRYPOINT" | "HEALTHCHECK" | "ONBUILD" => {
                let mut rest = rest;
                while let Some((_, behind)) = rest.split_once(' ').filter(|(option, _)| is_prefix(option)) {
                    rest = behind.trim_start();
                }
                if rest.starts_with('[') { page.put_words(at, &json::words(rest)) } else { page.put(at, rest) }
            }
            "ENV" | "ARG" if rest.contains('=') => page.put(at, rest),
            "ADD" if rest.contains("://") => {
                let words: Vec<&str> = rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
                if let [from, to] = words.as_slice() {
                    page.put(at, &format!("curl -o {to} {from}"));
                }
            }
            _ => {}
        }
    }
}

fn is_prefix(word: &str) -> bool {
    word.starts_with("--") || matches!(word, "RUN" | "CMD")
}

/// Extracts the recipes and variable assignments of a makefile.
pub(super) fn make(text: &str, page: &mut Page) {
    for (at, line) in logical(text) {
        match line.strip_prefix('\t').or_else(|| line.split_once(": ;").map(|(_, command)| command)) {
            Some(command) => page.put(at, unmade(command).trim_start_matches(['@', '-', '+', ' '])),
            None => assignment(at, &line, page),
        }
    }
}

fn assignment(at: usize, line: &str, page: &mut Page) {
    let line = line.trim_start_matches("export ").trim_start_matches("override ");
    let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { return };
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let value = unmade(value.trim());
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return;
    }
    let is_one = !value.contains([' ', '"']) || value.starts_with("$(");
    page.put(
        at,
        &if is_one { format!("{name}={value}") } else { format!("{name}=\"{}\"", value.replace('"', "\\\"")) },
    );
}

/// Expands a makefile line to the text that make passes to the shell.
fn unmade(line: &str) -> String {
    let line = line.replace("$(shell ", "$$(").replace("$$", "\u{1}");
    let line = with_variables(&line, "$(", ")", |name| match name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => variable(name),
        false => "${x}".to_owned(),
    });
    line.replace('\u{1}', "$")
}

/// Extracts the recipes of a justfile.
pub(super) fn just(text: &str, page: &mut Page) {
    for (at, line) in text.lines().enumerate() {
        if line.starts_with([' ', '\t']) {
            let command = with_variables(line.trim_start(), "{{", "}}", variable);
            page.put(at, command.trim_start_matches(['@', '-']));
        }
    }
}

/// Windows commands and their shell equivalents.
const NAMES: &[(&str, &str)] =
    &[("type", "cat"), ("copy", "cp"), ("xcopy", "cp -r"), ("del", "rm"), ("move", "mv"), ("call", ""), ("start", "")];

/// Translates the commands of a batch file to shell commands.
pub(super) fn batch(text: &str, page: &mut Page) {
    for (at, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('@').replace('\\', "/").replace("^|", "|");
        let line = with_variables(&line, "%", "%", of_windows);
        let (name, rest) = line.split_once(' ').unwrap_or((line.as_str(), ""));
        let lower = if name.contains('$') { name.to_owned() } else { name.to_ascii_lowercase() };
        if matches!(lower.as_str(), "rem" | "echo" | "::" | "if" | "for") && !rest.contains(['|', '>']) {
            continue;
        }
        let words: Vec<&str> = rest.split_whitespace().filter(|word| !is_switch(word)).collect();
        let known = NAMES.iter().find(|(windows, _)| *windows == lower).map(|(_, shell)| *shell);
        let fetches = matches!(lower.trim_end_matches(".exe"), "certutil" | "bitsadmin" | "powershell" | "pwsh");
        let command = match (fetched(rest).filter(|_| fetches), known) {
            (Some((from, to)), _) => format!("curl -o {to} {from}"),
            (None, Some(shell)) => format!("{shell} {}", words.join(" ")).trim().to_owned(),
            (None, None) if lower == "set" => {
                let (name, value) = rest.trim_matches('"').split_once('=').unwrap_or((rest, ""));
                format!("{}={value}", name.trim().to_ascii_uppercase())
            }
            (None, None) => format!("{} {rest}", lower.trim_end_matches(".exe")),
        };
        page.put(at, &command);
    }
}

/// Translates a Windows environment variable to a shell variable.
fn of_windows(name: &str) -> String {
    match name.to_ascii_uppercase().as_str() {
        "USERPROFILE" | "HOMEPATH" => "${HOME}".to_owned(),
        "APPDATA" => "${HOME}/AppData/Roaming".to_owned(),
        "LOCALAPPDATA" => "${HOME}/AppData/Local".to_owned(),
        other => variable(other),
    }
}

/// Finds the URL and the target file of a download.
fn fetched(line: &str) -> Option<(&str, &str)> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '(' | ')' | ';');
    let mut words = line.split(is_mark).filter(|word| !word.is_empty());
    let from = words.find(|word| word.contains("://"))?;
    let to = words.find(|word| !word.starts_with('-') && word.contains(['/', '.']))?;
    Some((from, to))
}

/// Returns whether a word is a switch of a Windows command, such as `/Y`.
fn is_switch(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|rest| rest.len() < 3 && rest.chars().all(char::is_alphanumeric))
}
