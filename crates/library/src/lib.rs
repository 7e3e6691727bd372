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
//!     state.toml, state.written     settings: enabled, pinned, links, waivers, reviews; marker that a state exists
//!     numbers/<skill>               cache: ids of revisions by number
//!     revisions/<skill>             cache: revision details of long histories
//!     glances                       cache: rows of skill lists
//!     reviewed                      cache: whether heads differ from their review checkpoints
//!     sync.json                     remote of `skillhub sync`, and the name of this machine
//!     originals/<operation>/        folders of agents that links replaced, kept for 90 days
//!     lock-lines.json               lines that a commit leaves for `skillhub.lock`, until they are in it
//!     lock                          held by every writer of the files above, see below
//!     turn                          retry lock, held by a writer that lost a race
//! ```
//!
//! # Locks
//!
//! Each change of a library's part of the home or of its folders takes [`LibraryLock`] first: an exclusive lock on the
//! file `lock`, for which a writer waits at most `LOCK_WAIT` (ten seconds) and then fails with [`LockError::Locked`].
//! The system releases it when the process dies. It is not reentrant: a function that requires it takes a `LockedDir`,
//! or says "the caller holds the lock", and must not call one that takes the lock.
//!
//! - **Takers.** The usual one is `commit_skills` (`library/commit.rs`), and `commit_proposals` for a commit without
//!   revisions. Others are [`Library::snapshot`] when it records a hand edit, [`Library::set_states`], the functions
//!   that place or point links, recovery, [`Library::collect_garbage`], every repair below `library/upkeep`, and
//!   [`relocate`]. Opening a library tries once and does not wait: who holds the lock recovers first.
//! - **Other crates** take it with [`Library::lock`] for files that this crate does not write: `client` for
//!   `skillhub.lock`, `compose` for the composed tools.
//! - **The second lock**, `turn`, only orders retries: a writer whose commit was `Stale` takes it with
//!   [`Library::retry_lock`] until it succeeds or gives up, and new writers queue behind it ([`Library::queue_behind_retries`]), so
//!   that nobody starves. It protects no file, and a writer that does not get it commits without it.
//! - **Without the lock**: the event log, the usage log and the outcomes are appended to under a lock of their own,
//!   since a refusal must not wait for a commit. Caches, staged folders, objects that `write_ahead` writes and the
//!   files of a trial (which count once the state names them) need none.
//! - Readers take no lock. [`Reviewers`] (on the file `lock` of the home itself, for `reviewers.toml`) and a server's data
//!   folder use the same type on the file `lock` of their own folder.
//!
//! # Commit
//!
//! [`Library::commit`], in order:
//!
//! 1. `stage` writes the new folder beside the old one (`.skillhub-…`), so that a library that is not writable refuses
//!    before anything takes effect.
//! 2. `write_ahead` writes the files of a change of 1 MiB or more as one synced pack, so that nobody waits for them
//!    under the lock. If the commit fails, they are unreferenced blobs.
//! 3. [`LibraryLock`] is taken, `recover` applies what a dead process left, and old leftovers are removed.
//! 4. `commit_under_lock` compares each head with the caller's base ([`CommitError::Stale`]), and creates blobs, trees
//!    and commits in memory. Heads, commits and trees are read without libgit2, so that no git configuration affects a
//!    change or costs time; libgit2 handles packs.
//! 5. `Journal::append` writes **one record and syncs it: the commit point**. For all skills of the operation, the
//!    record has the heads before and after, the events, the new objects, the proposals, the links, the lines for the
//!    lock file, and the names of temporary folders. A CRC-32 covers it, and each object has its own id.
//! 6. `write_out` writes objects, references, event lines, `lock-lines.json` and proposals without a sync. Every
//!    operation that changes lines of `skillhub.lock` leaves them in `lock-lines.json`, not only one that is killed.
//!    `checkout::swap` exchanges the folders atomically (`RENAME_EXCHANGE`), in several steps where the file system
//!    cannot, and file by file in a lower layer of an overlay (`checkout/by_files.rs`). `keep_displaced` inspects the
//!    displaced folder: content that no revision has was written at that moment, and becomes a revision of its own.
//!    Then the links in agents' folders follow.
//! 7. `journal.applied` records how much was applied, and in which boot of the machine. The lock is released.
//!
//! The caller then writes the pending lines into `skillhub.lock` and deletes `lock-lines.json`
//! (`client::write_pending_lines`). Lines that are still there belong to a process that died in between; the next
//! install, uninstall or undo writes them with its own, or `doctor --fix` does.
//!
//! A failure after step 5 is not an error: the report has `"checkout":"pending"`, and the next process that opens the
//! library completes it.
//!
//! # Temporary names
//!
//! Every temporary file or folder in a library begins with `.skillhub-`. [`TemporaryKind`] has the words for them:
//!
//! | word | meaning |
//! |---|---|
//! | staged | a new folder, written before the commit and not yet swapped in |
//! | displaced | the former folder of a skill, swapped out by a commit and not yet inspected; `…-old`, `…-part` and `…-gone` are steps of that |
//! | leftover | any of these, left by a process that died; `gc` and `doctor --fix` remove it |
//! | kept | `.skillhub-kept-…`: files that are in no revision, for a person to inspect; nothing deletes it |
//!
//! Files that tools leave inside a skill's folder (`.git`, `node_modules`, …) are *tool files*, not leftovers. An
//! *original* is an agent's folder that a link replaced. `.damaged-<time>` is a copy of a file that a repair replaced.
//!
//! # Recovery
//!
//! It runs when a library is opened and the journal is longer than `journal.applied` (`library/recover.rs`).
//!
//! - In the same boot, a process was killed. Written files are complete, and only missing ones are written.
//! - In another boot, or where the system does not identify boots, the power may have failed. Loose objects are
//!   unlinked before they are written again, because git takes an empty one for present.
//! - A folder with a former state, or a truncated form of one, is updated to the head. Any other content is a hand edit
//!   and stays. A folder that was being moved file by file (`…-part`) is first moved completely.
//! - Temporary folders that the records name (`library/displaced.rs`) are removed if the skill's revisions have all
//!   their files. Otherwise they become a revision, or `.skillhub-kept-…`, which nothing deletes and `doctor` reports.
//! - Other leftovers were staged by a process that died before its record, and are not needed. `gc` and `doctor --fix`
//!   remove those that are older than ten minutes or whose process is known to be dead; a commit removes the old ones.
//! - A truncated last record was never reported and is dropped. Damage before a complete record is refused, and nothing
//!   is cut. A complete head that is newer than the journal's last record never moves back.
//!
//! # Repair
//!
//! `doctor` opens a library with [`Library::inspect`], which applies nothing, and changes nothing without `--fix`. A
//! file that `--fix` replaces is first copied to `<file>.damaged-<time>`. The modules below `library/upkeep` describe
//! the repairs:
//!
//! - A damaged journal keeps the complete records whose revisions are complete down to the first. Every record that is
//!   dropped is named.
//! - Missing objects are written again from the journal and the folders of the skills. A head that leads nowhere is set
//!   to the newest complete revision that the event log names.
//! - A missing state is rebuilt from the event log. A skill whose settings are unknown is disabled and pinned.
//! - `doctor --relocate` moves the history of a moved library: one rename below `libraries/`, then `library.toml`, then
//!   the links.
//!
//! # Caches
//!
//! A `Projection` (`projection.rs`) has a checksum, is replaced atomically and is never synced. If it is missing,
//! damaged or outdated, it is rebuilt; if it cannot be written, the command does without. `numbers`, `revisions`,
//! `glances` and `cache/verdicts` are projections. `list` and `prompt` trust the signature of a folder (size, times,
//! inode and mode of each entry) as git trusts its index: only if the newest file was two seconds old when it was
//! taken. `status` reads every file. `scan` and `install` use cached verdicts from eight skills on; below that, reading
//! the cache takes longer than scanning.
//!
//! # Checkpoint and garbage collection
//!
//! A commit that leaves more than 4 MiB in the journal makes a checkpoint: it writes the objects as one pack, syncs
//! pack, references, skill folders and event log, and only then empties the journal. More than eight small packs are
//! joined at the cost of copying them, and more than 64 loose references are packed.
//!
//! [`Library::collect_garbage`] makes a checkpoint and writes every object, reachable or not, as one pack with deltas.
//! Each object is read from the new pack, which is synced and put in place before the old files are removed. A kill at
//! any moment leaves every object somewhere, and a reader with an old pack open continues. `git gc` and `git repack` by
//! a person do no harm; packs with a `.keep` stay.
//!
//! | file | bound | synced |
//! |---|---|---|
//! | `journal` | 4 MiB and one operation of at most 128 MiB | at every commit, before anything follows from it |
//! | `journal.applied` | 128 bytes | never: it only counts within one boot |
//! | `lock-lines.json` | 8 MiB; above that all lines are dropped, and `doctor` finds the difference | never: the journal record has them until it is applied |
//! | `sync.json` | 64 KiB | at every write, like the state |
//! | `state.toml`, `library.toml` | 8 MiB and 30,000 skills for the state | at every write: written beside, synced, renamed, folder synced |
//! | `state.written` | 2 bytes | once; it shows that a missing state was lost |
//! | `history.git` | eight packs, and one per 64 MiB of history | files of a change of 1 MiB or more before its record, all else by a checkpoint |
//! | skill folders | | by a checkpoint |
//! | `events.jsonl` | a collection compresses it from 32 KiB on; no line is dropped | by a checkpoint |
//! | `events.<n>.jsonl.gz` | | when written, before the original is removed |
//! | `proposals/` | 100 pending ones of 64 MiB together; a collection keeps 1,000 decided ones or 64 MiB | by a checkpoint |
//! | `outcomes/<skill>.jsonl` | 256 MiB, then outcomes are refused | never: every decision based on them is in `events.jsonl` |
//! | `trials/` | the files of each revision on trial, until the trial ends | never |
//! | `numbers/<skill>` | 20 bytes per revision, from 64 revisions on | never |
//! | `revisions/<skill>` | 121 bytes per revision and each text once, from 64 revisions on | never |
//! | `glances` | about 500 bytes per skill | never |
//! | `reviewed` | about 160 bytes per skill | never |
//! | `cache/verdicts` | 20,000 skills | never |
//!
//! # Hand edits
//!
//! A person may edit a skill in its folder at any time. `hand_edit.rs` compares the folder with the head, ignoring line
//! ends in text, at the start of every operation and for readers. Tool files (`.git`, `node_modules`, `__pycache__`,
//! …) are not part of a skill; they are skipped, and stay in place.
//!
//! - A valid edit that the scanner clears counts at once for readers. It becomes an `external` revision before the next
//!   operation, or with `skillhub commit`.
//! - An edit that an agent could not make is shown and recorded only after a person records it. [`EditPolicy`] asks the
//!   policy; pins and contents that were taken back are checked in `library/folder_edit.rs`. [`Library::snapshot`] asks
//!   the same, so that no operation of an agent records such an edit.
//! - An edit that is invalid or blocked stays as it is. Changes are refused, agents do not see the skill, and `status`
//!   gives the reason. A person repairs it, or runs `rollback NAME head`, which keeps the edit in the history and
//!   restores the skill.
//! - A folder with the content of an earlier revision, as after a switch of git branches, is at that revision
//!   ([`FolderState::Earlier`]). The next operation records a revision "returned to revision 3".
//! - A folder without history becomes revision 1 with the first operation on it. A folder that cannot be read as a
//!   skill, such as a link, is left alone and refused.

