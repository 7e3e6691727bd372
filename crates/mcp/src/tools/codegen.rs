//! [`SKILLS_CODEGEN`] and its like: skills that declare `tool_schema` become tools, and stop to be.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::SkillName;

use super::{Answer, Call, Effect, Spec, arguments, change::skill_name, read};
use crate::{composed, refusal::Refusal};

pub(crate) const SKILLS_CODEGEN: Spec = Spec {
    name: "skills_codegen",
    title: "Compile skills to tools",
    description: "Compile skills that declare `tool_schema` to tools that can be called like any other. Everything is \
                  checked first; what is wrong is told with line and column of SKILL.md. Without names, all skills are \
                  compiled. From then on the tools follow their skills.",
    input: || arguments(json!({"names": names_schema("The skills; all without it")}), &[]),
    output: || json!({"skills": {"type": "array", "items": {"type": "object"}}}),
    effect: Effect::Changes,
    run: compile,
};

pub(crate) const SKILLS_CODEGEN_STATUS: Spec = Spec {
    name: "skills_codegen_status",
    title: "Compiled tools",
    description: "List the skills that were compiled, what became of each, and the level of consent that its tool needs.",
    input: || arguments(json!({}), &[]),
    output: || json!({"tools": {"type": "array", "items": {"type": "object"}}}),
    effect: Effect::Reads,
    run: status,
};

pub(crate) const SKILLS_CODEGEN_REMOVE: Spec = Spec {
    name: "skills_codegen_remove",
    title: "Take compiled tools away",
    description: "Take the tools of these skills away; the skills stay as they are.",
    input: || arguments(json!({"names": names_schema("The skills")}), &["names"]),
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
    names.iter().map(|name| skill_name(name)).collect()
}

fn compile(call: &Call<'_>, arguments: JsonObject) -> Result<Answer, Refusal> {
    let names = names(arguments)?;
    let settings = call.place.settings()?;
    let compiled = composed::workshop(call, |workshop| {
        // A skill that the agent does not see is not there for it.
        let seen = workshop.catalogue.seen(&settings, call.agent);
        let is_seen = |name: &&SkillName| seen.iter().any(|listed| listed.name == **name);
        match names.iter().find(|name| !is_seen(name)) {
            Some(hidden) => {
                Err(Refusal::from(agent::AgentError::NoSkill { name: hidden.to_string(), similar: Vec::new() }))
            }
            None => Ok(workshop.compile(&names)?),
        }
    })??;
    Ok(Answer { changes_lists: true, ..compiled.document().into() })
}

fn status(call: &Call<'_>, arguments: JsonObject) -> Result<Answer, Refusal> {
    if !arguments.is_empty() {
        return Err(Refusal::request("this takes no arguments"));
    }
    let entries = composed::workshop(call, |workshop| workshop.follow())??;
    let tools: Vec<Value> = entries.iter().map(|(skill, entry)| entry.document(skill)).collect();
    Ok(json!({"ok": true, "tools": tools}).into())
}

fn remove(call: &Call<'_>, arguments: JsonObject) -> Result<Answer, Refusal> {
    let names = names(arguments)?;
    composed::workshop(call, |workshop| workshop.remove(&names))??;
    let removed: Vec<&str> = names.iter().map(SkillName::as_str).collect();
    Ok(Answer { changes_lists: true, ..json!({"ok": true, "removed": removed}).into() })
}
