//! Normalisation of arguments that refer to skills otherwise than by folder name.

use std::path::Path;

use agent::{ListedSkill, Settings, decisions::Operation};
use ops::Refusal;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::{Call, Spec};
use crate::systems::SYSTEMS;

/// Tools that accept a skill's name, its path, or both.
const EITHER_WAY: [&str; 3] = ["read_skill", "disable_skill", "enable_skill"];

/// Arguments that hold a revision id or number.
const REVISIONS: [&str; 4] = ["revision", "expected_revision", "from", "to"];

/// Replaces each reference to a skill by its folder name. Skills that the agent may not know of are left as given.
///
/// # Errors
/// Two arguments disagree, a name is ambiguous, or there is no skill at a path.
pub(super) fn by_folder(
    call: &Call<'_>,
    settings: &Settings,
    spec: &Spec,
    operation: &Operation,
    mut arguments: JsonObject,
) -> Result<JsonObject, Refusal> {
    SYSTEMS.iter().try_for_each(|system| (system.arguments)(spec, &mut arguments))?;
    for field in REVISIONS {
        if let Some(number) = arguments.get(field).and_then(Value::as_u64) {
            arguments.insert(field.to_owned(), json!(number.to_string()));
        }
    }
    if creates(&arguments) {
        return Ok(arguments);
    }
    let seen = |listed: &ListedSkill| {
        settings.grants_visibility(call.agent, listed.name.as_str(), listed.qualified().as_deref())
    };
    let settle = |value: &mut Value| -> Result<(), Refusal> {
        let Some(text) = value.as_str() else { return Ok(()) };
        if let Some(name) = call.live.with(|catalogue| catalogue.called(text, seen))?? {
            *value = json!(name.as_str());
        }
        Ok(())
    };
    for field in operation.skills {
        match arguments.get_mut(*field) {
            Some(Value::Array(values)) => values.iter_mut().try_for_each(settle)?,
            Some(value) => settle(value)?,
            None => {}
        }
    }
    if spec.name != "read_skill" && EITHER_WAY.contains(&spec.name) {
        take_path(call, seen, &mut arguments)?;
    }
    Ok(arguments)
}

/// Returns whether a call creates a skill.
pub(super) fn creates(arguments: &JsonObject) -> bool {
    let is_new = |edit: &Value| edit["action"] == "create";
    arguments.get("operations").and_then(Value::as_array).is_some_and(|edits| edits.iter().any(is_new))
        || arguments.get("action").is_some_and(|action| action == "create")
}

/// Replaces a skill's path by its name.
fn take_path(call: &Call<'_>, seen: impl Fn(&ListedSkill) -> bool, arguments: &mut JsonObject) -> Result<(), Refusal> {
    let Some(value) = arguments.remove("path") else { return Ok(()) };
    let path = value.as_str().ok_or_else(|| Refusal::request("`path` must be a string"))?;
    let path = library::resolve(Path::new(path)).unwrap_or_else(|_| path.into());
    let name = call.live.with(|catalogue| {
        let found = catalogue.at(&path).filter(|listed| seen(listed));
        found.map(|listed| listed.name.clone()).ok_or(agent::AgentError::NoSkillAt(path.clone()))
    })??;
    match arguments.get("name") {
        Some(given) if given.as_str() != Some(name.as_str()) => Err(agent::AgentError::Disagree {
            name: super::skills::bare_name(given.as_str().unwrap_or_default())?,
            path,
        }
        .into()),
        _ => {
            arguments.insert("name".to_owned(), json!(name.as_str()));
            Ok(())
        }
    }
}
