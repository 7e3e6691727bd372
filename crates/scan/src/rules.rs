//! Built-in rules, compiled from the files in `rules/`. Rules that are implemented in code have named constants.

use crate::{Case, Evidence, Role, Rule, Scope};

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Value of [`ruleset`]: the engine's number, raised when code outside the rule data changes the findings, and the hash
/// of the rules and hosts. Hashing at run time would cost each process as much as scanning a skill. A test compares the
/// constant with the rules and prints the expected value.
const RULESET: &str = "35-6f0dd5946c7c";

/// Returns all built-in rules, sorted by ID.
#[must_use]
pub fn rules() -> &'static [Rule] {
    &ALL
}

/// Returns the built-in rule with an ID.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().binary_search_by_key(&id, |rule| rule.id).ok().and_then(|at| rules().get(at))
}

/// Returns the version of the ruleset, which is stored with every verdict: the engine's number, and twelve hexadecimal
/// digits of a hash over all data that affects the findings.
#[must_use]
pub fn ruleset() -> &'static str {
    RULESET
}

#[cfg(test)]
mod tests {
    use skill::Digest;

    use super::*;

    #[test]
    fn messages_are_short_and_distinct() {
        for rule in rules() {
            let messages: Vec<&str> = rule.cases.iter().map(|case| case.message).chain([rule.message]).collect();
            let is_short = |message: &&str| !message.is_empty() && message.split_whitespace().count() <= 12;
            assert!(messages.iter().all(is_short), "{}: {messages:?}", rule.id);
            assert!(rule.cases.iter().all(|case| !case.words.is_empty()), "{}", rule.id);
        }
    }

    /// A message names the act and a remedy the change, each as one clause without an end of its own.
    #[test]
    fn texts_name_act_risk_and_change() {
        for rule in rules() {
            let cases = || rule.cases.iter();
            let mut messages = cases().map(|case| case.message).chain([rule.message]);
            let is_act = |message: &str| message.split(' ').next().is_some_and(|verb| verb.ends_with('s'));
            assert!(messages.all(is_act) || rule.id == "scanner-failure", "{}", rule.id);
            let own = cases().map(|case| case.remedy).filter(|remedy| !remedy.is_empty());
            for remedy in own.chain([rule.remedy]) {
                let is_clause = remedy.starts_with(|c: char| c.is_ascii_lowercase()) && !remedy.ends_with('.');
                assert!(is_clause && remedy.len() <= 140, "{}: {remedy:?}", rule.id);
            }
            let is_condition =
                |text: &str| text.is_empty() || text.starts_with(char::is_alphabetic) && !text.ends_with('.');
            let mut conditions = cases().map(|case| case.harmless_if).chain([rule.harmless_if]);
            assert!(conditions.all(|text| is_condition(text) && text.len() <= 120), "{}", rule.id);
            assert!(rule.senses.is_empty() || !rule.harmless_if.is_empty(), "{}", rule.id);
            let of_cases = cases().map(|case| case.harm).filter(|harm| !harm.is_empty());
            for harm in of_cases.chain([rule.harm]) {
                let is_clause = harm.starts_with(char::is_alphanumeric) && !harm.ends_with('.');
                assert!(is_clause && harm.len() <= 160, "{}: {harm:?}", rule.id);
            }
        }
    }

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
