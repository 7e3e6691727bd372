//! [`Source`]: one file as text, with its lines and its use.

use std::{borrow::Cow, cell::OnceCell, ops::Range};

use flow::Format;
use memchr::{memchr, memchr_iter, memmem};
use skill::{Bundle, File, SkillPath};

use crate::{
    Scope,
    media::is_program,
    reading::{Reading, is_in_scripts, is_script, is_to_read, read},
};

/// Text of one file, prepared for searching.
pub(crate) struct Source<'a> {
    pub path: &'a str,
    pub text: Cow<'a, str>,
    kind: Kind,
    binary: bool,
    /// True for data of the skill's own tests, which instructs no agent. Set by code that knows the whole skill.
    pub is_test_data: bool,
    /// True for a reference text that SKILL.md gives no instruction to run.
    pub is_looked_up: bool,
    /// Byte offsets of line starts, the first of which is 0.
    starts: Vec<usize>,
    /// For each line of a text, whether it is part of a fenced code block. Empty for other files.
    fenced: Vec<bool>,
    /// Shell commands in a configuration file, and for each line whether it is a command. Computed on first use.
    commands: OnceCell<Option<(String, Vec<bool>)>>,
    /// True if the beginning of the text declares it to be about defence. Computed on first use.
    pub defence: OnceCell<bool>,
}

/// Use of a file. Both flags can be set: an executable text is read and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// True if the file is executed, by its folder, extension, shebang or mode.
    pub runs: bool,
    /// True if the file is made for reading, by its extension.
    pub reads: bool,
}

/// Maximum number of lines of a statement that are shown together.
const STATEMENT: usize = 4;

/// Maximum number of lines before and after a line that are shown with it as one paragraph.
const PASSAGE: usize = 8;

/// Maximum number of lines searched above a line for the start of its indented block.
const STEP: usize = 40;

impl<'a> Source<'a> {
    pub fn new(path: &'a SkillPath, file: &'a File) -> Self {
        let Reading { text, binary } = read(path, file);
        let kind = kind_of(path, file, &text);
        Self { binary, ..Self::with_kind(path.as_str(), text, kind) }
    }

