//! [`SkillPath`]: the path of a file inside a skill.

use std::{borrow::Cow, fmt, str::FromStr};

use thiserror::Error;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::Limits;

/// Validated path inside a skill: relative, `/` between segments, NFC, and valid on every file system.
///
/// No segment is empty, `.`, `..`, `.git` or `.gitmodules` in any case, ends in a dot or a space, or is a device name
/// of Windows. No character is a NUL, a control or bidirectional character, a backslash or a colon (drive letters, NTFS
/// streams). A `SkillPath` can therefore be joined to a folder without leaving it, even after any number of percent
/// decodings (`%2e`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillPath(String);

/// Reason why a text is not a [`SkillPath`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// The path is empty or has an empty segment (`a//b`, `a/`).
    #[error("the path {0:?} is empty or has an empty segment")]
    Empty(String),
    /// The path would leave the skill's folder: it starts with `/` or `~`, or has a `..` segment.
    #[error("the path {0:?} leads outside the skill's folder")]
    Escapes(String),
    /// The path contains a character that some file system or reader misinterprets.
    #[error("the path {path:?} contains the character {character:?}, which is not allowed")]
    BadCharacter {
        /// Path as given by the caller.
        path: String,
        /// First such character in the path.
        character: char,
    },
    /// A segment is reserved or rewritten on some system.
    #[error("the path {path:?} has the segment {segment:?}, which is reserved on some systems")]
    Reserved {
        /// Path as given by the caller.
        path: String,
        /// Reserved segment of the path.
        segment: String,
    },
    /// The path is not in Unicode's NFC, so that two spellings of one name could exist.
    #[error("the path {0:?} is not in Unicode normal form C")]
    NotNormal(String),
    /// The path is too long or too deep.
    #[error("the path {:?} is too long or too deep", crate::shortened(.0, crate::ECHO_CHARS))]
    TooLong(String),
}

impl SkillPath {
    /// Name of the file that makes a folder a skill.
    pub const SKILL_MD: &'static str = "SKILL.md";

