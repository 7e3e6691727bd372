//! Skills that compile to tools, over HTTP: compile, look, take away.

use axum::{Extension, Json, body::Bytes, extract::State};
use compose::{ToolHost, Workshop};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::SkillName;

use super::{Shared, Work, at_work, gate::Asker, read, skill_name, told};
use crate::error::ApiError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    #[serde(default)]
    names: Vec<String>,
}

fn names(body: &Bytes) -> Result<Vec<SkillName>, ApiError> {
    let Names { names } = read(body)?;
    names.iter().map(|name| skill_name(name)).collect()
}

/// Runs something with the workshop of the skills as they are now.
fn workshop<T>(work: &Work<'_>, run: impl FnOnce(&Workshop<'_>) -> T) -> Result<T, ApiError> {
    let tools = work.place.tool_hosts()?.tools();
    work.live.with(|catalogue| run(&Workshop { catalogue, tools: &tools })).map_err(told)
}

/// Compiles the skills that are named, or all.
pub async fn compile(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let names = names(&body)?;
    at_work(&gateway, asker, move |work| {
        let compiled = workshop(work, |workshop| workshop.compile(&names))?.map_err(told)?;
        Ok(Json(compiled.document()))
    })
    .await
}

/// What became of the skills that were compiled.
pub async fn status(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
) -> Result<Json<Value>, ApiError> {
    at_work(&gateway, asker, |work| {
        let entries = workshop(work, |workshop| workshop.follow())?.map_err(told)?;
        let tools: Vec<Value> = entries.iter().map(|(skill, entry)| entry.document(skill)).collect();
        Ok(Json(json!({"ok": true, "tools": tools})))
    })
    .await
}

/// Takes tools away.
pub async fn remove(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    let names = names(&body)?;
    at_work(&gateway, asker, move |work| {
        workshop(work, |workshop| workshop.remove(&names))?.map_err(told)?;
        let removed: Vec<&str> = names.iter().map(SkillName::as_str).collect();
        Ok(Json(json!({"ok": true, "removed": removed})))
    })
    .await
}
