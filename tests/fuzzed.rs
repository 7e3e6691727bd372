//! The committed inputs of the fuzz targets, played without the fuzzer.

use std::{fs, path::Path};

use crate::fuzz::{TARGETS, Target};

/// Plays every input of a target, and says how many there are.
fn played(target: &str, play: Target) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in &files {
        let played = std::panic::catch_unwind(|| play(&fs::read(file).unwrap()));
        assert!(played.is_ok(), "{} is a finding", file.display());
    }
    files.len()
}

#[test]
fn every_kept_input_of_every_fuzz_target_is_no_finding() {
    for (target, play) in TARGETS {
        assert!(played(target, play) >= 3, "{target} has hardly any input");
    }
}