    /// Parses a path.
    ///
    /// # Errors
    /// [`PathError`] with the rule of the type that the text breaks.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check_whole(text)?;
        for segment in text.split('/') {
            check_segment(text, segment)?;
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the path of `SKILL.md`.
    pub fn skill_md() -> Self {
        Self(Self::SKILL_MD.to_owned())
    }

    /// Returns whether this is `SKILL.md` at the top level of the skill.
    pub fn is_skill_md(&self) -> bool {
        self.0 == Self::SKILL_MD
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Yields the segments from the top down.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the first segment of a path with several, such as `scripts` in `scripts/a.py`.
    pub fn top_folder(&self) -> Option<&str> {
        self.0.split_once('/').map(|(folder, _)| folder)
    }

    /// Returns the text after the last dot of the file name, in lower case. Empty without a dot.
    pub fn extension(&self) -> String {
        self.file_name().rsplit_once('.').map_or_else(String::new, |(_, ext)| ext.to_ascii_lowercase())
    }

    /// Returns the key under which two paths collide on some file system: NFKC, case-folded, without ignorable
    /// characters.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }
}

/// Applies NFKC and full case folding to a path. It converts to upper case on the way, which maps `ß` to `SS` and
/// unifies the two forms of sigma, as case-insensitive ext4 and APFS do.
pub(crate) fn fold(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    let lower = path.nfkc().filter(|c| !is_passed_over(*c)).flat_map(char::to_lowercase);
    lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

/// Returns whether a character is invisible and ignored by case-insensitive file systems.
fn is_passed_over(c: char) -> bool {
    matches!(c, '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}')
        || matches!(c, '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}')
}

fn check_whole(text: &str) -> Result<(), PathError> {
    let limits = Limits::default();
    if text.is_empty() {
        return Err(PathError::Empty(text.to_owned()));
    }
    if text.starts_with(['/', '~']) {
        return Err(PathError::Escapes(text.to_owned()));
    }
    if let Some(character) = text.chars().find(|c| is_bad_character(*c)) {
        return Err(PathError::BadCharacter { path: text.to_owned(), character });
    }
    if text.len() > limits.path_bytes || text.split('/').count() > limits.path_segments {
        return Err(PathError::TooLong(text.to_owned()));
    }
    if !text.is_ascii() && !is_nfc(text) { Err(PathError::NotNormal(text.to_owned())) } else { Ok(()) }
}

fn check_segment(path: &str, segment: &str) -> Result<(), PathError> {
    let compatible: Cow<'_, str> =
        if segment.is_ascii() { segment.into() } else { segment.nfkc().collect::<String>().into() };
    check_dots(path, &compatible)?;
    if compatible.contains('%') {
        check_decoded(path, &compatible)?;
    }
    if segment.len() > Limits::default().path_segment_bytes {
        return Err(PathError::TooLong(path.to_owned()));
    }
    let reserved = segment.ends_with(['.', ' ']) || segment.starts_with(' ') || is_reserved_name(&compatible);
    if reserved { Err(PathError::Reserved { path: path.to_owned(), segment: segment.to_owned() }) } else { Ok(()) }
}

/// Refuses a segment that does not name a file or folder of its own.
fn check_dots(path: &str, segment: &str) -> Result<(), PathError> {
    match segment.trim_matches(' ') {
        "" | "." => Err(PathError::Empty(path.to_owned())),
        ".." => Err(PathError::Escapes(path.to_owned())),
        other if other.contains(['/', '\\', ':']) => Err(PathError::Escapes(path.to_owned())),
        _ => Ok(()),
    }
}

/// Refuses a segment that would leave the folder after any number of percent decodings (`%2e`). This crate never
/// decodes paths, but a server or a browser may. Encoded paths that stay inside are allowed, since files saved from web
/// pages have such names.
fn check_decoded(path: &str, segment: &str) -> Result<(), PathError> {
    let mut now = segment.as_bytes().to_vec();
    loop {
        let next = crate::uri::decoded(&now).into_owned();
        if next.len() == now.len() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&next).replace('\\', "/");
        let is_drive = text.as_bytes().get(1) == Some(&b':');
        if is_drive || text.starts_with('/') || text.split('/').any(|part| part.trim_matches(' ') == "..") {
            return Err(PathError::Escapes(path.to_owned()));
        }
        if next.contains(&0) {
            return Err(PathError::BadCharacter { path: path.to_owned(), character: '\0' });
        }
        now = next;
    }
}

/// What git, skillhub or Windows keeps for itself, in any case.
fn is_reserved_name(segment: &str) -> bool {
    let is = |name: &str| segment.eq_ignore_ascii_case(name);
    let ours = segment.get(..OUR_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(OUR_PREFIX));
    is(".git") || is(".gitmodules") || is("git~1") || ours || is_device_name(segment)
}

/// Prefix of temporary names in a library.
const OUR_PREFIX: &str = ".skillhub-";

/// Returns whether a character is disallowed: control, bidirectional, zero-width and tag characters, separators of
/// paths, streams or drives on other systems, and wildcards of the Windows shell.
fn is_bad_character(c: char) -> bool {
    c.is_control()
        || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        || matches!(c, '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}')
        || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFD}')
        || matches!(c, '\u{E0000}'..='\u{E0FFF}')
}

/// Returns whether a segment is a device name of Windows, such as `CON`, `NUL` or `COM1`, with or without an extension,
/// in any case.
pub fn is_device_name(segment: &str) -> bool {
    let stem = segment.split('.').next().unwrap_or(segment).trim_end();
    if !(3..=7).contains(&stem.len()) {
        return false;
    }
    let stem = stem.to_ascii_lowercase();
    if matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$") {
        return true;
    }
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    port.is_some_and(|digit| {
        matches!(digit, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
    })
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SkillPath {
    type Err = PathError;
    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_parse() {
        for good in
            ["SKILL.md", "scripts/run.sh", ".github/a.yml", ".gitignore", "参考/指南.md", "a b/c.md", "console.md"]
        {
            assert_eq!(SkillPath::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn every_path_escape_is_refused() {
        for bad in [
            "..", "../x", "a/../b", "/etc/passwd", "~/x", "a/．．/b", "a/‥/b", "..\\x", "C:x", "C:\\x", "\\\\h\\s",
            "a/.. /b", "%2e%2e/b", "%252E%252e/b", "a/..%2fb", "a/%25252e%25252e%25255cb", "a/％２ｅ％２ｅ/b",
            "%2fetc", "a/%43%3a", "a/․․/b", "a／..／b",
        ] {
            assert!(SkillPath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reserved_names_are_refused() {
        for bad in [
            "", "a//b", "a/", "./a", "a.", "a /b", "NUL", "con.txt", "a/COM1.md", "lpt¹", "a:b", ".git/config",
            ".GIT/x", ".gitmodules", "a\0b", "a\nb", "a\u{202E}b", "a\u{200B}b", "e\u{301}.md", ".skillhub-tmp/x",
        ] {
            assert!(SkillPath::parse(bad).is_err(), "{bad:?}");
        }
        assert!(SkillPath::parse(&"a/".repeat(20)).is_err());
        assert!(SkillPath::parse(&"a".repeat(201)).is_err());
    }

    #[test]
    fn folding_finds_collisions() {
        let fold = |p: &str| SkillPath::parse(p).unwrap().folded();
        assert_eq!(fold("SKILL.md"), fold("skill.MD"));
        for (one, other) in [
            ("ﬁle", "file"),
            ("straße", "STRASSE"),
            ("σας", "ΣΑΣ"),
            ("ı", "I"),
            ("İ", "i\u{307}"),
            ("①", "1"),
            ("a\u{fe0f}", "A"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} {other}");
        }
        assert_ne!(fold("a"), fold("b"));
    }
}
