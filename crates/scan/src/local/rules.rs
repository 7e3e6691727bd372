//! Parser for a user's own rules ([`rules`]), in the format of the built-in rule files.

use std::collections::BTreeMap;

use crate::{
    Case, Evidence, Role, Rule, Scope, SettingsError,
    engine::compile,
    matcher::Matcher,
    rule_file::{CaseEntry, Defaults, ExampleFile, RuleEntry, RuleFile},
    settings::RuleText,
};

/// Maximum number of rules in all files together.
const RULES: usize = 1_000;

/// Maximum length of a pattern in bytes.
const PATTERN: usize = 4 << 10;

/// Longest match in bytes for which a pattern is accepted without a trial compilation.
const SMALL: usize = 2 << 10;

/// Maximum number of literals per rule, including those of `also`.
const LITERALS: usize = 64;

/// Length of a literal in bytes. A shorter one would occur everywhere and slow down all other rules.
const LITERAL: std::ops::RangeInclusive<usize> = 3..=200;

/// Maximum length of an id, and of a message or a remedy, in characters.
const ID: usize = 64;
const TEXT: usize = 500;

/// Contents of the rule files.
#[derive(Default)]
pub(super) struct Added {
    /// New rules by id.
    pub rules: BTreeMap<String, Rule>,
    /// Changed evidence of built-in rules by id.
    pub evidence: BTreeMap<String, Evidence>,
}

/// Parses rule files. The texts of rules are leaked, like those of the built-in
/// rules, which also live as long as the process.
pub(super) fn rules(files: &[RuleText]) -> Result<Added, SettingsError> {
    let mut added = Added::default();
    for RuleText { name, text } in files {
        let read: RuleFile = toml::from_str(text)
            .map_err(|error| SettingsError::File { file: name.clone(), message: error.to_string() })?;
        for entry in &read.rules {
            added.add(entry, &read.defaults).map_err(|message| SettingsError::Rule {
                file: name.clone(),
                line: line_of(text, &entry.id),
                rule: entry.id.clone(),
                message,
            })?;
        }
    }
    Ok(added)
}

impl Added {
    fn add(&mut self, entry: &RuleEntry, defaults: &Defaults) -> Result<(), String> {
        if crate::rule(&entry.id).is_some() {
            let evidence = new_evidence(entry)?;
            let is_first = self.evidence.insert(entry.id.clone(), evidence).is_none();
            return is_first.then_some(()).ok_or_else(|| "it is overridden twice".to_owned());
        }
        if FORMER.lines().any(|id| id == entry.id) && !says_more(entry) {
            return Ok(());
        }
        let rule = rule_of(entry, defaults)?;
        if self.rules.len() >= RULES {
            return Err(format!("the limit is {RULES} rules"));
        }
        let is_first = self.rules.insert(entry.id.clone(), rule).is_none();
        is_first.then_some(()).ok_or_else(|| "the id is defined twice".to_owned())
    }
}

/// Ids of earlier built-in rules, one a line. A file that still sets the evidence of one has no effect on it.
const FORMER: &str = include_str!("../../data/former_rules.txt");

/// Returns whether an entry sets more than the evidence of a rule.
fn says_more(entry: &RuleEntry) -> bool {
    entry.category.is_some()
        || entry.technique.is_some()
        || entry.risk.is_some()
        || entry.scope.is_some()
        || entry.role.is_some()
        || entry.remedy.is_some()
        || !entry.harmless_if.is_empty()
        || !entry.harm.is_empty()
        || !entry.cases.is_empty()
        || !entry.message.is_empty()
        || !entry.pattern.joined().is_empty()
        || !(entry.literals.is_empty() && entry.also.is_empty())
        || !(entry.harmful.is_empty() && entry.harmless.is_empty())
        || is_for_us(entry)
}

/// Returns the new evidence of a built-in rule. Everything else about such a rule is fixed.
fn new_evidence(entry: &RuleEntry) -> Result<Evidence, String> {
    match says_more(entry) {
        true => Err("a built-in rule has this id; give evidence alone to change it, or choose another id".to_owned()),
        false if !crate::can_be_waived(&entry.id) => Err("the rules for an incomplete scan are fixed".to_owned()),
        false => entry.evidence.parse().map_err(|error: crate::LevelError| error.to_string()),
    }
}

