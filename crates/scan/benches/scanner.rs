//! Cost of a scan: `cargo bench -p skillhub-scan`.
//!
//! The first scan of a process is measured in separate processes, since it also initialises the rules.
#![expect(clippy::unwrap_used, reason = "a benchmark for the desk, not for users")]

use std::{
    env,
    hint::black_box,
    process::Command,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput};
use scan::{Baseline, clear};
use skill::{Bundle, File, Limits, SkillPath};

/// Environment variable that makes a process scan once and print the nanoseconds.
const ONCE: &str = "SCAN_ONCE";

fn file(text: String) -> File {
    File { bytes: text.into_bytes().into(), executable: false }
}

/// Returns a bundle with a SKILL.md of 22 KB.
fn small() -> Bundle {
    let words = "Read the table that is named first, then write each row with its heading. ".repeat(4);
    let parts: String = (0..68).map(|part| format!("## Part {part}\n\n{words}\n\n")).collect();
    let text = format!("---\nname: measured\ndescription: Reads tables. Use when one is given.\n---\n\n{parts}");
    Bundle::from_files([(SkillPath::skill_md(), file(text))], &Limits::default()).unwrap()
}

/// Returns the small bundle with 100 scripts and references of 20 KB added.
fn large() -> Bundle {
    let script =
        "import csv\n\ndef rows(path):\n    with open(path) as table:\n        return list(csv.reader(table))\n";
    let text = |number: u32| match number % 2 {
        0 => format!("Row {number} has a heading, a value and `code`.\n").repeat(450),
        _ => script.repeat(220),
    };
    let path = |number: u32| match number % 2 {
        0 => format!("references/part-{number}.md"),
        _ => format!("scripts/part_{number}.py"),
    };
    let parsed = |number: u32| SkillPath::parse(&path(number)).unwrap();
    (0..100).fold(small(), |bundle, number| {
        bundle.with_file(parsed(number), file(text(number)), &Limits::default()).unwrap()
    })
}

fn scan_once() {
    let bundle = small();
    let began = Instant::now();
    let cleared = clear(bundle, Baseline::None);
    println!("{}", began.elapsed().as_nanos());
    assert!(cleared.is_ok());
}

fn in_a_process_of_its_own() -> Duration {
    let output = Command::new(env::current_exe().unwrap()).env(ONCE, "1").output().unwrap();
    Duration::from_nanos(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
}

fn scans(criterion: &mut Criterion) {
    let (small, large) = (small(), large());
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Bytes(small.total_bytes()));
    group.bench_function("SKILL.md of 22 KB, the first of a process", |b| {
        b.iter_custom(|count| (0..count).map(|_| in_a_process_of_its_own()).sum());
    });
    group.bench_function("SKILL.md of 22 KB", |b| {
        b.iter(|| clear(black_box(small.clone()), Baseline::None).unwrap());
    });
    group.bench_function("SKILL.md of 22 KB beside its base", |b| {
        b.iter(|| clear(black_box(small.clone()), Baseline::Cleared(&small)).unwrap());
    });
    group.throughput(Throughput::Bytes(large.total_bytes()));
    group.sample_size(20);
    group.bench_function("skill of 101 files, 2 MB", |b| {
        b.iter(|| clear(black_box(large.clone()), Baseline::None).unwrap());
    });
}

fn main() {
    if env::var_os(ONCE).is_some() {
        return scan_once();
    }
    let mut criterion = Criterion::default().configure_from_args();
    scans(&mut criterion);
    criterion.final_summary();
}
