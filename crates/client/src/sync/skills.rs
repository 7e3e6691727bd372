//! [`Receiver`]: takes the revisions of other machines into the library, skill by skill.

use git2::{Oid, Repository, Sort};
use library::{
    Action, Actor, ActorKind, Commit, Content, HandEditMode, Library, NewRevision, Origin, Revision, RevisionId,
    Snapshot, SnapshotError, Stamp, SyncedRevision,
};
use skill::{
    Bundle, SkillName,
    merge::{self, Clashes, Merge, Rules},
    validate,
};

use super::{
    SyncChange, SyncError, SyncedSkill,
    conflict::{self, Resolution},
};

/// Limit of the number of new revisions of one skill.
const MOST_REVISIONS: usize = 200_000;

/// Number of decided conflicts of one skill that one sync takes up.
const MOST_DECISIONS: u32 = 8;

/// Takes revisions of other machines into a library.
pub(super) struct Receiver<'a> {
    pub library: &'a mut Library,
    pub repo: &'a Repository,
    pub stamp: &'a Stamp,
    pub dry_run: bool,
}

/// Result of comparing a skill with the remote's.
pub(super) enum Received {
    /// The library has all revisions of the remote.
    Nothing,
    /// The revision becomes the head.
    Commit(Commit, SyncedSkill),
    /// The skill stays as it is.
    Kept(SyncedSkill),
}

/// Both sides of a merge, with their common ancestor.
struct Sides<'a> {
    skill: &'a SkillName,
    ours: &'a Snapshot,
    head: &'a Revision,
    theirs: Revision,
    their_files: Bundle,
    base: Option<Revision>,
    base_files: Bundle,
}

