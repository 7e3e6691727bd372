//! Tools that compile skills with a declared `tool_schema` into tools, and withdraw them.

use ops::{Refusal, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::SkillName;

use super::{Call, Effect, Spec, ToolResult, arguments, read};

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
    let compiled = call.place.with_tools(call.live, |workshop| call.place.compile_tools(workshop, names))??;
    Ok(ToolResult { changes_lists: true, ..compiled.document().into() })
}

fn status(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    if !arguments.is_empty() {
        return Err(Refusal::request("this tool takes no arguments"));
    }
    Ok(call.place.with_tools(call.live, |workshop| call.place.list_tools(workshop))??.into())
}

fn remove(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let names = names(arguments)?;
    let document = call.place.with_tools(call.live, |workshop| call.place.remove_tools(workshop, &names))??;
    Ok(ToolResult { changes_lists: true, ..document.into() })
}
