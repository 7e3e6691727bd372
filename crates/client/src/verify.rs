//! [`verify()`]: checks installed skills against the lock file.

use library::{FolderState, Library, RegistryRelease, Revision};
use registry_index::Entry;
use skill::{
    Bundle, Digest, SkillName,
    diff::{self, FileChange},
    shell_word,
};

use crate::{
    install::{InstallError, Installer},
    lock_file::{LockFile, LockedSkill, LockedWaiver, has_archive_of_release},
    release_state::ReleaseState,
    resolve::{self, ResolveError, Resolved},
    spec::VersionRequest,
};

/// Result of comparing an installed skill with the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifyStatus {
    /// The files are exactly those of the release.
    Pristine,
    /// The files are the release with the changes recorded in the lock file.
    Evolved,
    /// The files differ from the lock file, but the local history has the content that the lock file lists, so the
    /// difference is an edit made here.
    Modified,
    /// The folder of the skill does not exist.
    Missing,
    /// The release of the skill was withdrawn.
    Withdrawn,
    /// The release of the skill is under quarantine or on hold.
    Quarantined,
    /// The content contradicts the lock file, and no edit made here explains it.
    Tampered,
}

impl VerifyStatus {
    /// Returns the word for the status in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pristine => "pristine",
            Self::Evolved => "evolved",
            Self::Modified => "modified",
            Self::Missing => "missing",
            Self::Withdrawn => "withdrawn",
            Self::Quarantined => "quarantined",
            Self::Tampered => "tampered",
        }
    }

    /// Returns whether the content is that of the lock file, possibly with edits made here.
    pub fn is_intact(self) -> bool {
        matches!(self, Self::Pristine | Self::Evolved | Self::Modified)
    }
}

/// Result of verifying one entry of the lock file.
#[derive(Debug)]
pub struct Verified {
    /// Name of the entry.
    pub name: String,
    /// Version in the lock file.
    pub version: Option<String>,
    /// Result of the comparison.
    pub status: VerifyStatus,
    /// True if only the entry is wrong, which `doctor --fix` corrects from the history.
    pub is_wrong_entry: bool,
    /// Files that differ from the library's newest revision.
    pub files: Vec<FileChange>,
    /// Description of the problem, as one sentence.
    pub why: Option<String>,
    /// Fingerprint of the key with which the owner signed the release.
    pub signer: Option<String>,
    /// Checks that were not possible, and other notes, one sentence each.
    pub warnings: Vec<String>,
    /// Findings that people accepted in this library.
    pub accepted: Vec<LockedWaiver>,
}

/// Compares every lock file entry with the files of the library, the release in the history and, unless `offline`, the
/// entry in the registry. Changes nothing.
///
/// # Errors
/// The lock file or the library cannot be read.
pub fn verify(by: &Installer<'_>, offline: bool) -> Result<Vec<Verified>, InstallError> {
    let lock = LockFile::read(by.lock_path)?;
    lock.skills().map(|entry| look(by, entry, offline)).collect()
}

fn look(by: &Installer<'_>, entry: &LockedSkill, offline: bool) -> Result<Verified, InstallError> {
    let mut found = Verified {
        name: entry.name(),
        version: entry.origin.version(),
        status: VerifyStatus::Pristine,
        is_wrong_entry: false,
        files: Vec::new(),
        why: None,
        signer: None,
        warnings: Vec::new(),
        accepted: Vec::new(),
    };
    let name = entry.bare_name();
    found.accepted = LockedWaiver::of(by.library, name)?;
    let is_ours = |waiver: &&LockedWaiver| {
        found.accepted.iter().any(|ours| (&ours.rule, &ours.path) == (&waiver.rule, &waiver.path))
    };
    found.warnings.extend(entry.waivers.iter().filter(|waiver| !is_ours(waiver)).map(LockedWaiver::not_ours));
    found = found.files_of(by.library, name, entry)?;
    if found.status.is_intact() {
        found = found.release_of(by.library, entry)?;
    }
    if let (true, Some(release)) = (found.status.is_intact(), entry.origin.as_registry()) {
        found = found.line_of(by, release, entry, offline);
    }
    Ok(found)
}

impl Verified {
    fn is(self, status: VerifyStatus, why: impl Into<String>) -> Self {
        Self { status, why: Some(why.into()), ..self }
    }

    /// Compares the files on disk with the content in the lock file.
    fn files_of(mut self, library: &Library, name: &SkillName, entry: &LockedSkill) -> Result<Self, InstallError> {
        let head = library.head(name)?.filter(|head| !head.tombstone);
        let committed = head.as_ref().map(|head| library.bundle(&head.id)).transpose()?.unwrap_or_default();
        let on_disk = match library.folder_state(name)? {
            FolderState::Absent | FolderState::Missing => {
                return Ok(self.is(VerifyStatus::Missing, "its folder is missing; `skillhub install` restores it"));
            }
            FolderState::Clean => committed.clone(),
            FolderState::Modified(cleared) | FolderState::Earlier { cleared, .. } => cleared.bundle().clone(),
            FolderState::Blocked(fault) => match fault.bundle() {
                Some(files) => files.clone(),
                None => return Ok(self.is(VerifyStatus::Tampered, "its folder is not a readable skill")),
            },
        };
        let content = entry.content.or_else(|| entry.origin.digest().known());
        let is_content = |files: &Bundle| Some(files.digest()) == content;
        let is_same = is_content(&on_disk)
            || is_content(&on_disk.with_line_feeds())
            || (is_content(&committed) && on_disk.same_but_line_ends(&committed));
        if !is_same {
            self.files = diff::diff(&committed, &on_disk).files;
            if !is_known(library, name, content)? {
                return Ok(self.is(VerifyStatus::Tampered, "its content does not match the lock file"));
            }
            // Without a difference, a command was killed after it had recorded the edit and before it wrote the lock
            // file.
            let why = self.files.is_empty().then(|| "the lock file has an earlier revision of it".to_owned());
            return Ok(Self { status: VerifyStatus::Modified, why, ..self });
        }
        let is_release = content == entry.origin.digest().known() || {
            let release = library.release_here(name, &entry.origin)?;
            release.is_some_and(|(_, files)| content == Some(files.digest()))
        };
        let status = if is_release { VerifyStatus::Pristine } else { VerifyStatus::Evolved };
        Ok(Self { status, ..self })
    }