mod agent_dir;
mod agents;
mod boot;
mod checkout;
mod disk;
mod edit_policy;
mod events;
mod failures;
pub mod folder;
mod folder_link;
mod home;
pub mod interrupt;
mod journal;
mod judge;
mod library;
mod links;
mod location;
mod lock;
mod origin;
mod originals;
mod outcomes;
mod ownership;
mod path_access_error;
mod private;
mod projection;
mod proposal_id;
mod proposals;
mod resolved;
mod reviewers;
mod revision;
mod skill_change;
mod state;
mod storage;
mod system;
mod toml_text;
mod trials;
mod uses;
mod verdicts;
mod watcher;

pub use agent_dir::{AgentDir, AgentLink, AgentLinkError};
pub use agents::{Agent, agents, find_agent};
pub use disk::{
    Durability, ensure_dir, ensure_private_dir, open_dir, random_process_id, read_bounded, write_atomically,
    write_private,
};
pub use edit_policy::{EditPolicy, EditRules, HandEdit};
pub use events::{Event, EventStatus, operation_id};
pub use home::Home;
pub use judge::judged;
pub use library::upkeep::{
    EventsRepair, FolderPermissions, HeadFault, HistoryFault, JournalRepair, JournalState, LibraryNote, LostPart,
    ProposalFault, ProposalFaultKind, StateRepair, look_at_places, make_private,
};
pub use library::{
    ChangeDetection, Checkout, Collected, Commit, CommitBatch, CommitError, Committed, FindError, FolderEdit,
    FolderFiles, FolderState, FolderStatus, HandEditFault, HandEditMode, Head, Library, LibraryError, MovedFolder,
    Plans, Recovery, RelocateError, Relocation, Served, Sizes, SkillMdSummary, SkillSummary, Snapshot, SnapshotError,
    TakenBack, TemporaryKind, TrialEnd, Unreviewed, relocate, return_reason,
};
pub use links::{LinkChanges, LinkPlan, LinkTarget, Linker, LockLine, LockLines, Original};
pub use location::{Scope, real_path, resolve};
pub use lock::{LibraryLock, LockError};
pub use origin::{CommitId, Origin, OriginError, OriginFields, RegistryRelease, SourceDigest, SourceSkill};
pub use outcomes::{
    LARGEST_NUMBER, Outcome, OutcomeFault, OutcomeKind, OutcomeSource, OutcomeWriter, Outcomes, Recorded,
    SKILL_BYTES as OUTCOME_BYTES,
};
pub use path_access_error::PathAccessError;
pub use private::{make_dir_private, make_file_private};
pub use proposal_id::{ProposalId, ProposalIdError};
pub use proposals::{
    DamagedProposal, Evidence, EvidenceError, EvidenceKind, HeldChange, Proposal, ProposalChange, ProposalDecision,
    ProposalEntry, ProposalState, ProposedFile, ProposedRelease, StoredProposal, changed_files,
};
pub use reviewers::{Reviewers, ReviewersError, StoredReviewer};
pub use revision::{
    Acceptance, Action, Actor, ActorError, ActorKind, Content, EntryChange, NewRevision, Revision, RevisionId,
    RevisionSpec, RevisionSpecError, Stamp, StateBefore, SyncedRevision, Upstream,
};
pub use skill_change::{Denied, Permit, SkillChange};
pub use state::{SkillState, State, StateError, StoredReview, StoredWaiver};
pub use storage::{DamagedRevision, StorageError};
pub use system::System;
pub use toml_text::{from_toml, refuse_toml_flood, toml_dots};
pub use trials::{Arm, GATE, StoredSetBack, StoredTrial, TrialTerms};
pub use uses::{Use, UseKind, UseState};
pub use verdicts::Verdicts;
pub use watcher::Watcher;
