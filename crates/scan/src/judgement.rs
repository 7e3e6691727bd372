//! [`Signal`]: what a detector saw, and how signals become findings.
//!
//! A verdict is reached here and nowhere else: hard evidence blocks, strong evidence warns, and weak evidence warns
//! only where several kinds of it meet in one file.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Evidence, Finding, Rule};

/// Rules of weak evidence that have to meet in one file to deserve a look.
const WEAK_RULES_TOGETHER: usize = 3;

/// What a detector saw in one place.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub rule: &'static Rule,
    /// What it proves where it stands: less than its rule says where the text is a lesson, a quotation or elsewhere.
    pub evidence: Evidence,
    pub path: String,
    /// From 1; 0 for the whole file.
    pub line: usize,
    pub excerpt: String,
    pub message: String,
}

/// The findings of all signals of a skill.
pub(crate) fn findings(signals: Vec<Signal>) -> Vec<Finding> {
    let mut weak: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for signal in signals.iter().filter(|signal| signal.is_weak()) {
        weak.entry(&signal.path).or_default().insert(signal.rule.id);
    }
    let crowded: BTreeSet<String> = weak
        .into_iter()
        .filter(|(_, rules)| rules.len() >= WEAK_RULES_TOGETHER)
        .map(|(path, _)| path.to_owned())
        .collect();
    let judged = |signal: Signal| {
        let is_lifted = signal.is_weak() && crowded.contains(&signal.path);
        let evidence = if is_lifted { Evidence::Strong } else { signal.evidence };
        signal.finding(evidence)
    };
    signals.into_iter().map(judged).collect()
}

impl Signal {
    /// Whether its rule is one of weak evidence, and stands in its own place.
    fn is_weak(&self) -> bool {
        self.evidence == Evidence::Weak && self.rule.evidence == Evidence::Weak
    }

    fn finding(self, evidence: Evidence) -> Finding {
        Finding {
            rule: self.rule.id.into(),
            severity: evidence.severity(),
            category: self.rule.category.into(),
            path: self.path,
            line: self.line,
            excerpt: self.excerpt,
            message: self.message.into(),
            remedy: self.rule.remedy.into(),
            new: true,
            waived: false,
            waiver: None,
        }
    }
}
