//! [`Session`]: checks skills and publishes them in one registry, which is opened once.

use registry_index::{ForkedFrom, checked_changelog};
use scan::{Baseline, Blocked, Cleared, Waivers};
use semver::Version;
use skill::{Owner, QualifiedName};

use super::{
    PublishError, PublishOptions, PublishStatus, Published, Publisher,
    draft::{Draft, parse_version},
    skill_folder::SkillFolder,
};
use crate::{
    accept::{Accept, BlockedSkill},
    lookalike,
    registry::Registry,
};

/// One publisher at one registry.
pub(super) struct Session<'a> {
    options: &'a PublishOptions,
    by: Publisher<'a>,
    version: Option<Version>,
    registry: Option<Registry>,
}

impl<'a> Session<'a> {
    /// Creates a session after checking the options. The registry is opened when it is first needed.
    pub fn new(options: &'a PublishOptions, by: Publisher<'a>) -> Result<Self, PublishError> {
        let version = options.version.as_deref().map(parse_version).transpose()?;
        checked_changelog(&options.changelog).map_err(registry_index::AppendError::from)?;
        Ok(Self { options, by, version, registry: None })
    }

    /// Opens the registry, and returns the owner of the releases.
    pub fn open(&mut self) -> Result<Owner, PublishError> {
        let owner = self.owner()?;
        self.registry(&owner)?;
        Ok(owner)
    }

    fn owner(&self) -> Result<Owner, PublishError> {
        let owner = self.options.owner.as_deref();
        let owner = owner.ok_or_else(|| PublishError::NoOwner { config: self.by.config_path.to_owned() })?;
        Ok(Owner::parse(owner)?)
    }

    fn registry(&mut self, owner: &Owner) -> Result<&mut Registry, PublishError> {
        let opened = match self.registry.take() {
            Some(registry) => registry,
            None => self.by.registries.serving(owner)?,
        };
        Ok(self.registry.insert(opened))
    }

    /// Clears a skill and checks it against the registry, which does not change.
    pub fn check(
        &mut self,
        skill: SkillFolder,
        forked_from: Option<ForkedFrom>,
        accept: &Accept<'_>,
    ) -> Result<Draft<'a>, PublishError> {
        let SkillFolder { bundle, name, problems } = skill;
        let name = QualifiedName { owner: self.owner()?, name };
        let cleared = match scan::clear_by(bundle, Baseline::None, &self.by.registries.scanner()) {
            Err(blocked) => self.accepted(&name, blocked, accept)?,
            Ok(cleared) => cleared,
        };
        let (wanted, bump, by) = (self.version.clone(), self.options.bump, self.by);
        let registry = &*self.registry(&name.owner)?;
        let entries = registry.with_skill(&name)?.releases(&name)?;
        let mut draft = Draft::new(name, cleared, problems, forked_from, entries, by.signing);
        draft.check_key(registry)?;
        draft.check_requirements(by.registries, registry)?;
        if draft.entries.is_empty() {
            draft.warnings.extend(lookalike::of_new(registry, &draft.name));
        }
        draft.choose_version(wanted, bump)?;
        Ok(draft)
    }

    /// Clears a blocked skill whose findings its publisher accepts. The acceptance does not apply to those who install
    /// the release, and servers do not honour it.
    fn accepted(
        &mut self,
        name: &QualifiedName,
        blocked: Box<Blocked>,
        accept: &Accept<'_>,
    ) -> Result<Cleared, PublishError> {
        match self.registry(&name.owner) {
            Ok(registry) if registry.is_server() => {
                return Err(PublishError::ServerBlocks { registry: registry.to_string(), blocked });
            }
            Ok(_) => {}
            Err(_) => return Err(blocked.into()),
        }
        let waivers = accept(&[BlockedSkill { name: &name.name, blocked: &blocked, told: &[] }]);
        let waivers = waivers.iter().flatten().filter_map(|waiver| waiver.at(self.by.now));
        Ok(scan::waive(Err(blocked), &Waivers::new(waivers))?)
    }

    /// Returns the result that publishing would have now, with the status [`PublishStatus::DryRun`] for a new release.
    pub fn preview(&mut self, draft: &Draft<'a>) -> Result<(PublishStatus, Version), PublishError> {
        let is_changed = self.options.changed;
        let registry = &*self.registry(&draft.name.owner)?;
        draft.preview(registry, is_changed)
    }

    /// Publishes a checked skill, unless its content is released already or this is a dry run.
    pub fn publish(&mut self, mut draft: Draft<'a>) -> Result<Published, PublishError> {
        let (options, now) = (self.options, self.by.now);
        let (status, version) = self.preview(&draft)?;
        let registry = self.registry(&draft.name.owner)?;
        let (status, version) = match status {
            PublishStatus::DryRun if !options.dry_run => draft.append(registry, &options.changelog, now)?,
            other => (other, version),
        };
        if status == PublishStatus::Unchanged && !options.changelog.is_empty() {
            draft.warnings.push(format!(
                "the changelog was not published: {} {version} has this content already; to publish both, give a new \
                 version with --bump",
                draft.name
            ));
        }
        Ok(draft.finish(registry, status, version))
    }

    /// Returns the result for a checked skill that is not published.
    pub fn leave(
        &mut self,
        draft: Draft<'a>,
        status: PublishStatus,
        version: Version,
    ) -> Result<Published, PublishError> {
        let registry = &*self.registry(&draft.name.owner)?;
        Ok(draft.finish(registry, status, version))
    }
}
