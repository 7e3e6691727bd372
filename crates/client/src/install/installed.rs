//! [`Installed`]: what became of one skill that was to be installed or updated.

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

/// How installing one skill ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStatus {
    /// It is new.
    Installed,
    /// Another release is in place of the old one.
    Updated,
    /// Another release was merged with what was changed here.
    Merged,
    /// It was there already.
    Unchanged,
    /// Something else is in its way.
    Conflict,
    /// The scan blocks it.
    Blocked,
    /// It would be installed or updated.
    DryRun,
    /// Anything else went wrong.
    Failed,
}

impl InstallStatus {
    /// The status in JSON.
    #[must_use]
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

/// What became of one skill.
#[derive(Debug)]
pub struct Installed {
    /// `owner/name`, or the bare name from a source that has no owners; the spec when not even the
    /// name came to be known.
    pub name: String,
    /// The version, where the source has one.
    pub version: Option<String>,
    /// Its folder in the library.
    pub path: Option<PathBuf>,
    /// Where it stands in agents' folders; of a dry run, where it would.
    pub links: Vec<PathBuf>,
    /// Originals in agents' folders that links replaced; `undo` brings them back.
    pub originals: Vec<PathBuf>,
    /// The digest of the release, or of the source's files; the skill may have evolved since.
    pub digest: Option<Digest>,
    /// How it ended.
    pub status: InstallStatus,
    /// The skill's head now.
    pub revision: Option<RevisionId>,
    /// The head before; none for a skill that is new.
    pub previous: Option<RevisionId>,
    /// Where it came from.
    pub origin: Option<Origin>,
    /// The fingerprint of the key with which its owner signed it.
    pub signer: Option<String>,
    /// Whether it comes only since others require it.
    pub is_dependency: bool,
    /// What changes in the library, or would: the files as they were against those that come. For a conflict
    /// those of the proposal, with both sides between markers.
    pub change: Option<BundleDiff>,
    /// The files with changes made here that another release changes as well, sorted.
    pub touched: Vec<SkillPath>,
    /// Where the release and the changes made here disagree.
    pub conflicts: Vec<Conflict>,
    /// The proposal that holds both sides for a person.
    pub proposal: Option<ProposalId>,
    /// What the scanner found.
    pub report: Option<Report>,
    /// What it would touch, as agents will see it.
    pub capabilities: Option<Capabilities>,
    /// What of that differs from the files before; none for a skill that is new.
    pub delta: Option<CapabilityDelta>,
    /// What went otherwise than asked for without being a failure, one sentence each.
    pub warnings: Vec<String>,
    /// Why the folder does not show the revision yet.
    pub checkout_pending: Option<String>,
    /// Why it was not installed.
    pub error: Option<InstallError>,
}

impl Installed {
    /// A result of which nothing else is known.
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
            warnings: Vec::new(),
            checkout_pending: None,
            error: None,
        }
    }

    /// The result about a skill that cannot be installed.
    #[must_use]
    pub fn failed(name: String, version: Option<String>, error: InstallError) -> Self {
        let status = match error.failure().kind {
            FailureKind::Conflict => InstallStatus::Conflict,
            FailureKind::Blocked => InstallStatus::Blocked,
            _ => InstallStatus::Failed,
        };
        Self { report: error.report().cloned(), error: Some(error), ..Self::new(name, version, status) }
    }

    /// The registry, the owner and the key of a signed release that is here now.
    pub(super) fn signed(&self) -> Option<(&str, &str, &str)> {
        let (origin, key) = (self.origin.as_ref()?, self.signer.as_deref()?);
        let (owner, _) = origin.name.split_once('/')?;
        self.error.is_none().then_some((origin.source.as_str(), owner, key))
    }

    /// The place of the registry of a release that is here now.
    pub(super) fn registry(&self) -> Option<&str> {
        let origin = self.origin.as_ref().filter(|origin| origin.kind == "registry")?;
        self.error.is_none().then_some(origin.source.as_str())
    }

    /// Takes over what the commit came to.
    pub(super) fn follow(&mut self, committed: Option<&Committed>) {
        let Some(committed) = committed else { return };
        self.revision = Some(committed.revision.id.clone());
        self.previous = committed.previous.clone();
        match &committed.checkout {
            Checkout::Done => {}
            Checkout::HandEditKept(id) => {
                self.warnings.push(format!("a hand edit of that very moment is kept as revision {}", id.short()));
            }
            Checkout::Pending(why) => self.checkout_pending = Some(why.clone()),
        }
    }

    /// The skill's own name.
    #[must_use]
    pub fn skill(&self) -> Option<SkillName> {
        SkillName::parse(self.name.rsplit('/').next().unwrap_or(&self.name)).ok()
    }
}
