//! Benchmark of the curator: `upkeep [COUNT] [PER COMMIT]` creates a library of COUNT skills (5,000) with histories in
//! a temporary folder, and prints the time to gather facts and plan, on the first run and later ones.
#![expect(clippy::unwrap_used, reason = "an example for the desk, not for users")]

use std::{fmt::Write as _, time::Instant};

use evolve::curate::{References, Terms, gather, plan};
use library::{
    Action, Actor, ActorKind, Commit, Content, Home, Library, NewRevision, Scope, Stamp, Use, UseKind, UseState,
};
use skill::SkillName;

/// Number of words in the instructions of a skill.
const WORDS: u64 = 400;
/// Number of distinct words.
const VOCABULARY: u64 = 20_000;

/// Pseudorandom numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn words(&mut self, count: u64) -> String {
        (0..count).fold(String::new(), |mut text, number| {
            let end = if number % 12 == 11 { ".\n" } else { " " };
            let _infallible = write!(text, "w{}{end}", self.below(VOCABULARY));
            text
        })
    }
}

/// Returns the text of a skill. Every twentieth is a near copy of the previous one.
fn text(number: usize, numbers: &mut Numbers, last: &mut String) -> String {
    if number % 20 != 1 {
        *last = numbers.words(WORDS);
    }
    let says = numbers.words(20).replace('\n', "");
    format!(
        "---\nname: skill-{number:05}\ndescription: Does {says}. Use for {number}.\n---\n\n# Do\n\n{last}\nRead `references/x.md`.\n"
    )
}

fn commit(library: &mut Library, count: usize, stamp: &Stamp) {
    let (mut numbers, mut last) = (Numbers(7), String::new());
    for from in (0..count).step_by(250) {
        let of = |number: usize| {
            let name = SkillName::parse(&format!("skill-{number:05}")).unwrap();
            let text = text(number, &mut numbers, &mut last);
            let cleared = scan::clear(testkit::bundle(&[("SKILL.md", text)]), scan::Baseline::None).unwrap();
            let revision = NewRevision::new(Content::Cleared(cleared), Action::Create, stamp.clone());
            Commit { skill: name, base: None, revisions: vec![revision] }
        };
        let commits: Vec<Commit> = (from..count.min(from + 250)).map(of).collect();
        library.commit(commits).unwrap();
    }
}

fn main() {
    let count: usize = std::env::args().nth(1).map_or(5000, |count| count.parse().unwrap());
    let place = tempfile::tempdir_in(".").unwrap();
    let home = Home::at(place.path().join("home")).unwrap();
    let open = || Library::open(&place.path().join("skills"), Scope::User, &home, "git").unwrap();
    let stamp = Stamp::new(Actor::new(ActorKind::Agent, "x"), "2026-01-01T00:00:00Z".parse().unwrap());
    commit(&mut open(), count, &stamp);
    let used = |time: &str| Use {
        v: 1,
        time: time.to_owned(),
        skill: "skill-00000".to_owned(),
        revision: None,
        kind: UseKind::Read,
        state: UseState::Done,
        agent: String::new(),
        run: None,
    };
    open().note_uses(&[used("2026-01-02T00:00:00Z"), used("2026-05-31T00:00:00Z")]).unwrap();
    let now = "2026-06-01T00:00:00Z".parse().unwrap();
    for round in ["first time", "again", "again", "again"] {
        let (library, began) = (open(), Instant::now());
        let facts = gather(&library, &References::new()).unwrap();
        let gathered = began.elapsed();
        let plan = plan(&facts, Terms::default(), now);
        println!(
            "{round:10}: gathered in {:6.0} ms, planned in {:6.0} ms: {} to archive, {} groups of copies, {} alike",
            gathered.as_secs_f64() * 1e3,
            (began.elapsed() - gathered).as_secs_f64() * 1e3,
            plan.archive.len(),
            plan.report.duplicates.len(),
            plan.report.alike.len()
        );
    }
}
