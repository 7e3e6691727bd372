//! [`UpdateRequest`]: updates installed skills to newer releases, and merges local changes.

mod candidate;
mod fork;

use library::{Library, Origin, interrupt};
use skill::SkillName;

pub use candidate::{Outdated, outdated};
use candidate::{UpdateCandidate, choose, newer, prefetch_sources};

use crate::{
    install::{
        Batch, Candidate, Choice as Side, Evolved, FetchItem, InstallError, InstallRequest, InstallStatus, Installed,
        Installer, Needs, Progress, bare, fetch, is_folder_missing,
    },
    lock_file::{LastRead, LockFile, LockedSkill},
    requires::Choice,
    spec::{Spec, VersionRequest},
};

/// Skills to update, and options.
#[derive(Debug, Clone, Default)]
pub struct UpdateRequest {
    /// Skills to update; empty for all installed skills.
    pub skills: Vec<SkillToUpdate>,
    /// Fork or original to merge into the skills, in place of newer releases of their own.
    pub from: Option<Spec>,
    /// Resolution of conflicts between local changes and a release.
    pub choice: Side,
    /// Use only the cache and folders on this machine.
    pub offline: bool,
    /// Check and report, but change nothing.
    pub dry_run: bool,
    /// Fingerprints of keys accepted although their owners signed with other keys before.
    pub accept_keys: Vec<String>,
}

/// A skill named for an update.
#[derive(Debug, Clone)]
pub struct SkillToUpdate {
    /// Full name `owner/name`, or the bare name.
    pub name: String,
    /// Requested release; by default the request recorded in the lock file.
    pub request: Option<VersionRequest>,
}

/// A skill that was installed from a source.
#[derive(Debug, Clone)]
pub(crate) struct InstalledSkill {
    pub name: SkillName,
    /// Origin of the installed release.
    pub origin: Origin,
    /// Entry in the lock file, if there is one.
    pub locked: Option<LockedSkill>,
    /// Release that the user requested for this update.
    pub wanted: Option<VersionRequest>,
}

