//! Links in agents' folders: planned before the journal record of a commit is written, applied after the checkout,
//! and applied again by recovery if the process was killed in between.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use scan::Baseline;
use skill::{Bundle, SkillName};

use super::{
    Library, LibraryError,
    commit::{Committed, Part},
    commit_batch::LinkPlans,
    skill_states::check_may_show,
};
use crate::{
    agent_dir::{AgentDir, AgentLink, AgentLinkError},
    events::{self, Event, operation_id},
    folder::{self, ToolFiles},
    journal::Record,
    links::{LinkAction, LinkChanges, LinkPlan, LinkStep, LinkTarget, Original},
    lock::LockedDir,
    originals,
    revision::{Action, Content, Revision, Stamp, StateBefore},
    state::{SkillState, State},
    system::System,
};

/// Number of revisions that are compared with a copy or an original, newest first.
const REVISIONS_COMPARED: usize = 100;

impl Library {
    /// Changes links of an existing skill. A failed step becomes a warning.
    ///
    /// # Errors
    /// The library's state cannot be read or written, or the lock cannot be taken.
    pub fn link(
        &self,
        skill: &SkillName,
        plan: &LinkPlan,
        stamp: &Stamp,
        action: &str,
        change: impl Fn(&mut SkillState),
    ) -> Result<LinkChanges, LibraryError> {
        let changes = self.link_all(&[(skill, plan)], stamp, action, |_, state| change(state))?;
        Ok(changes.into_iter().next().unwrap_or_default())
    }

    /// Changes links of several skills like [`Library::link`], with the number of syncs of one.
    ///
    /// # Errors
    /// The library's state cannot be read or written, or the lock cannot be taken.
    pub fn link_all(
        &self,
        links: &[(&SkillName, &LinkPlan)],
        stamp: &Stamp,
        action: &str,
        change: impl Fn(&SkillName, &mut SkillState),
    ) -> Result<Vec<LinkChanges>, LibraryError> {
        let own = self.locked()?;
        // The decision is recorded first. A process that is killed before it removes a link then leaves a link that
        // the next command removes.
        let nothing = LinkChanges::default();
        let decided: Vec<_> = links.iter().map(|(skill, _)| Noted::of(skill, &nothing, stamp)).collect();
        self.note_links(&own, decided, action, change)?;
        let operation = operation_id(stamp);
        let carry_out = |(skill, plan): &(&SkillName, &LinkPlan)| {
            self.carry_out_links(&own, skill, &steps_of(skill, plan, &operation))
        };
        let changes: Vec<LinkChanges> = links.iter().map(carry_out).collect();
        let noted = links.iter().zip(&changes).map(|((skill, _), changes)| {
            let before = StateBefore { originals: changes.originals.clone(), ..StateBefore::default() };
            let before = Some(before).filter(|before| *before != StateBefore::default());
            Noted { before, ..Noted::of(skill, changes, stamp) }
        });
        self.note_links(&own, noted.collect(), action, |_, _| {})?;
        Ok(changes)
    }

    /// Returns whether an original is still in the home.
    pub fn keeps_original(&self, original: &Original) -> bool {
        let own = crate::disk::open_dir(self.own_path()).ok().flatten();
        own.is_some_and(|own| own.symlink_metadata(&original.kept).is_ok())
    }

    /// Returns the contents that a skill had, newest first.
    pub fn former_contents(&self, skill: &SkillName) -> impl Iterator<Item = Bundle> {
        self.contents_of(self.revisions(skill, REVISIONS_COMPARED).unwrap_or_default())
    }

    /// Returns the contents that a skill had since it was last added, newest first. Earlier ones may be of another skill
    /// of that name, such as the user's own after its adoption was undone.
    pub fn contents_since_added(&self, skill: &SkillName) -> impl Iterator<Item = Bundle> {
        let mut revisions = self.revisions(skill, REVISIONS_COMPARED).unwrap_or_default();
        // A rollback of a deletion continues the earlier line.
        let is_added =
            |pair: &[Revision]| matches!(pair, [newer, older] if older.tombstone && newer.action != Action::Rollback);
        if let Some(first) = revisions.windows(2).position(is_added) {
            revisions.truncate(first + 1);
        }
        self.contents_of(revisions)
    }

    fn contents_of(&self, revisions: Vec<Revision>) -> impl Iterator<Item = Bundle> {
        let held = revisions.into_iter().filter(|revision| !revision.tombstone);
        held.filter_map(|revision| self.bundle(&revision.id).ok())
    }

