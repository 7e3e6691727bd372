//! Selection of the tools that a connection is offered, and the list of skills in their descriptions.

use agent::{Fit, Form, ListOptions, ListedSkill, PermissionDecision, Session, Settings, matches, prompt};
use ops::Refusal;
use rmcp::model::ListToolsResult;
use serde_json::json;
use skill::SkillName;

use crate::{
    composed,
    shared::Options,
    systems::SYSTEMS,
    tool::{Call, Spec},
    tools::{TOOLS, skills::READ_SKILL},
};

/// Token budget for the list of skills in a tool's description.
const BUDGET: usize = 4000;

/// Tools that every connection is offered from the start. The others join when they are needed.
const CORE: [&str; 5] = ["read_skill", "read_skill_file", "search_skills", "skill_manage", "record_outcome"];

/// Tools that are withheld while self-evolution is disabled.
const CHANGERS: [&str; 2] = ["skill_manage", "skill_rollback"];

/// Built-in skills, and the tools that join once one of them has been read.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "skillhub-evolving-skills",
        &["skill_rollback", "skill_history", "skill_diff", "skill_status", "disable_skill", "enable_skill"],
    ),
    (
        "skillhub-reviewing-skills",
        &[
            "skill_review_list",
            "skill_review_show",
            "skill_history",
            "skill_diff",
            "search_marketplace",
            "install_skill",
        ],
    ),
    ("skillhub-writing-skills", &["skills_codegen", "skills_codegen_status", "skills_codegen_remove"]),
];

/// Metadata key, in tool lists and `read_skill` results, for the policy on the host's own tools under the skills read
/// so far.
pub(crate) const POLICY: &str = "skillhub/tool-policy";

/// Lists the tools that the agent may use at this point of the session.
pub(crate) fn tools(call: &Call<'_>, session: &Session, options: &Options) -> Result<ListToolsResult, Refusal> {
    let settings = call.place.settings()?;
    let skills: Vec<SkillName> = session.skills().cloned().collect();
    let joined = joined(call, &settings, &skills)?;
    let is_offered = |spec: &&Spec| {
        options.all_tools || CORE.contains(&spec.name) || session.has_tool(spec.name) || joined.contains(&spec.name)
    };
    let allowed = TOOLS.iter().filter(|spec| is_allowed(call, &settings, spec));
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

fn is_allowed(call: &Call<'_>, settings: &Settings, spec: &Spec) -> bool {
    settings.permissions.tool(call.agent, spec.name) != PermissionDecision::Deny
        && (settings.mentions_evolution(call.agent) || !CHANGERS.contains(&spec.name))
}

/// Returns the tools of this server that join with the given skills: those of the built-in skills, and those named by
/// `allowed-tools` or the groups in the configuration. A bare `*` brings none.
pub(crate) fn joined(call: &Call<'_>, settings: &Settings, skills: &[SkillName]) -> Result<Vec<&'static str>, Refusal> {
    if skills.is_empty() {
        return Ok(Vec::new());
    }
    let grouped = call.live.with(|catalogue| {
        let read = composed::readable(catalogue, settings, call.agent, skills);
        let groups = GROUPS.iter().filter(|(skill, _)| read.iter().any(|listed| listed.name.as_str() == *skill));
        groups.flat_map(|(_, tools)| tools.iter().copied()).collect::<Vec<_>>()
    })?;
    // A fault in the settings of tools hides those that skills name, but no other tool.
    let hosts = call.place.tool_hosts();
    let named = hosts.and_then(|hosts| composed::named_by_skills(call, settings, &hosts, Some(skills)));
    let named: Vec<String> = named.unwrap_or_default().into_iter().map(|(_, name)| name).collect();
    let is_named = |tool: &str| named.iter().any(|name| name != "*" && matches(own_name(name), tool));
    let is_joined = |spec: &&Spec| !CORE.contains(&spec.name) && (grouped.contains(&spec.name) || is_named(spec.name));
    let joined = TOOLS.iter().filter(is_joined).filter(|spec| is_allowed(call, settings, spec));
    Ok(joined.map(|spec| spec.name).collect())
}

/// Returns the name of a tool without the prefix that hosts add to the tools of this server.
fn own_name(name: &str) -> &str {
    name.strip_prefix("mcp__skillhub__").unwrap_or(name)
}

/// Yields the tools that a hint names, except for those that are always offered.
pub(crate) fn named_in(hint: &str) -> impl Iterator<Item = &'static str> {
    let words = hint.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let specs = words.filter_map(|word| TOOLS.iter().find(|spec| spec.name == word));
    specs.map(|spec| spec.name).filter(|name| !CORE.contains(name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_offered_or_joins() {
        for spec in TOOLS {
            let grouped = GROUPS.iter().any(|(_, tools)| tools.contains(&spec.name));
            assert!(CORE.contains(&spec.name) != grouped, "{}", spec.name);
        }
        let known = |name: &&str| TOOLS.iter().any(|spec| spec.name == *name);
        assert!(CORE.iter().chain(GROUPS.iter().flat_map(|(_, tools)| *tools)).all(known));
    }

    #[test]
    fn hints_name_tools_by_whole_words() {
        let named: Vec<_> =
            named_in("compile it with `skills_codegen {}`, or see my_skill_diff and read_skill").collect();
        assert_eq!(named, ["skills_codegen"]);
    }
}
