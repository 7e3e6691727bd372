//! Proposals that merge a newer release: their unresolved files, and the release that the next revision of the skill
//! includes.

use library::{Library, Proposal, ProposedRelease, Snapshot, Upstream, changed_files};
use skill::failure::{Hint, NextStep};
use skill::{Bundle, File, SkillPath};

use super::ReviewError;
use crate::error::ManageError;

/// New content of one file.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// Path of the file.
    pub path: SkillPath,
    /// New content. `None` removes the file from the candidate.
    pub bytes: Option<Vec<u8>>,
}

/// Refuses a proposal with conflicts that a person still has to resolve.
pub(super) fn check_resolved(proposal: &Proposal) -> Result<(), ReviewError> {
    match &proposal.release {
        Some(release) if !release.unresolved.is_empty() => Err(ReviewError::Unresolved {
            id: proposal.id.clone(),
            skill: proposal.skill.clone(),
            paths: release.unresolved.clone(),
        }),
        _ => Ok(()),
    }
}

/// Returns the release that a proposal on `base` merges in, scanned with the current rules.
pub(super) fn upstream(
    library: &Library,
    proposal: &Proposal,
    base: &Bundle,
    snapshot: &Snapshot,
) -> Result<Option<Box<Upstream>>, ManageError> {
    let Some(release) = &proposal.release else { return Ok(None) };
    let files = bundle(library, proposal, release, base)?;
    match library.clear(&proposal.skill, files, snapshot.baseline())? {
        Ok(files) => Ok(Some(Box::new(Upstream { files, origin: release.origin.clone() }))),
        Err(blocked) => Err(ManageError::ScanBlocked {
            message: format!("the scanner blocks the release itself: {blocked}"),
            findings: blocked.into_report().findings,
            hint: Hint::from("reject the release: ").step(NextStep::RejectProposal(proposal.id.to_string())),
        }),
    }
}

/// Updates a proposal's release after an edit by a person. A file counts as resolved once its replacement has no
/// conflict markers. `base` and `now` are the proposal's base before and after the edit.
pub(super) fn after_edit(
    library: &Library,
    proposal: &Proposal,
    [base, now]: [&Bundle; 2],
    candidate: &Bundle,
    replacements: &[Replacement],
) -> Result<Option<ProposedRelease>, ManageError> {
    let Some(release) = &proposal.release else { return Ok(None) };
    let files = bundle(library, proposal, release, base)?;
    let has_marker = |file: &File| file.text().is_some_and(|text| release.marker_line(text).is_some());
    let mut unresolved = release.unresolved.clone();
    unresolved.retain(|path| {
        let was_replaced = replacements.iter().any(|replacement| replacement.path == *path);
        !was_replaced || candidate.get(path).is_some_and(has_marker)
    });
    Ok(Some(ProposedRelease { files: changed_files(now, &files), unresolved, ..release.clone() }))
}

fn bundle(
    library: &Library,
    proposal: &Proposal,
    release: &ProposedRelease,
    base: &Bundle,
) -> Result<Bundle, ManageError> {
    let damaged = |why| ReviewError::Damaged { id: proposal.id.clone(), why };
    Ok(release.bundle(base, library.limits()).map_err(damaged)?)
}
