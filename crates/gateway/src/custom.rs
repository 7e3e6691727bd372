//! One skill of the library: its text, its changes and its past, all through `skill_manage`.

use axum::{Json, body::Bytes, extract::Path};
use library::{Library, Scope};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Bundle, Edit, Limits, SkillName};
use skill_manage::{
    Context, ManageError, Notes, Report, Request, Rollback, Status,
    documents::{self, Since},
};
use web::{ApiError, Parameters};

use crate::{
    gateway::{Answer, Caller, Work, read, told, work_for},
    skills::{Wanted, found},
};

/// Revisions that are told unless more are asked for.
const REVISIONS: usize = 100;

/// A skill with its text, as it is or as it was in a revision.
pub async fn one(caller: Caller, Path(name): Path<String>, Parameters(asked): Parameters<Wanted>) -> Answer {
    work_for(caller, move |work| {
        let name = work.skill_called(&name)?;
        let mut skill = with_text(work, &name)?;
        if let Some(revision) = asked.revision {
            let (revision, files) = documents::at(&work.place.library_of(&name)?, &name, &revision).map_err(told)?;
            skill["revision"] = json!(revision.id);
            skill["number"] = json!(revision.number);
            skill["digest"] = json!(files.digest().to_string());
            (skill["edited"], skill["held"]) = (json!(false), Value::Null);
            tell_files(&mut skill, &files);
        }
        Ok(Json(skill))
    })
    .await
}

fn tell_files(skill: &mut Value, files: &Bundle) {
    skill["content"] = json!(files.skill_md());
    skill["files"] = files
        .files()
        .map(|(path, file)| json!({"path": path.as_str(), "size": file.bytes.len(), "executable": file.executable}))
        .collect();
}

fn with_text(work: &Work<'_>, name: &SkillName) -> Result<Value, ApiError> {
    let mut skill = found(work, name)?;
    if skill["category"] != "custom" {
        return Err(ApiError::not_found(format!("{name} is no skill of this library"))
            .hint("GET /api/skills/custom lists those that can be changed"));
    }
    let given =
        work.live.with(|catalogue| catalogue.given(catalogue.find(name)?, None)).map_err(told)?.map_err(told)?;
    let files = given.files;
    skill["edited"] = json!(given.edited);
    skill["digest"] = json!(files.digest().to_string());
    skill["held"] = json!(given.held);
    tell_files(&mut skill, &files);
    Ok(skill)
}

/// What a client may say about any change.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Change {
    /// The whole `SKILL.md`.
    content: Option<String>,
    /// The revision to bring back.
    revision: Option<String>,
    expected_revision: Option<String>,
    reason: Option<String>,
    run: Option<String>,
    thread: Option<String>,
    dry_run: bool,
}

impl Change {
    fn notes(&self) -> Result<Notes, ApiError> {
        let notes = Notes {
            reason: self.reason.clone(),
            run: self.run.clone(),
            thread: self.thread.clone(),
            ..Notes::default()
        };
        notes.checked(&Limits::default()).map_err(|error| told(ManageError::from(error)))
    }

    fn request(self, name: &SkillName, edit: Edit) -> Result<Request, ApiError> {
        let request = Request::of_edit(name.as_str(), edit).map_err(|error| told(ManageError::from(error)))?;
        let notes = self.notes()?;
        Ok(Request { expected_revision: self.expected_revision, notes, dry_run: self.dry_run, ..request })
    }
}

/// Replaces the text of a skill.
pub async fn edit(caller: Caller, Path(name): Path<String>, body: Bytes) -> Answer {
    work_for(caller, move |work| {
        let (name, mut asked) = (work.skill_called(&name)?, read::<Change>(&body)?);
        if asked.revision.is_some() {
            return Err(ApiError::bad_request("a text is put in place of another; `revision` belongs to a rollback"));
        }
        let content = asked.content.take().ok_or_else(|| ApiError::bad_request("`content` is missing"))?;
        let request = asked.request(&name, Edit::Edit { content })?;
        let report = edited(work, &name, &request)?;
        Ok(Json(joined(with_text(work, &name)?, report)))
    })
    .await
}

fn edited(work: &Work<'_>, name: &SkillName, request: &Request) -> Result<Value, ApiError> {
    let library = work.place.library_of(name)?;
    change(work, library, |library, context| skill_manage::manage(library, request, context))
        .map_err(|error| with_next_step(work, name, error))
}

