//! [`near_duplicates`] and [`similar_pairs`]: detection of skills with similar instructions or descriptions.
//!
//! Instructions are compared by their sequences of five words. Two sets that share at least seven tenths must have in
//! common one of the rarest three tenths of each. It therefore suffices to compare skills that do, without missing a
//! pair. This finds only copies. Skills with the same purpose are found by their names and descriptions, ranked by rare
//! words.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

/// Words per sequence.
const STRETCH: usize = 5;
/// Words of a text to examine.
const WORDS: usize = 50_000;
/// Fewest sequences for which an overlap is meaningful.
const FEWEST: usize = 12;
/// Lowest overlap, in percent of all sequences of both, for a near duplicate.
pub const NEAR_PERCENT: usize = 70;
/// Lowest similarity of names and descriptions to report, in percent.
pub const ALIKE_PERCENT: u32 = 60;
/// Budget of comparison steps.
const STEPS: usize = 400_000_000;
/// Largest number of skills to compare because of one common word.
const SHARERS: usize = 60;

/// Identity hasher, since the keys are already well distributed.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| mixed(sum ^ u64::from(*byte)));
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

type Counts<V> = HashMap<u64, V, BuildHasherDefault<AsItIs>>;

fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number ^ (number >> 29)
}

/// Yields the words of a text in lower case: runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn hash(word: &str) -> u64 {
    word.bytes().fold(0xCBF2_9CE4_8422_2325, |sum, byte| mixed(sum ^ u64::from(byte)))
}

/// Returns the hashes of a text's word sequences, sorted and without duplicates.
pub fn stretches(text: &str) -> Vec<u64> {
    let mut hashes = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(WORDS) {
        let is_lower = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        hashes.push(if is_lower { hash(word) } else { hash(&word.to_lowercase()) });
    }
    let stretch = |words: &[u64]| words.iter().fold(7, |sum, word| mixed(sum ^ word).wrapping_add(*word));
    let mut found: Vec<u64> = hashes.windows(STRETCH).map(stretch).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Group of nearly identical texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarGroup {
    /// Indices of the texts, lowest first.
    pub places: Vec<usize>,
    /// Overlap of the least similar pair among those compared, in percent.
    pub percent: usize,
}

/// Groups nearly identical texts by their [`stretches`]. Returns the groups, and whether all texts were compared.
pub fn near_duplicates(sets: &[&[u64]]) -> (Vec<SimilarGroup>, bool) {
    let mut same: HashMap<&[u64], Vec<usize>> = HashMap::new();
    for (place, set) in sets.iter().enumerate().filter(|(_, set)| set.len() >= FEWEST) {
        same.entry(set).or_default().push(place);
    }
    let mut firsts: Vec<usize> = same.values().filter_map(|places| places.first().copied()).collect();
    firsts.sort_unstable_by_key(|place| (sets.get(*place).map_or(0, |set| set.len()), *place));
    let (pairs, is_whole) = pairs(sets, &firsts);
    let mut groups = Groups::new(sets.len());
    let copies = same.values().flat_map(|places| places.windows(2));
    copies.for_each(|pair| groups.join(pair, 100));
    pairs.iter().for_each(|(one, other, percent)| groups.join(&[*one, *other], *percent));
    (groups.of_several(), is_whole)
}

/// Returns the pairs of different, nearly identical sets. `firsts` are their indices, small sets first.
fn pairs(sets: &[&[u64]], firsts: &[usize]) -> (Vec<(usize, usize, usize)>, bool) {
    let set = |place: usize| sets.get(place).copied().unwrap_or_default();
    let mut counts: Counts<u32> = Counts::default();
    firsts.iter().flat_map(|place| set(*place)).for_each(|stretch| *counts.entry(*stretch).or_default() += 1);
    let (mut index, mut pairs, mut steps): (Counts<Vec<usize>>, _, _) = (Counts::default(), Vec::new(), STEPS);
    for place in firsts {
        let own = set(*place);
        let mut rarest: Vec<(u32, u64)> =
            own.iter().map(|stretch| (counts.get(stretch).copied().unwrap_or_default(), *stretch)).collect();
        rarest.sort_unstable();
        rarest.truncate(own.len() - (own.len() * NEAR_PERCENT).div_ceil(100) + 1);
        let mut seen = HashSet::new();
        for (_, stretch) in rarest.iter().filter(|(count, _)| *count > 1) {
            let sharers = index.entry(*stretch).or_default();
            for other in sharers.iter().filter(|other| set(**other).len() * 100 >= own.len() * NEAR_PERCENT) {
                if !seen.insert(*other) {
                    continue;
                }
                let Some(left) = steps.checked_sub(own.len() + set(*other).len()) else { return (pairs, false) };
                steps = left;
                let percent = common_percent(own, set(*other));
                if percent >= NEAR_PERCENT {
                    pairs.push((*other, *place, percent));
                }
            }
            sharers.push(*place);
        }
    }
    (pairs, true)
}

/// Returns the size of the intersection in percent of the union of two sorted sets.
fn common_percent(one: &[u64], other: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(j)) {
        common += usize::from(a == b);
        (i, j) = (i + usize::from(a <= b), j + usize::from(b <= a));
    }
    common * 100 / (one.len() + other.len() - common).max(1)
}

