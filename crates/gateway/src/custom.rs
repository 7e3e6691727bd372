//! HTTP routes for one skill of the library: its text, its changes and its history, all through `skill_manage`.

use axum::Json;
use library::{Library, Scope};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Bundle, Edit, Limits, SkillName};
use skill_manage::{
    ChangeRequest, Context, ManageError, Notes, Report, Rollback, Status, Surroundings,
    documents::{self, DiffBase},
};
use web::{
    ApiError, Parameters,
    extract::{Path, RawBody},
};

use crate::{
    gateway::{ApiResult, Caller, Work, into_api_error, read, work_for},
    skills::{StateQuery, found},
};

/// Number of revisions in a history, unless the request has a limit.
const REVISIONS: usize = 100;

/// Returns a skill with its text, now or in the requested revision.
pub async fn one(caller: Caller, Path(name): Path<String>, Parameters(asked): Parameters<StateQuery>) -> ApiResult {
    work_for(caller, move |work| {
        let name = work.skill_called(&name)?;
        let mut skill = with_text(work, &name)?;
        if let Some(revision) = asked.revision {
            let (revision, files) =
                documents::at(&work.place.library_of(&name)?, &name, &revision).map_err(into_api_error)?;
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
        return Err(ApiError::not_found(format!("{name} is not a skill of this library"))
            .hint("list editable skills with GET /api/skills/custom"));
    }
    let given = work
        .live
        .with(|catalogue| catalogue.given(catalogue.find(name)?, None))
        .map_err(into_api_error)?
        .map_err(into_api_error)?;
    let files = given.files;
    skill["edited"] = json!(given.edited);
    skill["digest"] = json!(files.digest().to_string());
    skill["held"] = json!(given.held);
    tell_files(&mut skill, &files);
    Ok(skill)
}

/// Body of an edit or a deletion.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Change {
    /// Complete text of `SKILL.md`.
    content: Option<String>,
    expected_revision: Option<String>,
    reason: Option<String>,
    run: Option<String>,
    thread: Option<String>,
    dry_run: bool,
}

/// Body of a rollback.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Restore {
    /// Id or number of the revision to restore.
    revision: Option<String>,
    /// Entry of the history before which the skill is restored. It was replaced by the revision.
    #[serde(rename = "history_index")]
    _history_index: Option<Value>,
    expected_revision: Option<String>,
    reason: Option<String>,
    run: Option<String>,
    thread: Option<String>,
    dry_run: bool,
}

fn notes(reason: Option<String>, run: Option<String>, thread: Option<String>) -> Result<Notes, ApiError> {
    let notes = Notes { reason, run, thread, ..Notes::default() };
    notes.checked(&Limits::default()).map_err(|error| into_api_error(ManageError::from(error)))
}

impl Change {
    fn request(self, name: &SkillName, edit: Edit) -> Result<ChangeRequest, ApiError> {
        let request =
            ChangeRequest::of_edit(name.as_str(), edit).map_err(|error| into_api_error(ManageError::from(error)))?;
        let notes = notes(self.reason, self.run, self.thread)?;
        Ok(ChangeRequest { expected_revision: self.expected_revision, notes, dry_run: self.dry_run, ..request })
    }
}

/// Replaces the `SKILL.md` of a skill.
pub async fn edit(caller: Caller, Path(name): Path<String>, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let (name, mut asked) = (work.skill_called(&name)?, read::<Change>(&body)?);
        let content = asked.content.take().ok_or_else(|| ApiError::bad_request("`content` is required"))?;
        let request = asked.request(&name, Edit::Edit { content })?;
        let report = edited(work, &name, &request)?;
        Ok(Json(joined(with_text(work, &name)?, report)))
    })
    .await
}

fn edited(work: &Work<'_>, name: &SkillName, request: &ChangeRequest) -> Result<Value, ApiError> {
    let library = work.place.library_of(name)?;
    change(work, library, |library, context| skill_manage::manage(library, request, context))
        .map_err(|error| with_next_step(work, name, error))
}

