//! [`Signal`]: a detector's observation, and the conversion of signals to findings.
//!
//! All verdicts derive from this module. Hard evidence blocks. Strong evidence warns, and is raised to hard if two
//! different rules meet in one file. Weak evidence warns only if several different rules meet in one file.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    Evidence, Finding, Related, Rule,
    excerpt::{Excerpt, brief},
    harm::own_or_of_category,
};

/// Number of different rules with weak evidence in one file that raises it to strong.
const WEAK_TOGETHER: usize = 3;

/// Number of different rules with strong evidence in one file that raises it to hard.
const STRONG_TOGETHER: usize = 2;

/// Maximum number of other findings shown with one whose weight they raise.
const NAMED: usize = 3;

/// Reason for evidence other than the rule's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Why {
    pub reason: &'static str,
    /// Condition, as a clause after `if`, under which the author has nothing to change.
    pub harmless_if: &'static str,
}

impl Why {
    /// Creates a reason that is itself the condition.
    pub const fn fact(reason: &'static str) -> Self {
        Self { reason, harmless_if: reason }
    }
}

/// Condition under which a weak match needs no change, for rules that name none.
const IS_EXPECTED: &str = "SKILL.md tells the user that the skill does this";

/// Condition for a key or password: a real one is exposed wherever it stands.
const MADE_UP: &str = "the value is made up and opens nothing";

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
    /// Loss for the user, as in [`Rule::harm`].
    pub harm: &'static str,
    pub remedy: Cow<'static, str>,
    pub related: Vec<Related>,
    /// Reason for other evidence in this place, if known.
    pub why: Option<Why>,
    /// Condition under which the match needs no change, as in [`Rule::harmless_if`].
    pub harmless_if: Cow<'static, str>,
    /// Change by which the match weighs less if it is only shown, as a clause. It ends the remedy of a match with full
    /// weight.
    pub way_out: Option<Cow<'static, str>>,
}

/// Converts all signals of a skill to findings.
pub(crate) fn findings(signals: Vec<Signal>) -> Vec<Finding> {
    let weak = crowded(&signals, Evidence::Weak, WEAK_TOGETHER);
    let strong = crowded(&signals, Evidence::Strong, STRONG_TOGETHER);
    let judged = |mut signal: Signal| {
        let (crowd, raised) = match signal.own_evidence() {
            Some(Evidence::Weak) => (weak.get(&signal.path), Evidence::Strong),
            Some(Evidence::Strong) => (strong.get(&signal.path), Evidence::Hard),
            _ => (None, signal.evidence),
        };
        let Some(others) = crowd else {
            let (evidence, why) = (signal.evidence, signal.why.map(|why| why.reason.into()));
            return signal.finding(evidence, why);
        };
        let others = others.iter().filter(|(rule, _)| **rule != signal.rule.id).take(NAMED);
        signal.related.extend(others.map(|(_, other)| other.clone()));
        let alone = signal.evidence.severity();
        let why = format!(
            "different signs in one file add up; alone it would be {alone}, and each other sign has its own finding"
        );
        signal.finding(raised, Some(why.into()))
    };
    signals.into_iter().map(judged).collect()
}

/// First match of each rule in a file, as the place shown with findings of the other rules.
type Crowd = BTreeMap<&'static str, Related>;

/// Returns the files in which at least `together` different rules fired with the given evidence, with those rules.
fn crowded(signals: &[Signal], evidence: Evidence, together: usize) -> BTreeMap<String, Crowd> {
    let mut crowds: BTreeMap<String, Crowd> = BTreeMap::new();
    let counts = |signal: &&Signal| signal.own_evidence() == Some(evidence) && signal.rule.senses.is_empty();
    for signal in signals.iter().filter(counts) {
        let crowd = crowds.entry(signal.path.clone()).or_default();
        crowd.entry(signal.rule.id).or_insert_with(|| signal.as_related());
    }
    crowds.retain(|_, crowd| crowd.len() >= together);
    crowds
}

impl Signal {
    /// Returns the evidence if it is the rule's full evidence. Reduced signals do not add up.
    fn own_evidence(&self) -> Option<Evidence> {
        (self.evidence == self.rule.evidence).then_some(self.evidence)
    }

    /// Returns the place of the signal as one that another finding depends on.
    fn as_related(&self) -> Related {
        let label = format!("adds up with: {} [{}], in", self.message, self.rule.id).into();
        let excerpt = brief(&self.excerpt.text, self.excerpt.matched);
        Related { label, path: self.path.clone(), line: self.line, excerpt }
    }

    /// Returns the condition under which the match needs no change: that of the place that lowers its evidence, its
    /// rule's, or that of every weak match.
    fn harmless_if(&self) -> Option<Cow<'static, str>> {
        match self.why {
            _ if self.rule.secret && self.evidence <= Evidence::Weak => Some(MADE_UP.into()),
            Some(why) if self.evidence < self.rule.evidence => Some(why.harmless_if.into()),
            _ if !self.harmless_if.is_empty() => Some(self.harmless_if.clone()),
            _ => (self.evidence <= Evidence::Weak).then_some(IS_EXPECTED.into()),
        }
    }

    /// Returns the finding with the given evidence. Its remedy begins with the condition under which nothing has to be
    /// changed, unless the finding blocks; without one, it ends with the way out for a sample, unless it already weighs
    /// little.
    fn finding(mut self, evidence: Evidence, why: Option<Cow<'static, str>>) -> Finding {
        let is_full = self.evidence >= self.rule.evidence && evidence > Evidence::Weak;
        if let Some(condition) = self.harmless_if().filter(|_| evidence < Evidence::Hard) {
            self.remedy = format!("nothing to do if {condition}; otherwise {}", self.remedy).into();
        } else if let Some(way_out) = self.way_out.take().filter(|_| is_full) {
            self.remedy = format!("{}; {way_out}", self.remedy).into();
        }
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
            risk: own_or_of_category(self.harm, self.rule.category).map(Into::into),
            remedy: self.remedy,
            why,
            new: true,
            waived: false,
            waiver: None,
        }
    }
}
