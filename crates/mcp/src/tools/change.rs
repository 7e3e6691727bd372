//! Tools that change skills, [`SKILL_MANAGE`] and [`SKILL_ROLLBACK`].

use library::Library;
use ops::{Refusal, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::Limits;
use skill_manage::{ACTIONS, Context, ManageError, Notes, Report, Rollback, Status};

use super::{Call, Effect, Spec, ToolResult, arguments, read, text, undeclared};

pub(crate) const SKILL_MANAGE: Spec = Spec {
    name: "skill_manage",
    title: "Change a skill",
    description: "Change a skill or one of its files. Prefer patch over edit. Each change is checked, scanned and \
                  recorded as a revision, which can be undone. If its status is `proposed`, a person decides.",
    input: manage_input,
    output: undeclared,
    effect: Effect::Changes,
    run: manage,
};

pub(crate) const SKILL_ROLLBACK: Spec = Spec {
    name: "skill_rollback",
    title: "Roll back a skill",
    description: "Restore all files of a skill, with their modes, from an earlier revision, as a new revision. \
                  Defaults to the revision before the last change. Also restores a deleted skill.",
    input: rollback_input,
    output: report,
    effect: Effect::Changes,
    run: roll_back,
};

/// Schema fields of one edit.
fn edit_fields() -> Value {
    let actions = ACTIONS.map(|(name, _)| name);
    json!({
        "action": {"type": "string", "enum": actions},
        "content": text("Whole SKILL.md (create, edit) or file (write_file)"),
        "content_base64": text("Binary file (write_file)"),
        "path": text("File in the skill; default for patch: SKILL.md"),
        "find": text("Exact text (patch)"),
        "replace": text("New text (patch)"),
        "expected_count": {"type": "integer", "minimum": 1, "description": "Matches to replace; default 1"},
        "replace_all": {"type": "boolean"},
        "executable": {"type": "boolean"},
    })
}

/// Schema fields that apply to every change.
fn note_fields() -> Value {
    json!({
        "name": {"type": "string"},
        "expected_revision": text("Fail if it is not the current one"),
        "reason": text("Shown in the history"),
        "run": text("Your run id"),
        "thread": text("Your conversation id"),
        "dry_run": {"type": "boolean", "description": "Check only"},
    })
}

fn manage_input() -> Value {
    let mut properties = joined(note_fields(), edit_fields());
    properties["evidence"] = json!({
        "type": "array", "items": {"type": "string"}, "maxItems": 10,
        "description": "For the person who decides: text, links, eval:ID, outcomes:ID",
    });
    properties["absorbed_into"] = text("Skill that replaces it (delete)");
    properties["operations"] = json!({
        "type": "array", "items": {"type": "object"}, "minItems": 1,
        "description": "Edits for one revision: objects with `action` and its fields",
    });
    arguments(properties, &["name"])
}

fn rollback_input() -> Value {
    let revision = json!({"revision": text("Revision id or its first digits, a number, head or head~2")});
    arguments(joined(note_fields(), revision), &["name"])
}

fn joined(mut fields: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more);
    }
    fields
}

fn report() -> Value {
    let nullable = |kind: &str| json!({"type": [kind, "null"]});
    json!({
        "status": {"type": "string", "enum": ["applied", "proposed", "unchanged", "dry_run"]},
        "action": {"type": "string"},
        "name": {"type": "string"},
        "revision": nullable("string"),
        "number": nullable("integer"),
        "previous_revision": nullable("string"),
        "files": {"type": "array", "items": {"type": "object"}},
        "diff": {"type": "string"},
        "verdict": {"type": "object"},
        "problems": {"type": "array", "items": {"type": "object"}},
        "proposal": nullable("string"),
        "message": {"type": "string"},
    })
}

fn manage(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let json = serde_json::to_vec(&arguments).map_err(|error| Refusal::request(error.to_string()))?;
    let request = call.place.change_request(&json)?;
    change(call, call.place.library_to_change(&request)?, |library, context| {
        skill_manage::manage(library, &request, context)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RollbackArguments {
    name: String,
    revision: Option<String>,
    expected_revision: Option<String>,
    reason: Option<String>,
    run: Option<String>,
    #[serde(alias = "thread_id")]
    thread: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

fn roll_back(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let RollbackArguments { name, revision, expected_revision, reason, run, thread, dry_run } = read(arguments)?;
    let rollback = Rollback {
        skill: exact_name(&name)?,
        to: revision,
        expected_revision,
        notes: Notes { reason, run, thread, ..Notes::default() }
            .checked(&Limits::default())
            .map_err(ManageError::from)?,
        dry_run,
    };
    let library = call.place.library_with_past(&rollback.skill)?;
    change(call, library, |library, context| skill_manage::roll_back(library, &rollback, context))
}

/// Executes a change in a library and reports its consequences.
fn change(
    call: &Call<'_>,
    mut library: Library,
    run: impl FnOnce(&mut Library, &Context<'_>) -> Result<Report, ManageError>,
) -> Result<ToolResult, Refusal> {
    let (mut report, warning) = call.place.change(&mut library, run)?;
    warning.iter().for_each(|warning| report.add(warning));
    call.authored.add(&report);
    let next: &[&str] = match report.status {
        Status::Applied => &["skill_rollback"],
        Status::Proposed => &["skill_review_show", "skill_rollback"],
        _ => &[],
    };
    Ok(ToolResult { changes_lists: report.status == Status::Applied, next, ..json!(report).into() })
}