/// Adds a hint on how to customise a skill that is read-only here.
fn with_next_step(work: &Work<'_>, name: &SkillName, error: ApiError) -> ApiError {
    let is_public = || found(work, name).ok().filter(|skill| skill["category"] == "public");
    let is_missing = matches!(error.code, "not_found" | "policy_denied");
    let Some(skill) = is_missing.then(is_public).flatten() else { return error };
    let others = work.place.shadowed_skills();
    let copy = "install an archive of that name with `POST /api/skills/install`, which takes precedence here";
    let hint = match others.iter().find(|other| other.name == *name && other.scope != Scope::Builtin) {
        Some(other) => format!("change it {}, or {copy}", other.place),
        None => copy.to_owned(),
    };
    let message = format!("{name} is read-only here; it is not a skill of this library");
    let details = Box::new(json!({"read_only": skill["scope"]}));
    ApiError { message, hint: Some(hint), details, ..error }
}

/// Deletes a skill. Its history remains, and a rollback restores it.
pub async fn delete(caller: Caller, Path(name): Path<String>, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let (name, asked) = (work.skill_called(&name)?, read::<Change>(&body)?);
        let request = asked.request(&name, Edit::Delete)?;
        let report = edited(work, &name, &request)?;
        Ok(Json(joined(json!({"success": report["status"] != "proposed"}), report)))
    })
    .await
}

/// Restores an earlier revision, as a new revision.
pub async fn roll_back(caller: Caller, Path(name): Path<String>, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let (name, asked) = (work.skill_called(&name)?, read::<Restore>(&body)?);
        let rollback = Rollback {
            skill: name.clone(),
            to: asked.revision,
            notes: notes(asked.reason, asked.run, asked.thread)?,
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

/// Query parameters of the history and the diff.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct HistoryQuery {
    limit: Option<usize>,
    from: Option<String>,
    to: Option<String>,
}

/// Lists the revisions of a skill, newest first.
pub async fn history(
    caller: Caller,
    Path(name): Path<String>,
    Parameters(asked): Parameters<HistoryQuery>,
) -> ApiResult {
    work_for(caller, move |work| {
        let limit = asked.limit.unwrap_or(REVISIONS).max(1);
        let name = work.skill_called(&name)?;
        let history = documents::history(&work.place.library_of(&name)?, name, limit).map_err(into_api_error)?;
        Ok(Json(json!(history)))
    })
    .await
}

/// Compares two revisions. Without `from` and `to`, it returns the newest change.
pub async fn diff(caller: Caller, Path(name): Path<String>, Parameters(asked): Parameters<HistoryQuery>) -> ApiResult {
    work_for(caller, move |work| {
        let since = asked.from.as_deref().map_or(DiffBase::Parent, DiffBase::Revision);
        let to = asked.to.as_deref();
        let name = work.skill_called(&name)?;
        let compared = documents::compare(&work.place.library_of(&name)?, &name, since, to);
        Ok(Json(compared.map_err(into_api_error)?.document()))
    })
    .await
}

/// Makes a change and returns its report.
///
/// # Errors
/// The change failed; nothing was changed then.
pub(crate) fn change(
    work: &Work<'_>,
    mut library: Library,
    run: impl FnOnce(&mut Library, &Context<'_>) -> Result<Report, ManageError>,
) -> Result<Value, ApiError> {
    let (mut report, warning) = work.place.change(&mut library, run)?;
    warning.iter().for_each(|warning| report.add(warning));
    let mut document = json!(report);
    if let Some(id) = report.proposal.filter(|_| report.status == Status::Proposed) {
        document["hint"] = json!(format!(
            "review it with `GET /api/proposals/{id}`; a person decides with `POST /api/proposals/{id}/accept` or \
             `/reject`, and a reviewer's token as X-Skillhub-Reviewer-Token"
        ));
    }
    // Makes a folder that the change has just created visible to the catalogue, whether the change is held or applied.
    work.live.reload();
    Ok(document)
}

/// Merges the document of a skill with the report of a change. The report wins where both have a field.
fn joined(mut skill: Value, report: Value) -> Value {
    let listed = skill.get("files").cloned();
    if let (Some(skill), Value::Object(report)) = (skill.as_object_mut(), report) {
        skill.extend(report);
        skill.extend(listed.map(|files| ("skill_files".to_owned(), files)));
    }
    skill
}
