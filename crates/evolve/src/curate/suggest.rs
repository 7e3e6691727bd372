//! [`suggest`]: queries for the trigger evals of skills, from runs that failed or were corrected, as proposals.
//!
//! The words are untrusted: they are bounded when they are recorded, the scanner examines them as part of the skill, and
//! a person decides. A query is suggested once, whatever becomes of its proposal: the library keeps its digest.

use jiff::Timestamp;
use library::{Evidence, Library, LibraryError};
use serde::{Deserialize, Serialize};
use skill::{Bundle, Edit, counted};
use skill_manage::{ChangeRequest, Context, ManageError, Notes, manage};

use super::{
    Facts, FailedQuery, Plan, SkillFacts,
    queries::{curator, digest, trigger_queries},
    store,
};
use crate::evals::{EvalLimits, with_queries};

/// Code of the refusal of content that the scanner blocks.
const BLOCKED: &str = "scan_blocked";

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