    /// Creates a source from text that is not a whole file, such as decoded text.
    pub fn with_kind(path: &'a str, text: Cow<'a, str>, kind: Kind) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        let fenced = if kind.reads { fences(&text, &starts) } else { Vec::new() };
        let (binary, is_test_data, is_looked_up, commands, defence) = Default::default();
        Self { path, text, kind, binary, is_test_data, is_looked_up, starts, fenced, commands, defence }
    }

    /// Creates a source for the same file with different text.
    pub fn copy(&self, text: String) -> Self {
        let (is_test_data, is_looked_up) = (self.is_test_data, self.is_looked_up);
        Self { is_test_data, is_looked_up, binary: self.binary, ..Self::with_kind(self.path, text.into(), self.kind) }
    }

    /// Returns the index, from 0, of the line at a byte offset.
    pub fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Returns a line without its line end, or an empty string past the last line.
    pub fn line(&self, index: usize) -> &str {
        let Some(start) = self.starts.get(index) else { return "" };
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        self.text.get(*start..end).unwrap_or("")
    }

    /// Returns the byte offset of a line's start.
    pub fn line_start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(self.text.len())
    }

    /// Returns the byte range of the text to show for a line: its paragraph in running text, otherwise the line.
    pub fn passage(&self, line: usize) -> Range<usize> {
        let (mut first, mut last) = (line, line);
        if self.kind.reads && !self.is_fenced(line) && !self.is_step(line) {
            let is_heading = |line: usize| self.line(line).trim_start().starts_with('#');
            let is_part =
                |line: usize| !self.is_fenced(line) && !self.line(line).trim().is_empty() && !is_heading(line);
            while first > line.saturating_sub(PASSAGE) && !is_start(self.line(first)) && is_part(first - 1) {
                first -= 1;
            }
            while last < line + PASSAGE && !is_heading(line) && is_part(last + 1) && !is_start(self.line(last + 1)) {
                last += 1;
            }
        }
        let start = self.line_start(first);
        start..self.line_start(last) + self.line(last).len()
    }

    /// Returns the beginning of the statement on a line, trimmed: the line and those after it while a bracket is open or
    /// a backslash continues them, at most [`STATEMENT`] lines.
    pub fn statement(&self, line: usize) -> &str {
        let from = self.line_start(line);
        let upto =
            |last: usize| self.text.get(from..self.line_start(last) + self.line(last).len()).unwrap_or("").trim();
        let is_open = |text: &str| {
            text.ends_with('\\') || text.matches(['(', '[', '{']).count() > text.matches([')', ']', '}']).count()
        };
        (line..line + STATEMENT).map(upto).find(|text| !is_open(text)).unwrap_or_else(|| upto(line + STATEMENT - 1))
    }

    /// Extends a byte range to whole lines, line ends included.
    pub fn lines_around(&self, part: &Range<usize>) -> Range<usize> {
        self.line_start(self.line_at(part.start))..self.line_start(self.line_at(part.end) + 1)
    }

    /// Returns all lines with their indexes from 0.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (0..self.starts.len()).map(|index| (index, self.line(index)))
    }

    /// Returns the fenced code blocks of a text, each with its language tag, the index of its first line of code, and
    /// the code.
    pub fn blocks(&self) -> impl Iterator<Item = (&str, usize, &str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while self.fenced.get(at) == Some(&false) {
                at += 1;
            }
            self.fenced.get(at)?;
            let fence = self.line(at).trim_start_matches([' ', '\t', '>']);
            let tag = fence.trim_start_matches(['`', '~']).split([' ', '{', ',', '\r']).next().unwrap_or("");
            let first = at + 1;
            at = first;
            while self.fenced.get(at) == Some(&true) && !self.closes(first - 1, at) {
                at += 1;
            }
            let code = self.text.get(self.line_start(first)..self.line_start(at)).unwrap_or("");
            at += 1;
            Some((tag, first, code))
        })
    }

    /// Returns whether a line closes the fence opened on another line.
    fn closes(&self, open: usize, line: usize) -> bool {
        let is_mark = |byte: u8| matches!(byte, b'`' | b'~');
        let begins = self.line(line).bytes().find(|byte| !matches!(byte, b' ' | b'\t' | b'>'));
        if !begins.is_some_and(is_mark) {
            return false;
        }
        let bare = |line: usize| self.line(line).trim_start_matches([' ', '\t', '>']);
        let Some(mark) = bare(open).bytes().next().filter(|mark| bare(line).as_bytes().first() == Some(mark)) else {
            return false;
        };
        let run = |text: &str| text.bytes().take_while(|byte| *byte == mark).count();
        let there = bare(line).trim_end();
        run(there) == there.len() && run(there) >= run(bare(open))
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns whether neither the bytes nor the name of the file indicate text.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// Returns whether a line of a text is part of a fenced code block.
    pub fn is_fenced(&self, line: usize) -> bool {
        self.fenced.get(line) == Some(&true)
    }

    /// Returns whether a line of a text consists only of a command: an indented code block, or a list item that is one
    /// code span.
    pub fn is_step(&self, line: usize) -> bool {
        let text = self.line(line);
        let bare = text.trim();
        let item =
            bare.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '*' | '+' | '.' | ')' | ' '));
        let is_span = item.len() > 2 && item.starts_with('`') && item.trim_end_matches('.').ends_with('`');
        let is_indented = text.starts_with("    ") && !bare.starts_with(['-', '*', '+', '|', '>']);
        self.kind.reads && (is_span && item.len() < bare.len() || is_indented && self.begins_indented(line))
    }

    /// Returns whether the indented block around a line follows a blank line and is not the continuation of a list
    /// item.
    fn begins_indented(&self, line: usize) -> bool {
        let above = || (line.saturating_sub(STEP)..line).rev().map(|at| self.line(at));
        let outside = above().find(|text| !text.starts_with("    "));
        let lead = above().find(|text| !text.starts_with("    ") && !text.trim().is_empty()).unwrap_or("");
        outside.is_some_and(|text| text.trim().is_empty()) && !is_item(lead.trim_start())
    }

    /// Returns the shell commands of a configuration file, each on its original line.
    pub fn commands(&self) -> Option<&str> {
        self.commands_by_line().map(|(script, _)| script.as_str())
    }

    fn commands_by_line(&self) -> Option<&(String, Vec<bool>)> {
        let format = || Format::of_file(self.path).or_else(|| Format::of_skill(self.path, &self.text));
        let by_line = || {
            let script = format()?.script(&self.text);
            let lines = script.lines().map(|line| !line.trim().is_empty()).collect();
            Some((script, lines))
        };
        self.commands.get_or_init(by_line).as_ref()
    }

    /// Returns whether a line of a configuration file is a command.
    pub fn is_command(&self, line: usize) -> bool {
        self.commands_by_line().is_some_and(|(_, lines)| lines.get(line) == Some(&true))
    }

    /// Returns whether a line is within a rule's scope.
    pub fn covers(&self, scope: Scope, line: usize) -> bool {
        match scope {
            Scope::Any => true,
            Scope::Script => self.kind.runs,
            Scope::Code => self.kind.runs || self.is_fenced(line) || self.is_step(line) || self.is_command(line),
            Scope::Machine => self.kind.runs || !self.kind.reads || self.is_fenced(line),
            Scope::Prose => self.kind.reads || !self.kind.runs,
        }
    }
}

