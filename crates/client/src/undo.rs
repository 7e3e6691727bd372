//! [`undo`]: reverses the last operation on a library, including links and the lock file.
//!
//! An operation is everything that one command did: its revisions, the links that it created and its lines in the lock
//! file. Undoing is an operation itself, so that it can be undone in turn. No revision is ever removed from a history.

mod error;
mod last_operation;
mod operations;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use library::{
    Action, AgentDir, Checkout, Commit, CommitBatch, CommitError, Committed, Content, Event, FolderState, Library,
    LinkChanges, LinkPlan, LinkTarget, LockLine, LockLines, NewRevision, Origin, Permit, Plans, Revision, RevisionId,
    SkillChange, SkillState, Stamp, State, StateBefore, interrupt::Section,
};
use scan::{Baseline, Cleared, Verdict};
use serde::Serialize;
use skill::{
    Bundle, SkillName,
    diff::{self, BundleDiff},
};

pub use error::UndoError;
pub use last_operation::undo_reason;
use last_operation::{LastOperation, SkillChanges, UNDO, log_of};
use operations::OperationsSince;
pub use operations::{Operation, START, operations};

use crate::lock_file::{LastRead, LockFile, LockedSkill, line_of, write_pending_lines_into};

/// Result of an undo.
#[derive(Debug)]
pub struct Undone {
    /// Action that was undone, as named in the log, such as `update`, `patch` or `disable`.
    pub action: String,
    /// Time of the operation, RFC 3339 in UTC.
    pub time: String,
    /// Actor of the operation, as `kind:id`.
    pub actor: String,
    /// Result for each skill of the operation.
    pub skills: Vec<UndoneSkill>,
    /// The undone operations, newest first, if there were several.
    pub operations: Vec<Operation>,
}

/// State of a skill after the undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoStatus {
    /// The skill has its previous content again.
    Restored,
    /// The operation had added the skill, which is removed again.
    Removed,
    /// The skill is visible to agents again.
    Enabled,
    /// The skill is hidden from agents again.
    Disabled,
}

/// Result of an undo for one skill.
#[derive(Debug)]
pub struct UndoneSkill {
    /// Name of the skill.
    pub name: SkillName,
    /// State after the undo.
    pub status: UndoStatus,
    /// Head after the undo.
    pub revision: Option<RevisionId>,
    /// Head before the undo.
    pub previous: Option<RevisionId>,
    /// Difference between its files before and after the undo.
    pub change: BundleDiff,
    /// Paths of links that were created again.
    pub placed: Vec<PathBuf>,
    /// Paths of links and copies that were removed.
    pub removed: Vec<PathBuf>,
    /// Paths of originals that were moved back.
    pub restored: Vec<PathBuf>,
    /// Problems that did not stop the undo, one sentence each.
    pub warnings: Vec<String>,
    /// Reason why the folder does not have the files of the revision yet.
    pub checkout_pending: Option<String>,
}

/// A skill to be restored to an earlier state.
struct PlannedRestore<'a> {
    of: SkillChanges<'a>,
    /// Current head; `None` if the operation only changed settings and the skill has no history.
    head: Option<Revision>,
    /// Files of the current head.
    now: Bundle,
    /// Files to restore, with their revision; `None` if the skill is to be removed.
    then: Option<(Revision, Cleared)>,
}

/// Undoes the last operation of a library.
///
/// # Errors
/// [`UndoError`]; nothing has changed then.
pub fn undo(
    library: &mut Library,
    lock_path: &Path,
    stamp: &Stamp,
    permit: &Permit<'_>,
    dry_run: bool,
) -> Result<Undone, UndoError> {
    let events = log_of(library)?;
    let last = LastOperation::of(&events).ok_or(UndoError::Nothing)?;
    carry_out(library, &last, lock_path, stamp, permit, dry_run)
}

