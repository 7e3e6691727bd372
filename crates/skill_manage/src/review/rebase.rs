//! [`rebase`]: a proposal's candidate brought onto the head as it is now.
//!
//! Only the merge of whole skills moves a candidate. Looking for the place of a single patch by its
//! text would find more, but could not show that it is the place that was meant: where the merge is in
//! doubt, the proposal is stale.

use library::{Library, Proposal, Snapshot};
use skill::{
    Bundle,
    merge::{self, Conflict, Merge},
};

use super::ReviewError;
use crate::error::ManageError;

/// What a proposal comes to on the head.
pub(super) enum Rebased {
    /// This candidate.
    Clean(Bundle),
    /// Nothing that is certain: why, and in which places.
    Stale(String, Vec<Conflict>),
}

/// The files of a proposal's base, and its candidate.
pub(crate) fn contents(library: &Library, proposal: &Proposal) -> Result<(Bundle, Bundle), ManageError> {
    let base = match &proposal.base {
        Some(base) => library.bundle(base)?,
        None => Bundle::default(),
    };
    let damaged = |why| ReviewError::Damaged { id: proposal.id.clone(), why };
    let candidate = proposal.candidate(&base, library.limits()).map_err(damaged)?;
    Ok((base, candidate))
}

/// Both changes of `base` together; `ours` where they conflict.
pub(super) fn merge(library: &Library, base: &Bundle, ours: &Bundle, theirs: &Bundle) -> Result<Merge, ManageError> {
    if base == ours {
        return Ok(Merge { bundle: theirs.clone(), conflicts: Vec::new() });
    }
    merge::merge(base, ours, theirs, library.limits()).map_err(|error| ManageError::TooLarge(error.to_string()))
}

/// Brings a proposal onto the skill as it stands.
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
        return Ok(Rebased::Stale(format!("there is a skill {skill} now, since revision {number}"), Vec::new()));
    }
    let merged = merge(library, &base, &now.bundle, &candidate)?;
    Ok(match merged.conflicts.first() {
        None => Rebased::Clean(merged.bundle),
        Some(first) => {
            let more = merged.conflicts.len() - 1;
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            let why = format!("{skill} was changed in the same place since, up to revision {number}: {first}{more}");
            Rebased::Stale(why, merged.conflicts)
        }
    })
}