/// Disjoint sets of indices (union-find).
struct Groups {
    parent: Vec<usize>,
    percent: BTreeMap<usize, usize>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parent: (0..count).collect(), percent: BTreeMap::new() }
    }

    fn root(&self, place: usize) -> usize {
        let mut place = place;
        while let Some(parent) = self.parent.get(place).filter(|parent| **parent != place) {
            place = *parent;
        }
        place
    }

    fn join(&mut self, pair: &[usize], percent: usize) {
        let [one, other] = pair else { return };
        let (one, other) = (self.root(*one), self.root(*other));
        let (low, high) = (one.min(other), one.max(other));
        let of = |group: &Self, root| group.percent.get(&root).copied().unwrap_or(100);
        let least = of(self, low).min(of(self, high)).min(percent);
        if let Some(parent) = self.parent.get_mut(high) {
            *parent = low;
        }
        self.percent.insert(low, least);
    }

    fn of_several(&self) -> Vec<SimilarGroup> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..self.parent.len()).for_each(|place| groups.entry(self.root(place)).or_default().push(place));
        let several = groups.into_iter().filter(|(_, places)| places.len() > 1);
        several
            .map(|(root, places)| SimilarGroup { places, percent: self.percent.get(&root).copied().unwrap_or(100) })
            .collect()
    }
}

/// Pair of similar texts, as two indices and the similarity in percent.
pub type SimilarPair = (usize, usize, u32);

/// Returns the pairs of short texts, such as names with descriptions, that share the most content, best first. The
/// rarer a word, the more it counts.
pub fn similar_pairs(texts: &[&str], most: usize) -> Vec<SimilarPair> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut users: Vec<Vec<usize>> = Vec::new();
    let mut of_text: Vec<Vec<usize>> = Vec::with_capacity(texts.len());
    for (place, text) in texts.iter().enumerate() {
        let mut own: Vec<usize> = words(text)
            .map(|word| {
                let next = numbers.len();
                *numbers.entry(word).or_insert(next)
            })
            .collect();
        own.sort_unstable();
        own.dedup();
        users.resize(numbers.len(), Vec::new());
        for word in &own {
            if let Some(users) = users.get_mut(*word) {
                users.push(place);
            }
        }
        of_text.push(own);
    }
    let weigh = |users: &Vec<usize>| (1.0 + texts.len() as f64 / users.len().max(1) as f64).ln();
    let weights: Vec<f64> = users.iter().map(weigh).collect();
    let weight = |word: &usize| weights.get(*word).copied().unwrap_or_default();
    let length = |own: &Vec<usize>| own.iter().map(|word| weight(word).powi(2)).sum::<f64>().sqrt();
    let lengths: Vec<f64> = of_text.iter().map(length).collect();
    let mut found = Vec::new();
    for (place, own) in of_text.iter().enumerate() {
        let rare = own.iter().filter_map(|word| users.get(*word)).filter(|users| users.len() <= SHARERS);
        let others: HashSet<usize> = rare.flatten().copied().filter(|other| *other < place).collect();
        for other in others {
            let Some(theirs) = of_text.get(other) else { continue };
            let common: f64 =
                own.iter().filter(|word| theirs.binary_search(word).is_ok()).map(|word| weight(word).powi(2)).sum();
            let both =
                lengths.get(place).copied().unwrap_or_default() * lengths.get(other).copied().unwrap_or_default();
            let percent = if both > 0.0 { (common / both * 100.0).round() as u32 } else { 0 };
            if percent >= ALIKE_PERCENT {
                found.push((other, place, percent));
            }
        }
    }
    found.sort_unstable_by_key(|(one, other, percent)| (u32::MAX - percent, *one, *other));
    found.truncate(most);
    found
}