    /// Plans the links of each skill and records in its event the originals that they replace.
    pub(super) fn plan_links(
        &self,
        own: &Dir,
        parts: &mut [Part],
        mut plans: LinkPlans,
        operation: &str,
        record: &mut Record,
    ) -> Result<(), LibraryError> {
        if parts.is_empty() {
            return Ok(());
        }
        let state = State::read(own)?;
        let places = record.events.iter().enumerate().map(|(place, event)| (event.skill.clone(), place));
        let last: BTreeMap<String, usize> = places.collect();
        for part in parts {
            let plan = plans.remove(&part.skill);
            let is_new = part.head.as_ref().is_none_or(|head| head.tombstone);
            let in_use = if plan.is_some() || is_new { self.folders_in_use(&part.skill) } else { Vec::new() };
            let set = state.of(&part.skill);
            part.links = Self::link_steps(part, plan, &set, &in_use, operation);
            record.links.extend(part.links.iter().cloned());
            let (originals, linked) = self.found_by(&part.links, &set);
            let event = last.get(part.skill.as_str()).and_then(|place| record.events.get_mut(*place));
            if let Some(event) = event.filter(|_| !originals.is_empty() || !linked.is_empty()) {
                let before = event.before.get_or_insert_with(StateBefore::default);
                (before.originals, before.linked) = (originals, linked);
            }
        }
        Ok(())
    }

    /// Finds originals at the paths of new links, and existing links to the skill that somebody else created.
    fn found_by(&self, steps: &[LinkStep], set: &SkillState) -> (Vec<Original>, Vec<PathBuf>) {
        let (mut originals, mut linked) = (Vec::new(), Vec::new());
        for step in steps.iter().filter(|step| places(step)) {
            let Ok(skill) = SkillName::parse(&step.skill) else { continue };
            let Some(Ok(Some(dir))) = step.path.parent().map(AgentDir::open) else { continue };
            match (dir.shows(&skill, self.path()), &step.original) {
                (true, _) if !set.placed.contains(&step.path) => linked.push(step.path.clone()),
                (false, Some(kept)) if dir.holds(&skill) => {
                    originals.push(Original { path: step.path.clone(), kept: kept.clone() });
                }
                _ => {}
            }
        }
        (originals, linked)
    }

    /// Records the links that skills got after their checkout, each with the stamp of its commit.
    pub(super) fn note_followed(&self, own: &LockedDir, committed: &mut [Committed], stamps: &[Stamp]) {
        let is_linked = |committed: &Committed| committed.links != LinkChanges::default();
        let linked = committed.iter().zip(stamps).filter(|(committed, _)| is_linked(committed));
        let noted = linked.map(|(committed, stamp)| Noted::of(&committed.skill, &committed.links, stamp));
        if let Err(error) = self.note_links(own, noted.collect(), "link", |_, _| {}) {
            for committed in committed.iter_mut().filter(|committed| is_linked(committed)) {
                committed.links.warnings.push(format!("the links of {} were not recorded: {error}", committed.skill));
            }
        }
    }

    /// Returns the link steps for one skill of a commit: planned steps, links of a new skill, updates of copies to
    /// the new content, and removal of the links of a deleted skill.
    fn link_steps(
        part: &Part,
        plan: Option<LinkPlan>,
        set: &SkillState,
        in_use: &[LinkTarget],
        operation: &str,
    ) -> Vec<LinkStep> {
        let existed = part.head.as_ref().is_some_and(|head| !head.tombstone);
        let exists = !matches!(part.last.content, Content::Tombstone);
        let plan = plan.unwrap_or_else(|| match (existed, exists) {
            (false, true) if set.enabled => LinkPlan { targets: shown_in(in_use, set), ..LinkPlan::default() },
            (_, false) => LinkPlan { removed: set.placed.clone(), ..LinkPlan::default() },
            _ => LinkPlan::default(),
        });
        let mut plan = plan;
        for target in &mut plan.targets {
            target.copy |= in_use.iter().any(|known| known.folder == target.folder && known.copy);
        }
        let mut steps = steps_of(&part.skill, &plan, operation);
        if existed && exists {
            let is_named = |path: &PathBuf| steps.iter().any(|step| step.path == *path);
            let others: Vec<_> = set.placed.iter().filter(|path| !is_named(path) && is_folder(path)).cloned().collect();
            steps.extend(others.into_iter().filter_map(|path| step(&part.skill, path, LinkAction::Renew, None)));
        }
        steps
    }

