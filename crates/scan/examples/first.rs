//! Measures the cost of the first scan in a process.
//!
//! `first FILE…` scans each file as a `SKILL.md`, twice in each of many separate processes. It prints the median and
//! the minimum CPU time of both scans, user and system time together.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{env, fs, process::Command};

use rustix::time::{ClockId, clock_gettime};
use scan::{Baseline, clear};

/// Number of processes started per file.
const PROCESSES: usize = 31;

/// Argument that makes a process scan one file and print its two times.
const ONE: &str = "--one";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [one, file] if one == ONE => scan_twice(file),
        files => files.iter().for_each(|file| report(file)),
    }
}

fn report(file: &str) {
    let program = env::current_exe().unwrap();
    let run = || String::from_utf8(Command::new(&program).args([ONE, file]).output().unwrap().stdout).unwrap();
    let runs: Vec<Vec<u64>> =
        (0..PROCESSES).map(|_| run().split_whitespace().map(|figure| figure.parse().unwrap()).collect()).collect();
    for (at, which) in ["first", "second"].into_iter().enumerate() {
        let mut spent: Vec<u64> = runs.iter().map(|run| run[at]).collect();
        spent.sort_unstable();
        println!("{which:6} {:5} µs, least {:5} µs  {file}", spent[PROCESSES / 2], spent[0]);
    }
}

fn scan_twice(file: &str) {
    let bytes = fs::read(file).unwrap();
    let bundle = || testkit::bundle(&[("SKILL.md", &bytes)]);
    for candidate in [bundle(), bundle()] {
        let start = spent();
        let cleared = clear(candidate, Baseline::None);
        println!("{}", spent() - start);
        drop(cleared);
    }
}

/// Returns the CPU time of this process in microseconds.
fn spent() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1000).unwrap()
}