/// Groups texts with the same words in the same order.
pub fn equal(texts: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        groups.entry(words(text).collect()).or_default().push(place);
    }
    let mut several: Vec<_> = groups.into_iter().filter(|(words, _)| !words.is_empty()).map(|(_, p)| p).collect();
    several.retain(|places| places.len() > 1);
    several.sort();
    several
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(from: usize, to: usize) -> String {
        (from..to).map(|word| format!("word{word} ")).collect()
    }

    /// Compares every pair in full, as an oracle.
    fn all_pairs(sets: &[&[u64]]) -> Vec<(usize, usize)> {
        let pairs = (0..sets.len()).flat_map(|one| (one + 1..sets.len()).map(move |other| (one, other)));
        pairs
            .filter(|(one, other)| sets[*one].len() >= FEWEST && sets[*other].len() >= FEWEST)
            .filter(|(one, other)| common_percent(sets[*one], sets[*other]) >= NEAR_PERCENT)
            .collect()
    }

    #[test]
    fn index_finds_every_near_duplicate() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = mixed(seed.wrapping_add(0x1234_5678_9ABC_DEF1));
            seed % below
        };
        let mut texts: Vec<String> = (0..60).map(|number| text(number * 1000, number * 1000 + 120)).collect();
        for number in 0..90 {
            let mut words: Vec<String> = texts[number % 60].split(' ').map(str::to_owned).collect();
            for change in 0..random(12) {
                let at = random(words.len() as u64) as usize;
                words[at] = format!("new{number}x{change}");
            }
            texts.push(words.join(" "));
        }
        let sets: Vec<Vec<u64>> = texts.iter().map(|text| stretches(text)).collect();
        let sets: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
        let (groups, is_whole) = near_duplicates(&sets);
        let expected = all_pairs(&sets);
        assert!(is_whole && expected.len() > 20, "{}", expected.len());
        for (one, other) in &expected {
            assert!(groups.iter().any(|group| group.places.contains(one) && group.places.contains(other)));
        }
        for group in &groups {
            let is_linked = |place: &usize| expected.iter().any(|(a, b)| a == place || b == place);
            assert!(group.places.iter().all(is_linked), "{group:?}");
        }
    }

    #[test]
    fn dissimilar_texts_are_not_copies() {
        let texts = ["a b c d e f g", "a b c d e f g", &text(0, 100), &text(50, 150)];
        let sets: Vec<Vec<u64>> = texts.iter().map(|text| stretches(text)).collect();
        let sets: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
        assert_eq!(near_duplicates(&sets), (Vec::new(), true));
    }

    #[test]
    fn descriptions_sharing_rare_words_are_alike() {
        let texts = [
            "pdf-forms Fills PDF forms. Use when a form is to be filled.",
            "pdf-filler Fills forms in PDF files. Use when a PDF form is to be filled.",
            "weather Tells the weather. Use when the sky is to be known.",
            "notes Writes notes. Use when a note is to be written.",
        ];
        let found = similar_pairs(&texts, 10);
        assert_eq!((found[0].0, found[0].1), (0, 1), "{found:?}");
        assert!(found.iter().all(|(one, other, _)| (*one, *other) == (0, 1)), "{found:?}");
        assert_eq!(equal(&["Writes notes.", "writes  NOTES", "x"]), [[0, 1]]);
    }
}
