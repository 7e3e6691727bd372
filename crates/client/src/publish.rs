//! [`publish`]: publishes the skill in a folder as a release in a registry.

mod error;
mod fork;

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use jiff::Timestamp;
use library::folder::{self, Leftovers};
use registry_index::{
    AppendError, Appended, Entry, ForkedFrom, NewRelease, Requirement, Stamp, newest, next_patch, statement,
};
use scan::{Baseline, Blocked, Cleared, Report, Verdict, Waivers};
use semver::Version;
use skill::{
    Bundle, Digest, Limits, Owner, Problem, QualifiedName, SkillName, Strictness,
    archive::{self, Archive},
    validate::{TEMPLATE_LINE, validate_bundle},
};

pub use self::{
    error::PublishError,
    fork::{Fork, ForkError, ForkKnown, ForkResults, publish_fork},
};
use crate::{
    accept::{Accept, BlockedSkill},
    lookalike,
    registry::{Registries, Registry},
    requires,
    signing::SigningKey,
};

/// Maximum number of versions tried if none was requested and others publish the same skill concurrently.
const VERSIONS_TRIED: u32 = 30;

/// Options for publishing a release.
#[derive(Debug, Clone, Default)]
pub struct PublishOptions {
    /// Version of the release. By default the frontmatter's; if it has none, the next patch version, or 1.0.0 for a
    /// first release.
    pub version: Option<String>,
    /// Owner to publish under.
    pub owner: Option<String>,
    /// Description of the changes, for people.
    pub changelog: String,
    /// Check and report, but do not publish.
    pub dry_run: bool,
}

/// Outcome of publishing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishStatus {
    /// The registry has a new release.
    Published,
    /// The content was already released; nothing was written.
    Unchanged,
    /// A new release would be published; nothing was written.
    DryRun,
}

impl PublishStatus {
    /// Returns the word for the status in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Unchanged => "unchanged",
            Self::DryRun => "dry_run",
        }
    }
}

/// Result of publishing.
#[derive(Debug, Clone)]
pub struct Published {
    /// Outcome of publishing.
    pub status: PublishStatus,
    /// Name of the registry in the configuration.
    pub registry: String,
    /// Location of the registry.
    pub location: String,
    /// Full name of the skill.
    pub name: QualifiedName,
    /// Version of the release.
    pub version: Version,
    /// Digest of the content.
    pub digest: Digest,
    /// Size of the archive in bytes.
    pub size: u64,
    /// Fingerprint of the key that signed the release; `None` without a signature.
    pub signer: Option<String>,
    /// Warnings for the user, one sentence each.
    pub warnings: Vec<String>,
    /// Verdict of the scanner.
    pub verdict: Verdict,
    /// Full scan report.
    pub report: Report,
    /// Advice from the validation; it has no errors.
    pub problems: Vec<Problem>,
    /// Release of another owner from which it was forked.
    pub forked_from: Option<ForkedFrom>,
}

/// Context for publishing: registries, key and time.
#[derive(Debug, Clone, Copy)]
pub struct Publisher<'a> {
    /// Configured registries; the owner determines which one is used.
    pub registries: &'a Registries,
    /// Path of the configuration file, for a hint.
    pub config_path: &'a Path,
    /// Key to sign with; `None` to publish without a signature.
    pub signing: Option<&'a SigningKey>,
    /// Time of the release.
    pub now: Timestamp,
}

/// Publishes the skill in a folder: reads, validates, clears and packs it, and appends it to the index.
///
/// If the newest release already has this content, nothing is published unless a different version is requested.
///
/// # Errors
/// [`PublishError`]; the registry is then unchanged.
pub fn publish(
    folder: &Path,
    options: &PublishOptions,
    by: Publisher<'_>,
    accept: &Accept<'_>,
) -> Result<Published, PublishError> {
    let (path, bundle) = read(folder)?;
    publish_files(&path, bundle, None, options, by, accept)
}

