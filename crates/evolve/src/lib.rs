//! Performance of skill revisions, and the decisions based on it.
//!
//! This crate does not render or read a clock, and it makes no hidden decisions: every statement about a skill is a
//! function of its history, its log, the policy and the given time. The principal functions are [`record`], which
//! stores outcomes of runs, and [`evaluate`], with which the gate decides on them. [`replay`] repeats every decision in
//! the log.
//!
//! ```text
//! record, import ──► outcomes ──► runs ──► stats      for people
//!                                  │
//!                                  ├─────► eprocess   evidence that may be inspected after every run
//!                                  ▼
//!        trial, history ──────► gate ──► evaluate ──► skill_manage: promote, roll back
//!                                  ▲         │
//!                                  └ replay ─┴──► events.jsonl: decisions with their numbers
//! evals/evals.json ──► evals ──► compare  candidate against base: worse, better or no difference
//! ```
//!
//! # A trial, step by step
//!
//! 1. `review::accept` with [`TrialTerms`](library::TrialTerms), or `evolve try`, makes two revisions in one commit:
//!    the one on trial, and after it one by `optimizer:skillhub` with the former files. So the head, the folder, and
//!    every agent that reads it without skillhub or a link keep the former content.
//! 2. The trial (`StoredTrial`) is stored in `state.toml` and in the event log. `Library::served` gives a run what it
//!    read before, or else the side chosen by a hash of trial and run. A kill between commit and state leaves a
//!    revision that nobody gets; `evolve try` puts it on trial. At the start of a host's session, [`follow_trials`]
//!    makes the host's links lead to the side that the session gets; `Library::end_trial` returns them.
//! 3. [`evaluate`] runs when an outcome is recorded and at `evolve status`. It collects the outcomes and the state of
//!    the history (`GateState`); the pure function `decide` (`gate.rs`) decides, and `carry_out` acts through
//!    `roll_back` as `optimizer:skillhub`.
//! 4. [`evaluate`] then judges all revisions since the review checkpoint together (`gate/line.rs`, [`decline`]), since
//!    steps that are too small for a comparison of neighbours add up.
//! 5. The event of a decision (`Noted`) has its numbers, terms, standing, time and the number of known outcomes, so
//!    that [`replay`] reproduces it. `docs/GATE.md` has the statistics.

pub mod blame;
pub mod compare;
pub mod curate;
pub mod decline;
pub mod eprocess;
pub mod evals;
mod evaluate;
mod follow;
mod gate;
mod gate_config;
mod gate_decision;
mod import;
pub mod lineage;
pub mod optimise;
mod record;
pub mod runs;
mod stats;
mod trend;
mod when;

pub use evaluate::{Evaluation, Noted, Replayed, evaluate, force, look, replay};
pub use follow::{can_follow, follow_trials};
pub use gate::{
    Case, Count, DRIFT_LEVEL, Decision, Evidence, GateState, KNOWN_RUNS, Line, RULES, RUNS_A_DAY, SETTLED_RUNS,
    Uncounted, Verdict, WHOLE, decide, pairs,
};
pub use gate_config::{GateConfig, GateConfigError, KNOWN_RATE_ALPHA, OnDecline, UNKNOWN_RATE_ALPHA};
pub use gate_decision::{GateDecision, alarms};
pub use import::{Host, KnownRevisions, ReadRevision, SkillUse, Transcripts};
pub use record::{BYTES, Defaults, OutcomeRecord, QUERY_CHARS, REQUESTS, RecordError, RecordSummary, record, requests};
pub use stats::{DAYS, Day, RevisionStats, Stats};
pub use trend::SkillStats;
