//! [`Feature`]: what is weighed of a passage where no sense is met: its words and its concepts, each
//! with a weight that was learned from passages of attacks and of good skills.
//!
//! `data/weights.bin` is what is weighed with, `data/weights.txt` says the same for people. Both are
//! written by the example `weigh`.

use std::sync::LazyLock;

use super::{
    lexicon::{Concept, Set, each_of},
    words::Word,
};

/// The weights: one that stands for every passage, then the keys in their order, then their weights.
pub(super) const TABLE: &[u8] = include_bytes!("../../data/weights.bin");

/// What a passage has to weigh for each of the square root of its features; a unit of weight is a thousand.
const LIMIT: f32 = 150.0;

/// The same where the passage speaks of attacks.
const LIMIT_OF_TALK: f32 = 450.0;

/// Features below which a passage says too little.
const FEWEST: usize = 6;

/// Added to the number of features, so that a short passage does not weigh by two words.
const STEADY: f32 = 16.0;

/// Bytes of a key and of its weight.
const KEY: usize = 4;
const WEIGHT: usize = 2;

/// Buckets of the keys, a power of two.
const BUCKETS: usize = 1 << 13;

/// Something that a passage has and that may have a weight.
#[derive(Debug, Clone, Copy)]
pub(super) enum Feature<'w> {
    /// One to three words in a row.
    Words(&'w [Word]),
    /// A concept, and whether it is negated.
    Concept(Concept, bool),
    /// A mark of the place, by its bit.
    Mark(u32),
}

impl Feature<'_> {
    /// The key under which its weight is kept.
    pub fn key(&self) -> u32 {
        let mix = |hash: u64, more: u64| (hash.rotate_left(23) ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = match self {
            Self::Words(words) => words.iter().fold(1, |hash, word| mix(hash, word.stem.0)),
            Self::Concept(concept, negated) => mix(mix(2, u64::from(*concept)), u64::from(*negated)),
            Self::Mark(mark) => mix(4, u64::from(*mark)),
        };
        (hash >> 32) as u32
    }
}

/// A passage as it is weighed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed<'w> {
    pub words: &'w [Word],
    /// The concepts that it says, and the deeds that it negates.
    pub concepts: (Set, Set),
    /// Bits of what is known of its place.
    pub marks: u32,
}

/// Room to weigh in.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// The keys of features that have a weight, and it.
    weights: Vec<(u32, i16)>,
    keys: Vec<u32>,
}

impl<'w> Weighed<'w> {
    /// Calls `each` with the features; one may come more than once.
    pub fn features(&self, each: &mut impl FnMut(Feature<'w>)) {
        for (at, word) in self.words.iter().enumerate() {
            let lengths = if word.wide { 2..=3 } else { 1..=2 };
            for run in lengths.filter_map(|length| self.words.get(at..at + length)) {
                if run.iter().all(|other| other.sentence == word.sentence && other.wide == word.wide) {
                    each(Feature::Words(run));
                }
            }
        }
        let (said, negated) = self.concepts;
        each_of(said).for_each(|concept| each(Feature::Concept(concept, false)));
        each_of(negated).for_each(|concept| each(Feature::Concept(concept, true)));
        each_of(Set::from(self.marks)).for_each(|mark| each(Feature::Mark(mark)));
    }

    /// The byte of its heaviest words when it weighs enough; `room` is to work in.
    pub fn heaviest(&self, talk: bool, room: &mut Room) -> Option<usize> {
        room.weights.clear();
        self.features(&mut |feature| {
            let key = feature.key();
            room.weights.extend(Some((key, weight(key))).filter(|(_, weight)| *weight != 0));
        });
        room.weights.sort_unstable();
        room.weights.dedup();
        let sum = room.weights.iter().map(|(_, weight)| i32::from(*weight)).sum::<i32>() as f32;
        let limit = if talk { LIMIT_OF_TALK } else { LIMIT };
        let limit = |features: usize| (limit - f32::from(value(0))) * (features as f32 + STEADY).sqrt();
        // Of nearly all passages this is known before their features are counted.
        if sum < limit(FEWEST) {
            return None;
        }
        let features = self.count(&mut room.keys);
        if features < FEWEST || sum < limit(features) {
            return None;
        }
        let (mut most, mut at) = (i16::MIN, self.words.first()?.at);
        self.features(&mut |feature| {
            if let (Feature::Words([first, ..]), here) = (feature, weight(feature.key()))
                && here > most
            {
                (most, at) = (here, first.at);
            }
        });
        Some(at)
    }

    /// How many features there are, each once.
    fn count(&self, keys: &mut Vec<u32>) -> usize {
        keys.clear();
        self.features(&mut |feature| keys.push(feature.key()));
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }
}

/// How many features have a weight.
fn known() -> usize {
    (TABLE.len() - WEIGHT) / (KEY + WEIGHT)
}

/// The key at a place of the table.
fn key(place: usize) -> Option<u32> {
    let at = WEIGHT + place * KEY;
    TABLE.get(at..at + KEY)?.try_into().ok().map(u32::from_le_bytes)
}

/// The weight at a place of the table; 0 is the one that stands for every passage.
fn value(place: usize) -> i16 {
    let at = if place == 0 { 0 } else { known() * KEY + place * WEIGHT };
    TABLE.get(at..at + WEIGHT).and_then(|bytes| bytes.try_into().ok()).map_or(0, i16::from_le_bytes)
}

/// For the highest bits of a key the place of the first key that has them.
static STARTS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut starts = vec![0; BUCKETS + 1];
    for key in (0..known()).filter_map(key) {
        if let Some(start) = starts.get_mut(bucket(key) + 1) {
            *start += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
});

fn bucket(key: u32) -> usize {
    (key >> (u32::BITS - BUCKETS.trailing_zeros())) as usize
}

/// The weight of a key.
fn weight(wanted: u32) -> i16 {
    let bucket = bucket(wanted);
    let [start, end] = [bucket, bucket + 1].map(|at| STARTS.get(at).copied().unwrap_or(0) as usize);
    (start..end).find(|place| key(*place) == Some(wanted)).map_or(0, |place| value(place + 1))
}

#[cfg(test)]
mod tests {
    use super::{super::lexicon::concept, *};
    use crate::prose::words::Reader;

    #[test]
    fn more_features_have_to_weigh_more() {
        assert!(LIMIT > f32::from(value(0)), "the fewest features have the least to weigh");
    }

    #[test]
    fn the_list_for_people_says_what_is_weighed() {
        let mut listed = 0;
        for line in include_str!("../../data/weights.txt").lines() {
            let (weighs, name) = line.split_once(' ').unwrap();
            let mut words = Vec::new();
            let feature = match (name.strip_prefix('@'), name.strip_prefix('#')) {
                (Some(named), _) => {
                    let bare = named.trim_start_matches('-');
                    Feature::Concept(concept(bare).unwrap(), bare.len() < named.len())
                }
                (_, Some(mark)) => Feature::Mark(mark.parse().unwrap()),
                _ => {
                    let mut reader = Reader::new(&mut words);
                    for word in name.split(' ') {
                        match word {
                            "HOST" => reader.read("https://a.invalid", 0..17),
                            "MAIL" => reader.read("a@b.invalid", 0..11),
                            _ => reader.read(word, 0..word.len()),
                        }
                    }
                    Feature::Words(&words)
                }
            };
            assert_eq!(weight(feature.key()), weighs.parse::<i16>().unwrap(), "{line}");
            listed += 1;
        }
        assert_eq!(listed, known());
    }
}
