//! Tools that change skills, [`SKILL_MANAGE`] and [`SKILL_ROLLBACK`].

use library::{Library, Stamp};
use ops::Refusal;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Limits, SkillName};
use skill_manage::{Context, Elsewhere, ManageError, Notes, Report, Request, RequestError, Rollback, Status};

use super::{Answer, Call, Effect, Spec, arguments, read, text};

pub(crate) const SKILL_MANAGE: Spec = Spec {
    name: "skill_manage",
    title: "Change a skill",
    description: "Create, edit, patch or delete a skill, or write or remove one of its files. The change is \
                  validated, scanned, recorded as a revision and can be taken back with skill_rollback. Prefer \
                  patch to edit. A change that a person has to decide about is held: status is `proposed`. When \
                  it is refused, the error says which rule, file and line, and what to do.",
    input: manage_input,
    output: report,
    effect: Effect::Changes,
    run: manage,
};

pub(crate) const SKILL_ROLLBACK: Spec = Spec {
    name: "skill_rollback",
    title: "Take a change back",
    description: "Bring a whole skill back to an earlier revision, files and modes alike, as a new revision. \
                  Without `revision` it is the one before the newest change. A deleted skill comes back as well.",
    input: rollback_input,
    output: report,
    effect: Effect::Changes,
    run: roll_back,
};

/// Schema fields of one edit.
fn edit_fields() -> Value {
    let actions = ["create", "edit", "patch", "delete", "write_file", "remove_file"];
    json!({
        "action": {"type": "string", "enum": actions, "description": "What to do"},
        "content": text("The whole SKILL.md (create, edit), or the text of the file (write_file)"),
        "content_base64": text("The bytes of a file that is no text (write_file)"),
        "path": text("The file inside the skill, such as scripts/run.sh; SKILL.md for a patch without it"),
        "find": text("The text to replace, as it stands in the file (patch)"),
        "replace": text("The text to put in its place (patch)"),
        "expected_count": {"type": "integer", "minimum": 1, "description": "How many places there are; all are changed"},
        "replace_all": {"type": "boolean", "description": "Change every place"},
        "executable": {"type": "boolean", "description": "Whether the file may be run (write_file)"},
    })
}

/// Schema fields that apply to every change.
fn note_fields() -> Value {
    json!({
        "name": text("The skill"),
        "expected_revision": text("Refuse when the skill is at another revision than this"),
        "reason": text("Why, for the history"),
        "run": text("The id of the run, for the history"),
        "thread": text("The id of the conversation, for the history"),
        "dry_run": {"type": "boolean", "description": "Do everything but the change"},
    })
}

fn manage_input() -> Value {
    let operation = json!({
        "type": "object", "properties": edit_fields(), "required": ["action"], "additionalProperties": false,
    });
    let mut properties = joined(note_fields(), edit_fields());
    properties["evidence"] = json!({
        "type": "array", "items": {"type": "string"}, "maxItems": 10,
        "description": "What speaks for the change, where a person has to decide: words, links, eval:ID, outcomes:ID",
    });
    properties["absorbed_into"] = text("The skill that took this one's content in (delete)");
    properties["operations"] = json!({
        "type": "array", "items": operation, "minItems": 1,
        "description": "Several edits as one revision, all or none, in place of `action` and its fields",
    });
    arguments(properties, &["name"])
}

fn rollback_input() -> Value {
    let revision = json!({"revision": text("An id or its first digits, a number, head or head~2")});
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

fn manage(call: &Call<'_>, arguments: JsonObject) -> Result<Answer, Refusal> {
    let json = serde_json::to_vec(&arguments).map_err(|error| Refusal::request(error.to_string()))?;
    let request = Request::from_json(&json, &Limits::default()).map_err(ManageError::from).inspect_err(|error| {
        if let Ok(library) = call.place.library() {
            skill_manage::note_unreadable(&library, &Stamp::new(call.actor.clone(), call.now), error);
        }
    })?;
    change(call, &request.skill, |library, context| skill_manage::manage(library, &request, context))
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

fn roll_back(call: &Call<'_>, arguments: JsonObject) -> Result<Answer, Refusal> {
    let RollbackArguments { name, revision, expected_revision, reason, run, thread, dry_run } = read(arguments)?;
    let rollback = Rollback {
        skill: skill_name(&name)?,
        to: revision,
        expected_revision,
        notes: Notes { reason, run, thread, ..Notes::default() }
            .checked(&Limits::default())
            .map_err(ManageError::from)?,
        dry_run,
    };
    change(call, &rollback.skill, |library, context| skill_manage::roll_back(library, &rollback, context))
}

/// Executes a change and reports its consequences.
fn change(
    call: &Call<'_>,
    name: &SkillName,
    run: impl FnOnce(&mut Library, &Context<'_>) -> Result<Report, ManageError>,
) -> Result<Answer, Refusal> {
    let elsewhere: Vec<Elsewhere> = call.place.elsewhere();
    let mut library = call.place.library_of(name)?;
    let policy = call.place.policy()?.with_evolution(call.place.settings()?.tells_of_evolution(call.agent));
    let context = Context { actor: call.actor.clone(), time: call.now, policy, elsewhere: &elsewhere };
    let report = run(&mut library, &context)?;
    call.authored.add(&report);
    let mut document = json!(report);
    let applied = report.status == Status::Applied;
    if applied
        && let Ok(skill) = SkillName::parse(&report.name)
        && let Some(warning) = call.place.lock_warning(&library, &skill)
    {
        let said = if report.message.is_empty() { warning } else { format!("{}; {warning}", report.message) };
        document["message"] = Value::String(said);
    }
    Ok(Answer { changes_lists: applied, ..document.into() })
}

/// Parses a skill's name from a request.
pub(super) fn skill_name(text: &str) -> Result<SkillName, Refusal> {
    SkillName::parse(text)
        .map_err(|fault| ManageError::from(RequestError::Name { name: text.to_owned(), fault }).into())
}
