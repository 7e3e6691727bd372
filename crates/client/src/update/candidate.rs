//! [`newer`]: finds the release to which an installed skill can be updated, and warnings about the installed one.

use library::{Origin, RegistryRelease, SourceDigest};
use registry_index::{Entry, ReleaseSelector, newest, select};
use skill::{Bundle, Limits, SkillName};

use super::{InstalledSkill, installed, missing_folder};
use crate::{
    discovery::{OfferedSkill, Pick, PickError},
    install::{Candidate, FetchItem, InstallError, InstallRequest, Installer, fetch, fetch_release},
    lock_file::LockFile,
    registry::Registry,
    releases::{ReleaseNotes, install_instead, release_notes},
    requires::{self, Choice, Requested, Target},
    resolve::{self, ResolveError, Resolved},
    spec::{GitSpec, Spec, VersionRequest},
};

/// Result of looking for an update.
pub(crate) enum UpdateCandidate {
    /// Another release, fetched, with the files of the installed release.
    Release(Box<Candidate>),
    /// There is no newer release that satisfies the request.
    None {
        /// Warnings about the installed release.
        warnings: Vec<String>,
    },
}

/// Comparison of an installed skill with its source.
#[derive(Debug)]
pub struct Outdated {
    /// Name of the skill's folder.
    pub skill: SkillName,
    /// Origin of the installed release.
    pub origin: Origin,
    /// Original request; empty for the newest.
    pub requested: String,
    /// Version or commit that an update would install; `None` if it is already installed.
    pub wanted: Option<String>,
    /// Newest version or commit, regardless of the request.
    pub newest: Option<String>,
    /// Changelogs of the releases that an update would bring, newest first.
    pub notes: Vec<ReleaseNotes>,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
    /// Reason why the source could not be checked.
    pub error: Option<InstallError>,
}

/// Returns the available update of every installed skill. Nothing is changed.
///
/// # Errors
/// The library or the lock file cannot be read.
pub fn outdated(by: &Installer<'_>, offline: bool) -> Result<Vec<Outdated>, InstallError> {
    let request = InstallRequest { offline, dry_run: true, ..InstallRequest::default() };
    let lock = LockFile::read(by.lock_path)?;
    let skills = installed(by.library, &lock, &[])?;
    // Conflicts between requirements are reported by an update.
    let choice = choose(by, &skills, &request, &lock).unwrap_or_default();
    let stand = |skill: InstalledSkill| {
        let mut stands = Outdated {
            requested: skill.requested(),
            skill: skill.name.clone(),
            origin: skill.origin.clone(),
            wanted: None,
            newest: None,
            notes: Vec::new(),
            warnings: Vec::new(),
            error: None,
        };
        stands.warnings.extend(missing_folder(by.library, &skill.name).ok().flatten());
        if let Err(error) = stands.look(by, &skill, skill.target(choice.as_ref()), &request) {
            stands.error = Some(error);
        }
        stands
    };
    prefetch_sources(by, &skills, &request, &lock, false);
    Ok(skills.into_iter().map(stand).collect())
}

impl Outdated {
    fn look(
        &mut self,
        by: &Installer<'_>,
        skill: &InstalledSkill,
        target: Target,
        request: &InstallRequest,
    ) -> Result<(), InstallError> {
        if let Some(warning) = unfetchable(&skill.origin) {
            self.warnings.push(warning);
            return Ok(());
        }
        if let Some(release) = skill.origin.as_registry() {
            let offered = OfferedReleases { target, ..OfferedReleases::of(by, skill, release, request)? };
            self.newest = offered.newest().map(|entry| entry.version.to_string());
            self.wanted = offered.next().map(|entry| entry.version.to_string());
            self.notes = offered.notes();
            self.warnings.extend(offered.warnings());
            return Ok(());
        }
        let candidate = of_source(by, skill, request)?;
        let release = candidate.origin.commit().map(ToString::to_string).or(candidate.origin.version());
        let release = release.unwrap_or_else(|| candidate.origin.digest().to_string());
        self.wanted = (candidate.origin.digest() != skill.origin.digest()).then(|| release.clone());
        self.newest = Some(release);
        Ok(())
    }
}

