//! [`rebase`]: moves a proposal's candidate onto the current head.
//!
//! Only a merge of whole skills moves a candidate. Searching for the text of a single patch would find more matches,
//! but could not prove that the match is the intended one. If the merge is in doubt, the proposal is stale.

use library::{Library, Proposal, Snapshot};
use skill::{
    Bundle,
    merge::{self, Conflict, Merge},
};

use super::ReviewError;
use crate::error::ManageError;

/// Result of moving a proposal onto the head.
pub(super) enum Rebased {
    /// Candidate without conflicts.
    Clean(Bundle),
    /// Conflicting or impossible, with the reason and the conflicts.
    Stale(String, Vec<Conflict>),
}

/// Returns the files of a proposal's base, and its candidate.
pub(crate) fn contents(library: &Library, proposal: &Proposal) -> Result<(Bundle, Bundle), ManageError> {
    let base = match &proposal.base {
        Some(base) => library.bundle(base)?,
        None => Bundle::default(),
    };
    let damaged = |why| ReviewError::Damaged { id: proposal.id.clone(), why };
    let candidate = proposal.candidate(&base, library.limits()).map_err(damaged)?;
    Ok((base, candidate))
}

/// Merges two changes of `base`. Conflicts keep `ours`.
pub(super) fn merge(library: &Library, base: &Bundle, ours: &Bundle, theirs: &Bundle) -> Result<Merge, ManageError> {
    if base == ours {
        return Ok(Merge { bundle: theirs.clone(), conflicts: Vec::new() });
    }
    merge::merge(base, ours, theirs, library.limits()).map_err(|error| ManageError::TooLarge(error.to_string()))
}

/// Rebases a proposal onto the current skill.
pub(super) fn rebase(library: &Library, proposal: &Proposal, now: &Snapshot) -> Result<Rebased, ManageError> {
    let (base, candidate) = contents(library, proposal)?;
    if candidate == now.bundle {
        return Ok(Rebased::Clean(candidate));
    }
    let (skill, number) = (&proposal.skill, now.base.as_ref().map_or(0, |head| head.number));
    if !now.exists() && !base.is_empty() {
        return Ok(Rebased::Stale(format!("{skill} was deleted in revision {number}"), Vec::new()));
    }
    if now.exists() && base.is_empty() {
        return Ok(Rebased::Stale(format!("a skill named {skill} exists since revision {number}"), Vec::new()));
    }
    let merged = merge(library, &base, &now.bundle, &candidate)?;
    Ok(match merged.conflicts.first() {
        None => Rebased::Clean(merged.bundle),
        Some(first) => {
            let more = merged.conflicts.len() - 1;
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            let why = format!("{skill} has changed in the same place, up to revision {number}: {first}{more}");
            Rebased::Stale(why, merged.conflicts)
        }
    })
}
