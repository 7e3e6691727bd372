//! Composed tools, which are listed beside the server's own tools and called the same way.

use agent::{AllowedTool, Catalogue, ListedSkill, Settings, Visibility, matches};
use compose::{Access, Approval, ComposedTool, Executor, Hosts, ToolEntry};
use ops::{Question, Refusal};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{FailureKind, Hint, NextStep},
};

use crate::{
    shared::Options,
    tool::{Call, ToolResult, object},
};

/// Returns the composed tools that the agent may call, all composed tools, and the agent's [`Access`].
fn offered<'s>(
    call: &Call<'s>,
    settings: &'s Settings,
) -> Result<(Vec<ComposedTool>, Vec<ComposedTool>, Access<'s>), Refusal> {
    call.place.with_tools(call.live, |workshop| {
        let entries = workshop.follow()?;
        let access = Access::new(workshop.catalogue, settings, call.agent);
        let offered = access.offered(&entries).into_iter().cloned().collect();
        Ok((offered, entries.values().filter_map(ToolEntry::tool).cloned().collect(), access))
    })?
}

/// Returns whether nothing was ever compiled in the library. Most users have no composed tools, so this check comes
/// first and spares starting any tool host.
fn has_none(call: &Call<'_>) -> Result<bool, Refusal> {
    let is_empty = |library: &library::Library| compose::Store::of(library).mark().is_none();
    Ok(call.live.with(|catalogue| catalogue.libraries().first().is_none_or(is_empty))?)
}

/// Lists the composed tools as MCP tools. With `defer_tools`, only those that skills read in this session bring.
pub(crate) fn tools(call: &Call<'_>, options: &Options) -> Result<Vec<Tool>, Refusal> {
    if has_none(call)? {
        return Ok(Vec::new());
    }
    let settings = call.place.settings()?;
    if options.defer_tools {
        let skills: Vec<SkillName> = call.session.skills().cloned().collect();
        return Ok(brought(call, &settings, &skills)?.iter().map(listed).collect());
    }
    let (offered, ..) = offered(call, &settings)?;
    Ok(offered.iter().map(listed).collect())
}

/// Returns the offered tools that the given skills bring: their own compiled tools, and tools named by their
/// `allowed-tools` or tool groups.
fn brought(call: &Call<'_>, settings: &Settings, skills: &[SkillName]) -> Result<Vec<ComposedTool>, Refusal> {
    let hosts = call.place.tool_hosts()?;
    let names = named_by_skills(call, settings, &hosts, Some(skills))?;
    let is_named = |tool: &ComposedTool| names.iter().any(|(_, name)| matches(name, &tool.name) || *name == tool.alias);
    let is_own = |tool: &ComposedTool| skills.iter().any(|skill| skill.as_str() == tool.skill);
    let (mut offered, ..) = offered(call, settings)?;
    offered.retain(|tool| is_own(tool) || is_named(tool));
    Ok(offered)
}

/// Collects the tool names that skills bring, from their `allowed-tools` and from the groups in the configuration.
/// Skills that the agent no longer sees bring none.
pub(crate) fn named_by_skills(
    call: &Call<'_>,
    settings: &Settings,
    hosts: &Hosts,
    skills: Option<&[SkillName]>,
) -> Result<Vec<(SkillName, String)>, Refusal> {
    let of = |listed: &ListedSkill| -> Vec<(SkillName, String)> {
        let declared = listed.declared().tools.unwrap_or_default();
        let names = declared.iter().map(|entry| AllowedTool::parse(entry).tool);
        let names = names.chain(hosts.group(listed.name.as_str()).iter().cloned());
        names.map(|name| (listed.name.clone(), name)).collect()
    };
    let collect = |catalogue: &Catalogue| match skills {
        Some(skills) => readable(catalogue, settings, call.agent, skills).into_iter().flat_map(of).collect(),
        None => catalogue
            .skills
            .iter()
            .filter(|listed| listed.visibility(settings, call.agent) == Visibility::Seen)
            .flat_map(of)
            .collect(),
    };
    Ok(call.live.with(collect)?)
}

/// Returns those of the given skills that the agent may read, possibly after confirmation.
pub(crate) fn readable<'c>(
    catalogue: &'c Catalogue,
    settings: &Settings,
    agent: &str,
    skills: &[SkillName],
) -> Vec<&'c ListedSkill> {
    let found = skills.iter().filter_map(|name| catalogue.find(name).ok());
    found.filter(|listed| matches!(listed.visibility(settings, agent), Visibility::Seen | Visibility::Asked)).collect()
}

/// Returns the aliases, the names that clients call, of the composed tools that the given skills bring.
pub(crate) fn names(call: &Call<'_>, skills: &[SkillName]) -> Result<Vec<String>, Refusal> {
    if has_none(call)? {
        return Ok(Vec::new());
    }
    let brought = brought(call, &call.place.settings()?, skills)?;
    Ok(brought.into_iter().map(|tool| tool.alias).collect())
}

