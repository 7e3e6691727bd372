//! Benchmarks of a library in a running process: `cargo bench -p skillhub-library`. The libraries are created below
//! `target`, so the figures depend on its disk.
#![expect(clippy::unwrap_used, reason = "a benchmark for the desk, not for users")]

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use criterion::{Criterion, SamplingMode};
use jiff::Timestamp;
use library::{
    Action, Actor, ActorKind, ChangeDetection, Commit, Content, Home, Library, NewRevision, RevisionId, RevisionSpec,
    Scope, Stamp,
};
use scan::{Baseline, Cleared};
use skill::{Bundle, File, Limits, SkillName, SkillPath};
use tempfile::TempDir;

/// Number of revisions in the long history.
const LONG: u64 = 2_000;

/// Number of skills in the large library.
const SKILLS: u32 = 200;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn open(&self) -> Library {
        let at = |name: &str| Path::join(self.0.path(), name);
        Library::open(&at("skills"), Scope::User, &Home::at(at("home")).unwrap(), "git").unwrap()
    }
}

fn name(number: u32) -> SkillName {
    SkillName::parse(&format!("skill-{number}")).unwrap()
}

/// Returns a SKILL.md with `lines` lines before and after one line that contains `state`.
fn cleared(name: &SkillName, lines: usize, state: u64) -> Cleared {
    let lines = "Read the table that is named first, then write each row with its heading.\n".repeat(lines);
    let text = format!("---\nname: {name}\ndescription: Reads tables.\n---\n\n{lines}\nState {state}.\n\n{lines}");
    let file = File { bytes: text.into_bytes().into(), executable: false };
    let bundle = Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default()).unwrap();
    scan::clear(bundle, Baseline::None).unwrap()
}

fn revision(cleared: Cleared) -> NewRevision {
    let stamp = Stamp::new(Actor::new(ActorKind::Agent, "measure"), Timestamp::UNIX_EPOCH);
    NewRevision::new(Content::Cleared(cleared), Action::Edit, stamp)
}

fn commit(library: &mut Library, skill: &SkillName, base: &mut Option<RevisionId>, revisions: Vec<NewRevision>) {
    let commit = Commit { skill: skill.clone(), base: base.clone(), revisions };
    *base = library.commit(vec![commit]).unwrap().pop().map(|committed| committed.revision.id);
}

fn commits(criterion: &mut Criterion) {
    let (place, skill) = (Place::new(), name(0));
    let (mut library, mut base, mut state) = (place.open(), None, 0);
    let mut group = criterion.benchmark_group("commit");
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function("a line of a SKILL.md of 22 KB, scanned before", |b| {
        b.iter_custom(|count| {
            let mut spent = Duration::ZERO;
            for _ in 0..count {
                state += 1;
                let revisions = vec![revision(cleared(&skill, 150, state))];
                let began = Instant::now();
                commit(&mut library, &skill, &mut base, revisions);
                spent += began.elapsed();
            }
            spent
        });
    });
}

fn reading(criterion: &mut Criterion) {
    let place = Place::new();
    let mut library = place.open();
    for number in 0..SKILLS {
        commit(&mut library, &name(number), &mut None, vec![revision(cleared(&name(number), 20, 0))]);
    }
    let (long, mut base) = (name(SKILLS), None);
    for first in (0..LONG).step_by(500) {
        let revisions = (first..first + 500).map(|state| revision(cleared(&long, 5, state))).collect();
        commit(&mut library, &long, &mut base, revisions);
    }
    criterion.bench_function("open a library", |b| b.iter(|| place.open()));
    let mut group = criterion.benchmark_group("library of 201 skills");
    group.bench_function("heads", |b| b.iter(|| library.heads().unwrap()));
    group.bench_function("glances", |b| b.iter(|| library.summaries(ChangeDetection::Signatures).unwrap()));
    drop(group);
    let mut group = criterion.benchmark_group("history of 2,000 revisions");
    group.bench_function("all", |b| b.iter(|| library.revisions(black_box(&long), usize::MAX).unwrap()));
    group.bench_function("the newest 20", |b| b.iter(|| library.revisions(black_box(&long), 20).unwrap()));
    group.bench_function("find revision 2", |b| {
        b.iter(|| library.find(black_box(&long), &RevisionSpec::Number(2), "2").unwrap());
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    commits(&mut criterion);
    reading(&mut criterion);
    criterion.final_summary();
}