/// Finds the release for an update and fetches it.
pub(crate) fn newer(
    by: &Installer<'_>,
    skill: &InstalledSkill,
    target: Target,
    request: &InstallRequest,
) -> Result<UpdateCandidate, InstallError> {
    if let Some(warning) = unfetchable(&skill.origin) {
        return Ok(UpdateCandidate::None { warnings: vec![warning] });
    }
    let Some(release) = skill.origin.as_registry() else {
        let candidate = of_source(by, skill, request)?;
        if candidate.origin.digest() == skill.origin.digest() {
            return Ok(UpdateCandidate::None { warnings: Vec::new() });
        }
        let base = installed_release(by, skill)?;
        return Ok(UpdateCandidate::Release(Box::new(Candidate { base, ..candidate })));
    };
    let offered = OfferedReleases { target, ..OfferedReleases::of(by, skill, release, request)? };
    let (mut warnings, notes) = (offered.warnings(), offered.notes());
    let Some(entry) = offered.next().cloned() else { return Ok(UpdateCandidate::None { warnings }) };
    let (OfferedReleases { registry, wanted, .. }, name) = (offered, release.name.clone());
    let found = fetch_release(by.inputs(), request, &Resolved { registry, name, entry }, &wanted)?;
    warnings.extend(found.warnings);
    let base = installed_release(by, skill)?;
    Ok(UpdateCandidate::Release(Box::new(Candidate { base, warnings, notes, ..found })))
}

/// Returns a warning if this version cannot fetch from the skill's source.
fn unfetchable(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Other { kind, place, .. } => {
            Some(format!("it was installed from {place} ({kind}), from which skillhub cannot fetch"))
        }
        _ => None,
    }
}

/// Chooses compatible releases for installed skills and their requirements; `None` if each can be updated
/// independently.
pub(super) fn choose(
    by: &Installer<'_>,
    skills: &[InstalledSkill],
    request: &InstallRequest,
    lock: &LockFile,
) -> Result<Option<Choice>, InstallError> {
    let registries = by.registries.offline_if(request.offline);
    let of_registry = skills.iter().filter_map(|skill| Some((skill, skill.origin.as_registry()?)));
    // A skill whose registry cannot be read keeps its version. The error is reported when its own update is looked for.
    let offered = of_registry.filter_map(|(skill, release)| OfferedReleases::of(by, skill, release, request).ok());
    let asked = offered.map(|offered| Requested {
        is_update: offered.skill.wanted.is_none(),
        name: offered.release.name.clone(),
        request: offered.wanted,
        source: offered.registry.location().to_owned(),
        releases: offered.entries,
    });
    Ok(requires::choose(&registries, lock, &asked.collect::<Vec<_>>(), &[], true)?)
}

/// Releases that a registry has of an installed skill.
struct OfferedReleases<'a> {
    skill: &'a InstalledSkill,
    release: &'a RegistryRelease,
    registry: Registry,
    wanted: VersionRequest,
    entries: Vec<Entry>,
    target: Target,
}

impl<'a> OfferedReleases<'a> {
    fn of(
        by: &Installer<'_>,
        skill: &'a InstalledSkill,
        release: &'a RegistryRelease,
        request: &InstallRequest,
    ) -> Result<Self, InstallError> {
        let RegistryRelease { registry: installed, name, .. } = release;
        let not_a_version = |_| {
            let what = "the requested version in the lock file is invalid".to_owned();
            let hint = format!("choose a version: skillhub info {name}").into();
            InstallError::LockDiffers { name: name.to_string(), what, hint }
        };
        let wanted = match &skill.wanted {
            Some(wanted) => wanted.clone(),
            None => skill.requested().parse().map_err(not_a_version)?,
        };
        let registry = by
            .registries
            .offline_if(request.offline)
            .of_installed(&name.owner, installed)
            .map_err(ResolveError::from)?;
        if registry.location() != installed {
            let (name, installed, asked) = (name.to_string(), installed.clone(), registry.to_string());
            return Err(InstallError::OtherRegistry { name, installed, asked });
        }
        let entries = resolve::releases(&registry, name)?;
        if skill.wanted.is_some() && select(&entries, wanted.wanted()).is_none() {
            return Err(resolve::no_release(&registry, name, &wanted, &entries).into());
        }
        Ok(Self { skill, release, registry, wanted, entries, target: Target::Free })
    }

