//! Text extraction from source code ([`read`]): comments and the long strings of Python.

use memchr::{memchr, memchr_iter};

use super::Page;

/// Comment syntax of a language.
struct Marks {
    /// Prefixes of comments that end with the line.
    line: &'static [&'static str],
    /// Delimiters of block comments and of strings used as such.
    block: &'static [(&'static str, &'static str)],
}

const C: Marks = Marks { line: &["//"], block: &[("/*", "*/")] };
const PYTHON: Marks = Marks { line: &["#"], block: &[("\"\"\"", "\"\"\""), ("'''", "'''")] };
const HASH: Marks = Marks { line: &["#"], block: &[] };
const POWERSHELL: Marks = Marks { line: &["#"], block: &[("<#", "#>")] };
const PHP: Marks = Marks { line: &["//", "#"], block: &[("/*", "*/")] };
const DASHES: Marks = Marks { line: &["--"], block: &[("/*", "*/"), ("--[[", "]]"), ("{-", "-}")] };
const LISP: Marks = Marks { line: &[";"], block: &[] };
const BATCH: Marks = Marks { line: &["REM ", "rem ", "::"], block: &[] };

/// Maximum number of marks behind a space that are examined per line.
const MARKS_OF_LINE: usize = 16;

/// Returns the comment syntax for a file extension.
fn marks_of(extension: &str) -> &'static Marks {
    match extension {
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx" | "go" | "rs" | "java" | "kt" | "kts" | "c"
        | "cc" | "cpp" | "h" | "hpp" | "cs" | "scala" | "dart" | "swift" | "groovy" | "gradle" | "css" | "scss"
        | "less" | "proto" => &C,
        "py" | "pyw" => &PYTHON,
        "ps1" | "psm1" => &POWERSHELL,
        "php" | "tf" | "hcl" | "nix" => &PHP,
        "sql" | "lua" | "hs" | "applescript" | "scpt" => &DASHES,
        "lisp" | "el" | "clj" | "reg" => &LISP,
        "bat" | "cmd" => &BATCH,
        _ => &HASH,
    }
}

/// Adds the comments of a source file.
pub(super) fn read(text: &str, extension: &str, page: &mut Page) {
    read_by(text, 0, marks_of(extension), page);
}

/// Adds the comments of a script embedded in a page at byte `from`.
pub(super) fn read_from(text: &str, from: usize, page: &mut Page) {
    read_by(text, from, &C, page);
}

/// Adds the comment at a byte offset. Returns its end.
pub(super) fn comment(text: &str, at: usize, page: &mut Page) -> usize {
    let rest = text.get(at..).unwrap_or("");
    let end = if rest.starts_with("/*") { rest.find("*/") } else { rest.find('\n') };
    let length = end.unwrap_or(rest.len()).max(2);
    block(rest.get(2..length).unwrap_or(""), at + 2, page);
    at + length
}

fn read_by(text: &str, start: usize, marks: &Marks, page: &mut Page) {
    let (mut from, mut open) = (start, None);
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        open = take(line, from, open, marks, page);
        from += whole.len();
    }
    page.end();
}

/// Handles one line of code. `open` is the delimiter that closes the current block comment. Returns that of the next
/// line.
fn take(line: &str, from: usize, open: Option<&'static str>, marks: &Marks, page: &mut Page) -> Option<&'static str> {
    if let Some(end) = open {
        let (inside, closes) = line.split_once(end).map_or((line, false), |(inside, _)| (inside, true));
        add(inside, from, page);
        if closes {
            page.end();
        }
        return (!closes).then_some(end);
    }
    if !has_beginning(line, marks) {
        page.end();
        return None;
    }
    let bare = line.trim_start();
    let indent = line.len() - bare.len();
    if let Some((at, begin, end)) = begins_block(line, marks) {
        page.end();
        let start = at + begin.len();
        let inside = line.get(start..).unwrap_or("");
        let (inside, closes) = inside.split_once(end).map_or((inside, false), |(inside, _)| (inside, true));
        add(inside, from + start, page);
        return (!closes).then_some(end);
    }
    if marks.line.iter().any(|mark| bare.starts_with(mark)) {
        add(bare, from + indent, page);
        return None;
    }
    page.end();
    if let Some(at) = behind_code(line, marks) {
        add(line.get(at..).unwrap_or(""), from + at, page);
        page.end();
    }
    None
}

/// Returns true if a line contains the first byte of a mark. Rejects most lines cheaply.
fn has_beginning(line: &str, marks: &Marks) -> bool {
    let all = marks.line.iter().chain(marks.block.iter().map(|(begin, _)| begin));
    all.filter_map(|mark| mark.bytes().next()).any(|first| memchr(first, line.as_bytes()).is_some())
}

/// Returns the offset of the first block comment in a line, with its delimiters.
fn begins_block(line: &str, marks: &Marks) -> Option<(usize, &'static str, &'static str)> {
    let place_of = |mark: &str| {
        let mut places = memchr_iter(mark.bytes().next()?, line.as_bytes());
        places.find(|at| line.get(*at..).is_some_and(|rest| rest.starts_with(mark)))
    };
    let found = marks.block.iter().filter_map(|(begin, end)| Some((place_of(begin)?, *begin, *end)));
    found.min_by_key(|(at, ..)| *at)
}

/// Returns the offset of a comment after code on the same line.
fn behind_code(line: &str, marks: &Marks) -> Option<usize> {
    let is_outside = |before: &str| ['"', '\''].iter().all(|quote| before.matches(*quote).count() % 2 == 0);
    let begins = |mark: &&str| {
        let before = line.match_indices(*mark).map(|(at, _)| line.get(..at).unwrap_or(""));
        let mut spaced = before.filter(|before| before.ends_with([' ', '\t'])).take(MARKS_OF_LINE);
        spaced.find(|before| is_outside(before)).map(str::len)
    };
    marks.line.iter().find_map(begins)
}

fn block(text: &str, mut from: usize, page: &mut Page) {
    for line in text.split_inclusive('\n') {
        add(line.trim_end_matches(['\n', '\r']), from, page);
        from += line.len();
    }
    page.end();
}

/// Adds a line of a comment, stripped of comment marks.
fn add(line: &str, from: usize, page: &mut Page) {
    let bare = line.trim_start_matches(['#', '/', '*', '!', ';', ' ', '\t', '-', ':']);
    page.add(bare.strip_prefix("REM ").unwrap_or(bare), from + line.len() - bare.len());
}
