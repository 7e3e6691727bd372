//! [`suggest`]: queries for the trigger evals of skills, from runs that failed or were corrected, as proposals.
//!
//! The words are untrusted: they are bounded when they are recorded, the scanner examines them as part of the skill, and
//! a person decides. A query is suggested once, whatever becomes of its proposal: the library keeps its digest.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use library::{Actor, ActorKind, Evidence, Library, LibraryError, Outcome, OutcomeKind, Proposal, ProposalEntry};
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, Edit, SkillName, counted};
use skill_manage::{ChangeRequest, Context, ManageError, Notes, manage};

use super::{Facts, Plan, SkillFacts, store};
use crate::evals::{EvalLimits, TriggerQuery, read_queries, with_queries};

/// Name of the optimizer that proposes evals. The command line does not let anybody else use it.
pub const CURATOR: &str = "curator";

/// Largest number of queries in one proposal, which is also that of its pieces of evidence.
const QUERIES: usize = 10;

/// Code of the refusal of content that the scanner blocks.
const BLOCKED: &str = "scan_blocked";

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

/// Queries to propose for the evals of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// Name of the skill.
    pub skill: String,
    /// Queries, the newest first.
    pub queries: Vec<FailedQuery>,
}

/// Result of one suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuggestedEvals {
    /// Name of the skill.
    pub skill: String,
    /// One of `proposed`, `refused`, or `dry_run` if it would be proposed.
    pub status: &'static str,
    /// Id of the proposal.
    pub proposal: Option<String>,
    /// Number of queries in it.
    pub queries: usize,
    /// Reason for proposing or refusing.
    pub why: String,
}

/// Returns the actor that proposes evals.
pub fn curator() -> Actor {
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

/// Returns the queries to propose for a skill at a given time: none if agents do not see it, if it is pinned or edited by
/// hand, or if an earlier suggestion is undecided.
pub(super) fn suggestion(skill: &SkillFacts, now: Timestamp) -> Option<Suggestion> {
    let is_open = skill.undecided_until.is_some_and(|until| until > now);
    let is_left = !skill.enabled || skill.pinned || skill.fault.is_some() || is_open || skill.failed_queries.is_empty();
    (!is_left).then(|| Suggestion { skill: skill.name.to_string(), queries: skill.failed_queries.clone() })
}

/// Proposes the evals of a plan, one proposal for each skill. A query is proposed only if the current `facts` lead to it
/// as well. Queries that the scanner blocks are left out. `context` has the policy, which should hold everything.
///
/// # Errors
/// The library cannot be read.
pub fn suggest(
    library: &mut Library,
    plan: &Plan,
    facts: &Facts,
    context: &Context<'_>,
    dry_run: bool,
) -> Result<Vec<SuggestedEvals>, LibraryError> {
    let context = Context { actor: curator(), ..context.clone() };
    let mut all = Vec::new();
    for planned in &plan.evals {
        let skill = facts.skills.iter().find(|skill| skill.name.as_str() == planned.skill);
        let current = skill.and_then(|skill| Some((skill, suggestion(skill, context.time)?)));
        let current = current.map(|(skill, current)| {
            let is_planned = |query: &FailedQuery| planned.queries.contains(query);
            (skill, current.queries.into_iter().filter(is_planned).collect::<Vec<_>>())
        });
        let result = match current {
            Some((skill, queries)) if !queries.is_empty() => propose(library, skill, queries, &context, dry_run)?,
            _ => refused(&planned.skill, "its queries were suggested meanwhile, or the skill has changed".to_owned()),
        };
        all.push(result);
    }
    Ok(all)
}

fn refused(skill: &str, why: String) -> SuggestedEvals {
    SuggestedEvals { skill: skill.to_owned(), status: "refused", proposal: None, queries: 0, why }
}

fn propose(
    library: &mut Library,
    skill: &SkillFacts,
    queries: Vec<FailedQuery>,
    context: &Context<'_>,
    dry_run: bool,
) -> Result<SuggestedEvals, LibraryError> {
    let files = library.bundle(&skill.revision)?;
    let mut attempt = |queries: &[FailedQuery], dry_run: bool| {
        let request = request(skill, &files, queries)?;
        Some(manage(library, &ChangeRequest { dry_run, ..request }, context))
    };
    let is_blocked =
        |result: Option<Result<_, ManageError>>| matches!(result, Some(Err(error)) if error.code() == BLOCKED);
    let (blocked, fit): (Vec<FailedQuery>, Vec<FailedQuery>) =
        queries.into_iter().partition(|query| is_blocked(attempt(std::slice::from_ref(query), true)));
    if !dry_run {
        // The refusals are for the event log.
        blocked.iter().for_each(|query| drop(attempt(std::slice::from_ref(query), false)));
    }
    let tried = attempt(&fit, dry_run);
    if !dry_run {
        let proposed: &[FailedQuery] = if matches!(tried, Some(Ok(_))) { &fit } else { &[] };
        let known = blocked.iter().chain(proposed).map(|query| digest(&query.query)).collect();
        store::note_suggested(library, skill.name.as_str(), known)?;
    }
    let left_out = match blocked.len() {
        0 => String::new(),
        count => format!("; the scanner blocks {count} more"),
    };
    Ok(match tried {
        None => refused(skill.name.as_str(), format!("nothing is left to propose{left_out}")),
        Some(Err(error)) => refused(skill.name.as_str(), error.to_string()),
        Some(Ok(report)) => SuggestedEvals {
            skill: skill.name.to_string(),
            status: if dry_run { "dry_run" } else { "proposed" },
            proposal: report.proposal,
            queries: fit.len(),
            why: format!("{}{left_out}", summary(fit.len())),
        },
    })
}

/// Builds the request that adds queries to a skill. `None` without queries.
fn request(skill: &SkillFacts, files: &Bundle, queries: &[FailedQuery]) -> Option<ChangeRequest> {
    let (path, text) = with_queries(files, &trigger_queries(queries), &EvalLimits::default())?;
    let edit = Edit::WriteFile { path, bytes: text.into_bytes(), executable: None };
    let evidence = |query: &FailedQuery| format!("{} in the run {}", query.event.as_str(), query.run).parse().ok();
    let notes = Notes {
        reason: Some(summary(queries.len())),
        evidence: queries.iter().filter_map(evidence).collect::<Vec<Evidence>>(),
        ..Notes::default()
    };
    let request = ChangeRequest::of_edit(skill.name.as_str(), edit).ok()?;
    Some(ChangeRequest { notes, expected_revision: Some(skill.revision.to_string()), ..request })
}

fn summary(count: usize) -> String {
    format!("{} from failed or corrected runs", counted(count, "query"))
}

fn trigger_queries(queries: &[FailedQuery]) -> Vec<TriggerQuery> {
    queries.iter().map(|found| TriggerQuery { text: found.query.clone(), should_trigger: true }).collect()
}

fn digest(query: &str) -> String {
    Digest::of_bytes(query.as_bytes()).hex().chars().take(16).collect()
}
