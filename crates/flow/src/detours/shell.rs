//! Deobfuscation of shell scripts: [`edits`] replaces indirect words with their values.

use std::collections::HashMap;

use super::{
    Edit, TooMuch,
    shell_word::{Word, Words, is_variable},
};

/// Words that are followed by another command.
const LEADS: &[&str] = &[
    "then", "do", "else", "if", "elif", "while", "until", "!", "sudo", "exec", "eval", "nohup", "time", "env", "xargs",
    "export", "local", "declare", "readonly", "typeset", "$",
];

/// Prefix words that do not change the command that follows.
const EMPTY_LEADS: &[&str] = &["command", "builtin", "busybox"];

/// Directories of programs, removed from command names.
const PLACES: &[&str] = &["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"];

/// Maximum length in bytes of a function body or alias that is treated as a command.
const BODY: usize = 200;

/// Maximum number of aliases and functions.
const COMMANDS: usize = 4096;

/// Collects all edits of a script, in order of position.
pub(super) fn edits(text: &str) -> Result<Vec<Edit>, TooMuch> {
    let mut walk = Walk {
        words: Words::new(text),
        commands: HashMap::new(),
        edits: Vec::new(),
        room: super::room(text),
        joined: 0,
        is_command: true,
        is_alias: false,
    };
    let mut at = 0;
    while at < text.len() {
        at = walk.step(at)?;
    }
    Ok(walk.edits)
}

struct Walk<'t> {
    words: Words<'t>,
    /// Aliases and functions, with the command that each expands to.
    commands: HashMap<&'t str, String>,
    edits: Vec<Edit>,
    /// Bytes by which the script may still grow.
    room: usize,
    /// Number of lines joined to the first line of the current command.
    joined: usize,
    /// True if the next word is the name of a command.
    is_command: bool,
    /// True inside the arguments of `alias`.
    is_alias: bool,
}

impl<'t> Walk<'t> {
    /// Processes the token at a position and returns the position of the next one.
    fn step(&mut self, at: usize) -> Result<usize, TooMuch> {
        match self.words.byte(at) {
            b' ' | b'\t' | b'\r' => Ok(at + 1),
            b'\n' => self.end_line(at),
            b'\\' if self.words.rest(at).starts_with("\\\n") => self.join(at),
            b'#' => Ok(self.words.line_end(at)),
            b';' | b'|' | b'&' | b'(' | b'`' => self.begin(at + 1),
            b'$' if self.words.byte(at + 1) == b'(' && self.words.spoken(at).is_none() => self.begin(at + 2),
            b')' | b'<' | b'>' => Ok(at + 1),
            b'{' | b'}' if matches!(self.words.byte(at + 1), b' ' | b'\n' | b'\t' | b';' | 0) => self.begin(at + 1),
            _ => self.word(at),
        }
    }

    fn begin(&mut self, next: usize) -> Result<usize, TooMuch> {
        (self.is_command, self.is_alias) = (true, false);
        Ok(next)
    }

    fn end_line(&mut self, at: usize) -> Result<usize, TooMuch> {
        if self.joined > 0 {
            let lines = "\n".repeat(std::mem::take(&mut self.joined));
            self.put(at, at, lines, false)?;
        }
        self.begin(at + 1)
    }

    /// Joins a continuation line to the current one.
    fn join(&mut self, at: usize) -> Result<usize, TooMuch> {
        let end = at + 2 + self.words.rest(at + 2).bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.joined += 1;
        self.put(at, end, " ".to_owned(), false)?;
        Ok(end)
    }

    fn put(&mut self, start: usize, end: usize, text: String, unsure: bool) -> Result<(), TooMuch> {
        self.room = self.room.checked_sub(super::EDIT + text.len().saturating_sub(end - start)).ok_or(TooMuch)?;
        self.edits.push(Edit { range: start..end, text, unsure });
        Ok(())
    }

    fn word(&mut self, at: usize) -> Result<usize, TooMuch> {
        let word = self.words.read(at)?;
        let end = word.end.max(at + 1);
        if self.is_alias
            && let Some((name, command)) = word.plain.split_once('=')
        {
            self.note(at, name.len(), command)?;
            return Ok(end);
        }
        if !self.is_command {
            if word.changed {
                self.put(at, end, word.shown, word.unsure)?;
            }
            return Ok(end);
        }
        self.command(at, end, word)
    }

    /// Processes a word in command position.
    fn command(&mut self, at: usize, end: usize, word: Word) -> Result<usize, TooMuch> {
        if self.words.assign(at, &word)? {
            if word.changed {
                self.put(at, end, word.shown, word.unsure)?;
            }
            return Ok(end);
        }
        let name = word.plain.as_str();
        if LEADS.contains(&name) {
            return Ok(end);
        }
        if EMPTY_LEADS.contains(&name) && self.words.byte(end) == b' ' && self.words.byte(end + 1) != b'-' {
            self.put(at, end + 1, String::new(), false)?;
            return Ok(end + 1);
        }
        self.is_command = false;
        self.is_alias = name == "alias";
        if self.words.rest(end).starts_with("()") {
            self.function(at, end)?;
            return self.begin(end + 2);
        }
        let unsure = word.unsure || self.commands.contains_key(name);
        if let Some(direct) = self.named(&word) {
            self.put(at, end, direct, unsure)?;
        }
        Ok(end)
    }

    /// Returns the direct name of a command, if it is obfuscated.
    fn named(&self, word: &Word) -> Option<String> {
        let name = word.plain.as_str();
        if let Some(command) = self.commands.get(name) {
            return Some(command.clone());
        }
        if let Some(program) = PLACES.iter().find_map(|place| name.strip_prefix(place)) {
            return Some(program.to_owned());
        }
        if let Some(words) =
            name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).filter(|words| words.contains(','))
        {
            return Some(words.replace(',', " "));
        }
        let is_name = !name.is_empty() && name.len() < 64 && !name.contains(char::is_whitespace);
        if is_name && word.is_quoted { Some(name.to_owned()) } else { word.changed.then(|| word.bare()) }
    }

    /// Records `f() { curl "$@"; }`: from here on, `f` expands to `curl`.
    fn function(&mut self, at: usize, end: usize) -> Result<(), TooMuch> {
        let rest = self.words.rest(end + 2).trim_start_matches([' ', '\n']);
        let Some(body) = rest.strip_prefix('{') else { return Ok(()) };
        let body = body.get(..body.floor_char_boundary(BODY)).unwrap_or("");
        let Some((command, behind)) =
            body.split_once("\"$@\"").or_else(|| body.split_once("$@")).or_else(|| body.split_once("$*"))
        else {
            return Ok(());
        };
        let command = command.trim();
        let is_one = !command.is_empty() && !command.contains(['\n', ';', '$', '}']);
        let is_all = behind.trim_start_matches([' ', ';', '\n', '"']).starts_with('}');
        if is_one && is_all { self.note(at, end - at, command) } else { Ok(()) }
    }

    fn note(&mut self, at: usize, length: usize, command: &str) -> Result<(), TooMuch> {
        let name = self.words.rest(at).get(..length).unwrap_or("");
        if is_variable(name) && command.len() < BODY {
            self.commands.insert(name, command.to_owned());
        }
        if self.commands.len() > COMMANDS { Err(TooMuch) } else { Ok(()) }
    }
}
