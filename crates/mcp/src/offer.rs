//! Selection of the tools that a connection is offered, and the list of skills in their descriptions.

use agent::{Fit, Form, ListOptions, ListedSkill, Settings, prompt};
use ops::Refusal;
use rmcp::model::ListToolsResult;
use serde_json::json;
use skill::SkillName;

use crate::{
    composed,
    joining::{self, CORE, is_allowed},
    shared::Options,
    systems::SYSTEMS,
    tool::{Call, ListedNames, Spec},
    tools::{TOOLS, skills::READ_SKILL},
};

/// Token budget for the list of skills in a tool's description, with `--all-tools`.
const BUDGET: usize = 4000;

/// Size of the principal tools and the list of skills together, in tokens of four bytes of JSON.
const PRINCIPAL_TOKENS: usize = 1500;

/// Reserve for the sentence that counts the skills left out, in tokens.
const RESERVE: usize = 30;

/// Metadata key, in tool lists and `read_skill` results, for the policy on the host's own tools under the skills read
/// so far.
pub(crate) const POLICY: &str = "skillhub/tool-policy";

/// Returns those of the server's own tools that the agent may use at this point of the session.
fn own(call: &Call<'_>, settings: &Settings, options: &Options) -> Result<Vec<&'static Spec>, Refusal> {
    let skills: Vec<SkillName> = call.session.skills().cloned().collect();
    let joined = joining::joined(call, settings, &skills)?;
    let is_offered = |spec: &&Spec| {
        options.all_tools
            || CORE.contains(&spec.name)
            || call.session.has_tool(spec.name)
            || joined.contains(&spec.name)
    };
    Ok(TOOLS.iter().filter(|spec| is_allowed(call, settings, spec.name)).filter(is_offered).collect())
}

/// Maps those of the server's own tools that the agent may use to their names in its list.
pub(crate) fn names(call: &Call<'_>, options: &Options) -> Result<ListedNames, Refusal> {
    let settings = call.place.settings()?;
    let listed = |tool| SYSTEMS.iter().find_map(|system| (system.listed_name)(call, &settings, tool)).unwrap_or(tool);
    Ok(own(call, &settings, options)?.into_iter().map(|spec| (spec.name, listed(spec.name))).collect())
}

/// Lists the tools that the agent may use at this point of the session.
pub(crate) fn tools(call: &Call<'_>, options: &Options) -> Result<ListToolsResult, Refusal> {
    let settings = call.place.settings()?;
    let mut tools: Vec<_> = own(call, &settings, options)?.into_iter().map(Spec::tool).collect();
    if options.catalogue
        && let Some(tool) = tools.iter_mut().find(|tool| tool.name == READ_SKILL.name)
    {
        let budget = budget(options);
        let listed = call.live.with(|catalogue| {
            listed_text(&catalogue.seen(&settings, call.agent), ListOptions::of(Form::XML), budget)
        })?;
        tool.description = Some(format!("{}\n\n{listed}", READ_SKILL.description).into());
    }
    tools.extend(composed::tools(call, options)?);
    for system in SYSTEMS {
        (system.offer)(call, options, &mut tools)?;
    }
    let mut result = ListToolsResult::with_all_items(tools);
    let policy = call.session.policy(&settings.always_on);
    if policy.restricts {
        let meta = json!({POLICY: policy.document()});
        result.meta = serde_json::from_value(meta).ok();
    }
    Ok(result)
}

/// Returns the token budget for the list of skills: what the principal tools leave, so that a connection without
/// `--all-tools` begins small however many skills there are.
pub(crate) fn budget(options: &Options) -> usize {
    let principal: Vec<_> = TOOLS.iter().filter(|spec| CORE.contains(&spec.name)).map(Spec::tool).collect();
    let used = json!(principal).to_string().len().div_ceil(4) + RESERVE;
    if options.all_tools { BUDGET } else { PRINCIPAL_TOKENS.saturating_sub(used) }
}

/// Renders the visible skills within a token budget, with a count of those left out.
pub(crate) fn listed_text(seen: &[&ListedSkill], look: ListOptions<'_>, budget: usize) -> String {
    let fit = Fit { budget: Some(budget), ..Fit::default() };
    // The list is a string in JSON, in which line breaks and quotation marks take two bytes.
    let fitted = fit.choose(seen.to_vec(), |skills| json!(prompt(skills, &[], look)).to_string().len());
    let text = prompt(&fitted.skills, &[], look);
    match fitted.left_out.len() {
        0 => text,
        more => {
            format!("{text}{} not listed here. Use search_skills to find them.\n", skill::counted(more, "more skill"))
        }
    }
}
