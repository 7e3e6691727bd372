//! [`fuzz::floods`] under libFuzzer, held to what it takes of memory as well.

#![no_main]

/// Kilobytes that one text may take beside itself.
const KILOBYTES: u64 = 100 << 10;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let taken = fuzz::floods::kilobytes_of(|| fuzz::floods::run(bytes));
    let text = fuzz::floods::text_bytes(bytes) as u64 >> 10;
    assert!(taken <= KILOBYTES + text, "{taken} kB for one text of {text}");
});
