//! Hash functions of the table of weights: [`bucket`] and [`seen`].

/// Number of buckets of keys, a power of two.
pub(crate) const BUCKETS: usize = 1 << 13;

/// Size in bits of the filter that rejects most keys without a weight.
pub(crate) const SEEN: usize = 1 << 17;

/// Returns the bucket of a key, from its highest bits.
pub(crate) fn bucket(key: u32) -> usize {
    (key >> (u32::BITS - BUCKETS.trailing_zeros())) as usize
}

/// Returns the bit of a key in the filter, from its highest bits.
pub(crate) fn seen(key: u32) -> usize {
    (key >> (u32::BITS - SEEN.trailing_zeros())) as usize
}
