//! [`Reader`]: a scanner for the commands, variables and redirections of shell text.
//!
//! It recognises quotes, comments, here-documents, substitutions, functions and assignments, so that printed text is
//! not mistaken for commands. It is not a full parser: it skips constructs that it does not recognise.

use std::collections::BTreeSet;

use super::{COMPUTED, Collector, Kind, Piece, WHOLE_ENVIRONMENT, hosts, paths, privileges, sentence::is_sentence};

/// Maximum nesting depth of substitutions.
const DEPTH: usize = 32;

/// Maximum number of words kept per command.
const WORDS: usize = 32;

/// Maximum length of a word in bytes. The rest of a longer one is dropped.
const WORD: usize = 256;

/// Shell builtins and keywords without an effect outside of the shell.
const BUILTINS: [&str; 44] = [
    "echo", "printf", "cd", "set", "unset", "shift", "return", "exit", "trap", ":", "true", "false", "pwd", "wait",
    "getopts", "let", "alias", "unalias", "break", "continue", "[", "[[", "]]", "test", "type", "hash", "shopt",
    "umask", "ulimit", "local", "export", "declare", "typeset", "readonly", "read", "pushd", "popd", "jobs", "fg",
    "bg", "disown", "esac", "fi", "done",
];

/// Keywords and prefixes that precede a command.
const LEADS: [&str; 13] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "builtin", "command"];

/// Maximum length of a placeholder in characters.
const PLACEHOLDER: usize = 48;

/// Variables that the shell sets itself.
const OWN: [&str; 17] = [
    "BASH_SOURCE", "BASH_VERSION", "BASH_REMATCH", "OSTYPE", "PWD", "OLDPWD", "RANDOM", "LINENO", "IFS", "FUNCNAME",
    "SECONDS", "PIPESTATUS", "UID", "EUID", "HOSTNAME", "PPID", "OPTARG",
];

/// Commands that run the command in their arguments.
const WRAPPERS: [&str; 8] = ["sudo", "xargs", "nohup", "timeout", "nice", "exec", "env", "doas"];

/// Options of [`WRAPPERS`] that take the next word as their value.
const WITH_VALUE: [&str; 8] = ["-u", "-g", "-n", "-I", "-P", "-L", "-s", "-k"];

/// Commands that accept a host without a scheme.
const TO_HOSTS: [&str; 10] = ["nc", "ncat", "ssh", "scp", "sftp", "rsync", "telnet", "ping", "dig", "nslookup"];

/// Counterpart of [`TO_HOSTS`] for commands whose options take files.
const FETCHERS: [&str; 2] = ["curl", "wget"];

/// Records the capabilities that shell text needs.
pub(super) fn read(piece: &Piece<'_>, found: &mut Collector) {
    let mut reader = Reader::new(piece, piece.text);
    reader.run();
    reader.report(found);
}

/// Like [`read`], for a terminal session. Only the text after prompts counts, if there are any.
pub(super) fn read_console(piece: &Piece<'_>, found: &mut Collector) {
    let prompts = ["$ ", "% ", "# "];
    if !piece.text.lines().any(|line| line.trim_start().starts_with(prompts[0])) {
        return read(piece, found);
    }
    let typed =
        |line: &str| prompts.iter().find_map(|prompt| line.trim_start().strip_prefix(prompt).map(str::to_owned));
    let text: Vec<String> = piece.text.lines().map(|line| typed(line).unwrap_or_default()).collect();
    let mut reader = Reader::new(piece, &text.join("\n"));
    reader.run();
    reader.report(found);
}

/// The use of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Word,
    Written,
    Read,
    HereDocument,
}

/// The delimiter that ends a substitution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Parenthesis,
    Backtick,
}

/// Saved state of a command that contains a substitution.
struct Frame {
    end: End,
    words: Vec<String>,
    word: String,
    in_quotes: bool,
}

struct Reader<'a> {
    piece: &'a Piece<'a>,
    chars: Vec<char>,
    at: usize,
    line: usize,
    in_quotes: bool,
    word: String,
    words: Vec<String>,
    next: Next,
    frames: Vec<Frame>,
    /// Delimiters of the here-documents that begin on this line.
    here: Vec<String>,
    /// Variables and functions that the text itself defines.
    own: BTreeSet<String>,
    commands: Vec<(Vec<String>, usize)>,
    variables: Vec<(String, usize)>,
    files: Vec<(Kind, String, usize)>,
}

