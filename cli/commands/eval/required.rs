//! Requirement that a proposal was compared with the skill that it replaces, and does no worse.

use evolve::evals::evals_digest;
use library::{Library, Proposal, RevisionId};
use skill_manage::review::{self, ProposalRef};

use super::store::Store;
use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// Checks a proposal against the stored comparison of exactly its base, its candidate and the base's evals. Returns the
/// proposal pinned to the revision that was checked.
///
/// # Errors
/// There is no such comparison, or the candidate did worse.
pub fn check(context: &Context, library: &Library, target: &ProposalRef) -> Result<ProposalRef, CliError> {
    let proposal = review::waiting(library, target, context.now)?;
    let id = &proposal.id;
    let compare = format!("skillhub eval compare {} head {id} --runner CMD", proposal.skill);
    let refused = |message: String| CliError::new("evals_required", Exit::Refused, message);
    let base = proposal.base.as_ref().filter(|base| is_head(library, &proposal, base));
    let Some(base) = base else {
        return Err(refused(format!(
            "{id} was made on an older revision of {}, so no comparison applies to it",
            proposal.skill
        ))
        .hint(format!("move it onto the newest revision: skillhub review edit {id}")));
    };
    let files = library.bundle(base)?;
    let stored = Store::of(context).find(&files.digest(), &proposal.digest, &evals_digest(&files))?;
    let Some(stored) = stored else {
        return Err(refused(format!(
            "{id}@{} was not compared with the skill's newest revision on its test cases; a comparison with --trigger does \
             not count, because its queries test the description only",
            proposal.revision
        ))
        .hint(compare));
    };
    if stored.is_worse() {
        let why = stored.comparison.reasons.join("; ");
        return Err(refused(format!("{id} is worse than the revision that it replaces: {why}"))
            .hint(format!("see {}, or leave --require-evals out", stored.results.display())));
    }
    Ok(ProposalRef::reviewed(&proposal, proposal.base.as_ref()))
}

fn is_head(library: &Library, proposal: &Proposal, base: &RevisionId) -> bool {
    library.head(&proposal.skill).ok().flatten().is_some_and(|head| head.id == *base && !head.tombstone)
}
