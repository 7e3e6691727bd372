//! [`edit`]: the editing of a proposal by a person before the decision.

use jiff::Timestamp;
use library::{Action, HandEditMode, Library, Proposal, ProposalChange, ProposalState, ProposedRelease, Stamp};
use skill::{
    Bundle, BundleError, File, SkillName, SkillPath,
    edit::EditError,
    merge::{Conflict, Merge},
};

use super::{
    ProposalRef, ReviewError,
    decide::find_open,
    rebase,
    release::{self, Replacement},
};
use crate::{
    change::Change,
    conclude::{judge, unscanned},
    context::Context,
    error::ManageError,
    manage::retry_stale,
    report::{Report, Status},
    request::note,
    reviewer::Reviewer,
};

/// Request to [`edit`] a proposal.
#[derive(Debug, Clone)]
pub struct EditProposal {
    /// Proposal and the revision that was reviewed.
    pub target: ProposalRef,
    /// New contents of files.
    pub replacements: Vec<Replacement>,
    /// Files that lose the executable bit.
    pub not_executable: Vec<SkillPath>,
    /// Text that the replacements are based on, from an [`Editable`]. Later changes of the skill are preserved. If
    /// `None`, the replacements are based on the proposal's base revision.
    pub shown: Option<Bundle>,
    /// Reason for the edit.
    pub reason: Option<String>,
}

/// Proposal rebased onto the head, for editing.
#[derive(Debug)]
pub struct Editable {
    /// Whole skill: the head with the proposal's changes that apply.
    pub shown: Bundle,
    /// Files that the proposal changes, as in `shown`. A file that the head no longer has appears as proposed.
    pub files: Vec<(SkillPath, File)>,
    /// Conflicts between the head and the proposal. The files have the text of the head there.
    pub conflicts: Vec<Conflict>,
}

/// Rebases a proposal onto the current head for an editor.
///
/// # Errors
/// The proposal is damaged, or the library cannot be read.
pub fn editable(library: &Library, proposal: &Proposal) -> Result<Editable, ManageError> {
    let (base, candidate) = rebase::contents(library, proposal)?;
    let now = match library.head(&proposal.skill)? {
        Some(head) => library.bundle(&head.id)?,
        None => Bundle::default(),
    };
    let Merge { bundle: shown, conflicts } = rebase::merge(library, &base, &now, &candidate)?;
    let of = |path: &SkillPath| {
        let in_doubt = conflicts.iter().any(|conflict| conflict.path == *path);
        let file = shown.get(path).or_else(|| candidate.get(path).filter(|_| in_doubt))?;
        Some((path.clone(), file.clone()))
    };
    let files = proposal.files.iter().filter_map(|file| of(&file.path)).collect();
    Ok(Editable { shown, files, conflicts })
}

/// Creates the next revision of a proposal on the current head, edited by a person.
///
/// Files with conflicts must be among the replacements, which resolve them. Changes of the skill in other positions are
/// preserved.
///
/// # Errors
/// [`ManageError`], in which case the proposal is unchanged.
pub fn edit(
    library: &mut Library,
    request: &EditProposal,
    reviewer: &Reviewer,
    context: &Context<'_>,
) -> Result<Report, ManageError> {
    let reason = note("reason", request.reason.clone(), library.limits())?;
    let stamp = Stamp { reason, ..Stamp::new(reviewer.actor().clone(), context.time) };
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
    let snapshot = library.snapshot(&proposal.skill, stamp, HandEditMode::Commit)?;
    let (base, candidate) = rebase::contents(library, &proposal)?;
    let merged = rebase::merge(library, &base, &snapshot.bundle, &candidate)?;
    let files = Files { base: base.clone(), candidate: &candidate, now: &snapshot.bundle, merged: &merged.bundle };
    let (edited, settled) = files.with(library, &proposal.skill, request)?;
    let is_settled = |path: &SkillPath| request.replacements.iter().any(|replacement| replacement.path == *path);
    let open: Vec<_> = merged.conflicts.into_iter().filter(|conflict| !is_settled(&conflict.path)).collect();
    if let Some(first) = open.first() {
        return Err(ManageError::MergeConflict {
            message: format!("the proposal {} conflicts with the current {}: {first}", proposal.id, proposal.skill),
            hint: format!("give the complete new file with --path {} --content FILE", first.path).into(),
            conflicts: open,
        });
    }
    if edited.is_empty() && proposal.action != Action::Delete {
        return Err(ReviewError::NothingLeft(proposal.id).into());
    }
    if edited == candidate && proposal.base.as_ref() == snapshot.base.as_ref().map(|base| &base.id) {
        return Err(ReviewError::NotEdited(proposal.id).into());
    }
    let mut messages = vec![format!("{} edited the proposal {}", stamp.actor, proposal.id)];
    messages.extend(settled.iter().map(|conflict| format!("the given file resolves this conflict: {conflict}")));
    let mut change = Change::new(&proposal.skill, proposal.action, snapshot, edited);
    change.messages = messages;
    let both = [&base, &change.snapshot.bundle];
    let release = release::after_edit(library, &proposal, both, &change.candidate, &request.replacements)?;
    let is_open = release.as_ref().is_some_and(|release| !release.unresolved.is_empty());
    let judged = if is_open { unscanned(&change) } else { judge(library, &change)? };
    let edited = amended(&proposal, &change, release, judged.scan(), library.proposal_expiry(stamp.time), stamp);
    let mut report = Report {
        status: Status::Proposed,
        proposal: Some(edited.id.to_string()),
        proposal_revision: Some(edited.revision),
        ..judged.report
    };
    report.add(&match is_open {
        true => format!("resolve the other conflicts with `skillhub review edit {}`", edited.id),
        false => format!("accept it with `skillhub review accept {}@{}`", edited.id, edited.revision),
    });
    library.commit(ProposalChange::noted(edited, stamp))?;
    Ok(report)
}

