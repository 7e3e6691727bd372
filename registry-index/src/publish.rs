//! [`Index::append`]: adding a release to the index.

use std::sync::Arc;

use git2::{ObjectType, Oid};
use scan::{Cleared, Verdict};
use semver::Version;
use skill::{
    Digest, Frontmatter, Limits, Owner, QualifiedName,
    archive::{Archive, pack},
};
use thiserror::Error;

use crate::{
    ArchiveLocation, ChangelogError, Entry, Fields, ForkedFrom, Index, LineError, OwnerFile, OwnerFileError, PublicKey,
    ReadError, SignatureError, Stamp, StoreError, checked_changelog,
    index::parse_lines,
    lines::Lines,
    shard,
    signature::{signed_with, statement},
    store::{Change, PlanOutcome, Snapshot, TreeEdit},
};

/// Data of a release that its publisher provides. All other fields of the entry are derived from the bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRelease {
    /// Full name; the name without the owner must be the one in the frontmatter.
    pub name: QualifiedName,
    /// Version of the release.
    pub version: Version,
    /// Description of the changes, for people: [`checked_changelog`]. It is stored in the entry and in the commit
    /// message, and may be empty.
    pub changelog: String,
    /// Signature over its [`statement`]; `None` if it is not signed.
    pub signature: Option<String>,
    /// Release of another owner from which it was forked.
    pub forked_from: Option<ForkedFrom>,
    /// Publisher and time of the release.
    pub stamp: Stamp,
}

/// Outcome of appending a release.
#[derive(Debug, Clone, PartialEq)]
pub enum Appended {
    /// The release is new, and was committed.
    Published(Entry),
    /// The version already exists with the same content; nothing was written.
    Unchanged(Entry),
}

