//! Putting a release into the index: [`Index::append`].

use jiff::Timestamp;
use scan::{Cleared, Verdict};
use semver::Version;
use skill::{Digest, Frontmatter, Limits, Owner, QualifiedName, frontmatter};
use thiserror::Error;

use crate::{
    BundlePlace, Entry, Fields, ForkedFrom, Index, LineError, OwnerFile, OwnerFileError, PublicKey, ReadError,
    SignatureError, StoreError,
    index::read_lines,
    lines::Lines,
    owner, shard,
    signature::{signed_with, statement},
    store::{Change, Snapshot, Step, TreeEdit},
};

/// Who makes a change, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The account, as the author of the commit and the line's `publisher` have it.
    pub by: String,
    /// The time; stored to the second.
    pub at: Timestamp,
}

/// What a publisher says of a release. Everything else that its line has is read from the bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRelease {
    /// `owner/name`; the name must be the one in the frontmatter.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// What changed, for people; the body of the commit message. May be empty.
    pub changelog: String,
    /// The signature over its [`statement`], if it is signed.
    pub signature: Option<String>,
    /// The release of another owner that it was made from.
    pub forked_from: Option<ForkedFrom>,
    /// Who publishes, and when.
    pub stamp: Stamp,
}

/// What became of a release that was appended.
#[derive(Debug, Clone, PartialEq)]
pub enum Appended {
    /// The release is new and committed.
    Published(Entry),
    /// The same content was there already under this version; nothing was written.
    Unchanged(Entry),
}

/// Why a release was not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The name is not ASCII, or a device name of Windows.
    #[error("{0} cannot be published: a registry takes ASCII names that are no device name")]
    Name(QualifiedName),
    /// The bundle's `SKILL.md` does not describe this skill.
    #[error("the bundle is not the skill {name}: {reason}")]
    NotThisSkill {
        /// The skill that was to be published.
        name: QualifiedName,
        /// What differs or is missing.
        reason: String,
    },
    /// The bundle was cleared only because its findings are old ones; a release is judged afresh.
    #[error("the bundle has a blocking finding ({rule} in {path}), which no release may have")]
    Blocked {
        /// The rule.
        rule: String,
        /// The file.
        path: String,
    },
    /// The bundle was only looked at.
    #[error("the judge of [scan.judge] was not asked about the bundle")]
    Unjudged,
    /// The archive is not what packing the cleared bundle gives.
    #[error("the archive is not the packed form of the bundle: expected {expected}, found {found}")]
    Archive {
        /// The hash of the packed bundle.
        expected: Digest,
        /// The hash of the archive given.
        found: Digest,
    },
    /// The version is taken by other content; build metadata does not make another version.
    #[error("{name} {version} exists with other content; publish under another version")]
    VersionExists {
        /// The skill.
        name: QualifiedName,
        /// The version.
        version: Version,
    },
    /// The version differs by its build metadata alone from one that exists.
    #[error("{name} {existing} exists, and build metadata does not make {version} another version")]
    SameVersion {
        /// The skill.
        name: QualifiedName,
        /// The version asked for.
        version: Version,
        /// The version that exists.
        existing: Box<Version>,
    },
    /// The version is taken by a release that was withdrawn.
    #[error("{name} {version} was withdrawn ({reason}); publish under another version")]
    Withdrawn {
        /// The skill.
        name: QualifiedName,
        /// The version.
        version: Version,
        /// Why.
        reason: String,
    },
    /// The signature is none of this release.
    #[error("the signature of {release} is not good: {reason}")]
    Signature {
        /// `owner/name version`.
        release: String,
        /// What is wrong with it.
        reason: SignatureError,
    },
    /// The owner signs with other keys.
    #[error("{owner} does not sign with the key {key}: {}", signing_keys(known))]
    OtherKey {
        /// The owner.
        owner: Owner,
        /// The fingerprint of the key.
        key: String,
        /// Those of the owner's keys that are not retired.
        known: Vec<String>,
    },
    /// The owner retired the key.
    #[error("{owner} retired the key {key}, so that it signs no new release: {}", signing_keys(known))]
    RetiredKey {
        /// The owner.
        owner: Owner,
        /// The fingerprint of the key.
        key: String,
        /// Those of the owner's keys that are not retired.
        known: Vec<String>,
    },
    /// The owner signs releases, and this one is not signed.
    #[error("{release} is not signed, and {owner} signs releases: {}", signing_keys(known))]
    Unsigned {
        /// `owner/name version`.
        release: String,
        /// The owner.
        owner: Owner,
        /// The fingerprints of the owner's keys that are not retired.
        known: Vec<String>,
    },
    /// The owner's file cannot be read.
    #[error("{path} in the index cannot be used: {reason}")]
    OwnerFile {
        /// The file in the tree.
        path: String,
        /// What is wrong with it.
        reason: OwnerFileError,
    },
    /// The index keeps its archives somewhere else, where this crate cannot put one.
    #[error("the index keeps its archives at {0} and cannot take one")]
    Elsewhere(String),
    /// The archive's place in the tree holds something else: the index is damaged.
    #[error("{path} in the index holds something else than the archive of this content")]
    Damaged {
        /// The path in the tree.
        path: String,
    },
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index cannot be changed: a clone, busy, a failure of git.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The line cannot be written.
    #[error(transparent)]
    Line(#[from] LineError),
}

