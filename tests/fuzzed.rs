//! The committed inputs of the fuzz targets, run without the fuzzer.

use std::{fs, path::Path};

use crate::fuzz::{TARGETS, Target, floods};

/// Runs every input of a target, and returns their number.
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
fn corpus_of_every_fuzz_target_passes() {
    for (target, play) in TARGETS {
        assert!(played(target, play) >= 3, "{target} has hardly any input");
    }
}

/// Measures memory and time of each stored text, at a quarter, half and all of its reader's limit. Run by hand, because
/// times vary. With `SKILLHUB_GROWTH` it prints them.
#[test]
fn floods_are_timed_at_three_sizes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/floods");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let wanted = if std::env::var_os("SKILLHUB_GROWTH").is_some() { files.len() } else { 1 };
    for file in files.iter().take(wanted) {
        let input = fs::read(file).unwrap();
        let megabytes = floods::kilobytes_of(|| floods::run(&input)) >> 10;
        let [quarter, half, whole] = floods::growth(&input).unwrap().map(|time| time as f64 / 1e6);
        let (name, kilobytes) = (file.file_name().unwrap().to_string_lossy(), floods::text_bytes(&input) >> 10);
        let (twice, four_times) = (half / quarter, whole / quarter);
        println!(
            "{name:24} {kilobytes:6} kB {megabytes:5} MB {whole:9.1} ms, of a quarter: half {twice:5.2}, whole {four_times:5.2}"
        );
    }
}
