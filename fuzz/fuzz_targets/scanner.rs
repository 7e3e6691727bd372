//! [`fuzz::scanner`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::scanner::run(bytes));