fn listed(composed: &ComposedTool) -> Tool {
    let reads = composed.approval == Approval::None;
    let hints = ToolAnnotations::from_raw(None, Some(reads), Some(!reads), None, Some(true));
    let output = json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "output": composed.output.clone().unwrap_or(Value::Bool(true)),
            "trace": {"type": ["string", "null"], "description": "Run id for `skillhub tools trace`"},
        },
        "required": ["ok"],
    });
    let meta = json!({"skillhub/skill": composed.skill, "skillhub/name": composed.name, "skillhub/approval": composed.approval});
    let mut tool =
        Tool::new(composed.alias.clone(), agent::single_line(&composed.description), object(composed.input.clone()))
            .with_title(composed.name.clone())
            .with_raw_output_schema(object(output))
            .with_annotations(hints);
    tool.meta = serde_json::from_value(meta).ok();
    tool
}

/// Returns whether a name that matches none of the server's own tools may belong to a composed tool.
pub(crate) fn may_be(name: &str) -> bool {
    name.starts_with("skill_")
}

/// Runs a composed tool if the agent may call it and a person agreed to its approval level.
pub(crate) fn call(call: &Call<'_>, name: &str, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let settings = call.place.settings()?;
    let (offered, composed, access) = offered(call, &settings)?;
    let tool = offered.iter().find(|tool| tool.name == name || tool.alias == name);
    let tool = tool.ok_or_else(|| {
        Refusal::new(FailureKind::NotFound, "not_found", format!("no tool is named {name:?}")).hint(
            Hint::from("list compiled tools with ")
                .step(NextStep::ListTools)
                .text(", or compile a skill with ")
                .step(NextStep::CompileTool("NAME".to_owned())),
        )
    })?;
    let hosts = call.place.tool_hosts()?;
    let decision = |part: &str| access.decision_within(&tool.name, part);
    let executor = Executor::new(&hosts, &composed, &decision, call.cancelled);
    let (input, level) = (Value::Object(arguments), executor.level(tool));
    if level > Approval::None {
        let plan = executor.plan(tool, input.clone()).map_err(|failure| Refusal::of_tool(&failure, json!({})))?;
        let question = Question::new(question(tool, level, &plan), &executor.consent(tool, &input));
        let hint = format!("ask a person to run `skillhub tools call {} --approve {}`", tool.skill, level.as_str());
        call.ask(&tool.name, question, hint)?;
    }
    let trace = Executor { approved: level, ..executor }.run(tool, input);
    let id = compose::trace_id(call.place.now);
    // A trace that cannot be stored is not an error: the steps have run, and a failure would make the agent repeat
    // them.
    let kept = call.live.with(|catalogue| {
        let library = catalogue.libraries().first()?;
        compose::Store::of(library).keep(&id, &trace.clone().redacted(false)).ok()
    })?;
    let id = kept.map(|()| id);
    match &trace.error {
        Some(failure) => Err(Refusal::of_tool(failure, json!({"trace": id, "status": trace.status}))),
        None => {
            let text = match &trace.output {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let document = json!({"ok": true, "output": trace.output, "trace": id});
            Ok(ToolResult { text: Some(text), ..document.into() })
        }
    }
}

/// Maximum length, in characters, of a step's input in a question to a person.
const SHOWN: usize = 300;

/// Returns the beginning of an input, escaped and truncated for display to a person.
pub(crate) fn shown(input: &Value) -> String {
    agent::single_line(&skill::shortened(&input.to_string(), SHOWN))
}

/// Builds the confirmation question: each planned call with its input, and every tool that the plan reaches.
fn question(tool: &ComposedTool, level: Approval, plan: &Value) -> String {
    let steps = plan["steps"].as_array().into_iter().flatten();
    let told: Vec<String> = steps
        .map(|step| {
            let input = ["input", "inputs"].iter().find_map(|key| step.get(*key)).map(shown).unwrap_or_default();
            format!("{} {input}", step["tool"].as_str().unwrap_or_default())
        })
        .collect();
    let reached = plan["reaches"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let reached = reached.filter(|name| *name != tool.name).collect::<Vec<_>>().join(", ");
    format!(
        "Allow the agent to run {} ({})? It calls: {}. Tools it can reach: {}",
        tool.name,
        level.as_str(),
        agent::single_line(&told.join("; ")),
        agent::single_line(&reached)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::TOOLS;

    #[test]
    fn own_tool_names_are_reserved() {
        let own = TOOLS.iter().map(|spec| spec.name).filter(|name| may_be(name));
        let free: Vec<&str> = own.filter(|name| !compose::OWN_TOOLS.contains(name)).collect();
        assert!(free.is_empty(), "{free:?} are missing in OWN_TOOLS");
    }
}