    /// Returns the newest release that is neither yanked nor withdrawn.
    fn newest(&self) -> Option<&Entry> {
        newest(&self.entries, false)
    }

    /// Returns the release to update to. It is never older than the installed one, unless the user named it.
    fn next(&self) -> Option<&Entry> {
        let entry = match &self.target {
            Target::Free => select(&self.entries, self.wanted.wanted())?,
            Target::Version(version) => self.entries.iter().find(|entry| entry.version == *version)?,
            Target::Unneeded => return None,
        };
        let is_other = entry.digest != self.release.digest;
        (entry.version > self.release.version || (is_other && self.skill.wanted.is_some())).then_some(entry)
    }

    /// Returns the changelogs of the releases after the installed one, up to the one to update to.
    fn notes(&self) -> Vec<ReleaseNotes> {
        let notes = |next: &Entry| release_notes(&self.entries, &self.release.version, &next.version);
        self.next().map(notes).unwrap_or_default()
    }

    /// Returns the warning of the registry about the installed release, if any.
    fn of_installed(&self, entry: &Entry) -> Option<String> {
        let what = match self.registry.state_of(entry) {
            Some(state) => state.sentence(),
            None if entry.yanked => format!("{}{}", entry.yank_advice(), self.way_back()),
            None => {
                let advice = entry.deprecated()?;
                format!("is {advice}{}", install_instead(&self.registry, &advice))
            }
        };
        Some(format!("the installed release {} {what}", entry.version))
    }

    /// Names the release to go back to from a yanked one, as the end of a sentence. Empty if there is a newer one.
    fn way_back(&self) -> String {
        match self.newest().map(|entry| &entry.version) {
            None => "; no other release is offered".to_owned(),
            Some(version) if *version > self.release.version => String::new(),
            Some(version) => format!("; to go back, run: skillhub update {}@{version}", self.skill.name),
        }
    }

    /// Returns the warnings about the installed release and about newer ones.
    fn warnings(&self) -> Vec<String> {
        let Self { skill, entries, .. } = self;
        let RegistryRelease { name, version, digest, .. } = self.release;
        let mut warnings = Vec::new();
        match entries.iter().find(|entry| entry.version == *version) {
            None => warnings.push(format!("its registry no longer has {name} {version}")),
            Some(entry) if entry.digest != *digest => {
                warnings.push(format!("its registry has different content for the installed release {version}"));
            }
            Some(entry) => warnings.extend(self.of_installed(entry)),
        }
        if self.target == Target::Unneeded {
            warnings.push(format!(
                "no skill requires it after the update; if you do not need it, uninstall {}",
                skill.name
            ));
            return warnings;
        }
        let next = self.next();
        if let Some(newest) = self.newest().filter(|newest| newest.version > *version)
            && next.is_none_or(|next| next.version < newest.version)
        {
            if self.target != Target::Free && *self.wanted.wanted() == ReleaseSelector::Newest {
                warnings.push(format!(
                    "{} is available, but is not compatible with the other installed skills",
                    newest.version
                ));
                return warnings;
            }
            let request = match self.wanted.wanted() {
                ReleaseSelector::Newest => String::new(),
                _ => format!(", but {} was requested", self.wanted.as_str()),
            };
            let newest = &newest.version;
            warnings
                .push(format!("{newest} is available{request}; to update to it, run: skillhub update {name}@{newest}"));
        }
        warnings
    }
}

/// Fetches the current content of a source without versions.
fn of_source(by: &Installer<'_>, skill: &InstalledSkill, request: &InstallRequest) -> Result<Candidate, InstallError> {
    let spec = skill.source()?;
    let order = FetchItem::Spec(spec.clone());
    let found = match fetch(by.inputs(), &order, request) {
        // If the source has several skills, the library may have the only record of which one is meant.
        Err(InstallError::Pick(PickError::Several { .. })) => {
            let pick = Pick { skills: vec![skill.origin.name()], all: false };
            fetch(by.inputs(), &order, &InstallRequest { pick, ..request.clone() })
        }
        found => found,
    };
    let found = found.map_err(|error| match error {
        InstallError::Pick(PickError::Missing { skills, .. }) => vanished(skill, &spec, &skills),
        other => other,
    })?;
    let mut of_name = found.into_iter().filter(|candidate| candidate.name == *skill.origin.bare_name());
    let candidate = of_name.next().ok_or_else(|| vanished(skill, &spec, &[]))?;
    let requested = skill.requested();
    Ok(Candidate { requested: if requested.is_empty() { candidate.requested } else { requested }, ..candidate })
}

