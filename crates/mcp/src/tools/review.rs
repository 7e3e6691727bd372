//! Read access to proposals for agents. Decisions about them are reserved for people, also over MCP ([`deciding`]).

use ops::{Refusal, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;
use skill::{
    SkillName,
    failure::{Hint, NextStep},
};
use skill_manage::review::{self, ProposalRef, ProposalRefError};

use super::{Call, Effect, Spec, ToolResult, arguments, deciding, read, text};

pub(crate) const SKILL_REVIEW_LIST: Spec = Spec {
    name: "skill_review_list",
    title: "List pending changes",
    description: "List what waits for a person: held changes, and skills that changed since the person last looked. \
                  People decide with `skillhub review`.",
    input: || {
        let all = json!({"type": "boolean", "description": "Include decided changes"});
        let decide = json!({"type": "boolean", "description": "Ask the person at the client to decide, one by one"});
        arguments(json!({"name": text("Only changes of this skill"), "all": all, "decide": decide}), &[])
    },
    output: || {
        let list = json!({"type": "array", "items": {"type": "object"}});
        json!({"proposals": list, "skills": list, "alarms": list, "decided": list, "failed": list, "left": {"type": "integer"}})
    },
    effect: Effect::Changes,
    run: list,
};

pub(crate) const SKILL_REVIEW_SHOW: Spec = Spec {
    name: "skill_review_show",
    title: "Show a pending change",
    description: "Show one held change: its author and reason, why it is held, its files and diff, the scanner's \
                  findings and its status.",
    input: || {
        let onto_head = json!({
            "type": "boolean",
            "description": "Diff against the skill's current state instead of the revision that the change is based on",
        });
        arguments(json!({"id": text("Proposal id, or ID@N for its revision N"), "onto_head": onto_head}), &["id"])
    },
    output: || {
        json!({
            "proposal": {"type": "object"},
            "diff": {"type": ["string", "null"]},
            "conflicts": {"type": "array", "items": {"type": "object"}},
        })
    },
    effect: Effect::Reads,
    run: show,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    name: Option<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    decide: bool,
}

fn list(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let ListArguments { name, all, decide } = read(arguments)?;
    let name = name.as_deref().map(exact_name).transpose()?;
    let (sight, mut inbox) = (call.sight()?, call.place.inbox()?);
    let is_seen = |skill: &SkillName| name.as_ref().is_none_or(|name| name == skill) && sight(skill).is_granted();
    if all && !decide {
        inbox.proposals = review::list(&inbox.libraries, true, None)?;
    }
    inbox.proposals.retain(|entry| entry.skill().is_none_or(is_seen));
    inbox.skills.retain(|skill| is_seen(&skill.name));
    inbox.alarms.retain(|skill, _| is_seen(&skill.name));
    if decide {
        return deciding::decide(call, inbox);
    }
    Ok(inbox.document(&inbox.read_skills(call.place.now)?, call.place.now).into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShowArguments {
    id: String,
    #[serde(default)]
    onto_head: bool,
}

fn show(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let ShowArguments { id, onto_head } = read(arguments)?;
    let target: ProposalRef = id.parse().map_err(|error: ProposalRefError| {
        Refusal::request(error.to_string()).hint(Hint::from("list the ids with ").step(NextStep::ListProposals))
    })?;
    let library = call.place.library_with_proposal(&target.id)?;
    Ok(call.place.proposal_document(&library, &target, onto_head)?.into())
}
