//! [`fuzz::archive`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::archive::run(bytes));
