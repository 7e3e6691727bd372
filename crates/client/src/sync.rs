//! [`sync()`]: one library on all machines of a person, exchanged through a git repository.
//!
//! 1. `Remote::fetch` brings the branches of skills and machines into `refs/sync/` of the history, as one synced pack.
//! 2. `Receiver::receive` compares each skill with the remote. A head that contains the local one is taken; two lines
//!    are merged three ways from their common ancestor into a revision with two parents, which has the same id on each
//!    machine. What takes effect is cleared like every other content, and is one journal record for all skills.
//! 3. A conflict is a proposal (`conflict.rs`). The head stays until a person decides; then both lines are joined.
//! 4. `Exchange::exchange` applies the decisions of other machines and stores this one's (`machine.rs`).
//! 5. `Remote::push` pushes without force: the commit point on the remote. If another machine was faster, all of it runs
//!    again.
//!
//! A kill leaves unnamed objects, or heads that the remote does not have yet. The next sync continues from there.
//! Configuration, policy, waivers, keys and links never leave a machine.

mod conflict;
mod error;
mod machine;
mod remote;
mod settings;
mod skills;

use std::{collections::BTreeMap, path::Path};

use git2::{Oid, Repository};
use library::{CommitError, Library, ProposalId, Revision, RevisionId, Stamp};
use scan::Report;
use skill::SkillName;

pub use error::SyncError;
pub use machine::{CountRuns, RunCounts, RunsByRevision, runs_elsewhere};

use crate::git::pause;
use machine::Exchange;
use remote::{BranchUpdate, Pushed, Remote, local_heads};
use settings::SyncSettings;
use skills::{Received, Receiver};

/// Maximum number of attempts against other machines that push at the same time.
const ATTEMPTS: u32 = 20;

/// Request to synchronise a library.
pub struct SyncRequest<'a> {
    /// Location of the remote. `None` for the one that was used before.
    pub remote: Option<&'a str>,
    /// Folder to which a relative location refers.
    pub base: &'a Path,
    /// Person who synchronises, and the time.
    pub stamp: Stamp,
    /// Fetches and compares, and changes nothing.
    pub dry_run: bool,
    /// Counts the runs of a skill on this machine.
    pub count_runs: CountRuns<'a>,
}

/// Effect of a sync on a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncChange {
    /// The remote got revisions of this machine.
    Sent,
    /// The skill has the newest revision of another machine.
    Received,
    /// Changes of two machines were merged.
    Merged,
    /// Changes of two machines conflict, and wait for a person.
    Conflict,
    /// The received content is not a valid skill or history, or the skill's folder has an edit that is not.
    Refused,
    /// The scanner blocks the received content.
    Blocked,
}

impl SyncChange {
    /// Returns the word used in JSON and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
            Self::Merged => "merged",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
        }
    }
}

/// A skill that a sync changed, sent or left as it is.
#[derive(Debug, Clone)]
pub struct SyncedSkill {
    /// Name of the skill.
    pub skill: SkillName,
    /// Effect of the sync.
    pub change: SyncChange,
    /// Head afterwards, if it is known.
    pub revision: Option<RevisionId>,
    /// Number of that revision.
    pub number: Option<u64>,
    /// Proposal that waits for a decision.
    pub proposal: Option<ProposalId>,
    /// Reason, for a skill that stays as it is.
    pub message: Option<String>,
    /// Report of the scanner, if it blocks the content.
    pub report: Option<Report>,
}

impl SyncedSkill {
    fn of(skill: &SkillName, change: SyncChange, head: Option<&Revision>) -> Self {
        let (revision, number) = (head.map(|head| head.id.clone()), head.map(|head| head.number));
        Self { skill: skill.clone(), change, revision, number, proposal: None, message: None, report: None }
    }

    fn kept(skill: &SkillName, change: SyncChange, message: String) -> Self {
        Self { message: Some(message), ..Self::of(skill, change, None) }
    }
}

/// Result of a sync.
#[derive(Debug, Clone)]
pub struct Synced {
    /// URL or folder of the remote.
    pub remote: String,
    /// Name of this machine.
    pub machine: String,
    /// Number of machines that use the remote.
    pub machines: usize,
    /// Skills with a change, sorted by name.
    pub skills: Vec<SyncedSkill>,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
}

/// One attempt: what was received, and what is to be pushed.
#[derive(Default)]
struct Round {
    updates: Vec<BranchUpdate>,
    sent: Vec<SyncedSkill>,
    warnings: Vec<String>,
    machines: usize,
    /// Another process of this machine changed a skill at the same time.
    is_stale: bool,
}

