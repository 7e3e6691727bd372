//! Names of skills and of their owners, validated on parsing.

use std::{fmt, str::FromStr};

use thiserror::Error;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::{Digest, Limits, path::is_device_name};

/// Name of a skill's folder, which identifies the skill.
///
/// The Agent Skills standard requires 1-64 characters: lower-case letters, digits and hyphens, with no hyphen at either
/// end and no two in a row ([`SkillName::parse_standard`]). Letters of every script conform, after NFKC, as in the
/// standard's reference library. Publishing also requires ASCII ([`SkillName::is_publishable`]).
///
/// Skills in folders that break these rules still load: [`SkillName::parse`] also accepts capitals, underscores and
/// dots, and 128 characters. A name is always a single component of a path and of a git reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// Reason why a text is not a [`SkillName`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// The name is empty after trimming.
    #[error("the name is empty")]
    Empty,
    /// The name is longer than allowed, 64 characters in the standard.
    #[error("the name has {chars} characters, but the limit is {limit}")]
    TooLong {
        /// Number of characters found.
        chars: usize,
        /// Number of characters allowed.
        limit: usize,
    },
    /// The name contains an upper-case letter.
    #[error("the name must be lower case")]
    NotLowerCase,
    /// The name starts or ends with a hyphen.
    #[error("the name must not start or end with a hyphen")]
    HyphenAtEdge,
    /// The name contains two hyphens in a row.
    #[error("the name must not contain two hyphens in a row")]
    DoubleHyphen,
    /// The name contains a character other than a letter, digit or hyphen.
    #[error("the name may contain only letters, digits and hyphens, not {0:?}")]
    BadCharacter(char),
}

impl SkillName {
    /// Parses the name of a folder, by the lenient rules.
    ///
    /// # Errors
    /// [`NameError`] if no skill folder can have this name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if is_plain(text) {
            return Ok(Self(text.to_owned()));
        }
        let name = normal_form(text);
        match folder_fault(&name) {
            Some(fault) => Err(fault),
            None => Ok(Self(name)),
        }
    }

    /// Parses a name that conforms to the standard, as required of new skills and in registries.
    ///
    /// # Errors
    /// The first rule that the text breaks. [`SkillName::faults`] lists them all.
    pub fn parse_standard(text: &str) -> Result<Self, NameError> {
        let name = Self::parse(text)?;
        match faults_of(&name.0).into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(name),
        }
    }

    /// Returns a name that registries accept, close to a title in any script: its Latin letters without accents and its
    /// digits. A title without these gets a name with the start of its hash.
    pub fn suggested(title: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let letters = title.nfkd().filter(|c| !is_combining_mark(*c) && *c != '\'').map(plain).collect::<String>();
        let words: Vec<&str> = letters.split('-').filter(|word| !word.is_empty()).collect();
        let short: String = words.join("-").chars().take(Limits::default().name_chars).collect();
        let name = match short.trim_end_matches('-') {
            "" => format!("skill-{:.6}", Digest::of_bytes(title.trim().as_bytes()).hex()),
            device if is_device_name(device) => format!("{device}-skill"),
            name => name.to_owned(),
        };
        Self(name)
    }

    /// Returns every rule of the standard that `text` breaks. Empty for a valid name.
    #[must_use]
    pub fn faults(text: &str) -> Vec<NameError> {
        faults_of(&normal_form(text))
    }

    /// Returns the name as text, in NFKC.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether Windows reserves the name for a device.
    pub fn is_device_name(&self) -> bool {
        is_device_name(&self.0)
    }

    /// Returns whether registries accept the name: it conforms, is ASCII, and is not a reserved device name of Windows.
    pub fn is_publishable(&self) -> bool {
        self.unpublishable().is_none()
    }

    /// Returns the reason why registries refuse the name, as a sentence about it. `None` if they accept it.
    pub fn unpublishable(&self) -> Option<&'static str> {
        match () {
            () if is_device_name(&self.0) => Some("Windows reserves it for a device"),
            () if !is_plain(&self.0) => Some("it may have only lower-case ASCII letters, digits and single hyphens"),
            () => None,
        }
    }
}

