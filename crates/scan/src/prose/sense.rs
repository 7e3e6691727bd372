//! [`Sense`]: which concepts have to meet for a rule to fire.
//!
//! `a b` means both in one sentence, `a b & c` with the third anywhere in the passage; `-a` is a
//! negated deed, `^a` what the passage may not say. `?` at the head makes a sense weak, `!` makes it
//! hold whoever is asked first.

use super::lexicon::{self, Set};
use crate::Rule;

/// One way in which concepts meet.
pub(super) struct Sense {
    /// All concepts and negated deeds that the groups name.
    needs: (Set, Set),
    pub rule: &'static Rule,
    pub strength: Strength,
    /// As it is written.
    pub text: &'static str,
    /// For each group the concepts and the negated deeds of one sentence.
    groups: Vec<(Set, Set)>,
    absent: Set,
}

/// How much a sense weighs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Little.
    Weak,
    /// All of it, unless the user is asked first.
    Strong,
    /// All of it.
    Hard,
}

impl Sense {
    /// Reads a sense; `None` when it names no known concept.
    pub fn parse(rule: &'static Rule, text: &'static str) -> Option<Self> {
        let (strength, text) = match text.as_bytes() {
            [b'?', ..] => (Strength::Weak, text.get(1..)?),
            [b'!', ..] => (Strength::Hard, text.get(1..)?),
            _ => (Strength::Strong, text),
        };
        let (mut groups, mut absent) = (Vec::new(), 0);
        for part in text.split('&') {
            let (mut said, mut negated) = (0, 0);
            for name in part.split_whitespace() {
                let (set, name) = match name.as_bytes() {
                    [b'-', ..] => (&mut negated, name.get(1..)?),
                    [b'^', ..] => (&mut absent, name.get(1..)?),
                    _ => (&mut said, name),
                };
                *set |= 1 << lexicon::concept(name)?;
            }
            groups.push((said, negated));
        }
        let needs = groups.iter().fold((0, 0), |all, group| (all.0 | group.0, all.1 | group.1));
        Some(Self { needs, rule, strength, text, groups, absent })
    }

    /// Whether the concepts meet in a passage.
    pub fn meets(&self, all: (Set, Set), sentences: &[(Set, Set)]) -> bool {
        let holds = |there: (Set, Set), (said, negated): (Set, Set)| said & !there.0 == 0 && negated & !there.1 == 0;
        holds(all, self.needs)
            && all.0 & self.absent == 0
            && self.groups.iter().all(|group| sentences.iter().any(|sentence| holds(*sentence, *group)))
    }

    /// The concepts that it names.
    pub fn concepts(&self) -> Set {
        self.needs.0 | self.needs.1
    }
}