impl From<git2::Error> for AppendError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Stamp {
    /// The same stamp without the fraction of a second.
    #[must_use]
    pub fn to_the_second(&self) -> Self {
        Self { by: self.by.clone(), at: Timestamp::from_second(self.at.as_second()).unwrap_or(self.at) }
    }
}

impl Appended {
    /// The release's line.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        match self {
            Self::Published(entry) | Self::Unchanged(entry) => entry,
        }
    }
}

impl Index {
    /// Publishes a release: one commit with the archive, the line and, for an owner's first release, the
    /// owner's file. `archive` is [`skill::archive::pack`] of the cleared bundle. When it returns, the commit is on
    /// the disk.
    ///
    /// Of two writers at one time the second plans again on what the first has committed, up to a bound.
    ///
    /// # Errors
    /// [`AppendError`] when the release is not acceptable, the version is taken, or git fails; then nothing
    /// has changed for any reader.
    pub fn append(&self, release: &NewRelease, cleared: &Cleared, archive: &[u8]) -> Result<Appended, AppendError> {
        self.store.check_writable()?;
        let path = shard::skill_file(&release.name).ok_or_else(|| AppendError::Name(release.name.clone()))?;
        check_archive(cleared, archive)?;
        if cleared.is_unjudged() {
            return Err(AppendError::Unjudged);
        }
        let key = key_of(release, cleared)?;
        let entry = Entry::new(fields_of(release, cleared, archive)?)?;
        let place = match self.config.place_of(&entry.digest) {
            BundlePlace::Tree(path) => path,
            BundlePlace::Url(url) => return Err(AppendError::Elsewhere(url)),
        };
        let blob = self.store.write_blob(archive)?;
        self.store.update(|base| {
            let lines = read_lines(base, &path)?;
            if let Some(existing) = existing(&lines, &entry)? {
                return Ok(Step::Done(Appended::Unchanged(existing)));
            }
            let mut edits = self.owner_edit(base, release, key)?;
            edits.extend(bundle_edit(base, &place, blob)?);
            edits.push(self.line_edit(&path, lines, entry.clone())?);
            let change = Change { edits, message: message_of(release), stamp: release.stamp.clone() };
            Ok(Step::Commit(change, Appended::Published(entry.clone())))
        })
    }

    fn line_edit(&self, path: &str, mut lines: Lines, entry: Entry) -> Result<TreeEdit, AppendError> {
        lines.push(entry);
        Ok(TreeEdit::Put(path.to_owned(), self.store.write_blob(&lines.to_bytes())?))
    }

