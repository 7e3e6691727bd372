//! How revisions of skills do, and what follows from it.
//!
//! Nothing here renders, reads a clock or decides in secret: what is said of a skill is a function of its
//! history, its log, the policy and the moment that is passed in. The principal functions are [`record`], by which
//! outcomes of runs come in, and [`evaluate`], which has the gate decide by them; [`replay`] makes every decision of
//! the log again.
//!
//! ```text
//! record, import ──► outcomes ──► runs ──► stats      what people look at
//!                                  │
//!                                  ├─────► eprocess   evidence that may be looked at after every run
//!                                  ▼
//!        trial, history ──────► gate ──► evaluate ──► skill_manage: promote, roll back
//!                                  ▲         │
//!                                  └ replay ─┴──► events.jsonl: what was decided, with its numbers
//! evals/evals.json ──► evals ──► compare  whether a candidate does worse or better than its base
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
