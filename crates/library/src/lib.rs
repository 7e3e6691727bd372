//! Skills on disk: a folder of skills with the history of every change, shared safely by many processes.
//!
//! The principal type is [`Library`]. An operation takes a [`Snapshot`] of a skill, produces new content that the
//! scanner clears, and passes it to [`Library::commit`], the only way to create a [`Revision`]. The disk is accessed
//! only through capability directories ([`folder`]), and untrusted names only as `SkillName` and `SkillPath`.
//!
//! ```text
//! <library>/<skill>/SKILL.md …      read by agents: a projection of the head
//! <home>/libraries/<id>/
//!     history.git                   revisions: one reference per skill, one commit per revision
//!     journal, journal.applied      the write-ahead log, and how much of it was applied
//!     events.jsonl, events.<n>.…    event log: everything done or refused, with its older part compressed
//!     proposals/<id>.json           pending proposals; decided/<id>.json for the decided ones
//!     outcomes/<skill>.jsonl        outcomes of runs with a skill
//!     trials/<id>/<skill>/          files of a revision on trial
//!     uses.jsonl, uses.1.jsonl      usage log: reads and searches of agents, bounded
//!     state.toml, state.written     settings: enabled, pinned, links, waivers; marker that a state exists
//!     numbers/<skill>               cache: ids of revisions by number
//!     revisions/<skill>             cache: revision details of long histories
//!     glances                       cache: rows of skill lists
//!     originals/<operation>/        folders of agents that links replaced, kept for 90 days
//!     lock-lines.json               lines still to be written to a lock file after a kill
//!     lock                          held while committing
//! ```

mod agents;
mod boot;
mod checkout;
mod disk;
mod edit_policy;
mod events;
mod failures;
pub mod folder;
mod home;
pub mod interrupt;
mod journal;
mod judge;
mod library;
mod links;
mod location;
mod lock;
mod originals;
mod outcomes;
mod ownership;
mod place;
mod place_error;
mod private;
mod projection;
mod proposal_id;
mod proposals;
mod resolved;
mod reviewers;
mod revision;
mod state;
mod storage;
mod toml_text;
mod trials;
mod uses;
mod verdicts;
mod watcher;
mod whole_change;

pub use agents::{Agent, agents, find_agent};
pub use disk::{
    Durability, ensure_dir, ensure_private_dir, open_dir, random_process_id, read_bounded, write_atomically,
    write_private,
};
pub use edit_policy::{EditPolicy, EditRules, HandEdit};
pub use events::{Event, EventStatus, operation_id};
pub use home::Home;
pub use judge::judged;
pub use library::{
    Checkout, Closeness, Collected, Commit, CommitError, Committed, Ended, EventsMend, FindError, FolderEdit,
    FolderFiles, FolderState, Front, Glance, HandEditFault, Head, HeadFault, HistoryFault, JournalMend, JournalState,
    Library, LibraryError, LibraryNote, Lost, Places, Plans, Recovery, RelocateError, Relocation, Served, Sizes,
    Snapshot, SnapshotError, Standing, StateMend, TakeOver, TakenBack, TemporaryKind, look_at_places, make_private,
    relocate, return_reason,
};
pub use links::{LinkChanges, LinkPlan, LinkTarget, Linker, LockLine, LockLines, Original};
pub use location::{Scope, resolve};
pub use lock::{LibraryLock, LockError};
pub use outcomes::{
    Basis, LARGEST_NUMBER, Outcome, OutcomeFault, OutcomeKind, OutcomeWriter, Outcomes, Recorded,
    SKILL_BYTES as OUTCOME_BYTES,
};
pub use place::{AgentDir, PlaceLinkError, Placed};
pub use place_error::PlaceError;
pub use private::{make_dir_private, make_file_private};
pub use process::child;
pub use proposal_id::{ProposalId, ProposalIdError};
pub use proposals::{
    DamagedProposal, Decided, Evidence, EvidenceError, EvidenceKind, HeldChange, Kept, Proposal, ProposalChange,
    ProposalEntry, ProposalFault, ProposalFaultKind, ProposalState, ProposedFile, ProposedRelease, changed_files,
};
pub use reviewers::{Reviewers, ReviewersError, StoredReviewer};
pub use revision::{
    Acceptance, Action, Actor, ActorError, ActorKind, Before, Content, NewRevision, Origin, Revision, RevisionId,
    RevisionSpec, RevisionSpecError, Stamp, Upstream,
};
pub use state::{SkillState, State, StateError, StoredWaiver};
pub use storage::{Damage, StorageError};
pub use toml_text::{from_toml, refuse_toml_flood, toml_dots};
pub use trials::{Arm, GATE, StoredSetBack, StoredTrial, TrialTerms};
pub use uses::{Use, UseKind, UseState};
pub use verdicts::Verdicts;
pub use watcher::Watcher;
pub use whole_change::{Denied, Permit, WholeChange};