    /// Compares the release in the history with the archive in the lock file.
    fn release_of(self, library: &Library, entry: &LockedSkill) -> Result<Self, InstallError> {
        if has_archive_of_release(library, entry)? {
            return Ok(self);
        }
        let found = self.is(VerifyStatus::Tampered, "the archive and the digest in the lock file do not match");
        Ok(Self { is_wrong_entry: true, ..found })
    }

    /// Checks the release's current entry in the registry.
    fn line_of(mut self, by: &Installer<'_>, release: &RegistryRelease, entry: &LockedSkill, offline: bool) -> Self {
        let RegistryRelease { registry, name, version, digest } = release;
        let registries = by.registries.offline_if(offline);
        let asked = registries.of_installed(&name.owner, registry).map_err(ResolveError::from);
        let other = asked.as_ref().ok().map(|asked| asked.location().to_owned()).filter(|asked| asked != registry);
        let request = VersionRequest::exact(version);
        match asked.and_then(|registry| resolve::release_in(registry, name.clone(), &request)) {
            Ok(found) => match found.registry.state_of(&found.entry) {
                Some(state @ ReleaseState::Withdrawn(_)) => {
                    self.is(VerifyStatus::Withdrawn, format!("its release {}", state.sentence()))
                }
                Some(state) => self.is(VerifyStatus::Quarantined, format!("its release {}", state.sentence())),
                None if found.entry.digest != *digest => {
                    let why = format!("{} has different content for this version", found.registry);
                    self.is(VerifyStatus::Tampered, why)
                }
                None => {
                    if let Err(error) = check_line(by.library, entry.bare_name(), &found.entry) {
                        return self.is(VerifyStatus::Tampered, error.to_string());
                    }
                    if found.entry.yanked {
                        self.warnings.push(format!("its release {}", found.entry.yank_advice()));
                    }
                    let deprecated = found.entry.deprecated();
                    self.warnings.extend(deprecated.map(|deprecated| format!("its release is {deprecated}")));
                    self.signature_of(&found, entry)
                }
            },
            Err(ResolveError::NotFound { .. } | ResolveError::NoRelease { .. }) if let Some(other) = other => {
                self.warnings.push(format!(
                    "not compared with {registry} of the lock file, since {other} was asked; compare it: skillhub \
                     --registry {} verify",
                    shell_word(registry)
                ));
                self
            }
            Err(error @ (ResolveError::NotFound { .. } | ResolveError::NoRelease { .. })) => {
                self.warnings.push(format!("its registry no longer has the release: {error}"));
                self
            }
            Err(error) => {
                self.warnings.push(format!("its registry could not be checked: {error}"));
                self
            }
        }
    }
}

impl Verified {
    /// Compares the signature in the registry's entry with the key in the lock file.
    fn signature_of(mut self, found: &Resolved, entry: &LockedSkill) -> Self {
        let Resolved { registry, name, entry: line } = found;
        let brought = match line.signature {
            Some(_) => registry.with_owner(&name.owner),
            None => Ok(registry.index()),
        };
        let index = match brought {
            Ok(index) => index,
            Err(error) => {
                self.warnings.push(format!("its signature could not be checked: {error}"));
                return self;
            }
        };
        match (index.signer(line), &entry.signer) {
            (Err(error), _) => return self.is(VerifyStatus::Tampered, error.to_string()),
            (Ok(key), Some(locked)) if key.map(|key| key.fingerprint()).as_ref() != Some(locked) => {
                let now =
                    key.map_or_else(|| "not signed".to_owned(), |key| format!("signed with {}", key.fingerprint()));
                return self.is(
                    VerifyStatus::Tampered,
                    format!("its release is {now}, but the lock file has the key {locked}"),
                );
            }
            (Ok(key), _) => self.signer = key.map(|key| key.fingerprint()),
        }
        self
    }
}

/// Compares the registry's entry with the release in the history, if the history has it.
fn check_line(library: &Library, skill: &SkillName, line: &Entry) -> Result<(), InstallError> {
    match library.release(skill, &line.digest)? {
        Some((_, files)) => Ok(line.check_files(&files)?),
        None => Ok(()),
    }
}

/// Returns whether the history has a revision with the content that the lock file lists. The difference is then an edit
/// made here.
fn is_known(library: &Library, name: &SkillName, content: Option<Digest>) -> Result<bool, InstallError> {
    let is_it = |revision: &Revision| Some(revision.digest) == content && revision.was_cleared();
    Ok(library.revisions(name, usize::MAX)?.iter().any(is_it))
}