/// Publishes the files of a skill. `path` is the folder that contains them.
fn publish_files(
    path: &Path,
    bundle: Bundle,
    forked_from: Option<ForkedFrom>,
    options: &PublishOptions,
    by: Publisher<'_>,
    accept: &Accept<'_>,
) -> Result<Published, PublishError> {
    let asked = options.version.as_deref().map(parse_version).transpose()?;
    let (name, problems) = checked_name(path, &bundle)?;
    archive::check_content(&bundle)?;
    let owner = options.owner.as_deref().ok_or_else(|| PublishError::NoOwner { config: by.config_path.to_owned() })?;
    let name = QualifiedName { owner: Owner::parse(owner)?, name };
    let cleared = match scan::clear_by(bundle, Baseline::None, &by.registries.scanner()) {
        Err(blocked) => accepted(&name, blocked, by, accept)?,
        Ok(cleared) => cleared,
    };
    let registry = by.registries.serving(&name.owner)?;
    let entries = registry.with_skill(&name)?.releases(&name)?;
    let (signing, warnings) = (by.signing, Vec::new());
    let archive = archive::pack(cleared.bundle());
    let mut draft = Draft { name, cleared, archive, problems, forked_from, registry, signing, warnings };
    draft.check_key(&entries)?;
    draft.check_requirements(by.registries)?;
    if entries.is_empty() {
        draft.warnings.extend(lookalike::of_new(&draft.registry, &draft.name));
    }
    let wanted = match asked {
        Some(asked) => Some(asked),
        None => draft.version_in_frontmatter()?,
    };
    if let Some(same) = draft.already_newest(&entries, wanted.as_ref()) {
        let same = same.clone();
        return Ok(draft.unchanged(&same));
    }
    match wanted {
        Some(version) => draft.publish(version, &entries, options, by.now),
        None => draft.publish_next(entries, options, by.now),
    }
}

/// Clears a blocked skill whose findings its publisher accepts. The acceptance does not apply to those who install the
/// release, and servers do not honour it.
fn accepted(
    name: &QualifiedName,
    blocked: Box<Blocked>,
    by: Publisher<'_>,
    accept: &Accept<'_>,
) -> Result<Cleared, PublishError> {
    match by.registries.serving(&name.owner) {
        Ok(registry) if registry.is_server() => {
            return Err(PublishError::ServerBlocks { registry: registry.to_string(), blocked });
        }
        Ok(_) => {}
        Err(_) => return Err(blocked.into()),
    }
    let waivers = accept(&[BlockedSkill { name: &name.name, blocked: &blocked, told: &[] }]);
    let waivers = waivers.iter().flatten().filter_map(|waiver| waiver.at(by.now));
    Ok(scan::waive(Err(blocked), &Waivers::new(waivers))?)
}

fn parse_version(text: &str) -> Result<Version, PublishError> {
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

/// Returns the resolved path of the folder, and its files.
fn read(folder: &Path) -> Result<(PathBuf, Bundle), PublishError> {
    let open = |source| PublishError::Open { path: folder.to_owned(), source };
    let path = library::resolve(folder).map_err(open)?;
    let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(open)?;
    match folder::read_dir(dir, Leftovers::Skip, &Limits::default()) {
        Ok(bundle) => Ok((path, bundle)),
        Err(source) => Err(PublishError::Folder { path, source }),
    }
}

/// Returns the skill's name and the validation's advice. If any problem is an error, all problems are returned as an
/// error.
fn checked_name(path: &Path, bundle: &Bundle) -> Result<(SkillName, Vec<Problem>), PublishError> {
    let limits = Limits::default();
    let folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let problems = validate_bundle(bundle, Some(&folder), Strictness::Standard, &limits);
    if problems.iter().any(Problem::is_error) {
        return Err(PublishError::Invalid { path: path.to_owned(), problems });
    }
    let lines: Vec<usize> = problems.iter().filter(|p| p.code == TEMPLATE_LINE).filter_map(|p| p.line).collect();
    if !lines.is_empty() {
        return Err(PublishError::Template { path: path.to_owned(), lines });
    }
    let name = SkillName::parse_standard(&folder)?;
    if !name.is_publishable() {
        return Err(PublishError::Name(name));
    }
    Ok((name, problems))
}

/// A release that is complete except for its version.
struct Draft<'a> {
    name: QualifiedName,
    cleared: Cleared,
    archive: Archive,
    problems: Vec<Problem>,
    forked_from: Option<ForkedFrom>,
    registry: Registry,
    signing: Option<&'a SigningKey>,
    warnings: Vec<String>,
}

