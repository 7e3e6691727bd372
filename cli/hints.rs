//! Completion of the commands in hints with the flags that they need to work as printed.

use std::{path::Path, sync::OnceLock};

use serde_json::Value;
use skill::shell_word;

use crate::global::Global;

/// Commands that operate on a library.
const ON_LIBRARY: [&str; 39] = [
    "adopt", "blame", "commit", "curate", "debug", "diff", "disable", "doctor", "enable", "eval", "evolve", "gc",
    "history", "import", "install", "lineage", "list", "log", "manage", "outdated", "pin", "policy", "prompt", "read",
    "record", "review", "rollback", "setup", "show", "stats", "status", "sync", "tools", "undo", "uninstall", "unpin",
    "update", "verify", "waive",
];

/// Commands that contact a registry.
const ON_REGISTRY: [&str; 9] = ["info", "install", "key", "outdated", "publish", "search", "update", "verify", "yank"];

/// JSON fields that hold sentences of the program, which may contain commands.
const SENTENCES: [&str; 6] = ["command", "hint", "message", "note", "notes", "warnings"];

/// Flags of the current command that later commands need as well.
#[derive(Debug, Default)]
struct Flags {
    library: String,
    registry: String,
    transport: String,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();

/// Stores the flags of the current command. Settings from environment variables apply to later commands anyway and are
/// left out.
pub fn note_flags(global: &Global) {
    let library = match (&global.library, global.project, global.global) {
        (Some(folder), ..) => format!("--library {} ", shell_word(&folder.display().to_string())),
        (None, true, _) => "--project ".to_owned(),
        (None, false, true) => "--global ".to_owned(),
        (None, false, false) => String::new(),
    };
    let folder = global.directory.as_ref().map(|folder| format!("-C {} ", shell_word(&folder.display().to_string())));
    let library = folder.unwrap_or_default() + &library;
    let by_variable = std::env::var("SKILLHUB_REGISTRY").ok();
    let registry = global.registry.as_ref().filter(|registry| Some(*registry) != by_variable.as_ref());
    let registry = registry.filter(|registry| !registry.is_empty());
    let registry = registry.map(|registry| format!("--registry {} ", shell_word(registry))).unwrap_or_default();
    let ca_file = global.ca_file.as_ref().map(|file| format!("--ca-file {} ", shell_word(&file.display().to_string())));
    let transport = ca_file.unwrap_or_default() + if global.insecure { "--insecure " } else { "" };
    let _set_once = FLAGS.set(Flags { library, registry, transport });
}

/// Adds the flags of the current command to the commands in a text.
pub fn for_user(text: &str) -> String {
    FLAGS.get().map_or_else(|| text.to_owned(), |flags| with_flags(text, flags))
}

/// Adds the flag for the user's library to the commands in a text. They get no other flag for a library later.
pub fn for_user_library(text: &str) -> String {
    with_flags(text, &Flags { library: "--global ".to_owned(), ..Flags::default() })
}

/// Adds the flags for a project's library to the commands in a text.
pub fn for_project(text: &str, root: &Path) -> String {
    let library = format!("-C {} --project ", shell_word(&root.display().to_string()));
    with_flags(text, &Flags { library, ..Flags::default() })
}

/// Returns whether flags have to be added, and the JSON text has fields that may contain commands.
pub fn are_needed(json: &str) -> bool {
    let has_flags = FLAGS.get().is_some_and(|flags| !flags.library.is_empty() || !flags.registry.is_empty());
    has_flags && SENTENCES.iter().any(|name| json.contains(&format!("\"{name}\":")))
}

/// Adds the flags of the current command to all sentences of a document.
pub fn complete(document: &mut Value) {
    complete_below(document, false);
}

fn complete_below(value: &mut Value, is_sentence: bool) {
    match value {
        Value::String(text) if is_sentence => *text = for_user(text),
        Value::Array(items) => items.iter_mut().for_each(|item| complete_below(item, is_sentence)),
        Value::Object(fields) => {
            for (name, value) in fields {
                complete_below(value, SENTENCES.contains(&name.as_str()));
            }
        }
        _ => {}
    }
}

fn with_flags(text: &str, flags: &Flags) -> String {
    const PROGRAM: &str = "skillhub ";
    let mut pieces = text.split(PROGRAM);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_word = !out.ends_with(|c: char| c.is_alphanumeric() || "-_/.".contains(c));
        out.push_str(PROGRAM);
        if is_word {
            out.push_str(&flags_for(piece, flags));
        }
        out.push_str(piece);
    }
    out
}

/// Returns the flags to add to the command at the start of a text, without those that it already has.
fn flags_for(command: &str, flags: &Flags) -> String {
    let verb = command.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    let command = command.split(['`', '\n']).next().unwrap_or_default();
    let has = |flag: &str| command.split([' ', '=']).any(|word| word == flag);
    // The hook of a host is written with the flags that it needs.
    if has("--hook") {
        return String::new();
    }
    let mut all = String::new();
    if ON_LIBRARY.contains(&verb) && !["--library", "--project", "--global", "-g", "-C"].into_iter().any(has) {
        all.push_str(&flags.library);
    }
    let asks = ON_REGISTRY.contains(&verb) || command.starts_with("index verify");
    if asks && !has("--registry") {
        all.push_str(&flags.registry);
    }
    let asks_servers = ON_REGISTRY.contains(&verb) || verb == "login";
    if asks_servers && !has("--ca-file") && !has("--insecure") {
        all.push_str(&flags.transport);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> String {
        let (library, registry) = ("--global ".to_owned(), "--registry /r ".to_owned());
        with_flags(text, &Flags { library, registry, ..Flags::default() })
    }

    #[test]
    fn commands_get_the_flags_they_know() {
        assert_eq!(with("look: skillhub status pdf"), "look: skillhub --global status pdf");
        assert_eq!(with("`skillhub search pdf`"), "`skillhub --registry /r search pdf`");
        assert_eq!(
            with("first skillhub uninstall pdf, then skillhub install a/pdf"),
            "first skillhub --global uninstall pdf, then skillhub --global --registry /r install a/pdf"
        );
    }

    #[test]
    fn users_library_is_named_once() {
        let hint = for_user_library("see `skillhub status pdf`; then skillhub search pdf");
        assert_eq!(hint, "see `skillhub --global status pdf`; then skillhub search pdf");
        assert_eq!(for_user_library(&hint), hint);
    }

    #[test]
    fn servers_are_reached_the_same_way() {
        let flags = Flags { transport: "--ca-file ca.pem ".to_owned(), ..Flags::default() };
        for (text, whole) in [
            ("skillhub login https://h", "skillhub --ca-file ca.pem login https://h"),
            ("skillhub search pdf", "skillhub --ca-file ca.pem search pdf"),
            ("skillhub status", "skillhub status"),
        ] {
            assert_eq!(with_flags(text, &flags), whole);
        }
    }

    #[test]
    fn flags_are_not_given_twice() {
        let whole = "skillhub install a/pdf --library x --registry y";
        assert_eq!(with(whole), whole);
        assert_eq!(with("skillhub --global list"), "skillhub --global list");
    }

    #[test]
    fn other_words_stay() {
        for text in [
            "skillhub login http://h", "nothing skillhub does", "use a newer skillhub", "acme-skillhub list",
            "skillhub record --hook codex JSON",
        ] {
            assert_eq!(with(text), text);
        }
        assert_eq!(with_flags("skillhub list", &Flags::default()), "skillhub list");
    }
}