    /// The file of an owner who has none yet, and the key of one who has no other.
    fn owner_edit(
        &self,
        base: &Snapshot<'_>,
        release: &NewRelease,
        key: Option<PublicKey>,
    ) -> Result<Vec<TreeEdit>, AppendError> {
        let owner = &release.name.owner;
        let path = shard::owner_file(owner);
        let is_there = base.blob_id(&path)?.is_some();
        let damaged = |reason| AppendError::OwnerFile { path: path.clone(), reason };
        let mut file = owner::read(base, owner)?.map_err(damaged)?;
        match key {
            Some(key) if file.keys().is_empty() => file.add(key, release.stamp.to_the_second().at),
            Some(key) => return file.key_refusal(owner, &key).map_or_else(|| Ok(Vec::new()), Err),
            None if !file.signing().is_empty() => {
                let release = format!("{} {}", release.name, release.version);
                return Err(AppendError::Unsigned { release, owner: owner.clone(), known: file.signing() });
            }
            None if is_there => return Ok(Vec::new()),
            None => {}
        }
        Ok(vec![TreeEdit::Put(path, self.store.write_blob(file.to_text().as_bytes())?)])
    }
}

fn signing_keys(known: &[String]) -> String {
    match known {
        [] => "all keys of this owner in the registry are retired".to_owned(),
        known => format!("the registry has {}", known.join(", ")),
    }
}

impl OwnerFile {
    /// Why a release signed with `key` is refused; `None` when the owner signs with it, or has no keys yet.
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

/// The key with which a release is signed.
fn key_of(release: &NewRelease, cleared: &Cleared) -> Result<Option<PublicKey>, AppendError> {
    let Some(signature) = &release.signature else { return Ok(None) };
    let text = statement(&release.name, &release.version, &cleared.digest());
    let bad = |reason| AppendError::Signature { release: format!("{} {}", release.name, release.version), reason };
    signed_with(signature, &text).map(Some).map_err(bad)
}

/// The archive, unless another release has brought it already.
fn bundle_edit(base: &Snapshot<'_>, place: &str, blob: git2::Oid) -> Result<Option<TreeEdit>, AppendError> {
    match base.blob_id(place)? {
        None => Ok(Some(TreeEdit::Put(place.to_owned(), blob))),
        Some(found) if found == blob => Ok(None),
        Some(_) => Err(AppendError::Damaged { path: place.to_owned() }),
    }
}

/// The release that has the version already with the same content; an error if with another.
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

fn check_archive(cleared: &Cleared, archive: &[u8]) -> Result<(), AppendError> {
    let packed = skill::archive::pack(cleared.bundle());
    if packed == archive {
        return Ok(());
    }
    Err(AppendError::Archive { expected: Digest::of_bytes(&packed), found: Digest::of_bytes(archive) })
}

fn fields_of(release: &NewRelease, cleared: &Cleared, archive: &[u8]) -> Result<Fields, AppendError> {
    let frontmatter = frontmatter_of(release, cleared)?;
    let stamp = release.stamp.to_the_second();
    Ok(Fields {
        v: Entry::V,
        name: release.name.clone(),
        version: release.version.clone(),
        digest: cleared.digest(),
        archive: Digest::of_bytes(archive),
        size: archive.len() as u64,
        files: cleared.bundle().len() as u64,
        description: frontmatter.description.unwrap_or_default(),
        license: frontmatter.license,
        keywords: frontmatter.keywords,
        requires: frontmatter.requires,
        verdict: verdict_of(cleared)?.to_string(),
        publisher: stamp.by,
        published_at: stamp.at,
        signature: release.signature.clone(),
        forked_from: release.forked_from.clone(),
        yanked: false,
        withdrawn: None,
    })
}

/// The verdict over all findings, old ones too. What the publisher accepted warns.
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

fn frontmatter_of(release: &NewRelease, cleared: &Cleared) -> Result<Frontmatter, AppendError> {
    let not = |reason: String| AppendError::NotThisSkill { name: release.name.clone(), reason };
    let text = cleared.bundle().skill_md().ok_or_else(|| not("it has no readable SKILL.md".to_owned()))?;
    let reading = frontmatter::read(text, &Limits::default()).map_err(|error| not(error.to_string()))?;
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

/// `owner/name version`, then what changed.
fn message_of(release: &NewRelease) -> String {
    let subject = format!("{} {}\n", release.name, release.version);
    match release.changelog.trim() {
        "" => subject,
        changelog => format!("{subject}\n{changelog}\n"),
    }
}
