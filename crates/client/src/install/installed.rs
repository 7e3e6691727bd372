//! [`Installed`]: the result of installing or updating one skill.

use std::path::PathBuf;

use library::{Checkout, Committed, Origin, ProposalId, RevisionId};
use scan::{Capabilities, CapabilityDelta, Report};
use skill::{
    Digest, SkillName, SkillPath,
    diff::BundleDiff,
    failure::{Fails, FailureKind},
    merge::Conflict,
};

use super::InstallError;
use crate::{registry::SignerKey, releases::ReleaseNotes};

/// Outcome of installing one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStatus {
    /// The skill is new in the library.
    Installed,
    /// Another release replaced the installed one.
    Updated,
    /// Another release was merged with the changes made here.
    Merged,
    /// The library already had this release.
    Unchanged,
    /// Another skill, a folder or a change made here conflicts with the release.
    Conflict,
    /// The scan blocks the skill.
    Blocked,
    /// The skill would be installed or updated; nothing was written.
    DryRun,
    /// Any other error occurred.
    Failed,
}

impl InstallStatus {
    /// Returns the word for the status in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Updated => "updated",
            Self::Merged => "merged",
            Self::Unchanged => "unchanged",
            Self::Conflict => "conflict",
            Self::Blocked => "blocked",
            Self::DryRun => "dry_run",
            Self::Failed => "failed",
        }
    }
}

/// Result of installing or updating one skill.
#[derive(Debug)]
pub struct Installed {
    /// Full name `owner/name`, or the bare name from a source without owners. If reading failed before the name was
    /// known, the spec.
    pub name: String,
    /// Version, if the source has one.
    pub version: Option<String>,
    /// Path of the skill's folder in the library.
    pub path: Option<PathBuf>,
    /// Paths of its links or copies in agents' folders. A dry run lists those that it would create.
    pub links: Vec<PathBuf>,
    /// Originals in agents' folders that were replaced with links. `undo` restores them.
    pub originals: Vec<PathBuf>,
    /// Digest of the release or of the source's files. The installed skill may have changed since.
    pub digest: Option<Digest>,
    /// Outcome for this skill.
    pub status: InstallStatus,
    /// Head of the skill after the operation.
    pub revision: Option<RevisionId>,
    /// Head before the operation; `None` for a new skill.
    pub previous: Option<RevisionId>,
    /// Origin of the release.
    pub origin: Option<Origin>,
    /// Fingerprint of the key with which the owner signed the release.
    pub signer: Option<String>,
    /// True if it is installed only as a requirement of other skills.
    pub is_dependency: bool,
    /// Difference between the files before and after the operation. For a conflict, the difference to the files of the
    /// proposal, which have both sides between markers.
    pub change: Option<BundleDiff>,
    /// Files changed here that the other release also changes, sorted.
    pub touched: Vec<SkillPath>,
    /// Conflicts between the release and the changes made here.
    pub conflicts: Vec<Conflict>,
    /// Proposal that holds both sides for a person to decide. `None` in a dry run that would make one.
    pub proposal: Option<ProposalId>,
    /// Scan report, if the skill was scanned.
    pub report: Option<Report>,
    /// Capabilities of the files that agents will see.
    pub capabilities: Option<Capabilities>,
    /// Change of the capabilities; `None` for a new skill.
    pub delta: Option<CapabilityDelta>,
    /// Changelogs of the releases between the installed one and this one, newest first.
    pub notes: Vec<ReleaseNotes>,
    /// Deviations from the request that are not errors, one sentence each.
    pub warnings: Vec<String>,
    /// Reason why the folder does not have the files of the revision yet.
    pub checkout_pending: Option<String>,
    /// Reason why the skill was not installed.
    pub error: Option<InstallError>,
}

impl Installed {
    /// Creates a result with only these fields set.
    pub(crate) fn new(name: String, version: Option<String>, status: InstallStatus) -> Self {
        Self {
            name,
            version,
            path: None,
            links: Vec::new(),
            originals: Vec::new(),
            digest: None,
            status,
            revision: None,
            previous: None,
            origin: None,
            signer: None,
            is_dependency: false,
            change: None,
            touched: Vec::new(),
            conflicts: Vec::new(),
            proposal: None,
            report: None,
            capabilities: None,
            delta: None,
            notes: Vec::new(),
            warnings: Vec::new(),
            checkout_pending: None,
            error: None,
        }
    }

    /// Creates the result for a skill that cannot be installed.
    pub fn failed(name: String, version: Option<String>, error: InstallError) -> Self {
        let status = match error.failure().kind {
            FailureKind::Conflict => InstallStatus::Conflict,
            FailureKind::Blocked => InstallStatus::Blocked,
            _ => InstallStatus::Failed,
        };
        Self { report: error.report().cloned(), error: Some(error), ..Self::new(name, version, status) }
    }

    /// Returns the key that signed a release that is now installed.
    pub(super) fn signed(&self) -> Option<SignerKey<'_>> {
        let (release, key) = (self.origin.as_ref()?.as_registry()?, self.signer.as_deref()?);
        let signed = SignerKey { registry: &release.registry, owner: release.name.owner.as_str(), key };
        self.error.is_none().then_some(signed)
    }

    /// Returns the location of the registry of a release that is now installed.
    pub(super) fn registry(&self) -> Option<&str> {
        let release = self.origin.as_ref()?.as_registry()?;
        self.error.is_none().then_some(release.registry.as_str())
    }

    /// Copies the outcome of the commit into the result.
    pub(super) fn follow(&mut self, committed: Option<&Committed>) {
        let Some(committed) = committed else { return };
        self.revision = Some(committed.revision.id.clone());
        self.previous = committed.previous.clone();
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.warnings.push(format!("a hand edit made at the same moment was kept as revision {}", id.short()));
            }
            Checkout::Pending(why) => self.checkout_pending = Some(why.clone()),
        }
    }

    /// Returns the bare name of the skill.
    pub fn skill(&self) -> Option<SkillName> {
        SkillName::parse(self.name.rsplit('/').next().unwrap_or(&self.name)).ok()
    }
}
