//! [`Rule`]: detection rules as data.

use crate::{Evidence, Severity, harm::own_or_of_category};

mod role;

pub use role::Role;

/// Detection rule. A text rule has `literals` and a `pattern`. A rule without them is implemented in code
/// ([`crate::shape`], and hidden characters).
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Stable ID in `kebab-case`.
    pub id: &'static str,
    /// Category of attack, such as `prompt-injection`.
    pub category: &'static str,
    /// ID of the technique in MITRE ATT&CK, or in ATLAS if it begins with `AML`.
    pub technique: &'static str,
    /// ID of the risk in the OWASP Agentic Skills Top 10.
    pub risk: &'static str,
    /// Evidence of a match within the rule's scope.
    pub evidence: Evidence,
    /// Scope in which a match has the full evidence.
    pub scope: Scope,
    /// Action of the skill, as a third-person verb phrase of at most 12 words.
    pub message: &'static str,
    /// Loss for the user if a match is real, as a clause; empty for that of the category.
    pub harm: &'static str,
    /// Advice for the author.
    pub remedy: &'static str,
    /// Condition under which a match that does not block needs no change, as a clause after `if`; empty for none of its
    /// own.
    pub harmless_if: &'static str,
    /// More exact messages, by words of the match. The first case that applies replaces the message and the remedy.
    pub cases: &'static [Case],
    /// Literals of which every match contains at least one, in any ASCII case.
    pub literals: &'static [&'static str],
    /// Case-insensitive regular expression over bytes and ASCII classes, in which every gap is bounded. `␣` matches a
    /// word separator.
    pub pattern: &'static str,
    /// Literals of which at least one must occur in the same file, in any ASCII case. Empty for no such condition.
    pub also: &'static [&'static str],
    /// Combinations of lexicon concepts, for text that an agent reads. The rule fires if all concepts of one
    /// combination meet in a passage.
    pub senses: &'static [&'static str],
    /// Additional check of the matched text, for conditions that an expression cannot describe.
    pub condition: Option<fn(&str) -> bool>,
    /// Kinds of context that reduce a match to the evidence of [`Rule::elsewhere`].
    pub role: Role,
    /// True if a match is a secret, so that its excerpt is shortened.
    pub secret: bool,
    /// Example files in which the rule fires, as path and text.
    pub harmful: &'static [(&'static str, &'static str)],
    /// Similar example files in which it does not fire.
    pub harmless: &'static [(&'static str, &'static str)],
}

/// Variant of a rule's message, for the alternative that matched.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Beginnings of words of which the match contains at least one, in any ASCII case.
    pub words: &'static [&'static str],
    /// Message in this case.
    pub message: &'static str,
    /// Advice in this case; empty for the rule's own.
    pub remedy: &'static str,
    /// Condition in this case, as in [`Rule::harmless_if`]; empty for the rule's own.
    pub harmless_if: &'static str,
    /// Loss in this case, as in [`Rule::harm`]; empty for the rule's own.
    pub harm: &'static str,
}

/// Parts of a skill in which a text rule has its full evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All files, whatever their use.
    Any,
    /// Executed files: under `scripts/`, with a script's extension, or with a shebang.
    Script,
    /// Scripts and code blocks of Markdown, but not running text.
    Code,
    /// Scripts, configuration and data: every file not made for reading, and code blocks in the others.
    Machine,
    /// Text that an agent reads, outside scripts.
    Prose,
}

impl Scope {
    /// Returns the name used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Script => "script",
            Self::Code => "code",
            Self::Machine => "machine",
            Self::Prose => "prose",
        }
    }
}

impl Rule {
    /// Returns the loss for the user if a match is real, as a clause: the rule's own, or that of its category. A user's
    /// own categories have none.
    pub fn harm(&self) -> Option<&'static str> {
        own_or_of_category(self.harm, self.category)
    }

    /// Returns the severity of a match within the rule's scope.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.evidence.severity()
    }

    /// Returns the first case that applies to a matched text, in which the rule's own texts stand for empty ones.
    pub(crate) fn case_of(&self, matched: &str) -> Case {
        let lower = matched.to_ascii_lowercase();
        let applies = |case: &&Case| case.words.iter().any(|word| has_word(&lower, &word.to_ascii_lowercase()));
        let Self { message, remedy, harmless_if, harm, .. } = *self;
        let Some(case) = self.cases.iter().find(applies) else {
            return Case { words: &[], message, remedy, harmless_if, harm };
        };
        let or = |text: &'static str, own: &'static str| if text.is_empty() { own } else { text };
        let (remedy, harmless_if) = (or(case.remedy, remedy), or(case.harmless_if, harmless_if));
        Case { remedy, harmless_if, harm: or(case.harm, harm), ..*case }
    }

    /// Returns the case whose words weigh most together, of some names with their weights.
    pub(crate) fn heaviest_case(&self, weighed: &[(i16, &'static str)]) -> Option<&'static Case> {
        let weight = |case: &Case| -> i32 {
            let counts = weighed.iter().filter(|(_, name)| case.words.contains(name));
            counts.map(|(weight, _)| i32::from(*weight)).sum()
        };
        self.cases.iter().rev().max_by_key(|case| weight(case)).filter(|case| weight(case) > 0)
    }

    /// Returns the evidence of a match outside the scope, or in a lesson or quotation.
    #[must_use]
    pub fn elsewhere(&self) -> Evidence {
        self.evidence.elsewhere(self.role)
    }
}

/// Returns whether a word of the text begins with `word`. A word that begins with a mark may occur anywhere.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let begins = |at: usize| at == 0 || !is_part(text.as_bytes().get(at - 1)) || !is_part(word.as_bytes().first());
    text.match_indices(word).any(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_words() {
        let case = |words, remedy| Case { words, message: words[0], remedy, harmless_if: "", harm: remedy };
        let cases = Box::leak(Box::new([case(&["tar", "zip"], ""), case(&["$("], "other")]));
        let rule = Rule { message: "any", remedy: "own", harm: "loss", cases, ..crate::rules::SCAN_BUDGET };
        let texts = |matched: &str| {
            let Case { message, remedy, harm, .. } = rule.case_of(matched);
            (message, remedy, harm)
        };
        assert_eq!(texts("ls; TAR -c x"), ("tar", "own", "loss"));
        assert_eq!(texts("start x"), ("any", "own", "loss"));
        assert_eq!(texts("a$(x)"), ("$(", "other", "other"));
    }
}