/// Longest folder name in characters, and in bytes as limited by file systems.
const FOLDER_CHARS: usize = 128;
const FOLDER_BYTES: usize = 255;

/// Returns the reason why a folder name is not safe as a component of a path and of a git reference.
fn folder_fault(name: &str) -> Option<NameError> {
    let chars = name.chars().count();
    let is_known = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let has_bad_dot = name.starts_with('.')
        || name.ends_with('.')
        || name.contains("..")
        || name.contains('.') && (name.to_lowercase().ends_with(".lock") || is_device_name(name));
    match name.chars().find(|c| !is_known(*c)) {
        _ if name.is_empty() => Some(NameError::Empty),
        Some(bad) => Some(NameError::BadCharacter(bad)),
        None if has_bad_dot => Some(NameError::BadCharacter('.')),
        None if chars > FOLDER_CHARS || name.len() > FOLDER_BYTES => {
            Some(NameError::TooLong { chars, limit: FOLDER_CHARS })
        }
        None => None,
    }
}

fn normal_form(text: &str) -> String {
    text.trim().nfkc().collect()
}

/// Returns whether a text is a valid ASCII name in normal form. This is the fast path for most names.
fn is_plain(text: &str) -> bool {
    let is_known = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !text.is_empty()
        && text.len() <= Limits::default().name_chars
        && text.bytes().all(is_known)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

fn faults_of(name: &str) -> Vec<NameError> {
    if name.is_empty() {
        return vec![NameError::Empty];
    }
    let limit = Limits::default().name_chars;
    let chars = name.chars().count();
    let mut faults = Vec::new();
    if chars > limit {
        faults.push(NameError::TooLong { chars, limit });
    }
    if name.chars().any(|c| c.to_lowercase().ne([c])) {
        faults.push(NameError::NotLowerCase);
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push(NameError::HyphenAtEdge);
    }
    if name.contains("--") {
        faults.push(NameError::DoubleHyphen);
    }
    if let Some(bad) = name.chars().find(|c| *c != '-' && !c.is_alphanumeric()) {
        faults.push(NameError::BadCharacter(bad));
    }
    faults
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SkillName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

/// Publisher of a skill: 1-39 lower-case ASCII letters, digits and single hyphens, and not a reserved device name, so
/// that it is a valid file name on every system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

/// Text that is not a valid [`Owner`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not an owner name: use 1-39 lower-case ASCII letters, digits and single hyphens, starting with a letter \
     or digit"
)]
pub struct OwnerError(pub String);

impl Owner {
    /// Length of the longest owner name in characters, as on the large forges.
    pub const MAX_CHARS: usize = 39;

    /// Parses an owner's name.
    ///
    /// # Errors
    /// [`OwnerError`] if the text breaks a rule of the type.
    pub fn parse(text: &str) -> Result<Self, OwnerError> {
        let well_formed = SkillName::parse(text).is_ok_and(|name| name.is_publishable() && name.as_str() == text);
        if well_formed && text.len() <= Self::MAX_CHARS {
            Ok(Self(text.to_owned()))
        } else {
            Err(OwnerError(text.to_owned()))
        }
    }

    /// Returns the owner's name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Full name of a skill in a registry, written `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QualifiedName {
    /// Publisher of the skill.
    pub owner: Owner,
    /// Name within the owner's namespace, which conforms to the standard.
    pub name: SkillName,
}

