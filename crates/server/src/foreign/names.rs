//! Resolves names without an owner ([`holder`] and [`named`]).

use registry_index::{Entry, newest};
use serde::{Deserialize, Serialize};
use serde_json::json;
use skill::{Owner, QualifiedName, SkillName};

use crate::{api::name_of, error::ApiError, hub::Hub};

/// Separator of owner and name for clients that accept a single word. It does not occur in names.
const BETWEEN: &str = "--";

/// Returns the release for new installs: the newest one that is not yanked, withdrawn or under quarantine.
///
/// # Errors
/// [`ApiError`] if the index cannot be read.
pub fn current(hub: &Hub, name: &QualifiedName) -> Result<Option<Entry>, ApiError> {
    let mut entries = hub.stores.releases.of_skill(name)?;
    entries.retain(|entry| hub.is_free(entry));
    Ok(newest(&entries, false).cloned())
}

/// Returns the skill that a bare name belongs to: that of the owner who published it first.
///
/// No later owner can take the name over, even with more downloads.
///
/// # Errors
/// [`ApiError`] if the index cannot be read.
pub fn holder(hub: &Hub, name: &SkillName) -> Result<Option<Entry>, ApiError> {
    let mut first = None;
    for name in everyone(hub, name)? {
        let Some(entry) = current(hub, &name)? else { continue };
        let entries = hub.stores.releases.of_skill(&name)?;
        let since = entries.iter().map(|entry| entry.published_at).min();
        first = [first, Some((since, name.owner, entry))]
            .into_iter()
            .flatten()
            .min_by(|a: &(_, Owner, _), b| (&a.0, a.1.as_str()).cmp(&(&b.0, b.1.as_str())));
    }
    Ok(first.map(|(_, _, entry)| entry))
}

/// Returns all skills with a bare name, one for each owner.
///
/// # Errors
/// [`ApiError`] if the index cannot be read.
pub fn everyone(hub: &Hub, name: &SkillName) -> Result<Vec<QualifiedName>, ApiError> {
    let owners = hub.stores.releases.owners_of(name)?;
    Ok(owners.into_iter().map(|owner| QualifiedName { owner, name: name.clone() }).collect())
}

/// Resolves `name` or `owner--name`, each with an optional separate owner.
///
/// # Errors
/// [`ApiError`] with 404 if there is no such skill, with 409 if several owners have one.
pub fn named(hub: &Hub, slug: &str, owner: Option<&str>) -> Result<QualifiedName, ApiError> {
    let slug = slug.trim();
    let beside = owner.map(|owner| owner.trim().trim_start_matches('@')).filter(|owner| !owner.is_empty());
    let (inside, name) = match slug.rsplit_once(BETWEEN) {
        Some((owner, name)) => (Some(owner), name),
        None => (None, slug),
    };
    let none = || ApiError::not_found(format!("skill not found: {slug}")).hint("search for it");
    match (inside, beside) {
        (Some(inside), Some(beside)) if inside != beside => Err(none()),
        (Some(owner), _) | (None, Some(owner)) => name_of(owner, name).map_err(|_| none()),
        (None, None) => {
            let name = SkillName::parse_standard(name).map_err(|_| none())?;
            let mut all = everyone(hub, &name)?;
            match all.len() {
                0 => Err(none()),
                1 => Ok(all.remove(0)),
                _ => Err(ambiguous(&name, &all)),
            }
        }
    }
}

/// One of the skills with an ambiguous name, in the details of the error.
#[derive(Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// Owner of the skill.
    pub owner: String,
    /// Its bare name.
    pub name: String,
}

fn ambiguous(name: &SkillName, all: &[QualifiedName]) -> ApiError {
    let candidate = |one: &QualifiedName| Candidate { owner: one.owner.to_string(), name: one.name.to_string() };
    let matches: Vec<Candidate> = all.iter().map(candidate).collect();
    let named: Vec<String> = all.iter().map(|one| format!("@{one}")).collect();
    ApiError {
        details: Box::new(json!({ "matches": matches })),
        ..ApiError::new(
            axum::http::StatusCode::CONFLICT,
            "ambiguous_name",
            format!("{name} is ambiguous: {} owners have a skill of this name", all.len()),
        )
        .hint(format!("use one of {}", named.join(", ")))
    }
}

/// Returns the shortest slug that identifies a skill.
///
/// # Errors
/// [`ApiError`] if the index cannot be read.
pub fn slug(hub: &Hub, name: &QualifiedName) -> Result<String, ApiError> {
    Ok(match everyone(hub, &name.name)?.len() {
        0 | 1 => name.name.to_string(),
        _ => format!("{}{BETWEEN}{}", name.owner, name.name),
    })
}
