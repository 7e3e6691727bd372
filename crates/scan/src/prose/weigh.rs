//! [`Feature`]: what is weighed of a passage where no sense is met: its words and its concepts, each
//! with a weight that was learned from passages of attacks and of good skills.
//!
//! `data/weights.bin` is what is weighed with, `data/weights.txt` says the same for people. Both are
//! written by the example `weigh`.

use super::{
    lexicon::{Concept, Set, each_of},
    weights::{bucket, seen},
    words::Word,
};

/// The weights in tables, as the build makes them of `data/weights.bin`.
mod table {
    include!(concat!(env!("OUT_DIR"), "/weights.rs"));
}

/// What a passage has to weigh for each of the square root of its features; a unit of weight is a thousand.
const LIMIT: f32 = 450.0;

/// The same where the passage speaks of attacks.
const LIMIT_OF_TALK: f32 = 700.0;

/// Features below which a passage says too little.
const FEWEST: usize = 6;

/// Added to the number of features, so that a short passage does not weigh by two words.
const STEADY: f32 = 16.0;

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
        key_of(match self {
            Self::Words(words) => words.iter().fold(OF_WORDS, |hash, word| mix(hash, word.stem.0)),
            Self::Concept(concept, negated) => mix(mix(2, u64::from(*concept)), u64::from(*negated)),
            Self::Mark(mark) => mix(4, u64::from(*mark)),
        })
    }
}

/// Where the hash of words begins.
const OF_WORDS: u64 = 1;

fn mix(hash: u64, more: u64) -> u64 {
    (hash.rotate_left(23) ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn key_of(hash: u64) -> u32 {
    (hash >> 32) as u32
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
        self.runs(&mut |at, length, _| {
            self.words.get(at..at + length).into_iter().for_each(|run| each(Feature::Words(run)));
        });
        self.others(each);
    }

    /// Calls `each` with the keys of all features.
    fn keys(&self, each: &mut impl FnMut(u32)) {
        self.runs(&mut |_, _, key| each(key));
        self.others(&mut |feature| each(feature.key()));
    }

    /// Calls `each` with the place, the length and the key of the words in a row that are features.
    fn runs(&self, each: &mut impl FnMut(usize, usize, u32)) {
        let mut rest = self.words;
        let mut at = 0;
        while let [word, next @ ..] = rest {
            let goes_on = |other: &&Word| other.sentence == word.sentence && other.wide == word.wide;
            let first = mix(OF_WORDS, word.stem.0);
            if !word.wide {
                each(at, 1, key_of(first));
            }
            if let Some(second) = next.first().filter(goes_on) {
                let both = mix(first, second.stem.0);
                each(at, 2, key_of(both));
                if let Some(third) = next.get(1).filter(goes_on).filter(|_| word.wide) {
                    each(at, 3, key_of(mix(both, third.stem.0)));
                }
            }
            (rest, at) = (next, at + 1);
        }
    }

    /// Calls `each` with the features that are no words.
    fn others(&self, each: &mut impl FnMut(Feature<'w>)) {
        let (said, negated) = self.concepts;
        each_of(said).for_each(|concept| each(Feature::Concept(concept, false)));
        each_of(negated).for_each(|concept| each(Feature::Concept(concept, true)));
        each_of(Set::from(self.marks)).for_each(|mark| each(Feature::Mark(mark)));
    }

    /// The byte of its heaviest words when it weighs enough; `room` is to work in.
    pub fn heaviest(&self, talk: bool, room: &mut Room) -> Option<usize> {
        room.weights.clear();
        self.keys(&mut |key| {
            let weight = weight(key);
            if weight != 0 {
                room.weights.push((key, weight));
            }
        });
        let limit = if talk { LIMIT_OF_TALK } else { LIMIT };
        let limit = |features: usize| (limit - every()) * (features as f32 + STEADY).sqrt();
        let fewest = limit(FEWEST);
        // Of nearly all passages this is known before what comes twice is found and their features are counted.
        let most = room.weights.iter().map(|(_, weight)| i32::from(*weight).max(0)).sum::<i32>() as f32;
        if most < fewest {
            return None;
        }
        room.weights.sort_unstable();
        room.weights.dedup();
        let sum = room.weights.iter().map(|(_, weight)| i32::from(*weight)).sum::<i32>() as f32;
        if sum < fewest {
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
        self.keys(&mut |key| keys.push(key));
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    }
}

/// Words and concepts of a passage that are named.
const NAMED: usize = 4;

/// The features of a passage that weigh most, given with their names, as people read them.
pub(super) fn most(named: Vec<(u32, String)>) -> String {
    let mut heavy: Vec<(i16, String)> = named.into_iter().map(|(key, name)| (weight(key), name)).collect();
    heavy.retain(|(weight, name)| *weight > 0 && !name.starts_with(['#', '@']));
    heavy.sort_by(|a, b| b.cmp(a));
    let mut words: Vec<String> = Vec::new();
    for (_, name) in heavy {
        let name = name.trim().replace("HOST", "(a host)").replace("MAIL", "(a mailbox)").to_lowercase();
        if words.len() < NAMED && !words.iter().any(|known| known.contains(&name) || name.contains(known)) {
            words.push(name);
        }
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("“{word}”")).collect();
    format!("most of all {}", quoted.join(", "))
}

/// The weight that stands for every passage.
fn every() -> f32 {
    table::EVERY.first().copied().map_or(0.0, f32::from)
}

/// The weight of a key.
fn weight(wanted: u32) -> i16 {
    let seen = seen(wanted);
    if table::SEEN.get(seen / 64).is_none_or(|word| word >> (seen % 64) & 1 == 0) {
        return 0;
    }
    let bucket = bucket(wanted);
    let Some([start, end]) = table::STARTS.get(bucket..bucket + 2) else { return 0 };
    let (start, end) = (usize::from(*start), usize::from(*end));
    let keys = table::KEYS.get(start..end).unwrap_or_default();
    let place = keys.iter().position(|key| *key == wanted).map(|at| start + at);
    place.and_then(|place| table::VALUES.get(place)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{super::lexicon::concept, *};
    use crate::prose::words::Reader;

    #[test]
    fn more_features_have_to_weigh_more() {
        assert!(LIMIT > every(), "the fewest features have the least to weigh");
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
        assert_eq!(listed, table::KEYS.len());
    }
}
