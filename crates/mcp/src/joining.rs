//! [`joined`]: the tools of this server that join the list of a connection once a skill that needs them was read.

use agent::{PermissionDecision, Settings, matches};
use ops::Refusal;
use skill::SkillName;

use crate::{composed, tool::Call};

/// Tools that every connection is offered from the start. The others join when they are needed.
pub(crate) const CORE: [&str; 5] = ["read_skill", "read_skill_file", "search_skills", "skill_manage", "record_outcome"];

/// Tools that are withheld while self-evolution is disabled.
const CHANGERS: [&str; 2] = ["skill_manage", "skill_rollback"];

/// Built-in skills, and the tools that join once one of them has been read, in the order of the list.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "skillhub-evolving-skills",
        &["skill_rollback", "skill_history", "skill_diff", "skill_status", "disable_skill", "enable_skill"],
    ),
    (
        "skillhub-reviewing-skills",
        &[
            "skill_history", "skill_diff", "skill_review_list", "skill_review_show", "search_marketplace",
            "install_skill",
        ],
    ),
    ("skillhub-writing-skills", &["skills_codegen", "skills_codegen_status", "skills_codegen_remove"]),
];

/// Yields the names of the tools that join, some of them twice.
fn joining_tools() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, tools)| tools.iter().copied())
}

/// Returns whether a tool may be offered to the agent.
pub(crate) fn is_allowed(call: &Call<'_>, settings: &Settings, tool: &str) -> bool {
    settings.permissions.tool(call.agent, tool) != PermissionDecision::Deny
        && (settings.mentions_evolution(call.agent) || !CHANGERS.contains(&tool))
}

/// Returns the tools of this server that join with the given skills: those of the built-in skills, and those named by
/// `allowed-tools` or the groups in the configuration. A bare `*` brings none.
pub(crate) fn joined(call: &Call<'_>, settings: &Settings, skills: &[SkillName]) -> Result<Vec<&'static str>, Refusal> {
    if skills.is_empty() {
        return Ok(Vec::new());
    }
    let grouped: Vec<&str> = call.live.with(|catalogue| {
        let read = composed::readable(catalogue, settings, call.agent, skills);
        let groups = GROUPS.iter().filter(|(skill, _)| read.iter().any(|listed| listed.name.as_str() == *skill));
        groups.flat_map(|(_, tools)| tools.iter().copied()).collect()
    })?;
    // A fault in the settings of tools hides those that skills name, but no other tool.
    let hosts = call.place.tool_hosts();
    let named = hosts.and_then(|hosts| composed::named_by_skills(call, settings, &hosts, Some(skills)));
    let named: Vec<String> = named.unwrap_or_default().into_iter().map(|(_, name)| name).collect();
    let is_named = |tool: &&str| named.iter().any(|name| name != "*" && matches(own_name(name), tool));
    let mut joined: Vec<&str> = Vec::new();
    for tool in grouped.into_iter().chain(joining_tools().filter(is_named)) {
        if !joined.contains(&tool) && is_allowed(call, settings, tool) {
            joined.push(tool);
        }
    }
    Ok(joined)
}

/// Returns the name of a tool without the prefix that hosts add to the tools of this server.
fn own_name(name: &str) -> &str {
    name.strip_prefix("mcp__skillhub__").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    #[test]
    fn every_tool_is_offered_or_joins() {
        let own: Vec<&str> = CORE.into_iter().chain(joining_tools()).collect();
        for spec in TOOLS {
            assert!(own.contains(&spec.name), "{}", spec.name);
        }
        assert!(own.iter().all(|name| TOOLS.iter().any(|spec| spec.name == *name)), "{own:?}");
    }
}