    /// Returns the folders of the agents in use, in which a new skill is linked.
    fn folders_in_use(&self, skill: &SkillName) -> Vec<LinkTarget> {
        self.linker.as_ref().map(|linker| linker.targets(&self.path, skill)).unwrap_or_default()
    }

    /// Applies the link steps of one skill. The caller has checked out the head.
    pub(super) fn carry_out_links(&self, own: &LockedDir, skill: &SkillName, steps: &[LinkStep]) -> LinkChanges {
        let mut changes = LinkChanges::default();
        for step in steps.iter().filter(|step| step.skill == skill.as_str()) {
            let done = match is_restored(own, steps, step) {
                true => self.remove_link_alone(skill, step, &mut changes),
                false => self.carry_out_link(own, skill, step, &mut changes),
            };
            if let Err(error) = done {
                changes.warnings.push(error.to_string());
            }
        }
        changes
    }

    /// Removes a link but not a copy, since the folder may be a restored original.
    fn remove_link_alone(
        &self,
        skill: &SkillName,
        step: &LinkStep,
        changes: &mut LinkChanges,
    ) -> Result<(), AgentLinkError> {
        self.point_link(skill, &step.path, None)?;
        if let Some(dir) = step.path.parent().map(AgentDir::open).transpose()?.flatten() {
            dir.remove_link(skill, &self.path)?;
        }
        changes.removed.push(step.path.clone());
        Ok(())
    }

    fn carry_out_link(
        &self,
        own: &LockedDir,
        skill: &SkillName,
        step: &LinkStep,
        changes: &mut LinkChanges,
    ) -> Result<(), AgentLinkError> {
        let Some(folder) = step.path.parent() else { return Ok(()) };
        self.point_link(skill, &step.path, None)?;
        let dir = match step.action {
            LinkAction::Link | LinkAction::Copy => AgentDir::create(folder)?,
            _ => match AgentDir::open(folder)? {
                Some(dir) => dir,
                None => {
                    changes.absent.extend((step.action == LinkAction::Remove).then(|| step.path.clone()));
                    changes.hidden.extend((step.action == LinkAction::Hide).then(|| step.path.clone()));
                    return Ok(());
                }
            },
        };
        match step.action {
            LinkAction::Link => {
                self.clear_place(own, &dir, skill, step, changes)?;
                self.link_in(&dir, skill)?;
                changes.placed.push(step.path.clone());
            }
            LinkAction::Copy => {
                self.clear_place(own, &dir, skill, step, changes)?;
                dir.remove_link(skill, &self.path)?;
                self.place_copy(&dir, skill)?;
                changes.placed.push(step.path.clone());
            }
            LinkAction::Hide => {
                self.clear_place(own, &dir, skill, step, changes)?;
                match dir.remove_link(skill, &self.path)? || !dir.holds(skill) {
                    true => changes.hidden.push(step.path.clone()),
                    false if dir.is_library(&self.path) || dir.shows(skill, &self.path) => {
                        changes.placed.push(step.path.clone());
                    }
                    false => return Err(AgentLinkError::Occupied(step.path.clone())),
                }
            }
            LinkAction::Renew => {
                if self.remove_copy(&dir, skill)? {
                    self.place_copy(&dir, skill)?;
                }
            }
            LinkAction::Remove => match dir.remove_link(skill, &self.path)? || self.remove_copy(&dir, skill)? {
                true => changes.removed.push(step.path.clone()),
                false if dir.holds(skill) => changes.kept.push(step.path.clone()),
                false => changes.absent.push(step.path.clone()),
            },
            LinkAction::Restore => {
                let Some(kept) = step.original.as_deref().filter(|kept| own.symlink_metadata(kept).is_ok()) else {
                    return Ok(());
                };
                dir.restore_original(skill, own, kept)?;
                changes.restored.push(step.path.clone());
            }
        }
        Ok(())
    }

