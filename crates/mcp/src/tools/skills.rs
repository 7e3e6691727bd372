//! Tools that read, find, enable and disable skills.

use std::num::NonZeroUsize;

use agent::{
    Catalogue, Declared, FileText, Instructions, OUTPUT_BYTES, Settings, SkillSelector, ToolPolicy, declared, search,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use library::{UseKind, UseState};
use ops::{Question, Refusal, Used, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Digest, SkillName, failure::FailureKind};

use super::{Call, Effect, Spec, ToolResult, arguments, read, text, undeclared};
use crate::{composed, joining, systems::SYSTEMS};

/// Default number of search results. [`MOST_RESULTS`] is the maximum.
const RESULTS: usize = 10;
const MOST_RESULTS: usize = 50;

pub(crate) const READ_SKILL: Spec = Spec {
    name: "read_skill",
    title: "Read a skill",
    description: "Read a skill's instructions before work that it covers, by name or path. Read its other files with \
                  read_skill_file.",
    input: || {
        let path = text("Absolute path of its folder or SKILL.md");
        let run = text("Your run id, to get one revision throughout; default: this connection");
        let active = "Skills that you still follow, for tool_policy; default: those read here";
        let active = json!({"type": "array", "items": {"type": "string"}, "description": active});
        arguments(json!({"name": {"type": "string"}, "path": path, "active": active, "run": run}), &[])
    },
    output: undeclared,
    effect: Effect::Reads,
    run: read_skill,
};

pub(crate) const READ_SKILL_FILE: Spec = Spec {
    name: "read_skill_file",
    title: "Read a file of a skill",
    description: "Read a skill's file, such as references/api.md. Continue a long one from next_offset.",
    input: || {
        let offset = json!({"type": "integer", "minimum": 0});
        let fields = json!({"name": {"type": "string"}, "path": text("Path in the skill"), "offset": offset});
        arguments(fields, &["name", "path"])
    },
    output: undeclared,
    effect: Effect::Reads,
    run: read_skill_file,
};

pub(crate) const SEARCH_SKILLS: Spec = Spec {
    name: "search_skills",
    title: "Search skills",
    description: "Find skills by words of their names, descriptions and paths, best first.",
    input: || {
        let limit = json!({"type": "integer", "minimum": 1, "description": "Default 10"});
        arguments(json!({"query": text("What you need to do"), "limit": limit}), &["query"])
    },
    output: undeclared,
    effect: Effect::Reads,
    run: search_skills,
};

pub(crate) const DISABLE_SKILL: Spec = Spec {
    name: "disable_skill",
    title: "Hide a skill",
    description: "Hide a skill from lists, searches and reads. Nothing is deleted. Undo it with enable_skill.",
    input: || arguments(json!({"name": text("Name of the skill")}), &["name"]),
    output: sight_output,
    effect: Effect::Changes,
    run: |call, arguments| set_enabled(call, arguments, false),
};

pub(crate) const ENABLE_SKILL: Spec = Spec {
    name: "enable_skill",
    title: "Show a skill again",
    description: "Show a skill that was hidden with disable_skill.",
    input: || arguments(json!({"name": text("Name of the skill")}), &["name"]),
    output: sight_output,
    effect: Effect::Changes,
    run: |call, arguments| set_enabled(call, arguments, true),
};

fn sight_output() -> Value {
    json!({
        "name": {"type": "string"}, "enabled": {"type": "boolean"}, "links": {"type": "array", "items": {"type": "object"}},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    name: Option<String>,
    path: Option<String>,
    active: Option<Vec<String>>,
    run: Option<String>,
}

fn read_skill(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let ReadArguments { name, path, active, run } = read(arguments)?;
    let path = path.map(|path| library::resolve(path.as_ref()).unwrap_or_else(|_| path.into()));
    let which = SkillSelector { name: name.as_deref().map(bare_name).transpose()?, path };
    let run = run.as_deref().or(call.run);
    let opened = instructions_in_run(call, &which, run)?;
    let content = opened.skill_content(OUTPUT_BYTES);
    let tools = brought(call, &opened.name);
    let mut document = opened.document(&content);
    document["tool_policy"] = policy(call, active.as_deref(), &opened.declared)?.document();
    document["tools"] = json!(tools);
    let text =
        if tools.is_empty() { content } else { format!("{content}\nTools of this skill: {}\n", tools.join(", ")) };
    Ok(ToolResult { text: Some(text), declared: Some(opened.declared), ..document.into() })
}

/// Returns the names of all tools that a skill brings and the agent may use. Faults of these tools do not keep the
/// skill from being read.
fn brought(call: &Call<'_>, skill: &SkillName) -> Vec<String> {
    let mut names = composed::names(call, std::slice::from_ref(skill)).unwrap_or_default();
    names.extend(SYSTEMS.iter().flat_map(|system| (system.names)(call, skill)));
    let own = call.place.settings().and_then(|settings| joining::joined(call, &settings, std::slice::from_ref(skill)));
    names.extend(own.unwrap_or_default().into_iter().map(str::to_owned));
    names
}

/// Computes the policy on the host's own tools under all skills that the agent follows, including this one.
fn policy(call: &Call<'_>, active: Option<&[String]>, opened: &Declared) -> Result<ToolPolicy, Refusal> {
    let settings = call.place.settings()?;
    let named = active.map(|names| names.iter().map(|name| bare_name(name)).collect::<Result<Vec<_>, _>>());
    let named = named.transpose()?;
    let declared = call.live.with(|catalogue| {
        let seen = |name| declared(catalogue, &settings, call.agent, name);
        let is_other = |name: &&SkillName| **name != opened.skill;
        match &named {
            Some(names) => names.iter().filter(is_other).map(seen).collect::<Result<Vec<_>, _>>(),
            // Skills of the session that were removed or disabled since are skipped.
            None => Ok(call.session.skills().filter(is_other).filter_map(|name| seen(name).ok()).collect()),
        }
    })??;
    Ok(ToolPolicy::of(&[declared.as_slice(), std::slice::from_ref(opened)].concat(), &settings.always_on))
}

/// Opens a skill for the calling agent and records the use.
pub(crate) fn instructions(call: &Call<'_>, which: &SkillSelector) -> Result<Instructions, Refusal> {
    instructions_in_run(call, which, call.run)
}

fn instructions_in_run(call: &Call<'_>, which: &SkillSelector, run: Option<&str>) -> Result<Instructions, Refusal> {
    let ask = |opened: &Instructions| ask(call, &opened.name, &json!([opened.body]));
    call.live.with(|catalogue| call.place.open_skill(catalogue, which, call.agent, run, UseKind::Read, ask))?
}

/// Requests confirmation for the use of a skill. The answer is valid for its current contents only.
fn ask(call: &Call<'_>, name: &SkillName, about: &Value) -> Result<(), Refusal> {
    let question = Question::new(format!("Allow the agent to read and use the skill {name}?"), about);
    call.ask(&format!("reading {name}"), question, agent::ask_hint(name))
}

fn note(call: &Call<'_>, catalogue: &Catalogue, settings: &Settings, name: &SkillName, kind: UseKind, done: bool) {
    let state = if done { UseState::Done } else { UseState::Refused };
    call.place.note_use(catalogue, settings, Used { name, kind, state, agent: call.agent });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArguments {
    name: String,
    path: String,
    #[serde(default)]
    offset: usize,
}

fn read_skill_file(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let FileArguments { name, path, offset } = read(arguments)?;
    let name = bare_name(&name)?;
    let file = file(call, &name, &path)?;
    let mut document = json!({
        "ok": true, "name": name.as_str(), "path": file.path.as_str(), "size": file.bytes.len(),
        "executable": file.executable, "next_offset": null,
    });
    match file.text(offset, OUTPUT_BYTES) {
        Some((text, rest)) => {
            document["text"] = json!(text);
            if rest > 0 {
                document["next_offset"] = json!(file.bytes.len() - rest);
            }
        }
        None if file.bytes.len() <= OUTPUT_BYTES => document["base64"] = json!(STANDARD.encode(&file.bytes)),
        None => {
            let message =
                format!("{} of {name} is not text and is too large to send ({} bytes)", file.path, file.bytes.len());
            return Err(Refusal::new(FailureKind::Invalid, "too_large", message)
                .hint(format!("use the file in the skill's folder; at most {OUTPUT_BYTES} bytes are sent")));
        }
    }
    Ok(document.into())
}

/// Reads a file of a skill for the calling agent.
pub(crate) fn file(call: &Call<'_>, name: &SkillName, path: &str) -> Result<FileText, Refusal> {
    let settings = call.place.settings()?;
    call.live.with(|catalogue| {
        let read = agent::read_file_in_run(catalogue, &settings, call.agent, name, path, call.run);
        let read = read.map_err(Refusal::from).and_then(|file| match file.asked {
            true => {
                let about = json!([file.path.as_str(), Digest::of_bytes(&file.bytes).to_string()]);
                ask(call, name, &about).map(|()| file)
            }
            false => Ok(file),
        });
        note(call, catalogue, &settings, name, UseKind::ReadFile, read.is_ok());
        read
    })?
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    limit: Option<NonZeroUsize>,
}

fn search_skills(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let SearchArguments { query, limit } = read(arguments)?;
    let limit = limit.map_or(RESULTS, NonZeroUsize::get).min(MOST_RESULTS);
    let settings = call.place.settings()?;
    let mut next: &[&str] = &[];
    let document = call.live.with(|catalogue| {
        let seen = catalogue.seen(&settings, call.agent);
        let hits = search(&seen, &query, limit);
        if hits.is_empty() {
            next = &["search_marketplace", "install_skill"];
        }
        hits.iter().for_each(|hit| note(call, catalogue, &settings, &hit.listed.name, UseKind::Found, true));
        // Skills that compiled to a tool are listed with its alias.
        let entries = catalogue.libraries().first().and_then(|library| compose::Store::of(library).read().ok());
        let tool = |name: &str| Some(entries.as_ref()?.get(name)?.tool()?.alias.clone());
        let results = hits.iter().map(|hit| {
            json!({
                "tool": tool(hit.listed.name.as_str()),
                "name": hit.listed.name.as_str(), "description": agent::single_line(&hit.listed.description),
                "path": hit.listed.path, "score": hit.score,
            })
        });
        json!({"ok": true, "results": results.collect::<Vec<_>>(), "total": seen.len()})
    })?;
    Ok(ToolResult { next, ..document.into() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameArguments {
    name: String,
}

fn set_enabled(call: &Call<'_>, arguments: JsonObject, enabled: bool) -> Result<ToolResult, Refusal> {
    let NameArguments { name } = read(arguments)?;
    let name = bare_name(&name)?;
    let (document, _) = call.place.set_enabled(&name, enabled)?;
    Ok(ToolResult { changes_lists: true, ..document.into() })
}

/// Parses a skill's name, with or without an owner.
pub(crate) fn bare_name(text: &str) -> Result<SkillName, Refusal> {
    match text.parse::<skill::QualifiedName>() {
        Ok(qualified) => Ok(qualified.name),
        Err(_) => exact_name(text),
    }
}
