//! [`Signal`]: a detector's observation, and the conversion of signals to findings.
//!
//! All verdicts derive from this module. Hard evidence blocks. Strong evidence warns, and is raised to hard if two
//! different rules meet in one file. Weak evidence warns only if several different rules meet in one file.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use crate::{Evidence, Finding, Related, Rule, excerpt::Excerpt};

/// Number of different rules with weak evidence in one file that raises it to strong.
const WEAK_TOGETHER: usize = 3;

/// Number of different rules with strong evidence in one file that raises it to hard.
const STRONG_TOGETHER: usize = 2;

/// Maximum number of other rules named in the reason for a raised weight.
const NAMED: usize = 3;

/// Observation of a detector in one place.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub rule: &'static Rule,
    /// Evidence in this place. It is less than the rule's if the text is a lesson, a quotation or outside of the rule's
    /// scope.
    pub evidence: Evidence,
    pub path: String,
    /// Line number, from 1; 0 for the whole file.
    pub line: usize,
    pub excerpt: Excerpt,
    pub message: String,
    pub remedy: &'static str,
    pub related: Vec<Related>,
    /// Reason for lower evidence in this place, if known.
    pub why: Option<&'static str>,
}

/// Converts all signals of a skill to findings.
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

/// Returns the reason for a raised weight, which names other rules that fired in the file.
fn joined_by(signal: &Signal, rules: &BTreeSet<&'static str>) -> String {
    let others: Vec<&str> = rules.iter().copied().filter(|rule| *rule != signal.rule.id).take(NAMED).collect();
    let more = if rules.len() > NAMED + 1 { " and more" } else { "" };
    format!("{}{more} also matched in this file, and such matches add up", others.join(", "))
}

/// Returns the files in which at least `together` different rules fired with the given evidence, with those rules.
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
    /// Returns the evidence if it is the rule's full evidence. Reduced signals do not add up.
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
            related: self.related,
            message: self.message.into(),
            remedy: self.remedy.into(),
            why,
            new: true,
            waived: false,
            waiver: None,
        }
    }
}
