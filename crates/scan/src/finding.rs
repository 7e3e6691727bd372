//! [`Finding`]: a match of a rule in one place.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Acceptance, Evidence, Severity, can_be_waived, excerpt::brief, rule};

/// Place that a finding depends on, besides its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    /// Relation to the finding, as words before the place, such as `read in`.
    pub label: Cow<'static, str>,
    /// Path of the file, relative to the skill's folder.
    pub path: String,
    /// Line number in the file, from 1.
    pub line: usize,
    /// Text of the line, as in [`Finding::excerpt`].
    pub excerpt: String,
}

/// Match of a rule in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// ID of the rule, in `kebab-case`.
    pub rule: Cow<'static, str>,
    /// Severity in this place, which may differ from the rule's.
    pub severity: Severity,
    /// Category of the rule, such as `prompt-injection`.
    pub category: Cow<'static, str>,
    /// Path of the file, relative to the skill's folder.
    pub path: String,
    /// Line number in the file, from 1.
    pub line: usize,
    /// Column of the match in characters, from 1. It is 0 if the finding is about the whole line.
    #[serde(default)]
    pub column: usize,
    /// Text of the match, at most [`crate::EXCERPT_CHARS`] characters. Invisible characters are written as `\u{…}` and
    /// secrets are shortened.
    pub excerpt: String,
    /// Range of matched characters in the excerpt, from 0 and with an exclusive end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<(usize, usize)>,
    /// Other places that the finding depends on, such as the statement that reads the data sent here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// Description of the problem.
    pub message: Cow<'static, str>,
    /// Loss for the user if the finding is real, as a clause. `None` for a judge's opinion, and for a rule of the user's
    /// own that states none.
    #[serde(default)]
    pub risk: Option<Cow<'static, str>>,
    /// Advice for the author.
    pub remedy: Cow<'static, str>,
    /// Reason for a severity other than the rule's own, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'static, str>>,
    /// True if the cleared base does not have the finding. Without a base all findings are new.
    pub new: bool,
    /// True if the finding was accepted and does not count for the verdict.
    #[serde(default)]
    pub waived: bool,
    /// Acceptance of a waived finding: its author, reason and end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<Acceptance>,
}

/// Beginning of a remedy for several matches on one line.
const EACH: &str = "in each such place of the line, ";

impl Finding {
    /// Covers the match of another finding with the remedy if it is the same finding on the same line. Returns whether
    /// it is.
    pub(crate) fn absorb(&mut self, other: &Self) -> bool {
        let is_same = (&self.rule, &self.path, self.line, &self.excerpt)
            == (&other.rule, &other.path, other.line, &other.excerpt);
        if is_same && self.matched != other.matched && !self.remedy.contains(EACH) {
            self.remedy = match self.remedy.split_once("; otherwise ") {
                Some((condition, change)) => format!("{condition}; otherwise {EACH}{change}").into(),
                None => format!("{EACH}{}", self.remedy).into(),
            };
        }
        is_same
    }

    /// Splits the excerpt into the text before, in and after the match. If the match is not known, the first part has
    /// all of it.
    #[must_use]
    pub fn excerpt_parts(&self) -> [&str; 3] {
        let byte = |chars: usize| self.excerpt.char_indices().nth(chars).map_or(self.excerpt.len(), |(at, _)| at);
        let (from, to) =
            self.matched.map_or((self.excerpt.len(), self.excerpt.len()), |(from, to)| (byte(from), byte(to)));
        let (before, rest) = self.excerpt.split_at(from);
        let (matched, after) = rest.split_at(to.max(from) - from);
        [before, matched, after]
    }

    /// Returns the matched part of the excerpt with a few words around it, at most 92 characters.
    pub fn brief_excerpt(&self) -> String {
        brief(&self.excerpt, self.matched)
    }

    /// Formats the finding and its remedy as one clause.
    pub fn summary(&self) -> String {
        let Self { rule, severity, path, line, message, remedy, .. } = self;
        format!("{severity} finding {rule} in {path}:{line}: {message}; {remedy}")
    }

    /// Returns whether the finding is hard evidence of harm, which hides even a skill that earlier rules let pass.
    ///
    /// A combination of strong signals in one file is not hard, nor is an incomplete scan.
    pub fn is_hard(&self) -> bool {
        let is_hard_alone = || rule(&self.rule).is_some_and(|rule| rule.evidence >= Evidence::Hard);
        can_be_waived(&self.rule)
            && (self.severity == Severity::Critical || self.severity == Severity::High && is_hard_alone())
    }
}
