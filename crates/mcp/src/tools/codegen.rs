//! Tools that compile skills with a declared `tool_schema` into tools, and withdraw them.

use compose::Access;
use ops::{Refusal, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::SkillName;

use super::{Call, Effect, Spec, ToolResult, arguments, read};
use crate::composed;

pub(crate) const SKILLS_CODEGEN: Spec = Spec {
    name: "skills_codegen",
    title: "Compile skills into tools",
    description: "Compile skills that declare `tool_schema` into callable tools. Reports each error with its line and \
                  column in SKILL.md. Compiles all skills if `names` is empty. Compiled tools are updated when their \
                  skill changes.",
    input: || arguments(json!({"names": names_schema("Names of the skills. Default: all.")}), &[]),
    output: || json!({"skills": {"type": "array", "items": {"type": "object"}}}),
    effect: Effect::Changes,
    run: compile,
};

pub(crate) const SKILLS_CODEGEN_STATUS: Spec = Spec {
    name: "skills_codegen_status",
    title: "List compiled tools",
    description: "List the compiled skills, with the status of each and the approval level that its tool needs.",
    input: || arguments(json!({}), &[]),
    output: || json!({"tools": {"type": "array", "items": {"type": "object"}}}),
    effect: Effect::Reads,
    run: status,
};

pub(crate) const SKILLS_CODEGEN_REMOVE: Spec = Spec {
    name: "skills_codegen_remove",
    title: "Remove compiled tools",
    description: "Remove the tools compiled from these skills. The skills are not changed.",
    input: || arguments(json!({"names": names_schema("Names of the skills")}), &["names"]),
    output: || json!({"removed": {"type": "array", "items": {"type": "string"}}}),
    effect: Effect::Changes,
    run: remove,
};

fn names_schema(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamesArguments {
    #[serde(default)]
    names: Vec<String>,
}

fn names(arguments: JsonObject) -> Result<Vec<SkillName>, Refusal> {
    let NamesArguments { names } = read(arguments)?;
    names.iter().map(|name| exact_name(name)).collect()
}

fn compile(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let names = names(arguments)?;
    let settings = call.place.settings()?;
    let compiled = composed::workshop(call, |workshop| {
        let access = Access::new(workshop.catalogue, &settings, call.agent);
        none_hidden(&access, &names)?;
        let names: Vec<SkillName> = match names.is_empty() {
            true => workshop.catalogue.seen(&settings, call.agent).iter().map(|listed| listed.name.clone()).collect(),
            false => names,
        };
        let mut compiled = workshop.compile(&names)?;
        compiled.skills.retain(|name, _| !access.hides(name));
        Ok::<_, Refusal>(compiled)
    })??;
    Ok(ToolResult { changes_lists: true, ..compiled.document().into() })
}

/// Rejects skills that are hidden from the agent, with the same error as for missing skills.
fn none_hidden(access: &Access<'_>, names: &[SkillName]) -> Result<(), Refusal> {
    match names.iter().find(|name| access.hides(name.as_str())) {
        Some(hidden) => Err(agent::AgentError::NoSkill { name: hidden.to_string(), similar: Vec::new() }.into()),
        None => Ok(()),
    }
}

fn status(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    if !arguments.is_empty() {
        return Err(Refusal::request("this tool takes no arguments"));
    }
    let settings = call.place.settings()?;
    let tools: Vec<Value> = composed::workshop(call, |workshop| {
        let access = Access::new(workshop.catalogue, &settings, call.agent);
        let entries = workshop.follow()?;
        let seen = entries.iter().filter(|(skill, entry)| !entry.is_gone() && !access.hides(skill));
        Ok::<_, Refusal>(seen.map(|(skill, entry)| entry.document(skill)).collect())
    })??;
    Ok(json!({"ok": true, "tools": tools}).into())
}

fn remove(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let names = names(arguments)?;
    let settings = call.place.settings()?;
    composed::workshop(call, |workshop| {
        none_hidden(&Access::new(workshop.catalogue, &settings, call.agent), &names)?;
        Ok::<_, Refusal>(workshop.remove(&names)?)
    })??;
    let removed: Vec<&str> = names.iter().map(SkillName::as_str).collect();
    Ok(ToolResult { changes_lists: true, ..json!({"ok": true, "removed": removed}).into() })
}