impl Receiver<'_> {
    /// Compares a skill with the remote's newest revision and plans the change of its head.
    pub fn receive(&mut self, skill: &SkillName, remote: Oid) -> Result<Received, SyncError> {
        for _ in 0..MOST_DECISIONS {
            let head = self.library.head(skill)?;
            if let Some(head) = &head
                && self.contains(oid(&head.id)?, remote)?
            {
                return Ok(Received::Nothing);
            }
            let mode = if self.dry_run { HandEditMode::DryRun } else { HandEditMode::Commit };
            let ours = match self.library.snapshot(skill, self.stamp, mode) {
                Ok(ours) => ours,
                Err(SnapshotError::Library(error)) => return Err(error.into()),
                Err(SnapshotError::Storage(error)) => return Err(error.into()),
                Err(SnapshotError::Commit(error)) => return Err((*error).into()),
                Err(error) => return Ok(refused(skill, &error)),
            };
            let theirs = match self.checked_line(remote, ours.base.as_ref()) {
                Ok(theirs) => theirs,
                Err(SyncError::Library(error)) => return Ok(refused(skill, &error)),
                Err(error) => return Err(error),
            };
            let their_files = match self.library.bundle(&theirs.id) {
                Ok(files) => files,
                Err(error) => return Ok(refused(skill, &error)),
            };
            if theirs.digest != their_files.digest() || !theirs.was_cleared() {
                return Ok(refused(skill, &format!("revision {} has other files than it says", theirs.id.short())));
            }
            let Some(head) = ours.base.as_ref() else { return self.forward(skill, &ours, theirs, their_files) };
            if self.contains(remote, oid(&head.id)?)? {
                return self.forward(skill, &ours, theirs, their_files);
            }
            let (base, base_files) = self.base(oid(&head.id)?, remote)?;
            let sides = Sides { skill, ours: &ours, head, theirs, their_files, base, base_files };
            match self.merge(&sides)? {
                Some(received) => return Ok(received),
                None if self.dry_run => return Ok(Received::Nothing),
                None => {}
            }
        }
        Ok(refused(skill, &"too many conflicts were decided at once; run skillhub sync again"))
    }

    fn contains(&self, descendant: Oid, ancestor: Oid) -> Result<bool, SyncError> {
        Ok(descendant == ancestor || self.repo.graph_descendant_of(descendant, ancestor)?)
    }

    /// Reads the new revisions of a line. Each must be one that a library writes, with the next number.
    fn checked_line(&self, remote: Oid, known: Option<&Revision>) -> Result<Revision, SyncError> {
        let damaged = |what: String| SyncError::from(library::StorageError::Damaged(what));
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL)?;
        walk.push(remote)?;
        if let Some(known) = known {
            walk.hide(oid(&known.id)?)?;
        }
        for (place, id) in walk.enumerate() {
            let revision = self.library.revision(&revision_id(id?))?;
            let before = revision.parent.as_ref().map(|parent| self.library.revision(parent)).transpose()?;
            if revision.number != before.map_or(0, |before| before.number) + 1 {
                return Err(damaged(format!("revision {} has the wrong number {}", revision.id, revision.number)));
            }
            if place >= MOST_REVISIONS {
                return Err(damaged(format!("more than {MOST_REVISIONS} new revisions")));
            }
        }
        Ok(self.library.revision(&revision_id(remote))?)
    }

    fn base(&self, ours: Oid, theirs: Oid) -> Result<(Option<Revision>, Bundle), SyncError> {
        match self.repo.merge_base(ours, theirs) {
            Ok(id) => {
                let base = self.library.revision(&revision_id(id))?;
                let files = self.library.bundle(&base.id)?;
                Ok((Some(base), files))
            }
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok((None, Bundle::default())),
            Err(error) => Err(error.into()),
        }
    }

    /// Plans a head that is a descendant of the present one.
    fn forward(
        &self,
        skill: &SkillName,
        ours: &Snapshot,
        theirs: Revision,
        files: Bundle,
    ) -> Result<Received, SyncError> {
        match self.clear(skill, files, ours)? {
            Ok(content) => Ok(self.commit(skill, ours, theirs, content, SyncChange::Received)),
            Err(kept) => Ok(Received::Kept(kept)),
        }
    }

    /// Merges both lines. Returns `None` after a decided conflict was joined, so that the heads are compared again.
    fn merge(&mut self, sides: &Sides<'_>) -> Result<Option<Received>, SyncError> {
        for decided in conflict::decided(self.library, sides.skill)? {
            let theirs = oid(&decided.theirs)?;
            let is_part = self.repo.find_commit(theirs).is_ok() && self.contains(oid(&sides.theirs.id)?, theirs)?;
            if is_part && !self.contains(oid(&sides.head.id)?, theirs)? {
                return self.join_decided(sides, &decided);
            }
        }
        let [first, second] = ordered(sides.head, &sides.theirs);
        let is_ours_first = first.id == sides.head.id;
        let files = |is_ours: bool| if is_ours { &sides.ours.bundle } else { &sides.their_files };
        let bundles = [&sides.base_files, files(is_ours_first), files(!is_ours_first)];
        let merged = merge::merge(bundles[0], bundles[1], bundles[2], self.library.limits());
        let origin = merged_origin(sides);
        if let (Ok(Merge { bundle, conflicts }), Some(origin)) = (&merged, &origin)
            && conflicts.is_empty()
            && let Ok(content) = self.clear(sides.skill, bundle.clone(), sides.ours)?
        {
            return self.commit_join([first, second], content, origin.clone(), sides).map(Some);
        }
        // All machines merge in the same order. The message is about this machine's side.
        let [base, ours, theirs] = [&sides.base_files, files(true), files(false)];
        let why = match merge::merge(base, ours, theirs, self.library.limits()) {
            Ok(merged) => merged.conflicts.first().map(ToString::to_string),
            Err(error) => Some(error.to_string()),
        };
        self.hold(sides, &why.unwrap_or_else(|| "the merged skill cannot be used".to_owned())).map(Some)
    }

    /// Holds the other machine's changes as a proposal.
    fn hold(&mut self, sides: &Sides<'_>, why: &str) -> Result<Received, SyncError> {
        let rules = Rules { clashes: Clashes::Theirs, ..Rules::CAREFUL };
        let is_deletion = sides.their_files.is_empty() || sides.ours.bundle.is_empty();
        let bundles = [&sides.base_files, &sides.ours.bundle, &sides.their_files];
        let merged = merge::merge_by(&rules, bundles, self.library.limits()).ok().filter(|_| !is_deletion);
        let mut content = Err(None);
        for candidate in merged.map(|merged| merged.bundle).into_iter().chain([sides.their_files.clone()]) {
            content = self.clear(sides.skill, candidate, sides.ours)?.map_err(Some);
            if content.is_ok() {
                break;
            }
        }
        let content = match content {
            Ok(content) => content,
            Err(Some(kept)) => return Ok(Received::Kept(kept)),
            Err(None) => return Ok(Received::Nothing),
        };
        let proposal = match self.dry_run {
            true => None,
            false => {
                let (skill, theirs) = (sides.skill, &sides.theirs.id);
                Some(conflict::hold(self.library, skill, sides.ours, theirs, &content, why, self.stamp)?)
            }
        };
        let message = format!("changed on two machines: {why}");
        let row = SyncedSkill::of(sides.skill, SyncChange::Conflict, Some(sides.head));
        Ok(Received::Kept(SyncedSkill { message: Some(message), proposal, ..row }))
    }

    /// Joins both lines as a person decided. The other machine's changes count as merged.
    fn join_decided(&mut self, sides: &Sides<'_>, decided: &Resolution) -> Result<Option<Received>, SyncError> {
        let theirs = self.library.revision(&decided.theirs)?;
        let mut content = None;
        if !decided.is_accepted {
            let (_, base) = self.base(oid(&sides.head.id)?, oid(&theirs.id)?)?;
            let files = self.library.bundle(&theirs.id)?;
            let bundles = [&base, &sides.ours.bundle, &files];
            let is_deletion = bundles[1].is_empty() || bundles[2].is_empty();
            let merged = merge::merge_by(&Rules::CAREFUL, bundles, self.library.limits()).ok();
            if let Some(merged) = merged.filter(|_| !is_deletion) {
                content = self.clear(sides.skill, merged.bundle, sides.ours)?.ok();
            }
        }
        let content = match content {
            Some(content) => content,
            None => match self.clear(sides.skill, sides.ours.bundle.clone(), sides.ours)? {
                Ok(content) => content,
                Err(kept) => return Ok(Some(Received::Kept(kept))),
            },
        };
        if self.dry_run {
            return Ok(None);
        }
        let parents = ordered(sides.head, &theirs);
        match self.commit_join(parents, content, sides.head.origin.clone(), sides)? {
            Received::Commit(commit, _) => {
                self.library.commit(vec![commit])?;
                Ok(None)
            }
            other => Ok(Some(other)),
        }
    }

    /// Stores the revision that joins two lines, and plans it as the head.
    fn commit_join(
        &self,
        parents: [&Revision; 2],
        content: Content,
        origin: Option<Origin>,
        sides: &Sides<'_>,
    ) -> Result<Received, SyncError> {
        if self.dry_run {
            let row = SyncedSkill::of(sides.skill, SyncChange::Merged, Some(sides.head));
            return Ok(Received::Kept(row));
        }
        let time = parents[0].stamp.time.max(parents[1].stamp.time);
        let reason = format!("join revisions {} and {}", parents[0].id.short(), parents[1].id.short());
        let stamp = Stamp { reason: Some(reason), ..Stamp::new(Actor::new(ActorKind::External, "sync"), time) };
        let again = match &content {
            Content::Cleared(cleared) => Content::Cleared(cleared.clone()),
            Content::Captured(_) | Content::Tombstone => Content::Tombstone,
        };
        let joined = self.library.join(parents, again, origin, stamp)?;
        Ok(self.commit(sides.skill, sides.ours, joined, content, SyncChange::Merged))
    }

    fn commit(
        &self,
        skill: &SkillName,
        ours: &Snapshot,
        head: Revision,
        content: Content,
        change: SyncChange,
    ) -> Received {
        let row = SyncedSkill::of(skill, change, Some(&head));
        if self.dry_run {
            return Received::Kept(row);
        }
        let synced = Some(SyncedRevision::Head(head.id));
        let revision = NewRevision { synced, ..NewRevision::new(content, Action::Merge, self.stamp.clone()) };
        let base = ours.base.as_ref().map(|base| base.id.clone());
        let commit = Commit { skill: skill.clone(), base, revisions: vec![revision.with_origin(head.origin)] };
        Received::Commit(commit, row)
    }

    /// Clears files like those of any other change. The inner error is the row of a skill that stays as it is.
    fn clear(
        &self,
        skill: &SkillName,
        files: Bundle,
        ours: &Snapshot,
    ) -> Result<Result<Content, SyncedSkill>, SyncError> {
        if files.is_empty() {
            return Ok(Ok(Content::Tombstone));
        }
        if let Err(problems) = validate::load_bundle(&files, skill.as_str(), self.library.limits()) {
            let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
            return Ok(Err(SyncedSkill::kept(skill, SyncChange::Refused, format!("it is not a valid skill: {first}"))));
        }
        Ok(self.library.clear(skill, files, ours.baseline())?.map(Content::Cleared).map_err(|blocked| {
            let report = blocked.report().clone();
            let finding = report.findings.iter().max_by_key(|finding| finding.severity);
            let place = finding.map(|found| format!("{} in {}:{}", found.rule, found.path, found.line));
            let message = format!("the scanner blocks it: {}", place.unwrap_or_default());
            SyncedSkill { report: Some(report), ..SyncedSkill::kept(skill, SyncChange::Blocked, message) }
        }))
    }
}

