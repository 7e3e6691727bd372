//! [`UpdateRequest`]: installed skills brought to newer releases, with what was changed here merged in.

mod newer;

use std::path::Path;

use library::{Library, Origin, interrupt};
use skill::SkillName;

use newer::{Newer, bring_sources, choose, newer};
pub use newer::{Outdated, outdated};

use crate::{
    install::{
        Batch, Candidate, Choice as Side, Evolved, InstallError, InstallRequest, InstallStatus, Installed, Installer,
        Needs, Order, Progress, bare, fetch,
    },
    lock_file::{LockFile, LockedSkill},
    requires::Choice,
    spec::Request,
};

/// Which skills are to be updated, and how.
#[derive(Debug, Clone, Default)]
pub struct UpdateRequest {
    /// Which; with none, all that were installed.
    pub skills: Vec<SkillToUpdate>,
    /// What becomes of what both sides changed.
    pub choice: Side,
    /// Use the cache and folders of this machine alone.
    pub offline: bool,
    /// Do everything but change something.
    pub dry_run: bool,
    /// Fingerprints of keys that are taken although their owners signed with others before.
    pub accept_keys: Vec<String>,
}

/// A skill as it is named for an update.
#[derive(Debug, Clone)]
pub struct SkillToUpdate {
    /// `owner/name` or the bare name.
    pub name: String,
    /// The release to go to; else what the lock file has as asked for.
    pub request: Option<Request>,
}

/// A skill that was installed from somewhere.
#[derive(Debug, Clone)]
pub(crate) struct InstalledSkill {
    pub name: SkillName,
    /// Where it came from.
    pub origin: Origin,
    /// Its entry in the lock file.
    pub locked: Option<LockedSkill>,
    /// The release that was named for this update.
    pub wanted: Option<Request>,
}

impl Installer<'_> {
    /// Brings installed skills to the newest releases that fit what was asked for when they were installed.
    /// What was changed here is merged in; where that leaves something to decide, the skill stays as it is
    /// and a proposal holds both sides.
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
        let lock = LockFile::read(self.lock_path)?;
        let mut batch = Batch::of(self.home, &lock)?;
        let skills = installed(self.library, self.lock_path, &request.skills)?;
        bring_sources(self, &skills, &as_install, true);
        let choice = choose(self, &skills, &as_install, &lock)?;
        for (done, skill) in skills.iter().enumerate() {
            interrupt::check()?;
            (self.progress)(Progress { stage: "checking", done, of: skills.len() });
            self.update_one(skill, choice.as_ref(), &as_install, &mut batch)?;
        }
        if let Some(choice) = &choice {
            self.bring_required(choice, &skills, &as_install, &mut batch)?;
        }
        self.accept_blocked(&as_install, &lock, &mut batch)?;
        batch.refuse_unsigned_requirements(self.registries, &lock);
        if let Some(choice) = &choice {
            batch.drop_unmet(&Needs::of(choice));
        }
        self.finish(batch, &as_install, &[])
    }

    fn update_one(
        &mut self,
        skill: &InstalledSkill,
        choice: Option<&Choice>,
        request: &InstallRequest,
        batch: &mut Batch,
    ) -> Result<(), InstallError> {
        match newer(self, skill, skill.target(choice), request) {
            Ok(Newer::Release(candidate)) => {
                let is_dependency = skill.locked.as_ref().is_some_and(|locked| locked.dependency);
                self.plan_one(Candidate { is_dependency, ..*candidate }, request, batch);
            }
            Ok(Newer::None { warnings, .. }) => {
                batch.settle(self.unchanged(skill, warnings)?);
            }
            Err(error) => {
                let (name, version) = (skill.origin.name.clone(), skill.origin.version.clone());
                batch.settle(Installed::failed(name, version, error));
            }
        }
        Ok(())
    }

    /// Brings what new releases require besides the skills that are updated anyway.
    fn bring_required(
        &mut self,
        choice: &Choice,
        updated: &[InstalledSkill],
        request: &InstallRequest,
        batch: &mut Batch,
    ) -> Result<(), InstallError> {
        let here = installed(self.library, self.lock_path, &[])?;
        let is_updated = |name: &str| updated.iter().any(|skill| skill.origin.name == name);
        for (name, version) in choice.changes().filter(|(name, _)| !is_updated(&name.to_string())) {
            if let Some(skill) = here.iter().find(|skill| skill.origin.name == name.to_string()) {
                self.update_one(skill, Some(choice), request, batch)?;
                continue;
            }
            let source = choice.source(name).map(str::to_owned);
            let (name, version, newest) = (name.clone(), version.clone(), Request::newest());
            let order = Order::Chosen { name, request: newest, version, source, is_dependency: true };
            match fetch(self, &order, request) {
                Ok(found) => found.into_iter().for_each(|candidate| self.plan_one(candidate, request, batch)),
                Err(error) => {
                    batch.settle(Installed::failed(order.label(), None, error));
                }
            }
        }
        Ok(())
    }

    fn unchanged(&self, skill: &InstalledSkill, warnings: Vec<String>) -> Result<Installed, InstallError> {
        let head = self.library.head(&skill.name)?.map(|head| head.id);
        Ok(Installed {
            path: Some(self.library.path().join(skill.name.as_str())),
            digest: skill.origin.digest.parse().ok(),
            revision: head.clone(),
            previous: head,
            origin: Some(skill.origin.clone()),
            is_dependency: skill.locked.as_ref().is_some_and(|locked| locked.dependency),
            warnings,
            ..Installed::new(skill.origin.name.clone(), skill.origin.version.clone(), InstallStatus::Unchanged)
        })
    }
}

/// The skills of a library that were installed from somewhere, or those named.
pub(crate) fn installed(
    library: &Library,
    lock_path: &Path,
    named: &[SkillToUpdate],
) -> Result<Vec<InstalledSkill>, InstallError> {
    let lock = LockFile::read(lock_path)?;
    let mut all = Vec::new();
    for (name, head) in library.skills()? {
        let Some(origin) = head.origin else { continue };
        let locked = lock.find(&name).filter(|locked| locked.name == origin.name).cloned();
        all.push(InstalledSkill { name, origin, locked, wanted: None });
    }
    if named.is_empty() {
        return Ok(all);
    }
    let mut chosen: Vec<InstalledSkill> = Vec::new();
    for SkillToUpdate { name, request } in named {
        let is_named = |skill: &&InstalledSkill| skill.origin.name == *name || skill.name.as_str() == name;
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