fn rule_of(entry: &RuleEntry, defaults: &Defaults) -> Result<Rule, String> {
    let or = |own: &Option<String>, default: &Option<String>, last: &str| {
        own.clone().or(default.clone()).unwrap_or_else(|| last.to_owned())
    };
    let remedy = or(&entry.remedy, &defaults.remedy, "ask the author of this rule");
    check(entry, &remedy)?;
    let pattern = leak(&entry.pattern.joined());
    // Compiling an expression takes a thousand times as long. A pattern with short matches is known to be small enough.
    if Matcher::new(pattern).is_none_or(|matcher| matcher.longest() > SMALL) {
        compile(pattern).map_err(|error| format!("its pattern is not a valid regular expression: {error}"))?;
    }
    Ok(Rule {
        id: leak(&entry.id),
        category: leak(&or(&entry.category, &defaults.category, "local")),
        technique: leak(&or(&entry.technique, &defaults.technique, "")),
        risk: leak(&or(&entry.risk, &defaults.risk, "")),
        evidence: entry.evidence.parse().map_err(|error: crate::LevelError| error.to_string())?,
        scope: scope(&or(&entry.scope, &defaults.scope, "any"))?,
        role: role(&or(&entry.role, &defaults.role, "fact"))?,
        message: leak(&entry.message),
        harm: leak(&entry.harm),
        remedy: leak(&remedy),
        harmless_if: leak(&entry.harmless_if),
        cases: Box::leak(entry.cases.iter().map(case).collect()),
        literals: leak_all(&entry.literals),
        pattern,
        also: leak_all(&entry.also),
        senses: &[],
        condition: None,
        secret: entry.secret,
        harmful: examples(&entry.harmful),
        harmless: examples(&entry.harmless),
    })
}

fn check(entry: &RuleEntry, remedy: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_text = |text: &str| text.chars().count() <= TEXT && !text.chars().any(char::is_control);
    let literals = entry.literals.iter().chain(&entry.also);
    let texts = [entry.message.as_str(), remedy, &entry.harmless_if, &entry.harm];
    let pattern = entry.pattern.joined().len();
    let is_case = |case: &CaseEntry| {
        (1..=LITERALS).contains(&case.words.len())
            && !case.message.is_empty()
            && [&case.message, &case.remedy, &case.harmless_if, &case.harm].into_iter().all(|text| is_text(text))
    };
    let fault = if entry.id.is_empty() || entry.id.len() > ID || !entry.id.chars().all(is_part) {
        format!("an id has at most {ID} lower-case letters, digits and hyphens")
    } else if is_for_us(entry) {
        "condition, senses and in_code are reserved for built-in rules".to_owned()
    } else if entry.message.is_empty() || !texts.into_iter().all(is_text) {
        format!("it needs a message; message, remedy, harmless_if and harm are one line of at most {TEXT} characters")
    } else if entry.cases.len() > LITERALS || !entry.cases.iter().all(is_case) {
        format!(
            "a case needs a message and words, at most {LITERALS}; each text is one line of at most {TEXT} characters"
        )
    } else if entry.literals.is_empty() || literals.clone().count() > LITERALS {
        format!("it needs literals, at most {LITERALS} including those in also")
    } else if let Some(literal) = literals.clone().find(|literal| !LITERAL.contains(&literal.len())) {
        format!("the literal {literal:?} is shorter than {} or longer than {} bytes", LITERAL.start(), LITERAL.end())
    } else if !(1..=PATTERN).contains(&pattern) {
        format!("its pattern has {pattern} bytes; it must have at least 1 and at most {PATTERN}")
    } else {
        return Ok(());
    };
    Err(fault)
}

/// Returns true if an entry uses fields that only built-in rules support.
fn is_for_us(entry: &RuleEntry) -> bool {
    entry.condition.is_some() || !entry.senses.is_empty() || entry.in_code
}

fn scope(word: &str) -> Result<Scope, String> {
    match word {
        "any" => Ok(Scope::Any),
        "script" => Ok(Scope::Script),
        "code" => Ok(Scope::Code),
        "machine" => Ok(Scope::Machine),
        "prose" => Ok(Scope::Prose),
        _ => Err(format!("the scope {word:?} is not one of any, script, code, machine, prose")),
    }
}

fn role(word: &str) -> Result<Role, String> {
    match word {
        "fact" => Ok(Role::Fact),
        "command" => Ok(Role::Command),
        "test" => Ok(Role::Test),
        "speech" => Ok(Role::Speech),
        "planted" => Ok(Role::Planted),
        _ => Err(format!("the role {word:?} is not one of fact, command, test, speech, planted")),
    }
}

fn case(entry: &CaseEntry) -> Case {
    let (message, remedy, harmless_if) = (leak(&entry.message), leak(&entry.remedy), leak(&entry.harmless_if));
    Case { words: leak_all(&entry.words), message, remedy, harmless_if, harm: leak(&entry.harm) }
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.into())
}

fn leak_all(texts: &[String]) -> &'static [&'static str] {
    Box::leak(texts.iter().map(|text| leak(text)).collect())
}

fn examples(files: &[ExampleFile]) -> &'static [(&'static str, &'static str)] {
    Box::leak(files.iter().map(|example| (leak(&example.file), leak(&example.text))).collect())
}

/// Returns the 1-based line on which a rule's id is set, or 1 if it is not found.
fn line_of(text: &str, id: &str) -> usize {
    let has_id = |line: &str| line.trim_start().starts_with("id") && line.contains(id);
    text.lines().position(has_id).map_or(1, |at| at + 1)
}
