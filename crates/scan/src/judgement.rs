//! [`Signal`]: what a detector saw, and how signals become findings.
//!
//! A verdict is reached here and nowhere else. Hard evidence blocks. Strong evidence warns, and is hard where two
//! kinds of it meet in one file. Weak evidence warns only where several kinds of it meet in one file.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use crate::{Evidence, Finding, Rule, excerpt::Excerpt};

/// Rules of weak evidence that have to meet in one file to deserve a look.
const WEAK_TOGETHER: usize = 3;

/// Rules of strong evidence that have to meet in one file to be a chain.
const STRONG_TOGETHER: usize = 2;

/// Rules that are named beside a signal which weighs more by them.
const NAMED: usize = 3;

/// What a detector saw in one place.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub rule: &'static Rule,
    /// What it proves where it stands: less than its rule says where the text is a lesson, a quotation or elsewhere.
    pub evidence: Evidence,
    pub path: String,
    /// From 1; 0 for the whole file.
    pub line: usize,
    pub excerpt: Excerpt,
    pub message: String,
    /// Why it proves less there, where that is known.
    pub why: Option<&'static str>,
}

/// The findings of all signals of a skill.
pub(crate) fn findings(signals: Vec<Signal>) -> Vec<Finding> {
    let weak = crowded(&signals, Evidence::Weak, WEAK_TOGETHER);
    let strong = crowded(&signals, Evidence::Strong, STRONG_TOGETHER);
    let judged = |signal: Signal| {
        let (crowd, raised) = match signal.own_evidence() {
            Some(Evidence::Weak) => (weak.get(&signal.path), Evidence::Strong),
            Some(Evidence::Strong) => (strong.get(&signal.path), Evidence::Hard),
            _ => (None, signal.evidence),
        };
        match crowd {
            Some(rules) => {
                let why = joined_by(&signal, rules);
                signal.finding(raised, Some(why.into()))
            }
            None => {
                let (evidence, why) = (signal.evidence, signal.why);
                signal.finding(evidence, why.map(Cow::Borrowed))
            }
        }
    };
    signals.into_iter().map(judged).collect()
}

/// The words for what makes a signal weigh more: the other rules of its file.
fn joined_by(signal: &Signal, rules: &BTreeSet<&'static str>) -> String {
    let others: Vec<&str> = rules.iter().copied().filter(|rule| *rule != signal.rule.id).take(NAMED).collect();
    let more = if rules.len() > NAMED + 1 { " and more" } else { "" };
    format!("{}{more} found something in this file too, and such signs count together", others.join(", "))
}

/// The files in which so many different rules of some evidence fired, and those rules.
fn crowded(signals: &[Signal], evidence: Evidence, together: usize) -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut rules: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
    let counts = |signal: &&Signal| signal.own_evidence() == Some(evidence) && signal.rule.senses.is_empty();
    for signal in signals.iter().filter(counts) {
        rules.entry(&signal.path).or_default().insert(signal.rule.id);
    }
    let crowds = rules.into_iter().filter(|(_, rules)| rules.len() >= together);
    crowds.map(|(path, rules)| (path.to_owned(), rules)).collect()
}

impl Signal {
    /// What it proves, if it stands in its rule's own place. What stands elsewhere adds up to nothing.
    fn own_evidence(&self) -> Option<Evidence> {
        (self.evidence == self.rule.evidence).then_some(self.evidence)
    }

    fn finding(self, evidence: Evidence, why: Option<Cow<'static, str>>) -> Finding {
        Finding {
            rule: self.rule.id.into(),
            severity: evidence.severity(),
            category: self.rule.category.into(),
            path: self.path,
            line: self.line,
            column: self.excerpt.column,
            excerpt: self.excerpt.text,
            matched: self.excerpt.matched,
            message: self.message.into(),
            remedy: self.rule.remedy.into(),
            why,
            new: true,
            waived: false,
            waiver: None,
        }
    }
}
