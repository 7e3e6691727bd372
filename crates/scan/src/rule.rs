//! [`Rule`]: what the scanner looks for, as data.

use crate::{Evidence, Severity, rules::ALL};

/// What [`ruleset`] gives: a number of the engine, raised when code outside the rule data changes
/// what is found, and the hash of the rules and the hosts. To hash them at run time would cost each process as
/// much as to scan a skill; a test holds it to the rules and says what it has to be.
const RULESET: &str = "25-6e4ac52b6833";

/// One thing that the scanner looks for. A text rule has `literals` and a `pattern`; a rule without
/// them is decided by code ([`crate::shape`], and hidden characters).
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// A stable name in `kebab-case`.
    pub id: &'static str,
    /// The kind of attack.
    pub category: &'static str,
    /// The technique in MITRE ATT&CK, or in ATLAS where it begins with `AML`.
    pub technique: &'static str,
    /// The risk in the OWASP Agentic Skills Top 10.
    pub risk: &'static str,
    /// What a match proves in the rule's own place.
    pub evidence: Evidence,
    /// Its own place.
    pub scope: Scope,
    /// What is wrong, as a fragment.
    pub message: &'static str,
    /// What the author can do.
    pub remedy: &'static str,
    /// At least one of these, in any ASCII case, is in every text that the pattern matches.
    pub literals: &'static [&'static str],
    /// A regular expression over bytes, ASCII classes, case ignored, every gap bounded;
    /// `␣` stands for what parts two words.
    pub pattern: &'static str,
    /// When not empty, at least one of these must stand in the same file, in any ASCII case.
    pub also: &'static [&'static str],
    /// For text that an agent reads: concepts of the lexicon that have to meet in one passage. Any of
    /// these is enough.
    pub senses: &'static [&'static str],
    /// A further test of the matched text, for what an expression cannot say.
    pub condition: Option<fn(&str) -> bool>,
    /// What about the text around a match makes it weigh `elsewhere`.
    pub role: Role,
    /// Whether the excerpt is shortened, because the match is a secret.
    pub secret: bool,
    /// Files, as path and text, in which the rule fires.
    pub harmful: &'static [(&'static str, &'static str)],
    /// Files that look alike, in which it does not fire.
    pub harmless: &'static [(&'static str, &'static str)],
}

/// Where a text rule weighs its full severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Any,
    /// In files that are run: under `scripts/`, with a script's extension, or with a shebang.
    Script,
    /// In scripts and in code blocks of Markdown, but not in running text.
    Code,
    /// In scripts, configuration and data: every file that is no text to read, and blocks of code in those.
    Machine,
    /// In text that an agent reads, outside scripts.
    Prose,
}

/// How far the text around a match tells an act from talk about it. Scripts do not talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The match weighs the same whatever stands around it.
    Fact,
    /// A command: talk only where its own sentence or line forbids it or calls it bad.
    Command,
    /// An attack on a service: talk also where the file says that it is about tests of security, or, of a
    /// reference, the lines above speak of attacks, and in each file where it is one of several texts of a list.
    Test,
    /// A sentence: talk also where it is quoted, or its passage speaks of attacks.
    Speech,
    /// Words that pose as somebody else's, which an agent meets wherever they are read: talk only where they are shown
    /// in a block, in quotation marks or among others, or where the passage speaks of attacks.
    Planted,
}

impl Scope {
    /// Its name in files of rules.
    #[must_use]
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

impl Role {
    /// Its name in files of rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Command => "command",
            Self::Test => "test",
            Self::Speech => "speech",
            Self::Planted => "planted",
        }
    }
}

impl Rule {
    /// The severity of a match in the rule's own place.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.evidence.severity()
    }

    /// What a match proves in every other place, and where the text is a lesson or a quotation.
    #[must_use]
    pub fn elsewhere(&self) -> Evidence {
        self.evidence.elsewhere(self.role)
    }
}

/// All rules, sorted by id.
#[must_use]
pub fn rules() -> &'static [Rule] {
    &ALL
}

/// The rule with an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().binary_search_by_key(&id, |rule| rule.id).ok().and_then(|at| rules().get(at))
}

/// The version of the set of rules, stored with every verdict: the engine's number and twelve
/// hexadecimal digits over all that decides what is found.
#[must_use]
pub fn ruleset() -> &'static str {
    RULESET
}

#[cfg(test)]
mod tests {
    use skill::Digest;

    use super::*;

    #[test]
    fn the_ruleset_is_the_hash_of_the_rules() {
        let mut text = String::new();
        for r in rules() {
            let decides = (r.id, r.category, r.evidence, r.scope, r.literals, r.pattern, r.also, r.role, r.senses);
            text.push_str(&format!("{decides:?}\n"));
        }
        text.push_str(&format!("{}", crate::prose::fingerprint()));
        text.push_str(include_str!("../data/hosts.toml"));
        let hex = Digest::of_bytes(text.as_bytes()).hex();
        let (engine, hash) = RULESET.split_once('-').unwrap();
        assert_eq!(hash, &hex[..12], "the rules have changed: RULESET becomes {engine}-{}", &hex[..12]);
    }
}
