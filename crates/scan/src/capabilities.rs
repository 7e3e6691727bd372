//! [`Capabilities`]: hosts, files, commands, variables and persistence locations that a skill would touch.
//!
//! This is a summary for people who decide about a skill, not a verdict. It is read off literals and simple commands,
//! line by line. A value that is only known at run time is listed as computed. An author who wants to hide something
//! can hide it from this summary. Detecting that is the task of [`crate::scan`].

mod calls;
mod declared;
mod delta;
mod hosts;
mod lines;
mod paths;
mod privileges;
mod sentence;
mod shell;

use std::{collections::BTreeMap, ops::Range};

use memchr::memmem;
use serde::Serialize;
use skill::{Bundle, SkillPath};

use crate::{Scope, excerpt, source::Source};

pub use declared::Undeclared;
pub use delta::{Capability, CapabilityDelta};
pub(crate) use hosts::host_of;

/// Bytes of text read for one summary. A file that does not fit is skipped and the summary is marked incomplete.
const BYTES: usize = 2 << 20;

/// Maximum number of distinct items listed per kind.
const LISTED: usize = 100;

/// Maximum number of locations kept per item.
const PLACES: usize = 3;

/// Placeholder for a value that is only known at run time.
const COMPUTED: &str = "(computed)";

/// Placeholder for a read of the whole environment.
const WHOLE_ENVIRONMENT: &str = "(all of it)";

/// Capabilities of a skill. Each list is sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Tools named by `allowed-tools`, or `None` if the frontmatter has no such field.
    pub allowed_tools: Option<Vec<String>>,
    /// Network hosts, by name or address.
    pub hosts: Vec<Use>,
    /// Files and folders that are read or named.
    pub reads: Vec<Use>,
    /// Files and folders that are written, moved or removed.
    pub writes: Vec<Use>,
    /// Programs that are run.
    pub commands: Vec<Use>,
    /// Environment variables that are read.
    pub environment: Vec<Use>,
    /// Locations from which something is run or read again in a later session.
    pub persistence: Vec<Use>,
    /// Privileges that a person should decide about, such as administrator rights, package installation and deletion
    /// outside of the skill.
    pub privileges: Vec<Use>,
    /// Needs of scripts and code that neither `allowed-tools` nor `SKILL.md` declares.
    pub undeclared: Vec<Undeclared>,
    /// True if all text was read and every item found is listed.
    pub complete: bool,
}

/// One item that a skill touches, such as a host or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Use {
    /// Name of the item, with invisible characters escaped.
    pub what: String,
    /// Highest-ranking part of the skill in which it occurs.
    pub part: Part,
    /// For a file, true if it is outside of both the skill and the agent's working folder. `None` for other items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<bool>,
    /// Number of lines on which it was found.
    pub count: usize,
    /// Sample of those lines, at most three. A line in the highest-ranking part comes first.
    pub places: Vec<Place>,
}

/// Location of an item: a line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Path inside the skill.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
}

/// Part of a skill, in ascending rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Running text, configuration and data.
    Text,
    /// Code block inside a text.
    Code,
    /// File that is executed.
    Script,
}

/// Kind of an item, which selects its list in [`Capabilities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Host,
    Read,
    Write,
    Command,
    Variable,
    Persistence,
    Privilege,
}

/// Language of a piece of code, as far as the summary distinguishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Shell,
    /// Shell session: commands behind a prompt, mixed with their output.
    Console,
    /// Code in any language other than shell.
    Code,
    /// Prose, configuration or data.
    Text,
}

/// Run of consecutive lines of a file in one language.
struct Piece<'a> {
    path: &'a str,
    part: Part,
    language: Language,
    /// Number of its first line, from 1.
    first_line: usize,
    text: &'a str,
}

/// Position of a match, with the part of the skill that it is in.
#[derive(Clone, Copy)]
struct Spot<'a> {
    path: &'a str,
    line: usize,
    part: Part,
}

impl Piece<'_> {
    /// Returns whether the piece contains a string, byte for byte.
    fn names(&self, needle: &str) -> bool {
        memmem::find(self.text.as_bytes(), needle.as_bytes()).is_some()
    }

    fn spot(&self, line: usize) -> Spot<'_> {
        Spot { path: self.path, line: self.first_line + line, part: self.part }
    }
}

/// Collector that merges matches of one item and enforces the list limits.
#[derive(Default)]
struct Collector {
    found: BTreeMap<Kind, BTreeMap<String, Use>>,
    is_cut: bool,
}

impl Collector {
    fn add(&mut self, kind: Kind, what: &str, spot: Spot<'_>) {
        self.add_file(kind, what, None, spot);
    }

    fn add_file(&mut self, kind: Kind, what: &str, outside: Option<bool>, spot: Spot<'_>) {
        let what = excerpt::visible(what);
        let of_kind = self.found.entry(kind).or_default();
        if what.is_empty() {
            return;
        }
        if !of_kind.contains_key(&what) && of_kind.len() >= LISTED {
            self.is_cut = true;
            return;
        }
        let new = || Use { what: what.clone(), part: spot.part, outside, count: 0, places: Vec::new() };
        let known = of_kind.entry(what.clone()).or_insert_with(new);
        let place = Place { path: spot.path.to_owned(), line: spot.line };
        if known.places.contains(&place) {
            known.part = known.part.max(spot.part);
            return;
        }
        known.count += 1;
        if spot.part > known.part {
            known.part = spot.part;
            known.places.insert(0, place);
            known.places.truncate(PLACES);
        } else if known.places.len() < PLACES {
            known.places.push(place);
        }
    }

