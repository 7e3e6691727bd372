//! [`Draft`]: a release that passed its checks, before it is appended to the index.

use jiff::Timestamp;
use registry_index::{
    AppendError, Appended, Bump, Entry, ForkedFrom, NewRelease, Requirement, Stamp, newest, next_version, statement,
};
use scan::Cleared;
use semver::Version;
use skill::{
    Problem, QualifiedName,
    archive::{self, Archive},
};

use super::{PublishError, PublishStatus, Published};
use crate::{
    registry::{Registries, Registry},
    requires,
    signing::SigningKey,
};

/// Maximum number of versions tried if none was requested and others publish the same skill concurrently.
const VERSIONS_TRIED: u32 = 30;

/// A release that is complete except for its version.
pub(super) struct Draft<'a> {
    pub name: QualifiedName,
    cleared: Cleared,
    archive: Archive,
    problems: Vec<Problem>,
    forked_from: Option<ForkedFrom>,
    signing: Option<&'a SigningKey>,
    /// Releases that the registry has of the skill.
    pub entries: Vec<Entry>,
    pub warnings: Vec<String>,
    /// True if the registry put the release on hold.
    is_held: bool,
    /// Requirements that no release satisfies yet.
    pub unmet: Vec<Requirement>,
    /// Requested version; `None` for the next one.
    wanted: Option<Version>,
    bump: Bump,
}

/// Parses a version that a user or the frontmatter gives.
pub(super) fn parse_version(text: &str) -> Result<Version, PublishError> {
    Version::parse(text.trim()).map_err(|source| PublishError::Version { text: text.to_owned(), source })
}

/// Completes a version as authors write it in frontmatter, such as `1`, `1.0` or `v1.0.2`, to three numbers.
fn with_three_numbers(text: &str) -> String {
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let is_short = numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match numbers.split('.').count() {
        1 if is_short => format!("{numbers}.0.0"),
        2 if is_short => format!("{numbers}.0"),
        _ => numbers.to_owned(),
    }
}

impl<'a> Draft<'a> {
    /// Packs a cleared skill.
    pub fn new(
        name: QualifiedName,
        cleared: Cleared,
        problems: Vec<Problem>,
        forked_from: Option<ForkedFrom>,
        entries: Vec<Entry>,
        signing: Option<&'a SigningKey>,
    ) -> Self {
        let archive = archive::pack(cleared.bundle());
        let (warnings, is_held, unmet, wanted, bump) = Default::default();
        Self { name, cleared, archive, problems, forked_from, signing, entries, warnings, is_held, unmet, wanted, bump }
    }

    /// Rejects a key that is not the owner's, before anything is signed. Warns if a signature will be missed.
    pub fn check_key(&mut self, registry: &Registry) -> Result<(), PublishError> {
        let owner = &self.name.owner;
        let file = registry.with_owner(owner)?.owner(owner)?;
        let Some(signing) = self.signing else {
            if newest(&self.entries, true).is_some_and(|entry| entry.signature.is_some()) {
                self.warnings
                    .push(format!("{owner} signed the previous release, but this one is not signed; add --sign"));
            }
            return Ok(());
        };
        file.key_refusal(owner, &signing.public()).map_or(Ok(()), |error| Err(error.into()))
    }

    /// Rejects invalid requirements, and collects those that no release satisfies yet. `own` is the registry of the
    /// skill.
    pub fn check_requirements(&mut self, registries: &Registries, own: &Registry) -> Result<(), PublishError> {
        for text in requires::of_bundle(self.cleared.bundle()) {
            let required: Requirement = text.parse()?;
            if required.name == self.name {
                return Err(PublishError::RequiresItself(self.name.clone()));
            }
            let other;
            let registry = match required.name.owner == self.name.owner {
                true => own,
                false => {
                    other = registries.serving(&required.name.owner)?;
                    &other
                }
            };
            let releases = registry.with_skill(&required.name)?.releases(&required.name)?;
            let is_met = |entry: &Entry| entry.is_offered() && required.takes(&entry.version);
            if !releases.iter().any(is_met) {
                self.unmet.push(required);
            }
        }
        Ok(())
    }

    /// Chooses the version: the requested one, else one counted from the newest release, else the frontmatter's.
    pub fn choose_version(&mut self, asked: Option<Version>, bump: Option<Bump>) -> Result<(), PublishError> {
        self.bump = bump.unwrap_or_default();
        self.wanted = match asked {
            Some(asked) => Some(asked),
            None if bump.is_some() && !self.entries.is_empty() => None,
            None => self.version_in_frontmatter()?,
        };
        if bump.is_some() && self.entries.is_empty() {
            let first = self.wanted.clone().unwrap_or_else(|| self.next_version());
            self.warnings.push(format!("this is the first release, so there is no version to increase: it is {first}"));
        }
        Ok(())
    }

    fn version_in_frontmatter(&self) -> Result<Option<Version>, PublishError> {
        let written = self.cleared.bundle().frontmatter().and_then(|front| front.version());
        written.map(|text| parse_version(&with_three_numbers(text.trim()))).transpose()
    }

