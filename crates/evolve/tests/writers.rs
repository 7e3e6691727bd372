//! Test of many processes that record outcomes concurrently. Each outcome must be stored exactly once.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use library::{
    Action, Actor, ActorKind, Commit, Content, Home, Library, NewRevision, Outcome, OutcomeKind, RevisionId, Scope,
    Stamp,
};
use testkit::{bundle, name};

/// Environment variables of the writing processes: the folder, and the number of the process.
const PLACE: &str = "EVOLVE_TEST_PLACE";
const NUMBER: &str = "EVOLVE_TEST_NUMBER";

const PROCESSES: usize = 16;
const EVENTS: usize = 10_000;

/// Number of outcomes written in one call.
const AT_ONCE: usize = 500;

fn open(place: &str) -> Library {
    let home = Home::at(format!("{place}/home")).unwrap();
    Library::open(format!("{place}/skills").as_ref(), Scope::User, &home, "git").unwrap()
}

fn outcome(revision: &RevisionId, run: String) -> Outcome {
    Outcome {
        v: 1,
        ts: "2026-01-02T03:04:05Z".to_owned(),
        skill: "demo".to_owned(),
        revision: revision.clone(),
        event: OutcomeKind::Completed,
        run,
        latency_ms: Some(7),
        tokens_in: None,
        tokens_out: None,
        task: None,
        query: None,
        source: None,
        actor: None,
        basis: None,
        thread: None,
        by_author: false,
    }
}

/// Body of each process: it writes its own outcomes, and some that all other processes write as well.
#[test]
fn writer() {
    let (Ok(place), Ok(number)) = (std::env::var(PLACE), std::env::var(NUMBER)) else { return };
    let library = open(&place);
    let revision = library.head(&name("demo")).unwrap().unwrap().id;
    let mut writer = library.outcome_writer(&name("demo")).unwrap();
    let run =
        |event: usize| if event.is_multiple_of(10) { format!("all-{event}") } else { format!("{number}-{event}") };
    let outcomes: Vec<Outcome> = (0..EVENTS).map(|event| outcome(&revision, run(event))).collect();
    let (mut new, mut doubles) = (0, 0);
    for some in outcomes.chunks(AT_ONCE) {
        let recorded = writer.append(some).unwrap();
        (new, doubles) = (new + recorded.new, doubles + recorded.doubles);
    }
    assert_eq!(new + doubles, EVENTS);
    assert!(new >= EVENTS / 10 * 9);
}

#[test]
fn sixteen_writers_lose_and_duplicate_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let place = temp.path().to_str().unwrap();
    let text = "---\nname: demo\ndescription: Show a demo when one is asked for.\n---\n\n# Demo\n";
    let cleared = scan::clear(bundle(&[("SKILL.md", text)]), scan::Baseline::None).unwrap();
    let stamp = Stamp::new(Actor::new(ActorKind::Agent, "test"), "2026-01-01T00:00:00Z".parse().unwrap());
    let revision = NewRevision::new(Content::Cleared(cleared), Action::Create, stamp);
    open(place).commit(vec![Commit { skill: name("demo"), base: None, revisions: vec![revision] }]).unwrap();

    let started = Instant::now();
    let start = |number: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "writer"]).env(PLACE, place).env(NUMBER, number.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..PROCESSES).map(start).collect();
    assert!(processes.into_iter().all(|mut process| process.wait().unwrap().success()));
    println!("{PROCESSES} processes wrote for {:?}", started.elapsed());

    let log = open(place).outcomes(&name("demo")).unwrap();
    assert_eq!(log.unreadable, 0);
    assert_eq!(log.outcomes.len(), PROCESSES * EVENTS * 9 / 10 + EVENTS / 10);
    let first_writer = |outcome: &Outcome| outcome.run.split('-').next().unwrap().to_owned();
    let turns = log.outcomes.windows(2).filter(|pair| first_writer(&pair[0]) != first_writer(&pair[1])).count();
    assert!(turns > PROCESSES, "they wrote one after the other: {turns} turns");
}
