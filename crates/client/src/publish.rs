//! [`publish`] and [`publish_all`]: publish the skills in folders as releases in a registry.

mod batch;
mod draft;
mod error;
mod fork;
mod session;
mod skill_folder;

use std::path::Path;

use jiff::Timestamp;
use registry_index::{Bump, ForkedFrom};
use scan::{Report, Verdict};
use semver::Version;
use skill::{Digest, Problem, QualifiedName};

pub use self::{
    batch::{PublishItem, publish_all},
    error::PublishError,
    fork::{Fork, ForkError, ForkKnown, ForkResults, publish_fork},
    skill_folder::skill_folders,
};
use self::{session::Session, skill_folder::SkillFolder};
use crate::{accept::Accept, registry::Registries, signing::SigningKey};

/// Options for publishing a release.
#[derive(Debug, Clone, Default)]
pub struct PublishOptions {
    /// Version of the release. By default the frontmatter's; if it has none, the next patch version, or 1.0.0 for a
    /// first release.
    pub version: Option<String>,
    /// Number of the newest version to increase. It replaces the frontmatter's version, except in a first release.
    pub bump: Option<Bump>,
    /// Publish nothing if the newest release has the same content, whatever version is requested.
    pub changed: bool,
    /// Owner to publish under.
    pub owner: Option<String>,
    /// Description of the changes, for people: plain text, or empty.
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
    /// A new release could be published, but another skill of the batch failed first; nothing was written.
    NotPublished,
}

impl PublishStatus {
    /// Returns the word for the status in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Unchanged => "unchanged",
            Self::DryRun => "dry_run",
            Self::NotPublished => "not_published",
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
    /// Newest version before this release, including yanked ones; `None` if the skill is new.
    pub newest: Option<Version>,
    /// Digest of the content.
    pub digest: Digest,
    /// True if the registry holds the release because of its content, so that it cannot be installed yet.
    pub is_held: bool,
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
    publish_files(|| SkillFolder::read(folder), None, options, by, accept)
}

/// Publishes the files of one skill.
fn publish_files(
    files: impl FnOnce() -> Result<SkillFolder, PublishError>,
    forked_from: Option<ForkedFrom>,
    options: &PublishOptions,
    by: Publisher<'_>,
    accept: &Accept<'_>,
) -> Result<Published, PublishError> {
    let mut session = Session::new(options, by)?;
    let draft = session.check(files()?, forked_from, accept)?;
    session.publish(draft)
}