/// Undoes everything after an operation, as a single operation. Each skill returns to its state after that operation,
/// in one commit. Returns `None` if nothing was done after it.
///
/// # Errors
/// [`UndoError`]; nothing has changed then.
pub fn undo_to(
    library: &mut Library,
    id: &str,
    lock_path: &Path,
    stamp: &Stamp,
    permit: &Permit<'_>,
    dry_run: bool,
) -> Result<Option<Undone>, UndoError> {
    let events = log_of(library)?;
    let OperationsSince { all, operations } = OperationsSince::of(&events, id)?;
    let Some(all) = all else { return Ok(None) };
    let undone = carry_out(library, &all, lock_path, stamp, permit, dry_run)?;
    Ok(Some(Undone { operations, ..undone }))
}

fn carry_out(
    library: &mut Library,
    last: &LastOperation<'_>,
    lock_path: &Path,
    stamp: &Stamp,
    permit: &Permit<'_>,
    dry_run: bool,
) -> Result<Undone, UndoError> {
    let lock = LastRead::of(lock_path)?;
    let planned = last.skills().into_iter().map(|of| plan(library, of, last.is_several(), stamp, permit));
    let mut planned = planned.collect::<Result<Vec<_>, _>>()?;
    if last.is_several() {
        let state = library.state()?;
        planned.retain(|planned| planned.changes(&state) || planned.has_kept_originals(library));
    }
    // Everything that follows the commit is part of the same uninterruptible section.
    let _whole = Section::enter().map_err(CommitError::from)?;
    let stamp = Stamp { reason: Some(last.reason()), ..stamp.clone() };
    let locked = lock.by_bare_name();
    let commits: Vec<Commit> = planned.iter().filter_map(|planned| planned.commit(&locked, &stamp)).collect();
    let mut skills: Vec<UndoneSkill> = planned.iter().map(PlannedRestore::outcome).collect();
    if !dry_run {
        let plans = Plans { links: links_of(library, &planned), lock_lines: lock_lines(&planned, &lock, lock_path)? };
        plans.lock_lines.iter().try_for_each(|lines| lock.check_room(lines))?;
        let links = plans.links.clone();
        let batch = CommitBatch { commits, plans, ..CommitBatch::default() };
        let committed = if batch.commits.is_empty() { Vec::new() } else { library.commit(batch)? };
        let committed: BTreeMap<_, _> = committed.iter().map(|committed| (&committed.skill, committed)).collect();
        for (planned, outcome) in planned.iter().zip(&mut skills) {
            outcome.follow(committed.get(&planned.of.name).copied());
            planned.follow(library, outcome);
        }
        let links = links.into_iter().filter(|(name, _)| !committed.contains_key(name)).collect();
        restore_settings(library, &stamp, &planned, links, &mut skills);
        refresh_lock(library, lock, &mut skills);
    }
    let Event { action, time, actor, .. } = last.told;
    let (action, time, actor) = (action.clone(), time.clone(), actor.clone());
    Ok(Undone { action, time, actor, skills, operations: Vec::new() })
}

