//! [`Sense`]: a combination of concepts that makes a rule fire.
//!
//! In the syntax, `a b` means both in one sentence, `a b & c` with the third anywhere in the passage. `-a` is a negated
//! deed, `^a` a concept that must be absent from the passage. A leading `?` makes a sense weak. A leading `!` makes it
//! hold even if the user is asked first.
//!
//! A passage is matched only against the [`Senses`] whose rarest concept occurs in it.

use super::lexicon::{self, Concept, Concepts, Set, Term};
use crate::Rule;

/// A set of senses, indexed by one concept of each.
pub(super) struct Senses {
    all: Vec<Sense>,
    /// Indices into `all` per concept, in ascending order. Each sense is listed under its rarest concept only.
    of_concept: Vec<Vec<usize>>,
}

impl Senses {
    pub fn new(all: Vec<Sense>) -> Self {
        let mut uses = vec![0; Set::BITS as usize];
        for concept in all.iter().flat_map(|sense| lexicon::each_of(sense.concepts())) {
            uses.get_mut(concept as usize).into_iter().for_each(|uses| *uses += 1);
        }
        let mut of_concept = vec![Vec::new(); Set::BITS as usize];
        let rarity = |concept: &Concept| uses.get(*concept as usize).copied().unwrap_or(0);
        for (place, sense) in all.iter().enumerate() {
            let rarest = lexicon::each_of(sense.concepts()).min_by_key(rarity);
            let senses = rarest.and_then(|concept| of_concept.get_mut(concept as usize));
            senses.into_iter().for_each(|senses| senses.push(place));
        }
        Self { all, of_concept }
    }

    /// Returns the senses that a passage matches, in their original order. `all` is the union of `sentences`.
    pub fn meeting<'s>(&'s self, all: Concepts, sentences: &[Concepts]) -> impl Iterator<Item = &'s Sense> + use<'s> {
        let of = |concept| self.of_concept.get(concept as usize).map_or(&[][..], Vec::as_slice);
        let places = lexicon::each_of(all.all()).flat_map(of).copied();
        let meets = |place: &usize| self.all.get(*place).is_some_and(|sense| sense.meets(all, sentences));
        let mut places: Vec<usize> = places.filter(meets).collect();
        places.sort_unstable();
        places.into_iter().filter_map(|place| self.all.get(place))
    }
}

/// One combination of concepts.
pub(super) struct Sense {
    /// Union of all concepts and negated deeds in `groups`.
    needs: Concepts,
    pub rule: &'static Rule,
    pub strength: Strength,
    /// Source text, without the marker of its strength.
    pub text: &'static str,
    /// Concepts and negated deeds that must occur together in one sentence, per group.
    groups: Vec<Concepts>,
    absent: Set,
}

/// Severity of a sense on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Insufficient without support from other signals.
    Weak,
    /// Sufficient, unless the user is asked first.
    Strong,
    /// Sufficient in any case.
    Hard,
}

impl Sense {
    /// Parses the text of a sense. Returns `None` if it names an unknown concept.
    pub fn parse(rule: &'static Rule, text: &'static str) -> Option<Self> {
        let (strength, text) = match text.as_bytes() {
            [b'?', ..] => (Strength::Weak, text.get(1..)?),
            [b'!', ..] => (Strength::Hard, text.get(1..)?),
            _ => (Strength::Strong, text),
        };
        let (mut groups, mut absent) = (Vec::new(), 0);
        for part in text.split('&') {
            let mut group = Concepts::default();
            for name in part.split_whitespace() {
                let (set, name) = match name.as_bytes() {
                    [b'-', ..] => (&mut group.negated, name.get(1..)?),
                    [b'^', ..] => (&mut absent, name.get(1..)?),
                    _ => (&mut group.said, name),
                };
                *set |= 1 << lexicon::concept(name)?;
            }
            groups.push(group);
        }
        Some(Self { needs: Concepts::together(&groups), rule, strength, text, groups, absent })
    }

    /// Returns true if a passage matches. `all` is the union of `sentences`.
    pub fn meets(&self, all: Concepts, sentences: &[Concepts]) -> bool {
        all.contains(self.needs)
            && all.said & self.absent == 0
            && self.groups.iter().all(|group| sentences.iter().any(|sentence| sentence.contains(*group)))
    }

    /// Returns the terms of a passage by which the sense is met, in source order: for each group, those of the sentence
    /// that has most of its concepts.
    pub fn terms_of<'t>(&self, terms: &'t [Term]) -> Vec<&'t Term> {
        let mut found: Vec<&Term> = Vec::new();
        for group in &self.groups {
            let counts =
                |term: &&Term| (if term.negated { group.negated } else { group.said }) >> term.concept & 1 == 1;
            let concepts = |sentence: &&[Term]| {
                sentence.iter().filter(counts).fold(0, |all: Set, term| all | 1 << term.concept).count_ones()
            };
            let sentences = terms.chunk_by(|one, next| one.sentence == next.sentence);
            // Of several sentences with as many concepts, the first one.
            for term in sentences.rev().max_by_key(concepts).unwrap_or_default().iter().filter(counts) {
                if found.iter().all(|known| known.concept != term.concept) {
                    found.push(term);
                }
            }
        }
        found.sort_by_key(|term| term.at);
        found
    }

    /// Returns the concepts that the sense requires, negated ones included.
    pub fn concepts(&self) -> Set {
        self.needs.all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_concept_of_a_rule_has_a_meaning() {
        for rule in crate::rules() {
            for sense in rule.senses.iter().map(|text| Sense::parse(rule, text).unwrap()) {
                let unnamed = lexicon::each_of(sense.concepts()).find(|concept| lexicon::meaning(*concept).is_empty());
                assert_eq!(unnamed.map(lexicon::name), None, "{}: {}", rule.id, sense.text);
            }
        }
    }
}