impl Installer<'_> {
    /// Updates installed skills to the newest releases that satisfy the original requests. Local changes are merged in.
    /// If the merge has conflicts, the skill does not change and a proposal holds both sides.
    ///
    /// # Errors
    /// [`InstallError`] when the whole batch fails. Nothing has changed then.
    pub fn update(&mut self, request: &UpdateRequest) -> Result<Vec<Installed>, InstallError> {
        let as_install = InstallRequest {
            offline: request.offline,
            dry_run: request.dry_run,
            evolved: Evolved::Merge(request.choice),
            accept_keys: request.accept_keys.clone(),
            ..InstallRequest::default()
        };
        if let Some(from) = &request.from {
            return self.merge_fork(from, request, &as_install);
        }
        let lock = LastRead::of(self.lock_path)?;
        let mut batch = Batch::of(self.home, &lock)?;
        let skills = installed(self.library, &lock, &request.skills)?;
        prefetch_sources(self, &skills, &as_install, &lock, true);
        let choice = choose(self, &skills, &as_install, &lock)?;
        for (done, skill) in skills.iter().enumerate() {
            interrupt::check()?;
            (self.progress)(Progress { stage: "checking", done, of: skills.len() });
            self.update_one(skill, choice.as_ref(), &as_install, &mut batch)?;
        }
        if let Some(choice) = &choice {
            let here = installed(self.library, &lock, &[])?;
            self.bring_required(choice, &here, &skills, &as_install, &mut batch)?;
        }
        self.accept_blocked(&as_install, &lock, &mut batch)?;
        batch.refuse_unsigned_requirements(self.registries, &lock);
        if let Some(choice) = &choice {
            batch.drop_unmet(&Needs::of(choice));
        }
        // Requirements that the library did not have are linked like those of an install.
        let folders = self.agent_folders.chosen(&[], self.library.path())?;
        self.finish(batch, lock, &as_install, &folders)
    }

    fn update_one(
        &mut self,
        skill: &InstalledSkill,
        choice: Option<&Choice>,
        request: &InstallRequest,
        batch: &mut Batch,
    ) -> Result<(), InstallError> {
        match newer(self, skill, skill.target(choice), request) {
            Ok(UpdateCandidate::Release(candidate)) => {
                let is_dependency = skill.locked.as_ref().is_some_and(|locked| locked.dependency);
                let name = skill.name.clone();
                self.plan_one(Candidate { name, is_dependency, ..*candidate }, request, batch);
            }
            Ok(UpdateCandidate::None { warnings, .. }) => {
                batch.settle(self.unchanged(skill, warnings)?);
            }
            Err(error) => {
                let (name, version) = (skill.origin.name(), skill.origin.version());
                batch.settle(Installed::failed(name, version, error));
            }
        }
        Ok(())
    }

    /// Fetches the requirements of new releases that are not being updated anyway.
    fn bring_required(
        &mut self,
        choice: &Choice,
        here: &[InstalledSkill],
        updated: &[InstalledSkill],
        request: &InstallRequest,
        batch: &mut Batch,
    ) -> Result<(), InstallError> {
        let is_updated = |name: &str| updated.iter().any(|skill| skill.origin.name() == name);
        for (name, version) in choice.changes().filter(|(name, _)| !is_updated(&name.to_string())) {
            if let Some(skill) = here.iter().find(|skill| skill.origin.name() == name.to_string()) {
                self.update_one(skill, Some(choice), request, batch)?;
                continue;
            }
            let source = choice.source(name).map(str::to_owned);
            let (name, version, newest) = (name.clone(), version.clone(), VersionRequest::newest());
            let order = FetchItem::Chosen { name, request: newest, version, source, is_dependency: true };
            match fetch(self.inputs(), &order, request) {
                Ok(found) => found.into_iter().for_each(|candidate| self.plan_one(candidate, request, batch)),
                Err(error) => {
                    batch.settle(Installed::failed(order.label(), None, error));
                }
            }
        }
        Ok(())
    }

    fn unchanged(&self, skill: &InstalledSkill, mut warnings: Vec<String>) -> Result<Installed, InstallError> {
        warnings.extend(missing_folder(self.library, &skill.name)?);
        let head = self.library.head(&skill.name)?.map(|head| head.id);
        Ok(Installed {
            path: Some(self.library.path().join(skill.name.as_str())),
            digest: skill.origin.digest().known(),
            revision: head.clone(),
            previous: head,
            origin: Some(skill.origin.clone()),
            is_dependency: skill.locked.as_ref().is_some_and(|locked| locked.dependency),
            warnings,
            ..Installed::new(skill.origin.name_in(&skill.name), skill.origin.version(), InstallStatus::Unchanged)
        })
    }
}

/// Returns the warning about a skill whose folder is missing.
fn missing_folder(library: &Library, name: &SkillName) -> Result<Option<String>, InstallError> {
    let is_missing = is_folder_missing(library, name)?;
    Ok(is_missing.then(|| format!("its folder is missing; restore it: skillhub rollback {name} head")))
}

/// Returns the skills of a library that were installed from a source: all, or the named ones.
pub(crate) fn installed(
    library: &Library,
    lock: &LockFile,
    named: &[SkillToUpdate],
) -> Result<Vec<InstalledSkill>, InstallError> {
    let mut all = Vec::new();
    for (name, head) in library.skills()? {
        let Some(origin) = head.origin else { continue };
        let locked = lock.find(&name).filter(|locked| locked.origin.name() == origin.name()).cloned();
        all.push(InstalledSkill { name, origin, locked, wanted: None });
    }
    if named.is_empty() {
        return Ok(all);
    }
    let mut chosen: Vec<InstalledSkill> = Vec::new();
    for SkillToUpdate { name, request } in named {
        let is_named = |skill: &&InstalledSkill| skill.origin.name() == *name || skill.name.as_str() == name;
        let found = all.iter().find(is_named).ok_or_else(|| not_installed(library, name))?;
        if chosen.iter().all(|other| other.name != found.name) {
            chosen.push(InstalledSkill { wanted: request.clone(), ..found.clone() });
        }
    }
    Ok(chosen)
}

fn not_installed(library: &Library, name: &str) -> InstallError {
    let is_here = bare(name).and_then(|bare| library.head(&bare).ok().flatten()).is_some_and(|head| !head.tombstone);
    InstallError::NotInstalled { name: name.to_owned(), is_here }
}
