//! [`fuzz::floods`] under libFuzzer, held to what it takes of memory as well.

#![no_main]

use std::fs;

/// Kilobytes that one text may take beside itself.
const KILOBYTES: u64 = 100 << 10;

/// What the system says of this process under a name, in kilobytes; 0 where it says nothing.
fn said(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Lets the highest use so far be that of now.
    let _where_there_is_no_such_file = fs::write("/proc/self/clear_refs", "5");
    let before = said("VmRSS:");
    fuzz::floods::run(bytes);
    let taken = said("VmHWM:").saturating_sub(before);
    let text = fuzz::floods::text_bytes(bytes) as u64 >> 10;
    assert!(taken <= KILOBYTES + text, "{taken} kB for one text of {text}");
});
