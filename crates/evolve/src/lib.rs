//! How revisions of skills do, and what follows from it.
//!
//! Nothing here renders, reads a clock or decides in secret: what is said of a skill is a function of its
//! history, its log, the policy and the moment that is passed in.
//!
//! ```text
//! outcomes of runs ──► runs ──► stats     what people look at
//!                       └────► eprocess   evidence that may be looked at after every run
//! evals/evals.json ──► evals ──► compare  whether a candidate does worse or better than its base
//! ```

pub mod blame;
pub mod compare;
pub mod curate;
pub mod eprocess;
pub mod evals;
pub mod lineage;
pub mod optimise;
pub mod runs;
mod schema;
mod when;