    /// Frees the path of a new link: removes a managed copy, and moves an original to the home if the step asks for
    /// it and the original has a content of the skill.
    fn clear_place(
        &self,
        own: &LockedDir,
        dir: &AgentDir,
        skill: &SkillName,
        step: &LinkStep,
        changes: &mut LinkChanges,
    ) -> Result<(), AgentLinkError> {
        let is_shown = dir.shows(skill, &self.path) || dir.is_library(&self.path);
        if is_shown || !dir.holds(skill) {
            return Ok(());
        }
        if let Some(kept) = &step.original {
            if !self.shows_content(&step.path, skill) {
                return Err(AgentLinkError::Differs(step.path.clone()));
            }
            dir.move_aside(skill, own, kept)?;
            changes.originals.push(Original { path: step.path.clone(), kept: kept.clone() });
            return Ok(());
        }
        let is_ours = self.state().is_ok_and(|state| state.of(skill).placed.contains(&step.path));
        if is_ours {
            self.remove_copy(dir, skill)?;
        }
        Ok(())
    }

    /// Returns whether a folder, or the target of a link, has a content that the skill had since it was last added.
    fn shows_content(&self, path: &Path, skill: &SkillName) -> bool {
        let Ok(found) = Dir::open_ambient_dir(path, ambient_authority()) else { return false };
        let Ok(found) = folder::read_dir(found, ToolFiles::Skip, self.limits()) else { return false };
        self.contents_since_added(skill).any(|former| folder::has_content(&found, &folder::without_tool_files(&former)))
    }

    /// Creates the link to a skill in an agent's folder, or a copy of the skill where links cannot be made.
    ///
    /// # Errors
    /// The name is taken by something else, the skill cannot be copied, or an I/O error.
    pub fn link_in(&self, dir: &AgentDir, skill: &SkillName) -> Result<AgentLink, AgentLinkError> {
        match dir.place_link(skill, &self.path) {
            Err(AgentLinkError::Io { path, source }) if System::this().lacks_links(source.raw_os_error()) => {
                self.place_copy(dir, skill).map(|()| AgentLink::New(path))
            }
            linked => linked,
        }
    }

    fn place_copy(&self, dir: &AgentDir, skill: &SkillName) -> Result<(), AgentLinkError> {
        let unreadable = |error: LibraryError| AgentLinkError::Skill(skill.clone(), error.to_string());
        let head = self.head(skill).map_err(LibraryError::from).map_err(unreadable)?;
        let Some(head) = head.filter(|head| !head.tombstone) else { return Ok(()) };
        let files = self.bundle(&head.id).map_err(LibraryError::from).map_err(unreadable)?;
        match self.clear(skill, files.clone(), Baseline::Cleared(&files)).map_err(unreadable)? {
            Ok(cleared) => dir.place_copy(skill, &cleared).map(drop),
            Err(blocked) => Err(AgentLinkError::Skill(skill.clone(), blocked.to_string())),
        }
    }

