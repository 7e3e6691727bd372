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

pub mod blame;
pub mod compare;
pub mod curate;
pub mod eprocess;
pub mod evals;
mod evaluate;
mod gate;
mod import;
pub mod lineage;
pub mod optimise;
mod policy;
mod record;
pub mod runs;
mod schema;
mod stats;
mod when;

pub use evaluate::{Evaluation, Noted, Replayed, evaluate, force, look, replay};
pub use gate::{
    Case, Count, DRIFT_LEVEL, Decision, Evidence, KNOWN_RUNS, RULES, RUNS_A_DAY, SETTLED_RUNS, Standing, Uncounted,
    Verdict, WHOLE, decide, pairs,
};
pub use import::{Host, Transcripts};
pub use policy::{GateConfig, GateConfigError, KNOWN_RATE_ALPHA, UNKNOWN_RATE_ALPHA};
pub use record::{BYTES, Defaults, REQUESTS, RecordError, Request, Told, record, requests};
pub use stats::{DAYS, Day, RevisionStats, Stats};