/// Reasons why a release was not appended.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum AppendError {
    /// The name is not ASCII, or is a device name of Windows.
    #[error("cannot publish {name}: {why}", name = .0, why = .0.name.unpublishable().unwrap_or_default())]
    Name(QualifiedName),
    /// The `SKILL.md` in the bundle does not describe this skill.
    #[error("the bundle is not the skill {name}: {reason}")]
    NotThisSkill {
        /// Full name of the skill to be published.
        name: QualifiedName,
        /// Description of the difference or the missing part.
        reason: String,
    },
    /// The bundle has a blocking finding that was allowed only because the baseline has it too. A release is judged
    /// without a baseline.
    #[error("the bundle has a blocking finding ({rule} in {path}), which is not allowed in a release")]
    Blocked {
        /// Id of the rule.
        rule: String,
        /// Path of the file in the bundle.
        path: String,
    },
    /// The bundle was scanned, but the configured judge was not called.
    #[error("the judge of [scan.judge] was not asked about the bundle")]
    Unjudged,
    /// The archive is not the packed form of the cleared bundle.
    #[error("the archive is not the packed form of the bundle: expected {expected}, found {found}")]
    Archive {
        /// Hash of the packed bundle.
        expected: Digest,
        /// Hash of the archive given.
        found: Digest,
    },
    /// The version exists with other content. Build metadata does not distinguish versions.
    #[error("{name} {version} already exists with different content; publish another version")]
    VersionExists {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version that exists already.
        version: Version,
    },
    /// The version differs from an existing one only in build metadata.
    #[error("{name} {existing} already exists, and build metadata does not make {version} a new version")]
    SameVersion {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version to be published.
        version: Version,
        /// Version that exists already.
        existing: Box<Version>,
    },
    /// The version belongs to a release that was withdrawn.
    #[error("{name} {version} was withdrawn ({reason}); publish another version")]
    Withdrawn {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version that was withdrawn.
        version: Version,
        /// Reason for the withdrawal.
        reason: String,
    },
    /// The signature is invalid or not over this release.
    #[error("the signature of {release} is invalid: {reason}")]
    Signature {
        /// Full name and version of the release.
        release: String,
        /// Problem with the signature.
        reason: SignatureError,
    },
    /// The release is signed with a key that is not the owner's.
    #[error("{key} is not a key of {owner}; {}", signing_keys(known))]
    OtherKey {
        /// Owner of the skill.
        owner: Owner,
        /// Fingerprint of the key that signed the release.
        key: String,
        /// Fingerprints of the owner's keys that are not retired.
        known: Vec<String>,
    },
    /// The release is signed with a key that the owner retired.
    #[error("{owner} retired the key {key}, so it cannot sign new releases; {}", signing_keys(known))]
    RetiredKey {
        /// Owner of the skill.
        owner: Owner,
        /// Fingerprint of the retired key.
        key: String,
        /// Fingerprints of the owner's keys that are not retired.
        known: Vec<String>,
    },
    /// The release is not signed, although its owner has current keys.
    #[error("{release} is not signed, but {owner} signs releases; {}", signing_keys(known))]
    Unsigned {
        /// Full name and version of the release.
        release: String,
        /// Owner of the skill.
        owner: Owner,
        /// Fingerprints of the owner's keys that are not retired.
        known: Vec<String>,
    },
    /// The owner's file cannot be read.
    #[error("cannot use {path} in the index: {reason}")]
    OwnerFile {
        /// Path of the file in the tree.
        path: String,
        /// Problem with the file.
        reason: OwnerFileError,
    },
    /// The changelog is not plain text, or is too long.
    Changelog(#[from] ChangelogError),
    /// The index keeps its archives at this URL, where this crate cannot write.
    #[error("the index keeps its archives at {0}, so none can be added here")]
    Elsewhere(String),
    /// The path of the archive in the tree has other content: the index is damaged.
    #[error("{path} in the index is not the archive of this content")]
    Damaged {
        /// Path of the archive in the tree.
        path: String,
    },
    /// The index cannot be read.
    Read(#[from] ReadError),
    /// The index cannot be changed: it is a clone, is busy, or git failed.
    Store(#[from] StoreError),
    /// The entry cannot be serialized.
    Line(#[from] LineError),
}

impl From<git2::Error> for AppendError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Appended {
    /// Returns the entry of the release.
    pub fn entry(&self) -> &Entry {
        match self {
            Self::Published(entry) | Self::Unchanged(entry) => entry,
        }
    }
}

/// A release with its line, checked as far as that takes no look at the index.
#[derive(Debug)]
pub struct ClearedRelease<'a> {
    release: &'a NewRelease,
    archive: &'a Archive,
    entry: Entry,
    key: Option<PublicKey>,
    path: String,
}

/// What a release makes of an index.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    /// The same content is there under this version; nothing is to be written.
    Unchanged(Box<Entry>),
    /// What is to be written beside the archive, all or nothing.
    Append {
        /// The whole file of the skill.
        lines: Vec<u8>,
        /// The whole file of the owner, unless it stays as it is.
        owner_file: Option<String>,
    },
}

impl<'a> ClearedRelease<'a> {
    /// Checks a release. `archive` is [`skill::archive::pack`] of the cleared bundle.
    ///
    /// # Errors
    /// [`AppendError`] for a name that cannot be published, an archive of something else, a bundle that no release may
    /// have, or a signature of another release.
    pub fn new(release: &'a NewRelease, cleared: &Cleared, archive: &'a Archive) -> Result<Self, AppendError> {
        let path = shard::skill_file(&release.name).ok_or_else(|| AppendError::Name(release.name.clone()))?;
        check_archive(cleared, archive)?;
        if cleared.is_unjudged() {
            return Err(AppendError::Unjudged);
        }
        let key = key_of(release, cleared)?;
        let entry = Entry::new(fields_of(release, cleared, archive)?)?;
        Ok(Self { release, archive, entry, key, path })
    }

    /// What its publisher says of it.
    pub fn release(&self) -> &NewRelease {
        self.release
    }

    /// Its line.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its packed files.
    pub fn archive(&self) -> &Archive {
        self.archive
    }

    /// The path of the file of its skill.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The message of its commit.
    pub fn message(&self) -> String {
        message_of(&self.entry)
    }

    /// The file of an owner with this release: one who has none gets one, and a first key is added to it. `None` when it
    /// stays as it is.
    fn owner_file(&self, known: Option<&[u8]>) -> Result<Option<String>, AppendError> {
        let owner = &self.release.name.owner;
        let damaged = |reason| AppendError::OwnerFile { path: shard::owner_file(owner), reason };
        let mut file = known.map_or_else(|| Ok(OwnerFile::new(owner)), OwnerFile::parse).map_err(damaged)?;
        match self.key {
            Some(key) if file.keys().is_empty() => file.add(key, self.release.stamp.to_the_second().at),
            Some(key) => return file.key_refusal(owner, &key).map_or(Ok(None), Err),
            None if !file.signing().is_empty() => {
                let release = format!("{} {}", self.release.name, self.release.version);
                return Err(AppendError::Unsigned { release, owner: owner.clone(), known: file.signing() });
            }
            None if known.is_some() => return Ok(None),
            None => {}
        }
        Ok(Some(file.to_text()))
    }
}

/// Plans a release on the files of its skill and its owner, `None` where there is none. Every store of releases goes by it,
/// so that versions, keys and lines are decided in one place.
///
/// # Errors
/// [`AppendError`] when the version is taken by something else, the owner signs otherwise, or a file is damaged.
pub fn plan(
    lines: Option<&[u8]>,
    owner_file: Option<&[u8]>,
    release: &ClearedRelease<'_>,
) -> Result<Planned, AppendError> {
    let mut lines = parse_lines(&release.path, lines.unwrap_or_default())?;
    if let Some(existing) = existing(&lines, &release.entry)? {
        return Ok(Planned::Unchanged(Box::new(existing)));
    }
    let owner_file = release.owner_file(owner_file)?;
    lines.push(release.entry.clone());
    Ok(Planned::Append { lines: lines.to_bytes(), owner_file })
}

impl Index {
    /// Publishes a release in one commit: the archive, the entry and, for an owner's first release, the owner's file.
    /// `archive` is the output of [`skill::archive::pack`] for the cleared bundle. The commit is synced to disk before
    /// this returns.
    ///
    /// A writer that loses a race with another one retries on top of the other's commit, a limited number of times.
    ///
    /// # Errors
    /// [`AppendError`] if the release is not acceptable, the version is taken, or git fails. No reader sees a change
    /// then.
    pub fn append(&self, release: &NewRelease, cleared: &Cleared, archive: &Archive) -> Result<Appended, AppendError> {
        self.store.check_writable()?;
        self.append_cleared(&ClearedRelease::new(release, cleared, archive)?)
    }

    /// As [`Index::append`], for a release that was checked before.
    ///
    /// # Errors
    /// As [`Index::append`].
    pub fn append_cleared(&self, new: &ClearedRelease<'_>) -> Result<Appended, AppendError> {
        let (release, entry) = (new.release, &new.entry);
        let place = match self.config.archive_location(&entry.digest) {
            ArchiveLocation::Tree(path) => path,
            ArchiveLocation::Url(url) => return Err(AppendError::Elsewhere(url)),
        };
        let owner_path = shard::owner_file(&release.name.owner);
        self.update(|base| {
            let (lines, owner_file) =
                match plan(base.read(&new.path)?.as_deref(), base.read(&owner_path)?.as_deref(), new)? {
                    Planned::Unchanged(existing) => return Ok(PlanOutcome::Done(Appended::Unchanged(*existing))),
                    Planned::Append { lines, owner_file } => (lines, owner_file),
                };
            let mut edits = vec![TreeEdit::Put(new.path.clone(), lines)];
            edits.extend(owner_file.map(|text| TreeEdit::Put(owner_path.clone(), text.into_bytes())));
            edits.extend(bundle_edit(base, &place, new.archive)?);
            let change = Change { edits, message: message_of(entry), stamp: release.stamp.clone() };
            Ok(PlanOutcome::Commit(change, Appended::Published(entry.clone())))
        })
    }
}

fn signing_keys(known: &[String]) -> String {
    match known {
        [] => "all keys of this owner in the registry are retired".to_owned(),
        known => format!("the registry has {}", known.join(", ")),
    }
}

impl OwnerFile {
    /// Returns the reason why a release signed with `key` is rejected; `None` if it is a current key of the owner, or
    /// the owner does not have keys yet.
    #[must_use]
    pub fn key_refusal(&self, owner: &Owner, key: &PublicKey) -> Option<AppendError> {
        let found = self.find(key);
        if self.keys().is_empty() || found.is_some_and(|known| known.retired_at.is_none()) {
            return None;
        }
        let signing = self.keys().iter().filter(|known| known.retired_at.is_none());
        let known = signing.map(|known| known.key.fingerprint()).collect();
        let (owner, key) = (owner.clone(), key.fingerprint());
        Some(match found {
            Some(_) => AppendError::RetiredKey { owner, key, known },
            None => AppendError::OtherKey { owner, key, known },
        })
    }
}

/// Returns the key that signed a release.
fn key_of(release: &NewRelease, cleared: &Cleared) -> Result<Option<PublicKey>, AppendError> {
    let Some(signature) = &release.signature else { return Ok(None) };
    let text = statement(&release.name, &release.version, &cleared.digest());
    let bad = |reason| AppendError::Signature { release: format!("{} {}", release.name, release.version), reason };
    signed_with(signature, &text).map(Some).map_err(bad)
}

/// Builds the edit that adds the archive; `None` if another release already added it.
fn bundle_edit(base: &Snapshot<'_>, place: &str, archive: &[u8]) -> Result<Option<TreeEdit>, AppendError> {
    match base.blob_id(place)? {
        None => Ok(Some(TreeEdit::Put(place.to_owned(), archive.to_vec()))),
        Some(found) if found == Oid::hash_object(ObjectType::Blob, archive)? => Ok(None),
        Some(_) => Err(AppendError::Damaged { path: place.to_owned() }),
    }
}

/// Returns the existing release with the same version and content. The same version with other content is an error.
fn existing(lines: &Lines, entry: &Entry) -> Result<Option<Entry>, AppendError> {
    if !lines.has_version(&entry.version) {
        return Ok(None);
    }
    let (name, version) = (entry.name.clone(), entry.version.clone());
    let Some(found) = lines.find(&entry.version) else { return Err(AppendError::VersionExists { name, version }) };
    match &found.withdrawn {
        Some(withdrawal) => Err(AppendError::Withdrawn { name, version, reason: withdrawal.reason.clone() }),
        None if found.version != version => {
            Err(AppendError::SameVersion { name, version, existing: Box::new(found.version.clone()) })
        }
        None if found.digest == entry.digest => Ok(Some(found.clone())),
        None => Err(AppendError::VersionExists { name, version }),
    }
}

fn check_archive(cleared: &Cleared, archive: &Archive) -> Result<(), AppendError> {
    if archive.packed() == Some(cleared.digest()) {
        return Ok(());
    }
    Err(AppendError::Archive { expected: pack(cleared.bundle()).hash(), found: archive.hash() })
}

fn fields_of(release: &NewRelease, cleared: &Cleared, archive: &Archive) -> Result<Fields, AppendError> {
    let frontmatter = frontmatter_of(release, cleared)?;
    let stamp = release.stamp.to_the_second();
    Ok(Fields {
        v: Entry::V,
        name: release.name.clone(),
        version: release.version.clone(),
        digest: cleared.digest(),
        archive: archive.hash(),
        size: archive.len() as u64,
        files: cleared.bundle().len() as u64,
        title: frontmatter.title(),
        description: frontmatter.description.clone().unwrap_or_default(),
        license: frontmatter.license.clone(),
        keywords: frontmatter.keywords.clone(),
        requires: frontmatter.requires.clone(),
        verdict: verdict_of(cleared)?.to_string(),
        publisher: stamp.by,
        published_at: stamp.at,
        signature: release.signature.clone(),
        forked_from: release.forked_from.clone(),
        changelog: checked_changelog(&release.changelog)?,
        yanked: false,
        withdrawn: None,
    })
}

/// Returns the verdict over all findings, including those in the baseline. Findings that the publisher accepted count
/// as warnings.
fn verdict_of(cleared: &Cleared) -> Result<Verdict, AppendError> {
    let (accepted, others): (Vec<_>, Vec<_>) = cleared.report().findings.iter().partition(|finding| finding.waived);
    let accepted = accepted.iter().map(|finding| finding.severity.verdict().min(Verdict::Warn)).max();
    match others.iter().max_by_key(|finding| finding.severity.verdict()) {
        None => Ok(accepted.unwrap_or(Verdict::Allow)),
        Some(worst) if worst.severity.verdict() == Verdict::Block => {
            Err(AppendError::Blocked { rule: worst.rule.to_string(), path: worst.path.clone() })
        }
        Some(worst) => Ok(worst.severity.verdict().max(accepted.unwrap_or(Verdict::Allow))),
    }
}

fn frontmatter_of(release: &NewRelease, cleared: &Cleared) -> Result<Arc<Frontmatter>, AppendError> {
    let not = |reason: String| AppendError::NotThisSkill { name: release.name.clone(), reason };
    cleared.bundle().skill_md().ok_or_else(|| not("it has no readable SKILL.md".to_owned()))?;
    let reading = cleared.bundle().reading(&Limits::default()).map_err(|error| not(error.to_string()))?;
    let frontmatter = reading.frontmatter;
    if frontmatter.description.as_deref().is_none_or(|text| text.trim().is_empty()) {
        return Err(not("its SKILL.md has no description".to_owned()));
    }
    match frontmatter.name.as_deref() {
        Some(name) if name == release.name.name.as_str() => Ok(frontmatter),
        Some(other) => Err(not(format!("its SKILL.md has the name {other:?}"))),
        None => Err(not("its SKILL.md has no name".to_owned())),
    }
}

/// Formats the commit message: full name and version, then the changelog.
fn message_of(entry: &Entry) -> String {
    let subject = format!("{} {}\n", entry.name, entry.version);
    match &entry.changelog {
        None => subject,
        Some(changelog) => format!("{subject}\n{changelog}\n"),
    }
}
