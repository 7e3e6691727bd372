//! `skill_manage`: the one tool through which skills change.
//!
//! [`manage`] takes a [`Request`] through one spine: the skill as it is, the edit, the standard, the
//! scanner, the policy, the commit. [`roll_back`] joins it with an old content in place of an edit.
//! Whatever is refused is noted in the library's event log, and nothing has changed.
//!
//! A hand edit that is found on the way and is good is recorded as a revision of its own first; one
//! that is not refuses everything but a rollback to the head, which keeps it and restores the skill.
//! [`commit`] records one for its own sake.

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