fn refused(skill: &SkillName, error: &impl ToString) -> Received {
    Received::Kept(SyncedSkill::kept(skill, SyncChange::Refused, error.to_string()))
}

/// Orders two heads in the same way on every machine: the longer line first.
fn ordered<'r>(ours: &'r Revision, theirs: &'r Revision) -> [&'r Revision; 2] {
    let key = |revision: &Revision| (std::cmp::Reverse(revision.number), revision.id.clone());
    if key(ours) <= key(theirs) { [ours, theirs] } else { [theirs, ours] }
}

/// Merges the releases from which both sides derive. `None` if both changed it.
fn merged_origin(sides: &Sides<'_>) -> Option<Option<Origin>> {
    let (ours, theirs) = (&sides.head.origin, &sides.theirs.origin);
    let base = sides.base.as_ref().and_then(|base| base.origin.clone());
    match () {
        () if ours == theirs || *theirs == base => Some(ours.clone()),
        () if *ours == base => Some(theirs.clone()),
        () => None,
    }
}

pub(super) fn oid(id: &RevisionId) -> Result<Oid, SyncError> {
    Ok(Oid::from_str(id.as_str())?)
}

pub(super) fn revision_id(id: Oid) -> RevisionId {
    RevisionId::new(id.to_string())
}