/// Exchanges a library with its remote.
///
/// # Errors
/// [`SyncError`]. Received revisions stay, and the next sync continues.
pub fn sync(library: &mut Library, request: &SyncRequest<'_>) -> Result<Synced, SyncError> {
    let mut settings = SyncSettings::read(library)?;
    let location = request.remote.or(settings.remote.as_deref()).ok_or(SyncError::NoRemote)?.to_owned();
    let remote = Remote::open(&location, request.base, library.ensure_history()?)?;
    let repo = Repository::open_bare(library.history_path())?;
    let is_new = settings.remote.as_ref() != Some(&remote.url);
    if is_new {
        remote.check_purpose()?;
    }
    let before = settings.remote.clone().filter(|_| is_new && !request.dry_run);
    let moved = before.map(|before| format!("the library's remote is now {}; it was {before}", remote.url));
    let mut rows = BTreeMap::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            pause(attempt);
        }
        remote.fetch()?;
        if settings.remote.as_ref() != Some(&remote.url) && !request.dry_run {
            settings.remote = Some(remote.url.clone());
            settings.write(library)?;
        }
        let round = round(library, &remote, &repo, &settings, request, &mut rows)?;
        let is_done = request.dry_run || (!round.is_stale && remote.push(&round.updates)? == Pushed::Landed);
        if is_done {
            for row in round.sent {
                rows.entry(row.skill.clone()).or_insert(row);
            }
            let warnings = moved.into_iter().chain(round.warnings).collect();
            let (skills, machines) = (rows.into_values().collect(), round.machines);
            return Ok(Synced { remote: remote.url, machine: settings.machine, machines, skills, warnings });
        }
    }
    Err(SyncError::Busy { remote: remote.url, attempts: ATTEMPTS })
}

fn round(
    library: &mut Library,
    remote: &Remote,
    repo: &Repository,
    settings: &SyncSettings,
    request: &SyncRequest<'_>,
    rows: &mut BTreeMap<SkillName, SyncedSkill>,
) -> Result<Round, SyncError> {
    let (skills, machines) = (remote.skills(repo)?, remote.machines(repo)?);
    let mut round = Round { is_stale: !receive(library, repo, &skills, request, rows)?, ..Round::default() };
    round.machines = machines.len() + usize::from(!machines.contains_key(&settings.machine));
    if round.is_stale {
        return Ok(round);
    }
    let stamp = &request.stamp;
    if !request.dry_run {
        let mut exchange = Exchange { library, repo, settings, stamp, count_runs: request.count_runs };
        let (state, warnings) = exchange.exchange(&machines)?;
        round.warnings = warnings;
        let branch = format!("machines/{}", settings.machine);
        round.updates.extend(state.map(|commit| BranchUpdate { branch, commit }));
    }
    for (skill, head) in local_heads(repo)? {
        let is_newer = match skills.get(&skill) {
            None => true,
            Some(theirs) => *theirs != head && repo.graph_descendant_of(head, *theirs)?,
        };
        if is_newer {
            let head_revision = library.revision(&skills::revision_id(head))?;
            round.sent.push(SyncedSkill::of(&skill, SyncChange::Sent, Some(&head_revision)));
            round.updates.push(BranchUpdate { branch: format!("skills/{skill}"), commit: head });
        }
    }
    Ok(round)
}

/// Takes the revisions of other machines, as one operation. Returns false if another process changed a skill meanwhile.
fn receive(
    library: &mut Library,
    repo: &Repository,
    skills: &BTreeMap<SkillName, Oid>,
    request: &SyncRequest<'_>,
    rows: &mut BTreeMap<SkillName, SyncedSkill>,
) -> Result<bool, SyncError> {
    let (stamp, dry_run) = (&request.stamp, request.dry_run);
    let (mut commits, mut new) = (Vec::new(), Vec::new());
    let mut receiver = Receiver { library, repo, stamp, dry_run };
    for (skill, theirs) in skills {
        match receiver.receive(skill, *theirs) {
            Ok(Received::Nothing) => {}
            Ok(Received::Kept(row)) => new.push(row),
            Ok(Received::Commit(commit, row)) => {
                commits.push(commit);
                new.push(row);
            }
            Err(SyncError::Commit(CommitError::Stale { .. })) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    if !commits.is_empty() {
        match library.commit(commits) {
            Ok(_) => {}
            Err(CommitError::Stale { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    rows.extend(new.into_iter().map(|row| (row.skill.clone(), row)));
    Ok(true)
}