/// Checks whether a skill can be restored, and plans it.
fn plan<'a>(
    library: &Library,
    of: SkillChanges<'a>,
    is_several: bool,
    stamp: &Stamp,
    permit: &Permit<'_>,
) -> Result<PlannedRestore<'a>, UndoError> {
    let name = &of.name;
    library.check_pinned(name, &stamp.actor)?;
    library.check_may_restore_state(name, of.state_before(), &stamp.actor)?;
    let head = library.head(name)?;
    let now = head.as_ref().map(|head| library.bundle(&head.id)).transpose()?.unwrap_or_default();
    let Some(revision) = of.revision() else { return Ok(PlannedRestore { head, now, then: None, of }) };
    let head = head.filter(|head| head.id == *revision).ok_or_else(|| UndoError::Moved(name.clone()))?;
    match library.folder_state(name)? {
        FolderState::Modified(_) | FolderState::Blocked(_) if !head.tombstone => {
            return Err(UndoError::HandEdited(name.clone()));
        }
        FolderState::Earlier { revision, .. } => {
            return Err(UndoError::Earlier { name: name.clone(), at: revision.number, head: head.number });
        }
        _ => {}
    }
    // After a merge of two machines, the head before is its second parent, which has no number in the history.
    let mut before = of.previous().map(|id| library.revision(id)).transpose()?;
    while let Some(Revision { parent: Some(parent), .. }) =
        before.as_ref().filter(|before| is_several && !before.was_cleared())
    {
        // A blocked edit that was captured in between was not the result of an operation.
        before = Some(library.revision(parent)?);
    }
    let then = match before.filter(|before| !before.tombstone) {
        Some(before) => {
            let files = library.bundle(&before.id)?;
            library.check_taken_back(name, &files, &stamp.actor)?;
            let baseline = if head.tombstone { Baseline::None } else { Baseline::Cleared(&now) };
            let cleared = library
                .clear(name, files, baseline)?
                .map_err(|blocked| UndoError::Blocked { name: name.clone(), blocked })?;
            if !before.was_cleared() {
                return Err(UndoError::Captured { name: name.clone(), number: before.number });
            }
            Some((before, cleared))
        }
        None => None,
    };
    let after = then.as_ref().map(|(_, cleared)| cleared.bundle().clone()).unwrap_or_default();
    let planned = PlannedRestore { head: Some(head), now, then, of };
    permit(&SkillChange {
        skill: &planned.of.name,
        action: planned.action(),
        origin: planned.origin(),
        before: &planned.now,
        after: &after,
        verdict: planned.then.as_ref().map_or(Verdict::Allow, |(_, cleared)| cleared.report().new_verdict()),
    })?;
    Ok(planned)
}

