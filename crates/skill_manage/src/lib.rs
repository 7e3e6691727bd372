//! `skill_manage`: the single tool through which skills change.
//!
//! [`manage`] takes a [`Request`] through a fixed pipeline: current state of the skill, edit, standard, scanner,
//! policy, commit. [`roll_back`] enters the same pipeline with an old content in place of an edit. Every refusal is
//! recorded in the library's event log and changes nothing.
//!
//! If the folder has an acceptable hand edit, it is first recorded as a separate revision. An unacceptable one blocks
//! everything except a rollback to the head, which preserves the edit and restores the skill. [`commit`] records a hand
//! edit on its own.

mod change;
mod commit;
mod conclude;
mod context;
pub mod documents;
mod error;
mod manage;
mod past;
mod pin;
mod policy;
mod report;
mod request;
pub mod review;
mod reviewer;
mod rollback;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod trial;
mod waive;

pub use commit::{CommitEdit, commit};
pub use context::{Context, Elsewhere};
pub use error::ManageError;
pub use manage::{manage, note_unreadable};
pub use pin::{pin, unpin};
pub use policy::{Class, Layer, Policy, Preset, PresetError, Rule, RuleError, Ruling};
pub use report::{Report, Status, VerdictReport};
pub use request::{Notes, Request, RequestError};
pub use reviewer::{NewToken, Reviewer, ReviewerError, is_valid_at};
pub use rollback::{Rollback, roll_back};
pub use trial::{gate_actor, try_out};
pub use waive::{Waive, WaiveError, unwaive, waive, waivers_for};
