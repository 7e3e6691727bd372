//! [`fuzz::tools`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::tools::run(bytes));
