//! [`tools`]: which tools a connection is offered, and what their descriptions tell of skills.

use agent::{Decision, Fit, Form, Listed, Look, Session, prompt};
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

/// Tokens that the list of skills may have in a tool's description.
const BUDGET: usize = 4000;

/// The tools that are offered in any case, where the others are deferred.
const CORE: [&str; 4] = ["read_skill", "read_skill_file", "search_skills", "skill_manage"];

/// The tools that are not offered while self-evolution is off.
const CHANGERS: [&str; 2] = ["skill_manage", "skill_rollback"];

/// Skills of our own that bring tools once they were read.
const GROUPS: [(&str, &[&str]); 2] = [
    ("skillhub-evolving-skills", &["skill_history", "skill_diff", "skill_status", "skill_rollback"]),
    ("skillhub-reviewing-skills", &["skill_review_list", "skill_review_show", "skill_history", "skill_diff"]),
];

/// Where hosts find, in the list of tools and in what `read_skill` gives, which tools of their own the skills that were read leave.
pub(crate) const POLICY: &str = "skillhub/tool-policy";

/// The tools that the agent may use, in this conversation as it is by now.
pub(crate) fn tools(call: &Call<'_>, session: &Session, options: &Options) -> Result<ListToolsResult, Refusal> {
    let settings = call.place.settings()?;
    let changes = settings.tells_of_evolution(call.agent);
    let allowed = |spec: &&Spec| {
        settings.permissions.tool(call.agent, spec.name) != Decision::Deny
            && (changes || !CHANGERS.contains(&spec.name))
    };
    let offered = offered(session);
    let is_offered = |spec: &&Spec| !options.defer_tools || offered.contains(&spec.name);
    let mut tools: Vec<_> = TOOLS.iter().filter(allowed).filter(is_offered).map(Spec::tool).collect();
    if options.catalogue
        && let Some(tool) = tools.iter_mut().find(|tool| tool.name == READ_SKILL.name)
    {
        let listed =
            call.live.with(|catalogue| listed_text(&catalogue.seen(&settings, call.agent), Look::of(Form::XML)))?;
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

/// The core, and what the skills that were read bring.
fn offered(session: &Session) -> Vec<&'static str> {
    let group = |tool: &str| {
        let read = |skill: &str| session.skills().any(|name| name.as_str() == skill);
        GROUPS.iter().find(|(skill, tools)| read(skill) && tools.contains(&tool)).map(|(skill, _)| *skill)
    };
    let others: Vec<_> = TOOLS.iter().map(|spec| (spec.name, group(spec.name))).collect();
    session.offered(&CORE, &others)
}

/// The skills that there are, as far as there is room.
pub(crate) fn listed_text(seen: &[&Listed], look: Look<'_>) -> String {
    let fit = Fit { budget: Some(BUDGET), ..Fit::default() };
    let fitted = fit.choose(seen.to_vec(), |skills| prompt(skills, &[], look).len());
    let text = prompt(&fitted.skills, &[], look);
    match fitted.left_out.len() {
        0 => text,
        more => format!("{text}{} not described here; search_skills finds them.\n", skill::counted(more, "more skill")),
    }
}