/// Builds the next revision of the proposal, attributed to its editor.
fn amended(
    proposal: &Proposal,
    change: &Change<'_>,
    release: Option<ProposedRelease>,
    scan: scan::Report,
    expires: Timestamp,
    stamp: &Stamp,
) -> Proposal {
    let mut edited = Proposal {
        state: ProposalState::Pending,
        revision: proposal.revision + 1,
        release,
        scan,
        updated: stamp.time,
        expires,
        edited_by: Some(stamp.actor.clone()),
        note: None,
        ..proposal.clone()
    };
    let base = change.snapshot.base.as_ref().map(|base| base.id.clone());
    edited.set_candidate(base, &change.snapshot.bundle, &change.candidate);
    edited
}

/// Clears the executable bit of the given files.
fn without_bits(
    library: &Library,
    skill: &SkillName,
    bundle: Bundle,
    paths: &[SkillPath],
) -> Result<Bundle, ManageError> {
    paths.iter().try_fold(bundle, |bundle, path| {
        let file = bundle.get(path).cloned().ok_or_else(|| ManageError::Edit {
            name: skill.clone(),
            fault: EditError::FileNotFound { path: path.clone(), nearest: Vec::new() },
        })?;
        let file = File { executable: false, ..file };
        bundle.with_file(path.clone(), file, library.limits()).map_err(too_large)
    })
}

fn too_large(error: BundleError) -> ManageError {
    ManageError::TooLarge(error.to_string())
}

/// States of a skill that an edit combines.
struct Files<'a> {
    base: Bundle,
    candidate: &'a Bundle,
    now: &'a Bundle,
    merged: &'a Bundle,
}

impl Files<'_> {
    /// Returns the merged skill with the files replaced, and the conflicts between the replacements and the skill.
    /// Changes of the skill elsewhere in a replaced file are preserved.
    fn with(
        &self,
        library: &Library,
        skill: &SkillName,
        request: &EditProposal,
    ) -> Result<(Bundle, Vec<Conflict>), ManageError> {
        let (from, side, now) = match &request.shown {
            Some(shown) => (shown, shown, self.merged),
            None => (&self.base, self.candidate, self.now),
        };
        let given = self.replace(library, side, &request.replacements)?;
        let both = match from == now {
            true => Merge { bundle: given, conflicts: Vec::new() },
            false => rebase::merge(library, from, &given, now)?,
        };
        let kept = request.replacements.iter().map(|Replacement { path, bytes }| Replacement {
            path: path.clone(),
            bytes: bytes
                .as_ref()
                .map(|bytes| both.bundle.get(path).map_or_else(|| bytes.clone(), |file| file.bytes.to_vec())),
        });
        let edited = self.replace(library, self.merged, &kept.collect::<Vec<_>>())?;
        let edited = without_bits(library, skill, edited, &request.not_executable)?;
        let is_given = |path: &SkillPath| request.replacements.iter().any(|replacement| replacement.path == *path);
        Ok((edited, both.conflicts.into_iter().filter(|conflict| is_given(&conflict.path)).collect()))
    }

    /// Replaces files of a bundle. Each keeps its executable bit.
    fn replace(&self, library: &Library, bundle: &Bundle, with: &[Replacement]) -> Result<Bundle, ManageError> {
        with.iter().try_fold(bundle.clone(), |bundle, Replacement { path, bytes }| match bytes {
            None => Ok(bundle.without_file(path)),
            Some(bytes) => {
                let before = self.candidate.get(path).or_else(|| self.merged.get(path));
                let executable = before.is_some_and(|file| file.executable);
                let file = File { bytes: bytes.as_slice().into(), executable };
                bundle.with_file(path.clone(), file, library.limits()).map_err(too_large)
            }
        })
    }
}