/// Reason why a text is not a [`QualifiedName`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QualifiedNameError {
    /// The text does not consist of two parts with a single slash between them.
    #[error("{0:?} does not have the form owner/name")]
    Form(String),
    /// The part before the slash is not a valid owner.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The part after the slash is not a valid name.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl FromStr for QualifiedName {
    type Err = QualifiedNameError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((owner, name)) if !name.contains('/') => {
                Ok(Self { owner: Owner::parse(owner)?, name: SkillName::parse_standard(name)? })
            }
            _ => Err(QualifiedNameError::Form(text.to_owned())),
        }
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishable_names_are_ascii() {
        assert!(SkillName::parse("pdf-tools2").unwrap().is_publishable());
        let chinese = SkillName::parse("技能-一").unwrap();
        assert!(!chinese.is_publishable());
        assert_eq!(SkillName::parse("ｐｄｆ").unwrap().as_str(), "pdf", "NFKC first");
        assert!(!SkillName::parse("con").unwrap().is_publishable());
    }

    #[test]
    fn plain_names_are_already_normal() {
        let letters = ["a", "z", "0", "9", "-", "A", "_", " ", "é", "ｐ", "/", "."];
        let texts = letters.iter().flat_map(|a| letters.iter().map(move |b| format!("{a}{b}")));
        let long = [63, 64, 65].map(|count| "a".repeat(count));
        let mut plain = 0;
        for text in texts.flat_map(|text| letters.map(|c| format!("{text}{c}"))).chain(long) {
            if is_plain(&text) {
                plain += 1;
                assert_eq!((normal_form(&text), faults_of(&text)), (text.clone(), vec![]));
            } else {
                assert!(text.bytes().any(|b| !b.is_ascii_alphanumeric() || b.is_ascii_uppercase()) || text.len() > 64);
            }
        }
        assert_eq!(plain, 4 * 5 * 4 + 2, "three with the hyphen in the middle, and the long ones");
    }

    #[test]
    fn suggested_names_are_publishable() {
        for (title, name) in [
            ("PDF Forms", "pdf-forms"),
            ("Übersicht: Café", "ubersicht-cafe"),
            ("don't", "dont"),
            ("PDF 表单", "pdf"),
            ("con", "con-skill"),
            ("_a--b_", "a-b"),
        ] {
            assert_eq!(SkillName::suggested(title).as_str(), name);
        }
        let (chinese, other) = (SkillName::suggested("中文技能"), SkillName::suggested("图表"));
        assert!(chinese.as_str().starts_with("skill-") && chinese != other);
        for title in ["", "中文技能", "/", "\u{202e}", &"long ".repeat(100)] {
            assert!(SkillName::suggested(title).is_publishable(), "{title:?}");
        }
    }

    #[test]
    fn each_broken_rule_is_reported() {
        use NameError::*;
        assert_eq!(SkillName::parse("  "), Err(Empty));
        assert_eq!(SkillName::parse_standard("Pdf"), Err(NotLowerCase));
        assert_eq!(SkillName::faults("-A--b_"), [NotLowerCase, HyphenAtEdge, DoubleHyphen, BadCharacter('_')]);
        assert!(SkillName::parse(&"é".repeat(64)).is_ok(), "characters are counted, not bytes");
        assert_eq!(SkillName::parse_standard(&"a".repeat(65)), Err(TooLong { chars: 65, limit: 64 }));
        assert_eq!(SkillName::parse("a/b"), Err(BadCharacter('/')));
    }

    #[test]
    fn folder_names_may_break_the_standard() {
        for text in
            ["PDF-Processing", "-pdf", "pdf--processing", "pdf_tools", "v1.2", "emailAndPassword", &"a".repeat(128)]
        {
            assert_eq!(SkillName::parse(text).unwrap().as_str(), text);
            assert!(SkillName::parse_standard(text).is_err(), "{text}");
            assert!(!SkillName::parse(text).unwrap().is_publishable(), "{text}");
            assert!(format!("acme/{text}").parse::<QualifiedName>().is_err(), "{text}");
        }
        let unsafe_names = [
            ".", "..", ".git", "a..b", "a.", "a.lock", "a.LOCK", "nul.txt", "a b", "a:b", "a\\b", "a\u{202e}b", "~",
            "*",
        ];
        for text in unsafe_names.into_iter().chain([&*"a".repeat(129)]) {
            assert!(SkillName::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn qualified_names_have_one_slash() {
        let name: QualifiedName = "acme/pdf".parse().unwrap();
        assert_eq!((name.owner.as_str(), name.name.as_str()), ("acme", "pdf"));
        for bad in ["acme", "a/b/c", "/b", "a/", "Acme/b", "nul/b", "../b"] {
            assert!(bad.parse::<QualifiedName>().is_err(), "{bad}");
        }
    }
}
