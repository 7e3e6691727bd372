//! Benchmarks of the skill model: `cargo bench -p skillhub-skill`. They run in memory, without disk access.
#![expect(clippy::unwrap_used, reason = "a benchmark for the desk, not for users")]

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use skill::{
    Bundle, Edit, Limits, SkillPath, Strictness, archive,
    edit::{self, Patch},
    merge::merge,
    validate::{load, validate_bundle},
};

/// Builds a 22 KB SKILL.md with one line near the start and one near the end that vary with the arguments.
fn skill_md(near: u32, far: u32) -> String {
    let words = "Read the table that is named first, then write each row with its heading. ".repeat(4);
    let parts: String = (0..68).map(|part| format!("## Part {part}\n\n{words}\n\n")).collect();
    format!(
        "---\nname: measured\ndescription: Reads tables. Use when a table is given.\n---\n\nNear is {near}.\n\n\
         {parts}Far is {far}.\n"
    )
}

/// Builds a bundle of [`skill_md`] and `more` further files of 20 KB each.
fn bundle(near: u32, far: u32, more: u32) -> Bundle {
    let text = |number: u32| format!("Row {number} has a heading and a value.\n").repeat(550);
    let more = (0..more).map(|number| (format!("references/part-{number}.md"), text(number)));
    let files: Vec<_> = more.chain([("SKILL.md".to_owned(), skill_md(near, far))]).collect();
    testkit::bundle(&files)
}

fn of_one_skill(criterion: &mut Criterion) {
    let (limits, text, small) = (Limits::default(), skill_md(0, 0), bundle(0, 0, 0));
    let mut group = criterion.benchmark_group("SKILL.md of 22 KB");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read its frontmatter", |b| {
        b.iter(|| load(black_box(text.as_bytes()), "measured", &limits).unwrap());
    });
    group.bench_function("validate", |b| {
        b.iter(|| validate_bundle(black_box(&small), Some("measured"), Strictness::Standard, &limits));
    });
    group.bench_function("digest", |b| b.iter(|| black_box(&small).digest()));
    let (find, replace) = ("Near is 0.".to_owned(), "Near is 1.".to_owned());
    let path = SkillPath::skill_md();
    let patch = Edit::Patch(Patch { path, find, replace, expected_count: None, replace_all: false });
    group.bench_function("patch", |b| b.iter(|| edit::apply(black_box(&patch), &small, &limits).unwrap()));
    let (ours, theirs) = (bundle(1, 0, 0), bundle(0, 1, 0));
    assert!(merge(&small, &ours, &theirs, &limits).unwrap().is_clean());
    group.bench_function("merge two sides", |b| {
        b.iter(|| merge(black_box(&small), &ours, &theirs, &limits).unwrap());
    });
}

fn of_many_files(criterion: &mut Criterion) {
    let (limits, large) = (Limits::default(), bundle(0, 0, 100));
    let mut group = criterion.benchmark_group("skill of 101 files, 2 MB");
    group.throughput(Throughput::Bytes(large.total_bytes()));
    group.bench_function("validate", |b| {
        b.iter(|| validate_bundle(black_box(&large), Some("measured"), Strictness::Standard, &limits));
    });
    group.bench_function("digest", |b| b.iter(|| black_box(&large).digest()));
    let packed = archive::pack(&large);
    group.bench_function("pack", |b| b.iter(|| archive::pack(black_box(&large))));
    group.bench_function("unpack", |b| b.iter(|| archive::unpack(black_box(&packed), &limits).unwrap()));
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    of_one_skill(&mut criterion);
    of_many_files(&mut criterion);
    criterion.final_summary();
}
