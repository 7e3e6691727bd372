//! HTTP routes for tools that are compiled from skills: compile, list and remove them.

use agent::decisions::{Channel, Operation};
use axum::{Json, body::Bytes};
use serde::Deserialize;
use skill::SkillName;
use web::{ApiError, extract::RawBody};

use crate::gateway::{ApiResult, Caller, Work, read, work_for};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    #[serde(default)]
    names: Vec<String>,
}

fn names(work: &Work<'_>, body: &Bytes) -> Result<Vec<SkillName>, ApiError> {
    let Names { names } = read(body)?;
    names.iter().map(|name| work.skill_called(name)).collect()
}

/// Checks a route against the decision table for every skill that its body names.
fn admit_all(work: &Work<'_>, route: &str, names: &[SkillName]) -> Result<(), ApiError> {
    let operation = Operation::find(Channel::Http, route);
    operation.map_or(Ok(()), |operation| work.admit(operation, names.iter().cloned(), []))
}

/// Compiles the named skills, or all that the caller sees if none is named.
pub async fn compile(caller: Caller, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let names = names(work, &body)?;
        admit_all(work, "POST /api/skills.codegen", &names)?;
        let compiled = work.place.with_tools(work.live, |workshop| work.place.compile_tools(workshop, names))??;
        Ok(Json(compiled.document()))
    })
    .await
}

/// Lists the compiled tools and their state.
pub async fn status(caller: Caller) -> ApiResult {
    work_for(caller, |work| Ok(Json(work.place.with_tools(work.live, |workshop| work.place.list_tools(workshop))??)))
        .await
}

/// Removes the tools of the named skills.
pub async fn remove(caller: Caller, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let names = names(work, &body)?;
        admit_all(work, "POST /api/skills.codegen.remove", &names)?;
        Ok(Json(work.place.with_tools(work.live, |workshop| work.place.remove_tools(workshop, &names))??))
    })
    .await
}