/// Says of a skill that can only be read here how it is customised.
fn with_next_step(work: &Work<'_>, name: &SkillName, error: ApiError) -> ApiError {
    let is_public = || found(work, name).ok().filter(|skill| skill["category"] == "public");
    let is_missing = matches!(error.code, "not_found" | "policy_denied");
    let Some(skill) = is_missing.then(is_public).flatten() else { return error };
    let others = work.place.elsewhere().unwrap_or_default();
    let hint = match others.iter().find(|other| other.name == *name && other.scope != Scope::Builtin) {
        Some(other) => format!("change it {}: `skillhub manage edit {name} --global`", other.place),
        None => format!(
            "`skillhub manage create {name} --content FILE` makes a custom skill that goes before it; \
             installing an archive of that name does so too"
        ),
    };
    let message = format!("{name} can only be read here; it is not a skill of this library");
    let details = Box::new(json!({"read_only": skill["scope"]}));
    ApiError { message, hint: Some(hint), details, ..error }
}

/// Deletes a skill: its history stays, and `rollback` brings it back.
pub async fn delete(caller: Caller, Path(name): Path<String>, body: Bytes) -> Answer {
    work_for(caller, move |work| {
        let (name, asked) = (work.skill_called(&name)?, read::<Change>(&body)?);
        let request = asked.request(&name, Edit::Delete)?;
        let report = edited(work, &name, &request)?;
        Ok(Json(joined(json!({"success": report["status"] != "proposed"}), report)))
    })
    .await
}

/// Brings an earlier revision back, as a new one.
pub async fn roll_back(caller: Caller, Path(name): Path<String>, body: Bytes) -> Answer {
    work_for(caller, move |work| {
        let (name, asked) = (work.skill_called(&name)?, read::<Change>(&body)?);
        if asked.content.is_some() {
            return Err(ApiError::bad_request("a rollback takes no `content`"));
        }
        let rollback = Rollback {
            skill: name.clone(),
            to: asked.revision.clone(),
            notes: asked.notes()?,
            expected_revision: asked.expected_revision,
            dry_run: asked.dry_run,
        };
        let library = work.place.library_of(&name)?;
        let report = change(work, library, |library, context| skill_manage::roll_back(library, &rollback, context))?;
        let skill = with_text(work, &name).unwrap_or_else(|_| json!({"ok": true}));
        Ok(Json(joined(skill, report)))
    })
    .await
}

/// How much of the past is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Past {
    limit: Option<usize>,
    from: Option<String>,
    to: Option<String>,
}

/// The revisions of a skill, newest first.
pub async fn history(caller: Caller, Path(name): Path<String>, Parameters(asked): Parameters<Past>) -> Answer {
    work_for(caller, move |work| {
        let limit = asked.limit.unwrap_or(REVISIONS).max(1);
        let name = work.skill_called(&name)?;
        let history = documents::history(&work.place.library_of(&name)?, name, limit).map_err(told)?;
        Ok(Json(json!(history)))
    })
    .await
}

/// What differs between two revisions; the newest change without `from` and `to`.
pub async fn diff(caller: Caller, Path(name): Path<String>, Parameters(asked): Parameters<Past>) -> Answer {
    work_for(caller, move |work| {
        let since = asked.from.as_deref().map_or(Since::Parent, Since::Revision);
        let to = asked.to.as_deref();
        let name = work.skill_called(&name)?;
        let compared = documents::compare(&work.place.library_of(&name)?, &name, since, to);
        Ok(Json(compared.map_err(told)?.document()))
    })
    .await
}

/// Does a change and tells what follows from it.
///
/// # Errors
/// Those of the change; nothing has changed then.
pub(crate) fn change(
    work: &Work<'_>,
    mut library: Library,
    run: impl FnOnce(&mut Library, &Context<'_>) -> Result<Report, ManageError>,
) -> Result<Value, ApiError> {
    let elsewhere = work.place.elsewhere()?;
    let policy = work.place.policy()?.with_evolution(work.place.settings()?.tells_of_evolution(&work.actor.id));
    let context = Context { actor: work.actor.clone(), time: work.now, policy, elsewhere: &elsewhere };
    let report = run(&mut library, &context).map_err(told)?;
    let mut document = json!(report);
    if report.status == Status::Applied
        && let Ok(skill) = SkillName::parse(&report.name)
        && let Some(warning) = work.place.note_change(&library, &skill)
    {
        let said = if report.message.is_empty() { warning } else { format!("{}; {warning}", report.message) };
        document["message"] = Value::String(said);
    }
    // A folder that was made a moment ago is seen in what is told of the skill, held or applied.
    work.live.reload();
    Ok(document)
}

/// A skill as it is now, with what became of the change; where both say something, the report does.
fn joined(mut skill: Value, report: Value) -> Value {
    let listed = skill.get("files").cloned();
    if let (Some(skill), Value::Object(report)) = (skill.as_object_mut(), report) {
        skill.extend(report);
        skill.extend(listed.map(|files| ("skill_files".to_owned(), files)));
    }
    skill
}