/// Returns the error for a skill that its source no longer has, with the folder in which a repository has it now.
fn vanished(skill: &InstalledSkill, spec: &Spec, offered: &[OfferedSkill]) -> InstallError {
    let same = offered.iter().find(|other| other.name == skill.origin.bare_name().as_str());
    let moved = match spec {
        Spec::Git(git) if git.link.is_none() => same.and_then(|same| {
            let path = Some(same.folder.parse().ok()?);
            Some(GitSpec { path, ..git.clone() }.to_string())
        }),
        _ => None,
    };
    InstallError::Vanished { name: skill.origin.name(), place: skill.origin.location().to_owned(), moved }
}

/// Returns the files of the installed release under the name of the skill's folder: from the history, otherwise by the
/// lock file from the cache or the registry.
pub(super) fn installed_release(by: &Installer<'_>, skill: &InstalledSkill) -> Result<Option<Bundle>, InstallError> {
    let digest = skill.origin.digest();
    if let Some((_, files)) = by.library.release_here(&skill.name, &skill.origin)? {
        return Ok(Some(files));
    }
    let Some(locked) = &skill.locked else { return Ok(None) };
    let as_locked = fetch(by.inputs(), &FetchItem::Locked(Box::new(locked.clone())), &InstallRequest::default());
    let found = as_locked.ok().and_then(|found| found.into_iter().next());
    let release = found.map(|candidate| candidate.bundle).filter(|files| SourceDigest::Known(files.digest()) == digest);
    Ok(match skill.name == *skill.origin.bare_name() {
        true => release,
        false => release.and_then(|files| files.renamed(&skill.name, &Limits::default())),
    })
}

/// Prefetches the sources of several skills in parallel. `with_releases` includes the archives of registry releases.
pub(crate) fn prefetch_sources(
    by: &Installer<'_>,
    skills: &[InstalledSkill],
    request: &InstallRequest,
    lock: &LockFile,
    with_releases: bool,
) {
    let is_asked = |skill: &&InstalledSkill| with_releases || skill.origin.as_registry().is_none();
    let specs = skills.iter().filter(is_asked).filter_map(|skill| skill.source().ok());
    let orders: Vec<FetchItem> = specs.map(FetchItem::Spec).collect();
    by.prefetch.fetch(by.home, by.registries, &orders, request, lock, by.progress);
}

impl InstalledSkill {
    /// Returns the update target of the skill.
    pub(super) fn target(&self, choice: Option<&Choice>) -> Target {
        match (choice, self.origin.as_registry()) {
            (Some(choice), Some(release)) => choice.target(&release.name.to_string()),
            _ => Target::Free,
        }
    }

    /// Returns the spec that fetches the current state of its source.
    fn source(&self) -> Result<Spec, InstallError> {
        let text = match self.requested() {
            requested if requested.is_empty() => self.origin.location().to_owned(),
            requested => requested,
        };
        Ok(match &self.origin {
            Origin::Folder { .. } => Spec::Folder(text),
            Origin::Archive { .. } => match text.parse() {
                Ok(spec @ (Spec::ArchiveUrl(_) | Spec::Site(_))) => spec,
                _ => Spec::Archive(text),
            },
            Origin::Registry(RegistryRelease { name, .. }) => {
                match self.wanted.as_ref().map_or(self.requested(), |wanted| wanted.as_str().to_owned()) {
                    wanted if wanted.is_empty() => name.to_string().parse()?,
                    wanted => format!("{name}@{wanted}").parse()?,
                }
            }
            Origin::Git { .. } | Origin::Other { .. } => text.parse()?,
        })
    }

    /// Returns the request that was made when it was installed.
    fn requested(&self) -> String {
        self.locked.as_ref().map(|locked| locked.requested.clone()).unwrap_or_default()
    }
}