    fn take(&mut self, kind: Kind) -> Vec<Use> {
        self.found.remove(&kind).unwrap_or_default().into_values().collect()
    }
}

/// Summarises the capabilities of a skill. At most 2 MiB of text are read, and nothing is run or looked up.
#[must_use]
pub fn capabilities(bundle: &Bundle) -> Capabilities {
    let mut found = Collector::default();
    let mut left = BYTES;
    for (path, file) in bundle.files() {
        let source = Source::new(path, file);
        if source.is_binary() {
            continue;
        }
        match left.checked_sub(source.text.len()) {
            Some(rest) => left = rest,
            None => {
                found.is_cut = true;
                continue;
            }
        }
        for piece in pieces(path, &source) {
            read_piece(&piece, &mut found);
        }
    }
    let mut capabilities = Capabilities {
        allowed_tools: bundle.frontmatter().and_then(|front| front.allowed_tools.clone()),
        hosts: found.take(Kind::Host),
        reads: found.take(Kind::Read),
        writes: found.take(Kind::Write),
        commands: found.take(Kind::Command),
        environment: found.take(Kind::Variable),
        persistence: found.take(Kind::Persistence),
        privileges: found.take(Kind::Privilege),
        undeclared: Vec::new(),
        complete: !found.is_cut,
    };
    if let Some(text) = bundle.skill_md() {
        capabilities.undeclared = declared::compare(&capabilities, text);
    }
    capabilities
}

impl Capabilities {
    /// Returns true if hosts, reads, writes, commands, environment and persistence are all empty. Privileges,
    /// undeclared needs and `allowed-tools` are not considered.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.hosts, &self.reads, &self.writes, &self.commands, &self.environment, &self.persistence];
        lists.iter().all(|list| list.is_empty())
    }
}

fn read_piece(piece: &Piece<'_>, found: &mut Collector) {
    hosts::read(piece, found);
    paths::read(piece, found);
    if piece.language != Language::Text {
        calls::read(piece, found);
    }
    match piece.language {
        Language::Shell => shell::read(piece, found),
        Language::Console => shell::read_console(piece, found),
        Language::Code | Language::Text => {}
    }
}

/// Splits a file into pieces. A script is one piece; a text is split where its code blocks begin and end.
fn pieces<'a>(path: &'a SkillPath, source: &'a Source<'_>) -> Vec<Piece<'a>> {
    let extension = path.extension();
    let is_text = matches!(extension.as_str(), "md" | "markdown" | "mdx" | "txt" | "rst" | "adoc" | "org");
    let whole = |part, language| Piece { path: source.path, part, language, first_line: 1, text: &source.text };
    if source.kind().runs && !is_text {
        return vec![whole(Part::Script, language_of_file(&extension, source.line(0)))];
    }
    if !source.kind().reads {
        return vec![whole(Part::Text, Language::Text)];
    }
    let mut pieces = Vec::new();
    let (mut from, mut in_code, mut language) = (0, false, Language::Text);
    for (at, line) in source.lines() {
        let code = source.covers(Scope::Code, at) && !(source.kind().runs && !is_fence(line) && !in_code);
        if code != in_code || (code && is_fence(line)) {
            push(&mut pieces, source, from..at, in_code, language);
            (from, in_code) = (at, code);
            language = if code { language_of_block(line) } else { Language::Text };
        }
    }
    push(&mut pieces, source, from..source.lines().count(), in_code, language);
    pieces
}

fn push<'a>(
    pieces: &mut Vec<Piece<'a>>,
    source: &'a Source<'_>,
    lines: Range<usize>,
    in_code: bool,
    language: Language,
) {
    // Exclude the opening fence from the code.
    let lines = if in_code { lines.start + 1..lines.end } else { lines };
    let text = source.text.get(source.line_start(lines.start)..source.line_start(lines.end)).unwrap_or_default();
    if !lines.is_empty() && !text.is_empty() {
        let part = if in_code { Part::Code } else { Part::Text };
        pieces.push(Piece { path: source.path, part, language, first_line: lines.start + 1, text });
    }
}

fn is_fence(line: &str) -> bool {
    let bare = line.trim_start_matches([' ', '\t', '>']);
    bare.starts_with("```") || bare.starts_with("~~~")
}

fn language_of_file(extension: &str, first_line: &str) -> Language {
    match extension {
        "sh" | "bash" | "zsh" | "ksh" | "command" => Language::Shell,
        "" if first_line.starts_with("#!") && first_line.trim_end().ends_with("sh") => Language::Shell,
        _ => Language::Code,
    }
}

fn language_of_block(fence: &str) -> Language {
    let word = fence.trim_start_matches([' ', '\t', '>', '`', '~', '{', '.']);
    let word: String = word.chars().take_while(char::is_ascii_alphanumeric).take(12).collect();
    match word.to_ascii_lowercase().as_str() {
        "sh" | "bash" | "shell" | "zsh" | "ksh" => Language::Shell,
        "console" | "terminal" | "shellsession" | "session" => Language::Console,
        _ => Language::Code,
    }
}

#[cfg(test)]
mod tests;