impl PlannedRestore<'_> {
    /// Returns whether the skill differs from its target state. Operations may already have undone each other.
    fn changes(&self, state: &State) -> bool {
        let of_skill = state.of(&self.of.name);
        let before = self.of.state_before();
        let is_as_before = of_skill.enabled == before.enabled && of_skill.hidden_in == before.hidden_in;
        if !is_as_before || of_skill.placed != before.placed {
            return true;
        }
        match (&self.then, &self.head) {
            _ if self.of.revision().is_none() => false,
            (None, head) => head.as_ref().is_some_and(|head| !head.tombstone),
            (Some((before, cleared)), Some(head)) => {
                head.tombstone || cleared.digest() != self.now.digest() || before.origin != head.origin
            }
            (Some(_), None) => true,
        }
    }

    /// Returns whether originals are still kept that should return with the removal of the skill, because an earlier
    /// undo could not move them.
    fn has_kept_originals(&self, library: &Library) -> bool {
        self.then.is_none() && self.of.originals().iter().any(|original| library.keeps_original(original))
    }

    /// Returns whether an earlier undo already deleted the skill.
    fn is_deleted(&self) -> bool {
        self.then.is_none() && self.head.as_ref().is_some_and(|head| head.tombstone)
    }

    fn origin(&self) -> Option<&Origin> {
        self.head.as_ref()?.origin.as_ref()
    }

    fn action(&self) -> Action {
        match (&self.then, self.origin()) {
            (Some(_), _) => Action::Rollback,
            (None, Some(_)) => Action::Uninstall,
            (None, None) => Action::Delete,
        }
    }

    /// Builds the commit that restores the skill; `None` if only settings change.
    fn commit(&self, locked: &BTreeMap<&str, &LockedSkill>, stamp: &Stamp) -> Option<Commit> {
        self.of.revision().filter(|_| !self.is_deleted())?;
        let (content, origin) = match &self.then {
            Some((before, cleared)) => (Content::Cleared(cleared.clone()), before.origin.clone()),
            None => (Content::Tombstone, self.origin().cloned()),
        };
        let revision = NewRevision::new(content, self.action(), stamp.clone()).with_origin(origin);
        let lock = locked.get(self.of.name.as_str()).copied().map(LockFile::text_of);
        let before = Some(StateBefore { lock, ..StateBefore::default() });
        let revisions = vec![NewRevision { before, ..revision }];
        Some(Commit { skill: self.of.name.clone(), base: self.head_id(), revisions })
    }

    fn head_id(&self) -> Option<RevisionId> {
        self.head.as_ref().map(|head| head.id.clone())
    }

    fn outcome(&self) -> UndoneSkill {
        let after = self.then.as_ref().map(|(_, cleared)| cleared.bundle().clone());
        let (status, after) = match (self.of.revision(), after) {
            (Some(_), Some(after)) => (UndoStatus::Restored, after),
            (Some(_), None) => (UndoStatus::Removed, Bundle::default()),
            (None, _) if self.of.was_enabled() => (UndoStatus::Enabled, self.now.clone()),
            (None, _) => (UndoStatus::Disabled, self.now.clone()),
        };
        UndoneSkill {
            name: self.of.name.clone(),
            status,
            revision: self.head_id(),
            previous: self.head_id(),
            change: diff::diff(&self.now, &after),
            placed: Vec::new(),
            removed: Vec::new(),
            restored: Vec::new(),
            warnings: Vec::new(),
            checkout_pending: None,
        }
    }

    /// Restores an unmanaged folder that was at this path before.
    fn follow(&self, library: &Library, outcome: &mut UndoneSkill) {
        let name = &self.of.name;
        if self.of.before().is_some_and(|before| before.in_place)
            && self.then.is_none()
            && !self.is_deleted()
            && let Err(why) = self.put_folder_back(library)
        {
            outcome.warnings.push(format!(
                "its folder was not restored: {why}; to write it again, run: skillhub rollback {name} head"
            ));
        }
    }

    /// Plans the links as they were before the operation, and the return of the originals that it replaced.
    fn links(&self, state: &State) -> LinkPlan {
        let (before, now) = (self.of.state_before(), state.of(&self.of.name));
        let of_others = self.of.before().map(|before| before.linked.clone()).unwrap_or_default();
        let removed = now.placed.iter().filter(|path| !before.placed.contains(path) && !of_others.contains(path));
        let is_there = self.then.is_some() || self.of.revision().is_none();
        // A link that the operation did not change is left alone, also if it was removed by hand.
        let is_gone = |path: &&PathBuf| !now.enabled || !now.placed.contains(path);
        let shown = before.placed.iter().filter(|_| before.enabled && is_there).filter(is_gone);
        let targets = shown.filter_map(|path| Some(LinkTarget { replaces: true, ..LinkTarget::link(path.parent()?) }));
        LinkPlan { targets: targets.collect(), removed: removed.cloned().collect(), restored: self.of.originals() }
    }

    /// Returns the earlier entry of the lock file, and the removal of the current one if its name differs.
    fn lock_lines(&self, locked: &BTreeMap<&str, &LockedSkill>, lock_path: &Path) -> Result<Vec<LockLine>, UndoError> {
        // An adoption changes no entry, so an entry that differs since came otherwise.
        let Some(before) = self.of.before().filter(|_| !self.of.is_adoption()) else { return Ok(Vec::new()) };
        let entry = before.lock.as_deref().map(|text| LockFile::parse(text, lock_path)).transpose()?;
        let entry = entry.as_ref().and_then(|file| file.skills().next());
        let gone = locked.get(self.of.name.as_str()).filter(|now| entry.is_none_or(|entry| entry.name() != now.name()));
        let gone = gone.map(|now| LockLine { name: now.name(), text: None });
        Ok(gone.into_iter().chain(entry.map(line_of)).collect())
    }

    /// Writes the files of a folder that was unmanaged before the operation.
    fn put_folder_back(&self, library: &Library) -> Result<(), String> {
        let files = library.clear(&self.of.name, self.now.clone(), Baseline::Cleared(&self.now));
        let files = files.map_err(|error| error.to_string())?.map_err(|blocked| blocked.to_string())?;
        let dir = AgentDir::create(library.path()).map_err(|error| error.to_string())?;
        dir.place_copy(&self.of.name, &files).map(drop).map_err(|error| error.to_string())
    }
}

