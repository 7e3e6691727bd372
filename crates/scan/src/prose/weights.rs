//! [`bucket`] and [`seen`]: where the table of weights has a key.

/// Buckets of the keys, a power of two.
pub(crate) const BUCKETS: usize = 1 << 13;

/// Bits that tell most of the keys that have no weight.
pub(crate) const SEEN: usize = 1 << 17;

/// The bucket of a key, by its highest bits.
pub(crate) fn bucket(key: u32) -> usize {
    (key >> (u32::BITS - BUCKETS.trailing_zeros())) as usize
}

/// The bit of a key.
pub(crate) fn seen(key: u32) -> usize {
    (key >> (u32::BITS - SEEN.trailing_zeros())) as usize
}
