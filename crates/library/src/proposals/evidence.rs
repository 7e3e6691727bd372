//! Reasons given by an author for a proposal ([`Evidence`]).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Kind of evidence for a proposal. None of it is verified by the program; the reviewer checks it against the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Free text in the author's words.
    Text,
    /// Address of a web page.
    Link,
    /// Id of an eval result.
    Eval,
    /// Id of a summary of outcomes.
    Outcomes,
}

impl EvidenceKind {
    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Link => "link",
            Self::Eval => "eval",
            Self::Outcomes => "outcomes",
        }
    }
}

/// One piece of evidence for a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Kind, which determines the meaning of `text`.
    pub kind: EvidenceKind,
    /// The text, address or id.
    pub text: String,
}

/// Error for a text that is not valid [`Evidence`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvidenceError {
    /// It is empty, too long, or contains invisible characters.
    #[error("evidence must have 1 to {CHARS} characters and no invisible ones")]
    Text,
    /// An id with invalid characters.
    #[error("{0:?} is not an id; after `eval:` or `outcomes:`, use letters, digits, `-`, `_`, `.` and `:`")]
    Id(String),
    /// An address with spaces in it.
    #[error("{0:?} is not an address: it has spaces")]
    Link(String),
    /// Too many pieces of evidence.
    #[error("the proposal has {found} pieces of evidence, but the limit is {EVIDENCE}")]
    TooMany {
        /// Number that was given.
        found: usize,
    },
}

/// Maximum length of a piece of evidence in characters.
const CHARS: usize = 1000;
/// Maximum length of an id in characters.
const ID_CHARS: usize = 100;
/// Maximum number of pieces of evidence per proposal.
pub const EVIDENCE: usize = 10;

impl FromStr for Evidence {
    type Err = EvidenceError;
    fn from_str(text: &str) -> Result<Self, EvidenceError> {
        let text = text.trim();
        let is_seen = |c: char| {
            c == '\n'
                || !(c.is_control()
                    || ('\u{200b}'..='\u{200f}').contains(&c)
                    || ('\u{202a}'..='\u{202e}').contains(&c)
                    || ('\u{2066}'..='\u{2069}').contains(&c))
        };
        if text.is_empty() || text.chars().count() > CHARS || !text.chars().all(is_seen) {
            return Err(EvidenceError::Text);
        }
        let of = |kind, text: &str| Self { kind, text: text.to_owned() };
        for kind in [EvidenceKind::Eval, EvidenceKind::Outcomes] {
            if let Some(id) = text.strip_prefix(kind.as_str()).and_then(|rest| rest.strip_prefix(':')) {
                let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
                return match !id.is_empty() && id.len() <= ID_CHARS && id.chars().all(fits) {
                    true => Ok(of(kind, id)),
                    false => Err(EvidenceError::Id(id.to_owned())),
                };
            }
        }
        match ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) {
            true if text.contains(char::is_whitespace) => Err(EvidenceError::Link(text.to_owned())),
            true => Ok(of(EvidenceKind::Link, text)),
            false => Ok(of(EvidenceKind::Text, text)),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            EvidenceKind::Text | EvidenceKind::Link => f.write_str(&self.text),
            kind => write!(f, "{}:{}", kind.as_str(), self.text),
        }
    }
}

impl Evidence {
    /// Parses all evidence of a request.
    ///
    /// # Errors
    /// Returns [`EvidenceError`] for the first invalid piece, or if there are too many.
    pub fn all(texts: &[String]) -> Result<Vec<Self>, EvidenceError> {
        if texts.len() > EVIDENCE {
            return Err(EvidenceError::TooMany { found: texts.len() });
        }
        texts.iter().map(|text| text.parse()).collect()
    }

    /// Merges known and new evidence without duplicates, keeping the newest up to the limit.
    pub fn joined(known: &[Self], new: &[Self]) -> Vec<Self> {
        let mut joined: Vec<Self> = known.iter().filter(|one| !new.contains(one)).chain(new).cloned().collect();
        joined.drain(..joined.len().saturating_sub(EVIDENCE));
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_decides_the_evidence_kind() {
        let kinds = [
            ("it is faster", EvidenceKind::Text),
            ("https://example.invalid/run/1", EvidenceKind::Link),
            ("eval:2026-01-02.a", EvidenceKind::Eval),
            ("outcomes:demo:3", EvidenceKind::Outcomes),
        ];
        for (text, kind) in kinds {
            let evidence: Evidence = text.parse().unwrap();
            assert_eq!((evidence.kind, evidence.to_string().parse()), (kind, Ok(evidence.clone())));
        }
        for bad in ["", " ", "eval:", "eval:../x", "http://a b", "a\u{202e}b", "a\u{0}", &"x".repeat(CHARS + 1)] {
            assert!(bad.parse::<Evidence>().is_err(), "{bad:?}");
        }
        assert!(Evidence::all(&vec!["x".to_owned(); EVIDENCE + 1]).is_err());
    }

    #[test]
    fn joined_evidence_keeps_the_newest() {
        let of = |number: usize| -> Evidence { format!("note {number}").parse().unwrap() };
        let known: Vec<_> = (0..EVIDENCE).map(of).collect();
        let joined = Evidence::joined(&known, &[of(3), of(99)]);
        assert_eq!((joined.len(), joined.last(), joined.contains(&of(0))), (EVIDENCE, Some(&of(99)), false));
    }
}
