//! [`edit`]: a person changes what is proposed, before deciding.

use library::{EventStatus, Library, Proposal, ProposalState, Stamp, TakeOver};
use skill::{Bundle, File, SkillPath};

use super::{
    ProposalRef, ReviewError,
    decide::find_open,
    hold::{expiry, noted},
    rebase,
};
use crate::{
    change::{Change, judge},
    error::ManageError,
    manage::{Context, retry_stale},
    report::{Report, Status},
    reviewer::Reviewer,
};

/// The new content of one file.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// The file.
    pub path: SkillPath,
    /// What it is to be; `None` takes it out of the candidate.
    pub bytes: Option<Vec<u8>>,
}

/// What is asked of [`edit`].
#[derive(Debug, Clone)]
pub struct EditProposal {
    /// The proposal, and the revision of it that was looked at.
    pub target: ProposalRef,
    /// The files.
    pub replacements: Vec<Replacement>,
    /// Why.
    pub reason: Option<String>,
}

/// The files of a proposal's candidate on the head as it is, for an editor: those that it changes, and
/// those where the two disagree, as the skill has them now.
///
/// # Errors
/// The proposal is none that waits, or the library cannot be read.
pub fn edited_files(library: &Library, proposal: &Proposal) -> Result<Vec<(SkillPath, File)>, ManageError> {
    let (base, candidate) = rebase::contents(library, proposal)?;
    let now = match library.head(&proposal.skill)? {
        Some(head) => library.bundle(&head.id)?,
        None => Bundle::default(),
    };
    let merged = rebase::merge(library, &base, &now, &candidate)?;
    let of = |path: &SkillPath| {
        let conflict = merged.conflicts.iter().any(|conflict| conflict.path == *path);
        let file = if conflict { candidate.get(path).or_else(|| now.get(path)) } else { merged.bundle.get(path) };
        Some((path.clone(), file?.clone()))
    };
    Ok(proposal.files.iter().filter_map(|file| of(&file.path)).collect())
}

/// Makes a proposal's next revision by a person, on the head as it is now. Files that both changed in
/// the same place have to be among the replacements: they settle what stands there.
///
/// # Errors
/// [`ManageError`]; the proposal is then as it was.
pub fn edit(
    library: &mut Library,
    request: &EditProposal,
    reviewer: &Reviewer,
    context: &Context<'_>,
) -> Result<Report, ManageError> {
    let stamp = Stamp { reason: request.reason.clone(), ..Stamp::new(reviewer.actor().clone(), context.time) };
    let mut target = request.target.clone();
    target.revision = Some(find_open(library, &target, &stamp)?.revision);
    retry_stale(library, |library| attempt(library, request, &target, &stamp))
}

fn attempt(
    library: &mut Library,
    request: &EditProposal,
    target: &ProposalRef,
    stamp: &Stamp,
) -> Result<Report, ManageError> {
    let proposal = find_open(library, target, stamp)?;
    let snapshot = library.snapshot(&proposal.skill, stamp, TakeOver::Commit)?;
    let (base, candidate) = rebase::contents(library, &proposal)?;
    let merged = rebase::merge(library, &base, &snapshot.bundle, &candidate)?;
    let is_settled = |path: &SkillPath| request.replacements.iter().any(|replacement| replacement.path == *path);
    let open: Vec<_> = merged.conflicts.into_iter().filter(|conflict| !is_settled(&conflict.path)).collect();
    if let Some(first) = open.first() {
        return Err(ManageError::MergeConflict {
            message: format!("the proposal {} does not fit {} as it is now: {first}", proposal.id, proposal.skill),
            hint: format!("give the whole file as it is to be: --path {} --content FILE", first.path),
            conflicts: open,
        });
    }
    let edited = replace(library, merged.bundle, &candidate, &request.replacements)?;
    if edited == candidate && proposal.base.as_ref() == snapshot.base.as_ref().map(|base| &base.id) {
        return Err(ReviewError::NotEdited(proposal.id).into());
    }
    let change = Change {
        skill: &proposal.skill,
        action: proposal.action,
        edits: &[],
        origin: None,
        snapshot,
        candidate: edited,
        absorbed_into: None,
        hand_edit: None,
        checks_out_again: false,
        messages: vec![format!("{} edited the proposal {}", stamp.actor, proposal.id)],
        dry_run: false,
        is_edit: true,
        on_proposal: false,
        accepted: None,
    };
    let judged = judge(library, &change)?;
    let mut edited = Proposal {
        state: ProposalState::Pending,
        revision: proposal.revision + 1,
        scan: judged.scan(),
        updated: stamp.time,
        expires: expiry(library, stamp.time),
        edited_by: Some(stamp.actor.clone()),
        note: None,
        ..proposal.clone()
    };
    edited.set_candidate(
        change.snapshot.base.as_ref().map(|base| base.id.clone()),
        &change.snapshot.bundle,
        &change.candidate,
    );
    let report = Report {
        status: Status::Proposed,
        proposal: Some(edited.id.to_string()),
        proposal_revision: Some(edited.revision),
        ..judged.report
    };
    library.commit_with(Vec::new(), vec![noted(edited, EventStatus::Amended, stamp)])?;
    Ok(report)
}

/// The bundle with the files replaced; one keeps the executable bit that it has.
fn replace(
    library: &Library,
    bundle: Bundle,
    candidate: &Bundle,
    replacements: &[Replacement],
) -> Result<Bundle, ManageError> {
    replacements.iter().try_fold(bundle, |bundle, Replacement { path, bytes }| match bytes {
        None => Ok(bundle.without_file(path)),
        Some(bytes) => {
            let executable = candidate.get(path).or_else(|| bundle.get(path)).is_some_and(|file| file.executable);
            let file = File { bytes: bytes.as_slice().into(), executable };
            let too_large = |error: skill::BundleError| ManageError::TooLarge(error.to_string());
            bundle.with_file(path.clone(), file, library.limits()).map_err(too_large)
        }
    })
}
