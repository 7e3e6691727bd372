//! [`FailedQuery`]: queries of runs that failed or were corrected, and which of them a skill's evals lack.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use library::{Actor, ActorKind, Library, LibraryError, Outcome, OutcomeKind, Proposal, ProposalEntry};
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, SkillName};

use crate::evals::{EvalLimits, TriggerQuery, read_queries, with_queries};

/// Name of the optimizer that proposes evals. The command line does not let anybody else use it.
pub const CURATOR: &str = "curator";

/// Largest number of queries in one proposal, which is also that of its pieces of evidence.
const QUERIES: usize = 10;

/// Words of a user in a run that failed or was corrected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedQuery {
    /// Start of what the user asked for.
    pub query: String,
    /// Id of the run.
    pub run: String,
    /// Result of the run: `failed` or `corrected`.
    pub event: OutcomeKind,
}

/// Returns the actor that proposes evals.
pub(super) fn curator() -> Actor {
    Actor::new(ActorKind::Optimizer, CURATOR)
}

/// Returns the time until which each skill has an undecided suggestion.
pub(super) fn undecided(library: &Library) -> Result<BTreeMap<SkillName, Timestamp>, LibraryError> {
    let proposals = library.open_proposals()?.into_iter().filter_map(ProposalEntry::into_whole);
    let own = proposals.filter(|proposal: &Proposal| proposal.actor == curator());
    Ok(own.map(|proposal| (proposal.skill, proposal.expires)).collect())
}

/// Returns the queries of failed and corrected runs that a skill's evals lack and that were not suggested before, the
/// newest first. A skill whose file of queries has an error gets none.
pub(super) fn failed_queries(
    skill: &Bundle,
    outcomes: &[Outcome],
    suggested: Option<&Vec<String>>,
) -> Vec<FailedQuery> {
    let mut known: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for outcome in outcomes.iter().rev() {
        let Some(query) = &outcome.query else { continue };
        let is_suggested = suggested.is_some_and(|known| known.contains(&digest(query)));
        if !is_suggested && known.insert(query.clone()) {
            found.push(FailedQuery { query: query.clone(), run: outcome.run.clone(), event: outcome.event });
        }
    }
    if found.is_empty() {
        return found;
    }
    let limits = EvalLimits::default();
    let set = read_queries(skill, &limits).set;
    let has = |query: &str| set.iter().flat_map(|set| &set.queries).any(|known| known.text.trim() == query);
    found.retain(|found| !has(&found.query));
    found.truncate(QUERIES);
    let can_take = with_queries(skill, &trigger_queries(&found), &limits).is_some();
    if can_take { found } else { Vec::new() }
}

/// Converts queries to those of a file of trigger evals.
pub(super) fn trigger_queries(queries: &[FailedQuery]) -> Vec<TriggerQuery> {
    queries.iter().map(|found| TriggerQuery { text: found.query.clone(), should_trigger: true }).collect()
}

/// Returns the digest under which the library keeps a suggested query.
pub(super) fn digest(query: &str) -> String {
    Digest::of_bytes(query.as_bytes()).hex().chars().take(16).collect()
}
