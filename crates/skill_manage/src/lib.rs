//! `skill_manage`: the single tool through which skills change.
//!
//! [`manage`] takes a [`ChangeRequest`] through a fixed pipeline: current state of the skill, edit, standard, scanner,
//! policy, commit. [`roll_back`] enters the same pipeline with an old content in place of an edit. Every refusal is
//! recorded in the library's event log. It changes nothing, with one exception: a hand edit that was recorded on the
//! way stays recorded.
//!
//! # A hand edit on the way
//!
//! Every operation that reads a skill in order to change it calls `Library::snapshot`, which **commits a revision** if
//! the folder has a hand edit that may be recorded. The outcomes:
//!
//! | the edit | outcome | code |
//! |---|---|---|
//! | is acceptable, and the actor is a person or could have made it | recorded as an `external` revision of its own, on which the request is based | |
//! | is acceptable, but an agent could not make it, and the actor is not a person | held: `SnapshotError::EditHeld` until a person records it with [`commit`] | `policy_denied` |
//! | is invalid, or the scanner blocks it | blocked: `SnapshotError::ExternalBlocked`; only a rollback to the head goes through, which keeps the edit in the history and restores the skill | `external_blocked` |
//! | has the content of an earlier revision | recorded as a return to it, by the same rules | |
//!
//! A dry run (`HandEditMode::DryRun`) records nothing and names what it would record.
//!
//! # A change, step by step
//!
//! `skillhub manage patch release-notes --find A --replace B`
//!
//! 1. The host parses the request: `ChangeRequest::of_edit` takes the flags of the command line, and
//!    `ChangeRequest::from_json` a document, in which it refuses unknown fields. Names and paths become `SkillName` and
//!    `SkillPath` here.
//! 2. [`manage`] runs an attempt. If the head moved meanwhile, it runs again, unless the caller named the revision that
//!    it saw.
//! 3. `Library::snapshot` returns the head and its files, after recording a hand edit; a held or blocked one refuses
//!    the request, see above.
//! 4. `apply_all` (`manage.rs`) edits the bundle with `skill::edit::apply`. A patch matches exactly, or else ignoring
//!    line ends, trailing blanks, typographic quotes or indentation, and always in one place only. A patch counts as
//!    already applied only if `SkillHistory` (`skill_history.rs`) finds it in the last 50 revisions of the file: its replacement in the
//!    text proves nothing.
//! 5. `commit_or_hold` ([`review`]) runs `conclude` (`conclude.rs`): `check_standard` refuses new errors, and `clear` scans
//!    the whole bundle against the base, so that findings in unchanged files count as old. `describe` makes the diff.
//! 6. `conclude` asks `Policy::decide` ([`Policy`]): the change is divided into parts, and the strictest answer over
//!    parts, edits and files counts.
//! 7. If the answer is to apply, `conclude` passes the change to `Library::commit`, which makes it durable, as the
//!    documentation of `library` describes. With a deletion go the removal of the entry in the lock file and the entry
//!    itself, for `undo`; with a rollback of a deletion goes the former entry ([`Surroundings`]). If the answer is to
//!    hold, `commit_or_hold` makes a proposal of the change (`hold`), or closes the actor's proposal that it reverts.
//! 8. The [`Report`] goes back to the host. The host then writes these lines of the lock file, and updates the entry of
//!    a changed skill.
//!
//! A refusal at any step becomes an event (`note_refusal`). Nothing else changes, but the revision that step 3 recorded
//! stays. [`roll_back`] joins at step 5 with an old bundle, which is scanned with the current rules.
//!
//! # A held change
//!
//! `skillhub manage write_file release-notes --path scripts/run.sh ...`, of which the scanner warns, then `skillhub
//! review accept ID@N@HEAD`.
//!
//! 1. `hold` (`review/hold.rs`) looks for a pending proposal of the same actor for the skill. If there is one, `join`
//!    merges that proposal, rebased onto the head, with the new edit, and the result is judged again. An edit that does
//!    not apply to the live skill is tried on the proposal before that (`work_out`).
//! 2. `Library::commit` writes one record without revisions: the file of the proposal and its event. Under the
//!    lock, `prepare_proposals` compares each proposal with the one that was read, and enforces the caps of the queue.
//!    `proposals/<id>.json` is written from the record.
//! 3. `review::accept` takes a [`Reviewer`]. Proposals that are decided, expired, damaged or of another revision are
//!    refused, and a pin outranks an acceptance.
//! 4. `rebase` (`review/rebase.rs`) keeps the candidate if the head did not move, and otherwise merges base, head and
//!    candidate with `skill::merge::merge`. In doubt the proposal is stale and stays.
//! 5. `conclude` checks the result against the standard and scans it with the current rules. If it blocks, the proposal
//!    is quarantined.
//! 6. `Library::commit` writes the revision and the accepted proposal **in one record**. The author of the proposal is
//!    the author of the revision; trailers name the proposal and the reviewer. Of two people who accept at once, one
//!    finds the proposal or the head moved, retries, and learns that it is decided.

mod change;
mod commit;
mod conclude;
mod context;
pub mod documents;
mod error;
mod manage;
mod pin;
mod policy;
mod report;
mod request;
pub mod review;
mod reviewer;
mod rollback;
mod skill_history;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod trial;
mod waive;

pub use commit::{CommitEdit, commit};
pub use context::{Context, ShadowedSkill, Surroundings};
pub use error::ManageError;
pub use manage::{NOTED_CHARS, manage, note_unreadable};
pub use pin::{pin, unpin};
pub use policy::{Class, Layer, Policy, Preset, PresetError, Rule, RuleError, Ruling};
pub use report::{Report, Status, VerdictReport};
pub use request::{ACTIONS, ChangeRequest, Notes, RequestError, fields_of};
pub use reviewer::{NewToken, Reviewer, ReviewerError, is_valid_at};
pub use rollback::{Rollback, roll_back};
pub use trial::{gate_actor, start_trial};
pub use waive::{Waive, WaiveError, unwaive, waive, waivers_for};
