//! Selection of the tools that a connection is offered, and the list of skills in their descriptions.

use agent::{Fit, Form, ListOptions, ListedSkill, PermissionDecision, Session, prompt};
use ops::Refusal;
use rmcp::model::ListToolsResult;
use serde_json::json;

use crate::{
    composed,
    shared::Options,
    systems::SYSTEMS,
    tool::{Call, Spec},
    tools::{TOOLS, skills::READ_SKILL},
};

/// Token budget for the list of skills in a tool's description.
const BUDGET: usize = 4000;

/// Tools that are offered from the start when the others are deferred.
const CORE: [&str; 4] = ["read_skill", "read_skill_file", "search_skills", "skill_manage"];

/// Tools that are withheld while self-evolution is disabled.
const CHANGERS: [&str; 2] = ["skill_manage", "skill_rollback"];

/// Built-in skills that bring deferred tools once they have been read.
const GROUPS: [(&str, &[&str]); 2] = [
    ("skillhub-evolving-skills", &["skill_history", "skill_diff", "skill_status", "skill_rollback"]),
    ("skillhub-reviewing-skills", &["skill_review_list", "skill_review_show", "skill_history", "skill_diff"]),
];

/// Metadata key, in tool lists and `read_skill` results, for the policy on the host's own tools under the skills read
/// so far.
pub(crate) const POLICY: &str = "skillhub/tool-policy";

/// Lists the tools that the agent may use at this point of the session.
pub(crate) fn tools(call: &Call<'_>, session: &Session, options: &Options) -> Result<ListToolsResult, Refusal> {
    let settings = call.place.settings()?;
    let changes = settings.mentions_evolution(call.agent);
    let allowed = |spec: &&Spec| {
        settings.permissions.tool(call.agent, spec.name) != PermissionDecision::Deny
            && (changes || !CHANGERS.contains(&spec.name))
    };
    let offered = offered(session);
    let is_offered = |spec: &&Spec| !options.defer_tools || offered.contains(&spec.name);
    let mut tools: Vec<_> = TOOLS.iter().filter(allowed).filter(is_offered).map(Spec::tool).collect();
    if options.catalogue
        && let Some(tool) = tools.iter_mut().find(|tool| tool.name == READ_SKILL.name)
    {
        let listed = call
            .live
            .with(|catalogue| listed_text(&catalogue.seen(&settings, call.agent), ListOptions::of(Form::XML)))?;
        tool.description = Some(format!("{}\n\n{listed}", READ_SKILL.description).into());
    }
    tools.extend(composed::tools(call, session, options)?);
    for system in SYSTEMS {
        (system.offer)(call, &mut tools)?;
    }
    let mut result = ListToolsResult::with_all_items(tools);
    let policy = session.policy(&settings.always_on);
    if policy.restricts {
        let meta = json!({POLICY: policy.document()});
        result.meta = serde_json::from_value(meta).ok();
    }
    Ok(result)
}

/// Returns the core tools and the tools brought by skills that the session has read.
fn offered(session: &Session) -> Vec<&'static str> {
    let group = |tool: &str| {
        let read = |skill: &str| session.skills().any(|name| name.as_str() == skill);
        GROUPS.iter().find(|(skill, tools)| read(skill) && tools.contains(&tool)).map(|(skill, _)| *skill)
    };
    let others: Vec<_> = TOOLS.iter().map(|spec| (spec.name, group(spec.name))).collect();
    session.offered(&CORE, &others)
}

/// Renders the visible skills within the token budget, with a count of those left out.
pub(crate) fn listed_text(seen: &[&ListedSkill], look: ListOptions<'_>) -> String {
    let fit = Fit { budget: Some(BUDGET), ..Fit::default() };
    let fitted = fit.choose(seen.to_vec(), |skills| prompt(skills, &[], look).len());
    let text = prompt(&fitted.skills, &[], look);
    match fitted.left_out.len() {
        0 => text,
        more => {
            format!("{text}{} not listed here. Use search_skills to find them.\n", skill::counted(more, "more skill"))
        }
    }
}
