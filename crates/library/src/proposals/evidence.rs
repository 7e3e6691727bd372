//! [`Evidence`]: what its author says speaks for a proposal.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What kind of thing speaks for a proposal. None of it is believed: a person, or whoever has the result, looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Words.
    Text,
    /// An address on the web.
    Link,
    /// The id of a result of evals.
    Eval,
    /// The id of a summary of outcomes.
    Outcomes,
}

impl EvidenceKind {
    /// The kind's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Link => "link",
            Self::Eval => "eval",
            Self::Outcomes => "outcomes",
        }
    }
}

/// One thing that speaks for a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Of which kind.
    pub kind: EvidenceKind,
    /// The words, the address or the id.
    pub text: String,
}

/// The text is no [`Evidence`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvidenceError {
    /// It is empty or too long, or has characters that nobody sees.
    #[error("evidence has 1 to {CHARS} characters, and none that nobody sees")]
    Text,
    /// An id with other characters than an id has.
    #[error("{0:?} is no id; after `eval:` or `outcomes:` stand letters, digits, `-`, `_`, `.` and `:`")]
    Id(String),
    /// An address that ends in between.
    #[error("{0:?} is no address; it has no spaces")]
    Link(String),
    /// More than may be.
    #[error("there are {found} pieces of evidence, the limit is {EVIDENCE}")]
    TooMany {
        /// How many there are.
        found: usize,
    },
}

/// Characters of one piece of evidence.
const CHARS: usize = 1000;
/// Characters of an id.
const ID_CHARS: usize = 100;
/// Pieces of evidence of a proposal.
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
    /// Reads all of a request.
    ///
    /// # Errors
    /// [`EvidenceError`]
    pub fn all(texts: &[String]) -> Result<Vec<Self>, EvidenceError> {
        if texts.len() > EVIDENCE {
            return Err(EvidenceError::TooMany { found: texts.len() });
        }
        texts.iter().map(|text| text.parse()).collect()
    }

    /// What is there and what is new, each once, the newest of as many as there may be.
    #[must_use]
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
    fn evidence_is_told_by_what_it_starts_with_and_reads_back() {
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
    fn what_is_joined_stands_once_and_the_newest_stays() {
        let of = |number: usize| -> Evidence { format!("note {number}").parse().unwrap() };
        let known: Vec<_> = (0..EVIDENCE).map(of).collect();
        let joined = Evidence::joined(&known, &[of(3), of(99)]);
        assert_eq!((joined.len(), joined.last(), joined.contains(&of(0))), (EVIDENCE, Some(&of(99)), false));
    }
}
