//! Selection of the tools that a connection is offered, and the list of skills in their descriptions.

use agent::{Fit, Form, ListOptions, ListedSkill, Session, prompt};
use ops::Refusal;
use rmcp::model::ListToolsResult;
use serde_json::json;
use skill::SkillName;

use crate::{
    composed,
    joining::{self, CORE, is_allowed},
    shared::Options,
    systems::SYSTEMS,
    tool::{Call, Spec},
    tools::{TOOLS, skills::READ_SKILL},
};

/// Token budget for the list of skills in a tool's description.
const BUDGET: usize = 4000;

/// Metadata key, in tool lists and `read_skill` results, for the policy on the host's own tools under the skills read
/// so far.
pub(crate) const POLICY: &str = "skillhub/tool-policy";

/// Lists the tools that the agent may use at this point of the session.
pub(crate) fn tools(call: &Call<'_>, session: &Session, options: &Options) -> Result<ListToolsResult, Refusal> {
    let settings = call.place.settings()?;
    let skills: Vec<SkillName> = session.skills().cloned().collect();
    let joined = joining::joined(call, &settings, &skills)?;
    let is_offered = |spec: &&Spec| {
        options.all_tools || CORE.contains(&spec.name) || session.has_tool(spec.name) || joined.contains(&spec.name)
    };
    let allowed = TOOLS.iter().filter(|spec| is_allowed(call, &settings, spec.name));
    let mut tools: Vec<_> = allowed.filter(is_offered).map(Spec::tool).collect();
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