impl<'a> Reader<'a> {
    fn new(piece: &'a Piece<'a>, text: &str) -> Self {
        Self {
            piece,
            chars: text.chars().collect(),
            at: 0,
            line: 0,
            in_quotes: false,
            word: String::new(),
            words: Vec::new(),
            next: Next::Word,
            frames: Vec::new(),
            here: Vec::new(),
            own: BTreeSet::new(),
            commands: Vec::new(),
            variables: Vec::new(),
            files: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn run(&mut self) {
        while let Some(c) = self.take() {
            match c {
                '\\' => match self.take() {
                    Some('\n') | None => {}
                    Some(c) => self.push(c),
                },
                '"' => self.in_quotes = !self.in_quotes,
                '$' => self.expansion(),
                '`' => self.backtick(),
                c if self.in_quotes => self.push(c),
                '\'' => self.single(),
                '#' if self.word.is_empty() => self.skip_line(),
                '\n' => {
                    // Attribute the command to the line that ends here.
                    self.line -= 1;
                    self.end_command();
                    self.line += 1;
                    self.here_documents();
                }
                ';' | '|' | '&' => self.end_command(),
                '(' => self.open(),
                ')' => self.close(),
                '<' | '>' => self.redirection(c),
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        self.end_command();
    }

    fn push(&mut self, c: char) {
        if self.word.len() < WORD {
            self.word.push(c);
        }
    }

    fn single(&mut self) {
        while let Some(c) = self.take() {
            if c == '\'' {
                // A quoted word may be empty.
                return;
            }
            self.push(c);
        }
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// Skips to the end of the next occurrence of a delimiter.
    fn skip_past(&mut self, end: &str) {
        let end: Vec<char> = end.chars().collect();
        while self.at < self.chars.len() {
            if self.chars.get(self.at..).is_some_and(|rest| rest.starts_with(&end)) {
                self.at += end.len();
                return;
            }
            self.take();
        }
    }

    fn expansion(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (Some('('), Some('(')) => self.skip_past("))"),
            (Some('('), _) => {
                self.at += 1;
                self.push('$');
                self.enter(End::Parenthesis);
            }
            (Some('\''), _) if !self.in_quotes => {
                self.at += 1;
                self.single();
            }
            (Some('{'), _) => {
                self.at += 1;
                self.push('$');
                self.variable();
                self.skip_past("}");
            }
            (Some(c), _) if c.is_ascii_alphabetic() || c == '_' => {
                self.push('$');
                self.variable();
            }
            _ => self.push('$'),
        }
    }

    fn variable(&mut self) {
        let mut name = String::new();
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            self.at += 1;
            self.push(c);
            name.push(c);
        }
        let is_environment = name.len() > 1 && !name.chars().any(|c| c.is_ascii_lowercase());
        if is_environment && name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') {
            self.variables.push((name, self.line));
        }
    }

    fn backtick(&mut self) {
        if self.frames.last().is_some_and(|frame| frame.end == End::Backtick) {
            self.leave();
        } else {
            self.push('$');
            self.enter(End::Backtick);
        }
    }

    fn enter(&mut self, end: End) {
        if self.frames.len() >= DEPTH {
            return;
        }
        let (words, word) = (std::mem::take(&mut self.words), std::mem::take(&mut self.word));
        self.frames.push(Frame { end, words, word, in_quotes: self.in_quotes });
        self.in_quotes = false;
    }

    fn leave(&mut self) {
        self.end_command();
        if let Some(frame) = self.frames.pop() {
            (self.words, self.word, self.in_quotes) = (frame.words, frame.word, frame.in_quotes);
        }
    }

    fn open(&mut self) {
        if self.word.ends_with('=') {
            return self.skip_past(")");
        }
        if self.peek(0) == Some(')') {
            self.at += 1;
            let name = std::mem::take(&mut self.word);
            self.own.insert(name);
            self.words.clear();
            return;
        }
        if self.word.is_empty() && self.words.is_empty() && self.peek(0) == Some('(') {
            return self.skip_past("))");
        }
        self.end_command();
        self.enter(End::Parenthesis);
    }

    fn close(&mut self) {
        if self.frames.last().is_some_and(|frame| frame.end == End::Parenthesis) {
            self.leave();
        } else {
            // A pattern of a `case` statement.
            self.word.clear();
            self.words.clear();
        }
    }

    /// Returns the length of a placeholder such as `<name>`, counted after its `<`.
    fn placeholder(&self) -> Option<usize> {
        let mut rest = self.chars.get(self.at..)?.iter().take(PLACEHOLDER);
        let end = rest.clone().position(|c| *c == '>')?;
        let fits = |c: &char| c.is_alphanumeric() || "_-./:|".contains(*c);
        (end > 0 && rest.by_ref().take(end).all(fits)).then_some(end + 1)
    }

    fn redirection(&mut self, c: char) {
        if let Some(length) = self.placeholder().filter(|_| c == '<') {
            self.at += length;
            return self.push('$');
        }
        if self.word.chars().all(|c| c.is_ascii_digit()) {
            self.word.clear();
        }
        self.end_word();
        self.next = match (c, self.peek(0)) {
            (_, Some('(')) => {
                self.at += 1;
                self.enter(End::Parenthesis);
                return;
            }
            ('<', Some('<')) if self.peek(1) == Some('<') => {
                self.at += 2;
                Next::Word
            }
            ('<', Some('<')) => {
                self.at += 1 + usize::from(self.peek(1) == Some('-'));
                Next::HereDocument
            }
            ('>', Some('>' | '|')) => {
                self.at += 1;
                Next::Written
            }
            (_, Some('&')) => {
                self.at += 1;
                while self.peek(0).is_some_and(|c| c.is_ascii_digit() || c == '-') {
                    self.at += 1;
                }
                return;
            }
            ('>', _) => Next::Written,
            _ => Next::Read,
        };
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        match std::mem::replace(&mut self.next, Next::Word) {
            Next::Word if self.words.len() < WORDS => self.words.push(word),
            Next::Word => {}
            Next::Written => self.files.push((Kind::Write, word, self.line)),
            Next::Read => self.files.push((Kind::Read, word, self.line)),
            Next::HereDocument => self.here.push(word),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.next = Next::Word;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.commands.push((words, self.line));
        }
    }

    fn here_documents(&mut self) {
        for end in std::mem::take(&mut self.here) {
            loop {
                let from = self.at;
                self.skip_line();
                let line: String = self.chars.get(from..self.at).unwrap_or_default().iter().collect();
                if self.take().is_none() || line.trim() == end {
                    break;
                }
            }
        }
    }

    fn report(mut self, found: &mut Collector) {
        for (words, line) in std::mem::take(&mut self.commands) {
            self.command(&words, line, found);
        }
        for (name, line) in &self.variables {
            if !self.own.contains(name) && !OWN.contains(&name.as_str()) {
                found.add(Kind::Variable, name, self.piece.spot(*line));
            }
        }
        for (kind, path, line) in &self.files {
            if !path.starts_with('$') || path.starts_with("$HOME") {
                paths::add(found, *kind, path, self.piece.spot(*line));
            }
        }
    }

    fn command(&mut self, words: &[String], line: usize, found: &mut Collector) {
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next_if(|word| LEADS.contains(word) || is_assignment(word)) {
            if let Some((name, _)) = word.split_once('=') {
                self.own.insert(name.trim_end_matches('+').to_owned());
            }
        }
        let Some(name) = words.next() else { return };
        match name {
            "for" | "select" | "case" | "function" => {
                self.own.extend(words.next().map(|name| name.trim_end_matches("()").to_owned()));
            }
            "local" | "export" | "declare" | "typeset" | "readonly" | "read" => {
                let names = words.filter(|word| !word.starts_with('-') && (name == "read" || word.contains('=')));
                self.own.extend(names.filter_map(|word| word.split('=').next()).map(str::to_owned));
            }
            "source" | "." => {
                words.next().into_iter().for_each(|path| paths::add(found, Kind::Read, path, self.piece.spot(line)));
            }
            name if BUILTINS.contains(&name) || self.own.contains(name) => {}
            name => self.program(name, words.map(str::to_owned).collect(), line, found),
        }
    }

    fn program(&mut self, name: &str, rest: Vec<String>, line: usize, found: &mut Collector) {
        let spot = self.piece.spot(line);
        if name.starts_with('$') {
            return found.add(Kind::Command, COMPUTED, spot);
        }
        let short = name.rsplit('/').next().filter(|_| name.starts_with('/')).unwrap_or(name);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+/~@-$".contains(c);
        let fits = short.chars().all(is_plain) && short.contains(|c: char| c.is_ascii_alphabetic());
        if !fits || short.len() > 64 || short.starts_with(['-', '@', '+']) || short.ends_with('/') {
            return;
        }
        if is_sentence(self.piece, short, &rest) {
            return;
        }
        privileges::note(short, rest.iter().map(String::as_str), spot, found);
        let wraps = WRAPPERS.contains(&short);
        if !(wraps && matches!(short, "env" | "exec")) || rest.is_empty() {
            found.add(Kind::Command, short, spot);
        }
        if matches!(short, "env" | "printenv") && rest.is_empty() {
            found.add(Kind::Variable, WHOLE_ENVIRONMENT, spot);
        }
        if wraps {
            return self.command(&behind_wrapper(&rest), line, found);
        }
        let fetches = FETCHERS.contains(&short) && !rest.iter().any(|word| word.contains("://"));
        if TO_HOSTS.contains(&short) || fetches {
            let is_value = |at: usize| at > 0 && rest.get(at - 1).is_some_and(|word| word.starts_with('-'));
            let named = rest.iter().enumerate().filter(|(at, word)| !is_option(word) && !is_value(*at));
            for host in named.filter_map(|(_, word)| hosts::host_in(word)) {
                found.add(Kind::Host, &host, spot);
            }
        }
    }
}

/// Returns the command after the options of its wrapper.
fn behind_wrapper(rest: &[String]) -> Vec<String> {
    let mut words = rest.iter().peekable();
    while let Some(word) = words.next_if(|word| is_option(word)) {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        }
    }
    words.cloned().collect()
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') || is_assignment(word) || word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