/// Folder with a skill's evaluations, relative to its root.
const EVALS: &str = "evals/";

/// Returns whether a file is data of the skill's own tests: under `evals/`, not executed, and not named in SKILL.md,
/// which could send the agent there.
pub(crate) fn is_test_data(bundle: &Bundle, path: &SkillPath, kind: Kind) -> bool {
    let is_named = || {
        let skill_md = bundle.get(&SkillPath::skill_md());
        skill_md.is_some_and(|file| memmem::find(&file.bytes, path.as_str().as_bytes()).is_some())
    };
    path.as_str().starts_with(EVALS) && !kind.runs && !is_named()
}

/// Words by which a line instructs the agent to run a file.
const SENDS: &[&str] = &[
    "run ", "execute", "follow", "install", "set up", "setup", "must", "first", "before", "执行", "运行", "安装", "先",
];

/// Bytes before and after a file name that may contain such an instruction.
const AROUND: usize = 120;

/// Maximum number of mentions of a file that are examined. A file with more is assumed to be run.
const NAMED: usize = 64;

/// File names that agents read on their own, without a reference to them.
const READ_UNASKED: &[&str] = &["agents.md", "claude.md", "claude.local.md", "gemini.md", "memory.md", "soul.md"];

/// Paths of agents' folders and files that are read in the same way.
const READ_UNASKED_AT: &[&str] = &[
    ".claude/", ".clinerules/", ".cursor/", ".github/copilot-instructions.md", ".github/instructions/",
    ".github/prompts/", ".kiro/steering/", ".roo/", ".windsurf/", "memory/",
];

/// Returns whether a text is a reference: agents do not read it on their own, and no text near its name in SKILL.md
/// says to run it.
pub(crate) fn is_looked_up(bundle: &Bundle, path: &SkillPath, kind: Kind) -> bool {
    let name = path.file_name();
    let Some(text) = bundle.skill_md() else { return false };
    let sends = |at: usize| {
        let from = text.floor_char_boundary(at.saturating_sub(AROUND));
        let to = text.floor_char_boundary(at + name.len() + AROUND);
        let around = text.get(from..to).unwrap_or("").to_lowercase();
        SENDS.iter().any(|word| around.contains(word))
    };
    let is_read_unasked = name.eq_ignore_ascii_case(SkillPath::SKILL_MD)
        || READ_UNASKED.iter().any(|known| name.eq_ignore_ascii_case(known))
        || READ_UNASKED_AT.iter().any(|known| path.as_str().starts_with(known));
    let is_reference = kind.reads && !kind.runs && !path.extension().is_empty() && !is_read_unasked;
    is_reference && {
        let mut named = memmem::find_iter(text.as_bytes(), name).enumerate();
        !named.any(|(count, at)| count >= NAMED || sends(at))
    }
}