fn links_of(library: &Library, planned: &[PlannedRestore<'_>]) -> BTreeMap<SkillName, LinkPlan> {
    let state = library.state().unwrap_or_default();
    planned.iter().map(|planned| (planned.of.name.clone(), planned.links(&state))).collect()
}

fn lock_lines(planned: &[PlannedRestore<'_>], lock: &LockFile, path: &Path) -> Result<Option<LockLines>, UndoError> {
    let locked = lock.by_bare_name();
    let mut entries = Vec::new();
    for planned in planned {
        entries.extend(planned.lock_lines(&locked, path)?);
    }
    let lines = LockLines { path: path.to_owned(), entries };
    Ok(Some(lines).filter(|lines| !lines.entries.is_empty() && path.to_str().is_some()))
}

/// Restores the settings of the skills, and the links of skills without a commit.
fn restore_settings(
    library: &Library,
    stamp: &Stamp,
    planned: &[PlannedRestore<'_>],
    plans: BTreeMap<SkillName, LinkPlan>,
    skills: &mut [UndoneSkill],
) {
    let before: BTreeMap<_, _> = planned.iter().map(|planned| (&planned.of.name, planned.of.state_before())).collect();
    let nothing = LinkPlan::default();
    let links: Vec<_> = before.keys().map(|name| (*name, plans.get(name).unwrap_or(&nothing))).collect();
    let restore = |name: &SkillName, state: &mut SkillState| {
        let Some(before) = before.get(name) else { return };
        state.enabled = before.enabled;
        state.hidden_in = before.hidden_in.clone();
        state.disabled_by = before.disabled_by.clone();
    };
    let linked = library.link_all(&links, stamp, UNDO, restore);
    let changes: BTreeMap<_, _> = links.iter().map(|(name, _)| *name).zip(linked.iter().flatten()).collect();
    for skill in skills {
        skill.warnings.extend(
            linked.as_ref().err().map(|error| format!("the settings of {} were not restored: {error}", skill.name)),
        );
        if let Some(changes) = changes.get(&skill.name) {
            skill.linked(changes);
        }
    }
}

/// Writes the pending lines of the lock file and updates the entries to the heads.
fn refresh_lock(library: &Library, file: LastRead, skills: &mut [UndoneSkill]) {
    let path = file.path().to_owned();
    let written = write_pending_lines_into(Some(file), library);
    let names = skills.iter().map(|skill| &skill.name);
    let refreshed = written.and_then(|()| LockFile::refresh_all(&path, library, names).map(drop));
    if let (Err(error), Some(last)) = (refreshed, skills.last_mut()) {
        last.warnings.push(format!("the lock file was not written: {error}"));
    }
}

impl UndoneSkill {
    fn linked(&mut self, changes: &LinkChanges) {
        self.placed.extend(changes.placed.iter().cloned());
        self.removed.extend(changes.removed.iter().cloned());
        self.restored.extend(changes.restored.iter().cloned());
        self.warnings.extend(changes.warnings.iter().cloned());
    }

    fn follow(&mut self, committed: Option<&Committed>) {
        let Some(committed) = committed else { return };
        self.linked(&committed.links);
        self.revision = Some(committed.revision.id.clone());
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.warnings.push(format!("a hand edit made at the same moment was kept as revision {}", id.short()));
            }
            Checkout::Pending(why) => self.checkout_pending = Some(why.clone()),
        }
    }
}
