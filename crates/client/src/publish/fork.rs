//! [`publish_fork`]: publishes an installed skill that was changed here as a release of another owner.

use library::{HandEditMode, Library, Origin, OriginFields, Revision, Stamp};
use registry_index::{EvalCounts, ForkedFrom, OutcomeCounts};
use skill::{Digest, Limits, SkillName};

use super::{PublishError, PublishOptions, Published, Publisher, SkillFolder, publish_files};
use crate::{accept::Accept, spec::is_scp_form};

mod error;

pub use error::ForkError;

/// A fork to be published, passed to the lookup of its results.
#[derive(Debug, Clone, Copy)]
pub struct Fork<'a> {
    /// Name of the skill.
    pub name: &'a SkillName,
    /// Revision with this content; `None` for a hand edit that has no revision yet.
    pub revision: Option<&'a Revision>,
    /// Digest of the content.
    pub digest: Digest,
    /// Digest of the release from which it was forked.
    pub base: &'a str,
}

/// Recorded results of a fork, as counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForkResults {
    /// Outcomes of its uses.
    pub outcomes: Option<OutcomeCounts>,
    /// Results on evaluation cases, compared with the original release.
    pub evals: Option<EvalCounts>,
}

/// Lookup of the recorded results of a fork.
pub type ForkKnown<'a> = dyn Fn(&Library, &Fork<'_>) -> ForkResults + 'a;

/// Publishes the current state of a skill under the publisher's name, with its original release and its recorded
/// results. The fork has the name of the release, also if that is installed under another one. The skill in the library
/// continues to follow the release that was installed.
///
/// # Errors
/// [`PublishError`]; the registry is then unchanged.
pub fn publish_fork(
    library: &mut Library,
    name: &SkillName,
    options: &PublishOptions,
    by: Publisher<'_>,
    stamp: &Stamp,
    known: &ForkKnown<'_>,
    accept: &Accept<'_>,
) -> Result<Published, PublishError> {
    let head = library.head(name).map_err(ForkError::from)?.filter(|head| !head.tombstone);
    let head = head.ok_or_else(|| ForkError::NotHere(name.clone()))?;
    let origin = head.origin.ok_or_else(|| ForkError::NotInstalled(name.clone()))?;
    let own_name = origin.bare_name().clone();
    let is_owner = |owner: &str| origin.name() == format!("{owner}/{own_name}");
    if options.owner.as_deref().is_some_and(is_owner) {
        return Err(ForkError::OwnSkill(origin.name()).into());
    }
    let take_over = if options.dry_run { HandEditMode::DryRun } else { HandEditMode::Commit };
    let snapshot = library.snapshot(name, stamp, take_over).map_err(ForkError::from)?;
    let digest = snapshot.bundle.digest();
    let files = match own_name == *name {
        true => snapshot.bundle,
        false => snapshot
            .bundle
            .renamed(&own_name, &Limits::default())
            .ok_or_else(|| ForkError::Rename { name: name.clone(), wanted: own_name.clone() })?,
    };
    if origin.digest().known() == Some(files.digest()) {
        return Err(ForkError::NotChanged { name: name.clone(), release: origin.release() }.into());
    }
    let folder = library.path().join(own_name.as_str());
    let revision = snapshot.base.as_ref().filter(|revision| revision.digest == digest);
    let results = known(library, &Fork { name, revision, digest, base: &origin.digest().to_string() });
    let files = || SkillFolder::of(&folder, files);
    publish_files(files, Some(forked_from(origin, results)), options, by, accept)
}

/// Returns the public part of an origin. A source that exists on this machine only is left out.
fn forked_from(origin: Origin, results: ForkResults) -> ForkedFrom {
    let OriginFields { source, name, version, commit, digest, .. } = origin.into();
    let is_far = !source.starts_with("file:") && (source.contains("://") || is_scp_form(&source));
    ForkedFrom {
        source: is_far.then_some(source),
        name,
        version,
        commit,
        digest,
        outcomes: results.outcomes,
        evals: results.evals,
    }
}
