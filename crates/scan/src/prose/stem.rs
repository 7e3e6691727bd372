//! [`Stem`]: a word without its inflection, as a number by which texts and the lexicon are compared.

/// Buckets of the lexicon's index.
pub(crate) const BUCKETS: usize = 4096;

/// Bits that tell most of the words that begin no entry of the index.
pub(crate) const KNOWN: usize = 1 << 16;

/// Where the hash of a stem begins: FNV-1a over characters.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of a word's stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stem(pub u64);

impl Stem {
    /// What an address of a foreign place is read as.
    pub const HOST: Self = Self(1);

    /// What an e-mail address is read as.
    pub const MAIL: Self = Self(2);

    /// The stem of a word in small letters of ASCII.
    pub fn of(word: &[u8]) -> Self {
        Self(bare(word).iter().fold(SEED, |hash, byte| hashed(hash, u32::from(*byte))))
    }

    /// The stem of a word behind a dot, as in `.env`.
    pub fn of_name(word: &[u8]) -> Self {
        let dot = hashed(SEED, u32::from('.'));
        Self(bare(word).iter().fold(dot, |hash, byte| hashed(hash, u32::from(*byte))))
    }

    /// A character that is a word.
    pub fn of_wide(c: char) -> Self {
        Self(hashed(SEED, u32::from(c)))
    }

    /// A whole text as one number.
    #[cfg(test)]
    pub fn of_text(text: &str) -> Self {
        Self(text.chars().fold(SEED, |hash, c| hashed(hash, u32::from(c))))
    }

    /// One of 64 bits.
    pub fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }

    /// Its bucket in the index.
    pub fn bucket(self) -> usize {
        ((self.0 ^ (self.0 >> 29)) % BUCKETS as u64) as usize
    }

    /// Its bit among those that are known.
    pub fn known(self) -> usize {
        ((self.0 ^ (self.0 >> 17) ^ (self.0 >> 41)) % KNOWN as u64) as usize
    }
}

fn hashed(hash: u64, c: u32) -> u64 {
    (hash ^ u64::from(c)).wrapping_mul(0x100_0000_01b3)
}

/// A word without its inflection. Words that are told apart by more than that may fall together;
/// the lexicon is read by the same function.
fn bare(word: &[u8]) -> &[u8] {
    let word = word.strip_suffix(b"'s").filter(|stem| !stem.is_empty()).unwrap_or(word);
    let stem = match word {
        [stem @ .., b'i', b'e', b's' | b'd'] if stem.len() >= 2 => stem,
        [stem @ .., b'i', b'n', b'g'] if stem.len() >= 3 => stem,
        [stem @ .., b'e', b's' | b'd'] if stem.len() >= 3 => stem,
        [stem @ .., b's'] if stem.len() >= 3 && !stem.ends_with(b"s") => stem,
        _ => word,
    };
    let stem = match stem {
        [rest @ .., b'e' | b'y'] if stem.len() > 3 => rest,
        _ => stem,
    };
    let undoubled = stem.get(..stem.len().saturating_sub(1)).unwrap_or(stem);
    match stem {
        [.., a, b] if a == b && stem.len() > 3 && !matches!(a, b'l' | b's') => undoubled,
        [.., b'l', b'l'] if stem.len() > 4 => undoubled,
        _ => stem,
    }
}
