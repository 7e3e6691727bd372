//! [`Installer::prepare`]: the content of the single commit of an install.

use std::collections::BTreeMap;

use library::{CommitBatch, Library, LockLines, Plans, StateBefore};
use skill::SkillName;

use super::{InstallRequest, Installer, Linked, Linking, planned::PlannedChange, planned::PlannedSkill};
use crate::{
    agent_folders::AgentFolder,
    lock_file::{
        LastRead, LockFile, LockFileError, LockedSkill, LockedWaiver, line_of, locked_capabilities,
        write_pending_lines_into,
    },
    requires,
    tracked::TrackedFolders,
};

impl Installer<'_> {
    /// Takes the commits and proposals out of the plans. Returns them with their links and lock file lines, and the links
    /// of every skill, including those without a commit.
    pub(super) fn prepare(
        &self,
        planned: &mut [PlannedSkill],
        lock: &LockFile,
        linking: &Linking<'_>,
        request: &InstallRequest,
    ) -> (CommitBatch, BTreeMap<SkillName, Linked>) {
        let (mut commits, mut proposals) = (Vec::new(), Vec::new());
        let (mut linked, mut entries) = (BTreeMap::new(), Vec::new());
        let mut tracked = TrackedFolders::default();
        let locked = lock.by_bare_name();
        for planned in planned {
            let skill = planned.candidate.name.clone();
            let (mut commit, changes) = planned.step.take();
            if let Some(first) = commit.as_mut().and_then(|commit| commit.revisions.first_mut()) {
                let lock = locked.get(skill.as_str()).copied().map(LockFile::text_of);
                first.before = Some(StateBefore { lock, in_place: planned.in_place, ..StateBefore::default() });
            }
            commits.extend(commit);
            proposals.extend(changes);
            if matches!(planned.step, PlannedChange::Propose { .. }) {
                continue;
            }
            let folders = linking.folders_for(self.library, planned, self.agent_folders);
            let of_skill = Linking { folders: &folders, ..*linking };
            let mut of_skill = of_skill.of(self.library, &skill, &mut tracked);
            for target in &mut of_skill.plan.targets {
                target.hidden = (self.hides)(self.library, &skill, &planned.candidate.origin, &target.folder);
            }
            linked.insert(skill, of_skill);
            let old = lock.get(&planned.candidate.full_name());
            let entry = lock_entry(self.library, planned, old, &folders, request);
            entries.extend((old != Some(&entry)).then(|| line_of(&entry)));
        }
        let lines = LockLines { path: self.lock_path.to_owned(), entries };
        let lock_lines = Some(lines).filter(|lines| !request.frozen && lines.path.to_str().is_some());
        let links = linked.iter().map(|(skill, linked): (&SkillName, &Linked)| (skill.clone(), linked.plan.clone()));
        let plans = Plans { links: links.collect(), lock_lines };
        (CommitBatch { commits, proposals, plans }, linked)
    }

    /// Writes the lines of the commit into the lock file. Without a commit, the lines are first stored in the library,
    /// because no journal holds them.
    pub(super) fn write_lock(
        &self,
        file: LastRead,
        lines: Option<LockLines>,
        skills: &[SkillName],
        is_nothing: bool,
    ) -> Result<(), LockFileError> {
        let Some(lines) = lines.filter(|lines| !lines.entries.is_empty()) else { return Ok(()) };
        if is_nothing {
            self.library.keep_lock_lines(&lines)?;
        }
        write_pending_lines_into(Some(file), self.library)?;
        let state = self.library.state()?;
        let waived: Vec<_> = skills.iter().filter(|name| !state.of(name).waivers.is_empty()).collect();
        if !waived.is_empty() {
            LockFile::refresh_all(self.lock_path, self.library, waived)?;
        }
        Ok(())
    }
}

/// Builds the lock file entry of an installed skill.
fn lock_entry(
    library: &Library,
    planned: &PlannedSkill,
    old: Option<&LockedSkill>,
    folders: &[AgentFolder],
    request: &InstallRequest,
) -> LockedSkill {
    let candidate = &planned.candidate;
    if let (Some(_), Some(old)) = (&candidate.follows, old) {
        return after_fork(library, planned, old);
    }
    let is_named = |id: &&str| request.agents.is_empty() || request.agents.iter().any(|named| named == id);
    let agents = folders.iter().flat_map(|folder| folder.ids.iter().copied().find(|id| is_named(id)));
    LockedSkill {
        origin: LockedSkill::origin_in_file(candidate.followed().clone()),
        alias: LockedSkill::alias_of(candidate.followed(), &candidate.name),
        requested: candidate.requested.clone(),
        local: candidate.local,
        signer: candidate.signer.clone().filter(|_| candidate.follows.is_none()),
        archive: candidate.follows.is_none().then_some(candidate.archive),
        content: Some(planned.cleared.digest()),
        agents: all_agents(agents.map(str::to_owned).chain(request.agents.clone()), old),
        ruleset: planned.cleared.report().ruleset.clone(),
        requires: requires::of_bundle(&candidate.bundle),
        dependency: candidate.is_dependency && old.is_none_or(|old| old.dependency),
        capabilities: match old.filter(|old| old.content == Some(planned.cleared.digest())) {
            Some(old) => old.capabilities.clone(),
            None => locked_capabilities(&planned.capabilities),
        },
        waivers: LockedWaiver::of(library, &candidate.name).unwrap_or_default(),
        raw: old.map(|old| old.raw.clone()).unwrap_or_default(),
    }
}

/// Builds the entry of a skill into which a fork was merged: its content changed, and its source did not.
fn after_fork(library: &Library, planned: &PlannedSkill, old: &LockedSkill) -> LockedSkill {
    LockedSkill {
        content: Some(planned.cleared.digest()),
        ruleset: planned.cleared.report().ruleset.clone(),
        requires: requires::of_bundle(planned.cleared.bundle()),
        capabilities: locked_capabilities(&planned.capabilities),
        waivers: LockedWaiver::of(library, &planned.candidate.name).unwrap_or_default(),
        ..old.clone()
    }
}

/// Returns the agents of an entry, sorted, including those of the old entry.
fn all_agents(agents: impl Iterator<Item = String>, old: Option<&LockedSkill>) -> Vec<String> {
    let mut all: Vec<String> = agents.chain(old.into_iter().flat_map(|old| old.agents.clone())).collect();
    all.sort();
    all.dedup();
    all
}