    /// Removes a copy that has the content of one of the skill's revisions. Returns whether it did.
    fn remove_copy(&self, dir: &AgentDir, skill: &SkillName) -> Result<bool, AgentLinkError> {
        // A link to the library leads to the skill itself.
        if !dir.holds(skill) || dir.is_library(&self.path) {
            return Ok(false);
        }
        for former in self.former_contents(skill) {
            if dir.remove_copy(skill, &former)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Updates `placed` in the skills' states after link steps and records it.
    fn note_links(
        &self,
        own: &LockedDir,
        noted: Vec<Noted<'_>>,
        action: &str,
        change: impl Fn(&SkillName, &mut SkillState),
    ) -> Result<(), LibraryError> {
        let state = State::read(own)?;
        let (mut after, mut events) = (state.clone(), Vec::new());
        for Noted { skill, changes, stamp, before } in noted {
            let old = state.of(skill);
            let mut set = SkillState { placed: placed_after(&old.placed, changes), ..old.clone() };
            change(skill, &mut set);
            set.note_shown();
            check_may_show(skill, &old, &set, &stamp.actor)?;
            if set != old || before.is_some() {
                events.push(Event { before, ..Event::set(stamp, skill.as_str(), action, &set) });
                after.set(skill, set);
            }
        }
        if events.is_empty() {
            return Ok(());
        }
        after.write(own)?;
        let noted = State::note_written(own).and_then(|()| events::append(own, &events));
        if noted.is_err() {
            state.write(own)?;
        }
        noted.map_err(self.own_io())
    }

    /// Applies link steps of records again that a killed process did not complete. Failures are left to `doctor`.
    pub(super) fn link_again(&self, own: &LockedDir, steps: &[LinkStep], stamp: impl Fn(&SkillName) -> Option<Stamp>) {
        let mut by_skill: BTreeMap<SkillName, Vec<LinkStep>> = BTreeMap::new();
        for step in steps {
            if let Ok(skill) = SkillName::parse(&step.skill) {
                by_skill.entry(skill).or_default().push(step.clone());
            }
        }
        let done = by_skill.iter().filter_map(|(skill, steps)| {
            let changes = self.carry_out_links(own, skill, steps);
            Some((skill, changes, stamp(skill)?))
        });
        let done: Vec<(&SkillName, LinkChanges, Stamp)> = done.collect();
        let noted = done.iter().map(|(skill, changes, stamp)| Noted::of(skill, changes, stamp));
        let _left_to_doctor = self.note_links(own, noted.collect(), "link", |_, _| {});
    }
}

/// Link changes of one skill to be recorded.
struct Noted<'a> {
    skill: &'a SkillName,
    changes: &'a LinkChanges,
    stamp: &'a Stamp,
    before: Option<StateBefore>,
}

impl<'a> Noted<'a> {
    fn of(skill: &'a SkillName, changes: &'a LinkChanges, stamp: &'a Stamp) -> Self {
        Self { skill, changes, stamp, before: None }
    }
}

/// Returns the paths that show a skill after its links have changed.
fn placed_after(before: &[PathBuf], changes: &LinkChanges) -> Vec<PathBuf> {
    let gone = [&changes.removed, &changes.kept, &changes.absent, &changes.restored];
    let gone: BTreeSet<&PathBuf> = gone.into_iter().flatten().collect();
    let placed: BTreeSet<&PathBuf> = before.iter().chain(&changes.placed).chain(&changes.hidden).collect();
    let placed = placed.into_iter().filter(|path| !gone.contains(path) && path.to_str().is_some());
    placed.cloned().collect()
}

/// Returns the folders that should show a skill, without those in which a person hid it.
fn shown_in(in_use: &[LinkTarget], set: &SkillState) -> Vec<LinkTarget> {
    in_use.iter().filter(|target| !set.hidden_in.contains(&target.folder)).cloned().collect()
}

/// Returns the steps of a plan in order: removals, restored originals, new links.
fn steps_of(skill: &SkillName, plan: &LinkPlan, operation: &str) -> Vec<LinkStep> {
    let removed = plan.removed.iter().map(|path| step(skill, path.clone(), LinkAction::Remove, None));
    let restored = plan
        .restored
        .iter()
        .map(|original| step(skill, original.path.clone(), LinkAction::Restore, Some(original.kept.clone())));
    let placed = plan.targets.iter().enumerate().map(|(count, target)| {
        let action = match target {
            LinkTarget { hidden: true, .. } => LinkAction::Hide,
            LinkTarget { copy: true, .. } => LinkAction::Copy,
            _ => LinkAction::Link,
        };
        let original = target.replaces.then(|| originals::name(operation, skill.as_str(), count));
        step(skill, target.folder.join(skill.as_str()), action, original)
    });
    removed.chain(restored).chain(placed).flatten().collect()
}

/// Creates the step for one path. Returns `None` if the path is not UTF-8, since the journal cannot store it.
fn step(skill: &SkillName, path: PathBuf, action: LinkAction, original: Option<String>) -> Option<LinkStep> {
    path.to_str()?;
    Some(LinkStep { skill: skill.to_string(), path, action, original })
}

/// Returns whether a step frees its path for a link, even if the link is not placed.
fn places(step: &LinkStep) -> bool {
    matches!(step.action, LinkAction::Link | LinkAction::Copy | LinkAction::Hide)
}

/// Returns whether a step removes a link whose path may already hold the restored original. That is the case if the
/// original is gone from the home, because an earlier, killed attempt restored it or because it expired.
fn is_restored(own: &Dir, steps: &[LinkStep], step: &LinkStep) -> bool {
    let is_of_place = |other: &&LinkStep| matches!(other.action, LinkAction::Restore) && other.path == step.path;
    let kept = steps.iter().find(is_of_place).and_then(|other| other.original.as_deref());
    matches!(step.action, LinkAction::Remove) && kept.is_some_and(|kept| own.symlink_metadata(kept).is_err())
}

/// Returns whether a path is a folder and not a link to one.
fn is_folder(path: &Path) -> bool {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return false };
    let dir = Dir::open_ambient_dir(folder, ambient_authority());
    dir.is_ok_and(|dir| dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir()))
}