impl Draft<'_> {
    /// Rejects a key that is not the owner's, before anything is signed. Warns if a signature will be missed.
    fn check_key(&mut self, entries: &[Entry]) -> Result<(), PublishError> {
        let owner = &self.name.owner;
        let file = self.registry.with_owner(owner)?.owner(owner)?;
        let Some(signing) = self.signing else {
            if newest(entries, true).is_some_and(|entry| entry.signature.is_some()) {
                self.warnings
                    .push(format!("{owner} signed the previous release, but this one is not signed; add --sign"));
            }
            return Ok(());
        };
        match file.key_refusal(owner, &signing.public()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Rejects invalid requirements. Warns about requirements that no release satisfies yet.
    fn check_requirements(&mut self, registries: &Registries) -> Result<(), PublishError> {
        for text in requires::of_bundle(self.cleared.bundle()) {
            let required: Requirement = text.parse()?;
            if required.name == self.name {
                return Err(PublishError::RequiresItself(self.name.clone()));
            }
            let registry = registries.serving(&required.name.owner)?;
            let releases = registry.with_skill(&required.name)?.releases(&required.name)?;
            let is_met = |entry: &Entry| entry.is_offered() && required.takes(&entry.version);
            if !releases.iter().any(is_met) {
                self.warnings.push(format!(
                    "{registry} has no release that satisfies {required}, so this skill cannot be installed yet"
                ));
            }
        }
        Ok(())
    }

    /// Returns the result for content that is already released.
    fn unchanged(mut self, entry: &Entry) -> Published {
        if self.signing.is_some() && entry.signature.is_none() {
            let release = format!("{} {}", entry.name, entry.version);
            self.warnings
                .push(format!("{release} is already published without a signature; to sign, publish a new version"));
        }
        self.published(PublishStatus::Unchanged, entry.version.clone())
    }

    fn version_in_frontmatter(&self) -> Result<Option<Version>, PublishError> {
        let written = self.cleared.bundle().frontmatter().and_then(|front| front.version());
        written.map(|text| parse_version(&with_three_numbers(text.trim()))).transpose()
    }

    /// Returns the newest release if it has this content and no other version was requested.
    fn already_newest<'a>(&self, entries: &'a [Entry], wanted: Option<&Version>) -> Option<&'a Entry> {
        newest(entries, true)
            .filter(|entry| entry.digest == self.cleared.digest())
            .filter(|entry| wanted.is_none_or(|version| *version == entry.version))
    }

    /// Publishes under the next free version. If another publisher takes it first, retries with the one after it.
    fn publish_next(
        mut self,
        mut entries: Vec<Entry>,
        options: &PublishOptions,
        now: Timestamp,
    ) -> Result<Published, PublishError> {
        for _ in 1..VERSIONS_TRIED {
            match self.append(next_patch(&entries), &entries, options, now) {
                Err(PublishError::VersionExists { .. }) => {}
                done => return done.map(|(status, version)| self.published(status, version)),
            }
            entries = self.registry.with_skill(&self.name)?.releases(&self.name)?;
        }
        self.publish(next_patch(&entries), &entries, options, now)
    }

    fn publish(
        mut self,
        version: Version,
        entries: &[Entry],
        options: &PublishOptions,
        now: Timestamp,
    ) -> Result<Published, PublishError> {
        let (status, version) = self.append(version, entries, options, now)?;
        Ok(self.published(status, version))
    }

    fn append(
        &mut self,
        version: Version,
        entries: &[Entry],
        options: &PublishOptions,
        now: Timestamp,
    ) -> Result<(PublishStatus, Version), PublishError> {
        if let Some(taken) = entries.iter().find(|entry| entry.version.cmp_precedence(&version).is_eq()) {
            let is_same = taken.digest == self.cleared.digest() && taken.version == version;
            return match is_same && taken.withdrawn.is_none() {
                true => Ok((PublishStatus::Unchanged, version)),
                false => Err(self.version_exists(&version, entries)),
            };
        }
        if options.dry_run {
            return Ok((PublishStatus::DryRun, version));
        }
        let stamp = Stamp { by: self.name.owner.to_string(), at: now };
        let digest = self.cleared.digest();
        let sign = |key: &SigningKey| key.sign(&statement(&self.name, &version, &digest));
        let signature = self.signing.map(sign).transpose()?;
        let (name, changelog, forked_from) = (self.name.clone(), options.changelog.clone(), self.forked_from.clone());
        let release = NewRelease { name, version, changelog, signature, forked_from, stamp };
        match self.registry.append::<PublishError>(&release, &self.cleared, &self.archive) {
            Ok(Appended::Published(entry)) => {
                self.warnings
                    .extend(entry.held().map(|notice| format!("it cannot be installed yet: {}", notice.reason)));
                Ok((PublishStatus::Published, entry.version.clone()))
            }
            Ok(Appended::Unchanged(entry)) => Ok((PublishStatus::Unchanged, entry.version.clone())),
            Err(PublishError::Append(AppendError::VersionExists { version, .. })) => {
                let entries = self.registry.index().releases(&self.name)?;
                Err(self.version_exists(&version, &entries))
            }
            Err(error) => Err(error),
        }
    }

    fn version_exists(&self, version: &Version, entries: &[Entry]) -> PublishError {
        let release = format!("{} {version}", self.name);
        let taken = entries.iter().find(|entry| entry.version.cmp_precedence(version).is_eq());
        let existing = taken.map_or_else(|| release.clone(), |taken| format!("{} {}", taken.name, taken.version));
        PublishError::VersionExists {
            release,
            existing,
            registry: self.registry.to_string(),
            next: next_patch(entries),
        }
    }

    fn published(self, status: PublishStatus, version: Version) -> Published {
        let signs = |_: &&SigningKey| status != PublishStatus::Unchanged;
        Published {
            signer: self.signing.filter(signs).map(|key| key.public().fingerprint()),
            warnings: self.warnings,
            status,
            registry: self.registry.name().to_owned(),
            location: self.registry.location().to_owned(),
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