    fn next_version(&self) -> Version {
        next_version(&self.entries, self.bump)
    }

    /// Returns the newest release if it has this content.
    fn already_newest(&self) -> Option<&Entry> {
        newest(&self.entries, true).filter(|entry| entry.digest == self.cleared.digest())
    }

    /// Returns the status and the version that publishing would have. If `is_changed` is true, content that the newest
    /// release has is unchanged even if another version is wanted.
    pub fn preview(&self, registry: &Registry, is_changed: bool) -> Result<(PublishStatus, Version), PublishError> {
        if let Some(same) = self.already_newest()
            && (is_changed || self.wanted.as_ref().is_none_or(|wanted| *wanted == same.version))
        {
            return Ok((PublishStatus::Unchanged, same.version.clone()));
        }
        let version = self.wanted.clone().unwrap_or_else(|| self.next_version());
        let Some(taken) = self.taken(&version) else { return Ok((PublishStatus::DryRun, version)) };
        let is_same = taken.digest == self.cleared.digest() && taken.version == version;
        match is_same && taken.withdrawn.is_none() {
            true => Ok((PublishStatus::Unchanged, version)),
            false => Err(self.version_exists(&version, registry)),
        }
    }

    fn taken(&self, version: &Version) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.version.cmp_precedence(version).is_eq())
    }

    /// Appends the release under the wanted version, or under the next free one. If another publisher takes that first,
    /// it retries with the one after it.
    pub fn append(
        &mut self,
        registry: &mut Registry,
        changelog: &str,
        now: Timestamp,
    ) -> Result<(PublishStatus, Version), PublishError> {
        if let Some(version) = self.wanted.clone() {
            return self.append_as(version, registry, changelog, now);
        }
        for _ in 1..VERSIONS_TRIED {
            match self.append_as(self.next_version(), registry, changelog, now) {
                Err(PublishError::VersionExists { .. }) => {}
                done => return done,
            }
        }
        self.append_as(self.next_version(), registry, changelog, now)
    }

    fn append_as(
        &mut self,
        version: Version,
        registry: &mut Registry,
        changelog: &str,
        now: Timestamp,
    ) -> Result<(PublishStatus, Version), PublishError> {
        let stamp = Stamp { by: self.name.owner.to_string(), at: now };
        let digest = self.cleared.digest();
        let sign = |key: &SigningKey| key.sign(&statement(&self.name, &version, &digest));
        let signature = self.signing.map(sign).transpose()?;
        let (name, changelog, forked_from) = (self.name.clone(), changelog.to_owned(), self.forked_from.clone());
        let release = NewRelease { name, version, changelog, signature, forked_from, stamp };
        match registry.append::<PublishError>(&release, &self.cleared, &self.archive) {
            Ok(Appended::Published(entry)) => {
                self.is_held = entry.held().is_some();
                self.warnings
                    .extend(entry.held().map(|notice| format!("it cannot be installed yet: {}", notice.reason)));
                Ok((PublishStatus::Published, entry.version.clone()))
            }
            Ok(Appended::Unchanged(entry)) => Ok((PublishStatus::Unchanged, entry.version.clone())),
            Err(PublishError::Append(AppendError::VersionExists { version, .. })) => {
                self.entries = registry.with_skill(&self.name)?.releases(&self.name)?;
                Err(self.version_exists(&version, registry))
            }
            Err(error) => Err(error),
        }
    }

    fn version_exists(&self, version: &Version, registry: &Registry) -> PublishError {
        let release = format!("{} {version}", self.name);
        let existing = self.taken(version).map(|taken| format!("{} {}", taken.name, taken.version));
        PublishError::VersionExists {
            existing: existing.unwrap_or_else(|| release.clone()),
            release,
            registry: registry.to_string(),
            next: next_version(&self.entries, Bump::Patch),
        }
    }

    /// Returns the result, with a warning for each requirement that is still unmet.
    pub fn finish(mut self, registry: &Registry, status: PublishStatus, version: Version) -> Published {
        let unmet = self.unmet.iter().map(|required| {
            format!("{registry} has no release that satisfies {required}, so this skill cannot be installed yet")
        });
        self.warnings.extend(unmet);
        let is_released = status == PublishStatus::Unchanged;
        if let Some(entry) = self.already_newest().filter(|entry| is_released && entry.signature.is_none())
            && self.signing.is_some()
        {
            let release = format!("{} {}", entry.name, entry.version);
            self.warnings
                .push(format!("{release} is already published without a signature; to sign, publish a new version"));
        }
        Published {
            signer: self.signing.filter(|_| !is_released).map(|key| key.public().fingerprint()),
            newest: newest(&self.entries, true).map(|entry| entry.version.clone()),
            warnings: self.warnings,
            is_held: self.is_held,
            status,
            registry: registry.name().to_owned(),
            location: registry.location().to_owned(),
            name: self.name,
            version,
            digest: self.cleared.digest(),
            size: self.archive.len() as u64,
            verdict: self.cleared.verdict(),
            report: self.cleared.report().clone(),
            problems: self.problems,
            forked_from: self.forked_from,
        }
    }
}
