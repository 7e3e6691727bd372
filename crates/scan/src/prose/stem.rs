//! [`Stem`]: a 64-bit hash of a word without its inflection, by which texts are compared with the lexicon.

/// Number of buckets in the lexicon's index.
pub(crate) const BUCKETS: usize = 4096;

/// Size in bits of the filter that rejects most words which begin no entry of the index.
pub(crate) const KNOWN: usize = 1 << 16;

/// Number of significant letters in a word. Later ones are ignored.
const LETTERS: usize = 32;

/// Initial value of hashes. Names that begin with a dot have their own.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const NAME_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first letters of a word in lower-case ASCII, padded with zeros.
#[derive(Default)]
pub(crate) struct Letters {
    bytes: [u8; LETTERS],
    count: usize,
}

impl Letters {
    /// Reads the ASCII letters and digits at the start of a text, eight at a time. Also returns their full count, which
    /// may exceed [`LETTERS`].
    pub fn at_head(text: &[u8]) -> (Self, usize) {
        let (mut letters, mut length) = (Self::default(), 0);
        while let Some(eight) = text.get(length..).and_then(|rest| rest.first_chunk()) {
            let bytes = u64::from_le_bytes(*eight);
            let count = (!alphanumeric(bytes) & HIGH).trailing_zeros() / 8;
            let there = 1u64.checked_shl(8 * count).map_or(u64::MAX, |end| end.wrapping_sub(1));
            // In digits this bit is always set.
            let kept = (bytes | SMALL) & there;
            let slots = letters.bytes.get_mut(length..).and_then(|rest| rest.first_chunk_mut());
            slots.into_iter().for_each(|slots| *slots = kept.to_le_bytes());
            length += count as usize;
            if count < 8 {
                letters.count = length.min(LETTERS);
                return (letters, length);
            }
        }
        for byte in text.get(length..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_alphanumeric()) {
            letters.bytes.get_mut(length).into_iter().for_each(|slot| *slot = byte | SMALL as u8);
            length += 1;
        }
        letters.count = length.min(LETTERS);
        (letters, length)
    }

    pub fn push(&mut self, letter: u8) {
        if let Some(slot) = self.bytes.get_mut(self.count) {
            *slot = letter.to_ascii_lowercase();
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }

    /// Returns the first eight letters as a little-endian number.
    pub const fn first_eight(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

/// The highest bit of each of eight bytes, and the bit that distinguishes lower case from upper case.
const HIGH: u64 = 0x8080_8080_8080_8080;
const SMALL: u64 = 0x2020_2020_2020_2020;

/// Returns the highest bit of each byte that is an ASCII letter or digit.
const fn alphanumeric(bytes: u64) -> u64 {
    /// Returns the highest bit of each 7-bit byte that is at least `least`.
    const fn from(bytes: u64, least: u8) -> u64 {
        bytes + (0x80 - least as u64) * 0x0101_0101_0101_0101
    }
    let low = bytes & !HIGH;
    let letters = from(low | SMALL, b'a') & !from(low | SMALL, b'z' + 1);
    let digits = from(low, b'0') & !from(low, b'9' + 1);
    (letters | digits) & !bytes & HIGH
}

/// The hash of a word without its inflection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stem(pub u64);

impl Stem {
    /// Pseudo-stem of every address of a foreign host.
    pub const HOST: Self = Self(1);

    /// Pseudo-stem of every e-mail address of a foreign domain.
    pub const MAIL: Self = Self(2);

    /// Hashes a word without its inflection.
    pub fn of(word: &Letters) -> Self {
        Self(hash(SEED, word))
    }

    /// Hashes a word after a leading dot, as in `.env`.
    pub fn of_name(word: &Letters) -> Self {
        Self(hash(NAME_SEED, word))
    }

    /// Hashes a CJK character, which counts as a word.
    pub fn of_wide(c: char) -> Self {
        Self(mixed(SEED, u64::from(c) | 1 << 63))
    }

    /// Returns one of 64 bits, as a cheap prefilter.
    pub fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }

    /// Returns the stem's bucket in the index, below [`BUCKETS`].
    pub fn bucket(self) -> usize {
        ((self.0 ^ (self.0 >> 29)) % BUCKETS as u64) as usize
    }

    /// Returns the stem's bit in the filter of known stems, below [`KNOWN`].
    pub fn known(self) -> usize {
        ((self.0 ^ (self.0 >> 17) ^ (self.0 >> 41)) % KNOWN as u64) as usize
    }
}

/// Hashes the stem of a word, eight letters at a time.
fn hash(seed: u64, word: &Letters) -> u64 {
    let count = bare(word.as_slice()).len();
    if let 1..=8 = count {
        return mixed(seed, word.first_eight() & u64::MAX >> (8 * (8 - count)));
    }
    let chunks = word.bytes.as_chunks::<8>().0.iter().enumerate().take(count.div_ceil(8));
    chunks.fold(seed, |hash, (place, chunk)| {
        let unused = 8 - (count - 8 * place).min(8);
        mixed(hash, u64::from_le_bytes(*chunk) & u64::MAX >> (8 * unused))
    })
}

fn mixed(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
    product ^ (product >> 32)
}

/// Strips the inflection from a word. Distinct words may collide. That is harmless, since the lexicon is built with the
/// same function.
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