fn kind_of(path: &SkillPath, file: &File, text: &str) -> Kind {
    let extension = path.extension();
    let in_scripts = is_in_scripts(path) && !matches!(extension.as_str(), "md" | "txt" | "json");
    let runs = is_script(path) || text.starts_with("#!") || file.executable || in_scripts || is_program(path, text);
    Kind { runs, reads: is_to_read(&extension) && !is_recipe(path) }
}

/// Returns whether a line of a text does not continue the line above: a heading, list item, row, rule or key.
fn is_start(line: &str) -> bool {
    let bare = line.trim_start();
    let is_key =
        |(key, _): (&str, &str)| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    is_item(bare)
        || bare.starts_with(['#', '|', '>', '<'])
        || bare.starts_with("---")
        || line.split_once(": ").is_some_and(is_key)
}

/// Returns whether a line begins a list item.
pub(crate) fn is_item(bare: &str) -> bool {
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare.get(digits..).unwrap_or("");
    if digits > 0 {
        rest.starts_with(". ") || rest.starts_with(") ")
    } else {
        bare.starts_with(['-', '*', '+']) && bare.get(1..2) == Some(" ")
    }
}

/// Returns whether a file without an extension is a build recipe, such as a `Makefile`, rather than a text for readers.
fn is_recipe(path: &SkillPath) -> bool {
    let name = path.segments().last().unwrap_or_default();
    ["Dockerfile", "Containerfile", "Makefile", "Jenkinsfile", "Vagrantfile", "Justfile", "Procfile"].contains(&name)
}

/// Returns for each line whether it is in a fenced code block, the fences included. An unclosed fence extends to the
/// end, as in CommonMark.
fn fences(text: &str, starts: &[usize]) -> Vec<bool> {
    let mut open: Option<(u8, usize)> = None;
    let is_fenced = |start: &usize| {
        let bare = text.as_bytes().get(*start..).unwrap_or_default();
        let indent = bare.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
        let bare = bare.get(indent..).unwrap_or_default();
        let Some(mark) = bare.first().copied().filter(|mark| matches!(mark, b'`' | b'~')) else {
            return open.is_some();
        };
        let run = bare.iter().take_while(|byte| **byte == mark).count();
        match open {
            None if run >= 3 => open = Some((mark, run)),
            Some((with, least)) if mark == with && run >= least && ends_line(bare.get(run..).unwrap_or_default()) => {
                open = None;
                return true;
            }
            _ => {}
        }
        open.is_some()
    };
    starts.iter().map(is_fenced).collect()
}

/// Returns whether only white space follows up to the end of the line.
fn ends_line(rest: &[u8]) -> bool {
    let end = memchr(b'\n', rest).unwrap_or(rest.len());
    String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, bytes: &[u8], test: impl Fn(&Source<'_>)) {
        let path = SkillPath::parse(path).unwrap();
        test(&Source::new(&path, &File { bytes: bytes.into(), executable: false }));
    }

    #[test]
    fn what_runs_follows_folder_extension_and_shebang() {
        for (path, text) in [("a.py", "x"), ("scripts/run", "x"), ("run", "#!/bin/sh\n"), ("a.md", "#!/bin/sh\n")] {
            source(path, text.as_bytes(), |s| assert!(s.covers(Scope::Script, 0), "{path}"));
        }
        source("a.json", b"{}", |s| assert!(!s.covers(Scope::Script, 0) && s.covers(Scope::Prose, 0)));
        source("a.md", b"#!/bin/sh\n", |s| assert!(s.covers(Scope::Prose, 0), "a shebang hides no instruction"));
    }

    #[test]
    fn fences_open_and_close_as_in_commonmark() {
        source("a.md", b"a\n```sh\nb\n```\nc\n~~~~\nd\n~~~\ne", |s| {
            let code: Vec<_> = (0..9).map(|line| s.covers(Scope::Code, line)).collect();
            assert_eq!(code, [false, true, true, true, false, true, true, true, true]);
        });
    }

    #[test]
    fn lines_and_offsets_agree() {
        source("a.md", b"one\n\nthree", |s| {
            assert_eq!((s.line_at(0), s.line_at(3), s.line_at(4), s.line_at(5)), (0, 0, 1, 2));
            assert_eq!((s.line(0), s.line(1), s.line(2), s.line(3)), ("one", "", "three", ""));
        });
    }
}
