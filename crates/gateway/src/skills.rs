//! HTTP routes for skills: listing, reading, enabling, installing and reloading.

use std::path::Path as FilePath;

use agent::{Catalogue, Form, ListOptions, ListedSkill};
use axum::{Extension, Json, http::StatusCode};
use ops::Upload;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Bundle, SkillName};
use web::{
    ApiError, Parameters,
    extract::{Path, RawBody},
};

use crate::gateway::{ApiResult, Caller, Work, into_api_error, read, work_for};

/// Lists all skills of the catalogue.
pub async fn list(caller: Caller) -> ApiResult {
    work_for(caller, |work| listed(work, false)).await
}

/// Lists the skills that can be changed.
pub async fn custom(caller: Caller) -> ApiResult {
    work_for(caller, |work| listed(work, true)).await
}

fn listed(work: &Work<'_>, custom_only: bool) -> ApiResult {
    let (library, settings) = (work.place.library()?, work.place.settings()?);
    let (skills, notes) = work
        .live
        .with(|catalogue| {
            let all = catalogue.skills.iter();
            let all = all.filter(|listed| work.sees_listed(&settings, listed));
            let wanted = all.filter(|listed| !custom_only || is_custom(catalogue, listed, library.path()));
            let skills: Vec<Value> = wanted.map(|listed| document(catalogue, listed, library.path())).collect();
            (skills, catalogue.notes.clone())
        })
        .map_err(into_api_error)?;
    Ok(Json(json!({"ok": true, "skills": skills, "notes": notes})))
}

/// Renders the list of skills for a prompt, in one of its forms.
pub async fn prompt(caller: Caller, Path(form): Path<String>) -> ApiResult {
    let none = || {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("unknown prompt form {form:?}"))
            .hint(format!("use one of {}", Form::all_names("and")))
    };
    let named = Form::named(&form).ok_or_else(none)?;
    work_for(caller, move |work| {
        let (settings, agent) = (work.place.settings()?, &work.place.actor.id);
        let text = work
            .live
            .prompt(&settings, agent, ListOptions::for_agent(named, &settings, agent))
            .map_err(into_api_error)?;
        Ok(Json(json!({"ok": true, "form": form, "prompt": &*text})))
    })
    .await
}

/// Query parameters that select the state of a skill.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StateQuery {
    pub revision: Option<String>,
}

/// Returns one skill of the catalogue.
pub async fn one(caller: Caller, Path(name): Path<String>, Parameters(asked): Parameters<StateQuery>) -> ApiResult {
    if asked.revision.is_some() {
        return Err(ApiError::bad_request("`revision` is not supported here")
            .hint("get the text of a revision with GET /api/skills/custom/NAME?revision=…"));
    }
    work_for(caller, move |work| Ok(Json(found(work, &work.skill_called(&name)?)?))).await
}

/// Returns the document of a skill.
///
/// # Errors
/// The catalogue has no skill of this name.
pub fn found(work: &Work<'_>, name: &SkillName) -> Result<Value, ApiError> {
    let library = work.place.library()?;
    let found = work.live.with(|catalogue| {
        let mut skill = catalogue.find(name).map(|listed| document(catalogue, listed, library.path()))?;
        skill["ok"] = json!(true);
        Ok(skill)
    });
    found.map_err(into_api_error)?.map_err(|error: agent::AgentError| into_api_error(error))
}

/// The body of a request that shows or hides a skill.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    enabled: bool,
}

/// Shows a skill to agents, or hides it.
pub async fn set_enabled(caller: Caller, Path(name): Path<String>, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let (name, setting) = (work.skill_called(&name)?, read::<Setting>(&body)?);
        let (links, _) = work.place.set_enabled(&name, setting.enabled)?;
        work.live.reload();
        let mut skill = found(work, &name)?;
        skill["links"] = links.get("links").cloned().unwrap_or_default();
        Ok(Json(skill))
    })
    .await
}

/// Installs a skill from the archive in the body.
pub async fn install(caller: Caller, upload: Option<Extension<Upload>>, RawBody(archive): RawBody) -> ApiResult {
    let upload = upload.map(|Extension(upload)| upload).unwrap_or_default();
    work_for(caller, move |work| {
        if !archive.starts_with(b"PK") {
            return Err(ApiError::bad_request("the body is not a .skill archive").hint(
                "send the bytes of a zip file with the skill's folder, or with its files and SKILL.md at the top",
            ));
        }
        let mut document = work.place.install_upload(&archive, &upload)?;
        work.live.reload();
        let name = document.pointer("/skills/0/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        document["success"] = json!(true);
        document["message"] = json!(format!("installed {name}"));
        document["skill_name"] = json!(name);
        Ok(Json(document))
    })
    .await
}

/// Scans all folders again, and the registry that serves as skill storage. Changes are also seen without it, those of
/// other programs within two seconds.
pub async fn reload(caller: Caller) -> ApiResult {
    work_for(caller, |work| {
        work.live.reload_with(work.place.public_skills()?);
        listed(work, false)
    })
    .await
}

/// Builds the document of a skill, from the fields that hosts know and our own.
fn document(catalogue: &Catalogue, listed: &ListedSkill, library: &FilePath) -> Value {
    let editable = is_custom(catalogue, listed, library);
    let category = if editable { "custom" } else { "public" };
    let license = catalogue.files(listed).ok().and_then(|files| license(&files));
    json!({
        "name": listed.name.as_str(), "description": listed.description, "license": license, "category": category,
        "editable": editable,        "enabled": listed.enabled, "version": listed.version, "scope": listed.scope.as_str(),
        "revision": listed.served().map(|head| head.id.to_string()),
        "number": listed.served().map(|head| head.number),
        "edited": listed.is_edited(), "digest": listed.digest(), "held": listed.held(),
        "origin": listed.head.as_ref().and_then(|head| head.origin.as_ref()),
        "modified": listed.modified, "fault": listed.fault,
    })
}

/// Returns whether a skill belongs to the writable library, or to a group below it.
pub(crate) fn is_custom(catalogue: &Catalogue, listed: &ListedSkill, library: &FilePath) -> bool {
    catalogue.library_of(listed).is_some_and(|own| own.path().starts_with(library)) && !listed.found_elsewhere
}

fn license(files: &Bundle) -> Option<String> {
    files.frontmatter()?.license.clone()
}
