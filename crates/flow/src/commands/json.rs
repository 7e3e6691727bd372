//! Reader for JSON documents, with or without comments: package scripts, hooks and servers of an agent, editor tasks,
//! container commands.

use super::Page;
use crate::program::unescaped;

/// Maximum nesting depth of objects and lists. Deeper ones are not distinguished from the one around them.
const DEPTH: usize = 64;

/// Object or list that is still open at the current position.
#[derive(Default)]
struct Open {
    /// Key of this object or list; empty for list items and the root.
    key: String,
    is_list: bool,
    /// True if each string in it is a command.
    of_commands: bool,
    /// Value of the `command` field, with its line. The arguments are in `args`.
    command: Option<(usize, String)>,
    args: Vec<String>,
}

/// Extracts the commands of a JSON document to `page`.
pub(super) fn commands(text: &str, page: &mut Page) {
    let mut open: Vec<Open> = Vec::new();
    let mut key = String::new();
    let (mut at, mut line) = (0, 0);
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\n' => line += 1,
            b'/' if bytes.get(at) == Some(&b'/') => {
                at += memchr::memchr(b'\n', bytes.get(at..).unwrap_or_default()).unwrap_or(bytes.len() - at);
            }
            b'{' | b'[' if open.len() < DEPTH => open.push(opened(*byte == b'[', std::mem::take(&mut key), &open)),
            b'}' | b']' => {
                if let Some(closed) = open.pop() {
                    close(closed, open.last_mut(), line, page);
                }
            }
            b'"' => {
                let end = end_of_text(bytes, at);
                let raw = text.get(at..end).unwrap_or("");
                at = end + 1;
                let behind = bytes.get(at..).unwrap_or_default().trim_ascii_start().first();
                if behind == Some(&b':') && open.last().is_none_or(|open| !open.is_list) {
                    raw.clone_into(&mut key);
                } else if let Some(inner) = open.last_mut() {
                    value(inner, &key, raw, line, page);
                    key.clear();
                }
            }
            b',' => key.clear(),
            _ => {}
        }
    }
}

/// Returns the strings of a JSON list.
pub(super) fn words(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let (mut words, mut at) = (Vec::new(), 0);
    while let Some(start) = bytes.get(at..).and_then(|rest| memchr::memchr(b'"', rest)).map(|found| at + found + 1) {
        let end = end_of_text(bytes, start);
        words.push(unescaped(text.get(start..end).unwrap_or("")));
        at = end + 1;
    }
    words
}

/// Returns the end of a string whose content begins at byte `from`.
fn end_of_text(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

fn opened(is_list: bool, key: String, around: &[Open]) -> Open {
    let of_commands = match key.as_str() {
        "scripts" | "hooks" | "commands" | "runcmd" => true,
        "" => around.last().is_some_and(|open| open.of_commands && !open.is_list),
        other => ends_in_command(other),
    };
    Open { key, is_list, of_commands, ..Open::default() }
}

/// Returns whether the value of a key is a command.
fn ends_in_command(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    matches!(
        key.as_str(),
        "cmd" | "run" | "exec" | "script" | "entrypoint" | "apikeyhelper" | "preinstall" | "postinstall"
    ) || key.ends_with("command")
}

fn value(open: &mut Open, key: &str, raw: &str, line: usize, page: &mut Page) {
    if open.is_list {
        if open.key == "args" || open.of_commands {
            open.args.push(unescaped(raw));
        }
    } else if key == "command" {
        open.command = Some((line, unescaped(raw)));
    } else if open.of_commands && open.key == "scripts" || ends_in_command(key) {
        page.put(line, &unescaped(raw).replace('\n', " ; "));
    }
}

fn close(mut closed: Open, around: Option<&mut Open>, line: usize, page: &mut Page) {
    if !closed.is_list {
        if let Some((at, command)) = closed.command.take() {
            match closed.args.is_empty() {
                true => page.put(at, &command.replace('\n', " ; ")),
                false => {
                    let words: Vec<String> = [command].into_iter().chain(closed.args).collect();
                    page.put_words(at, &words);
                }
            }
        }
    } else if closed.key == "args" {
        if let Some(around) = around {
            around.args = closed.args;
        }
    } else if closed.of_commands && !closed.args.is_empty() {
        page.put_words(line, &closed.args);
    }
}
