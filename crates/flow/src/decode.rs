//! [`LENIENT`] and [`unhex`]: bytes that are written as letters and digits.

use base64::{
    alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Base64 with or without what fills up its end.
pub const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The bytes that pairs of hexadecimal digits stand for; nothing where one is no digit.
#[must_use]
pub fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
