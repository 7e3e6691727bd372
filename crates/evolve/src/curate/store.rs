//! [`keep`], [`stored`]: storage of plans until they are applied, and of the queries that were suggested.
//!
//! Plans are stored as `curate/<id>.json` in the library's folder of the home. A stored plan has no authority: a step
//! is executed only if the current decision would be the same. `curate/suggested` has the digests of the suggested
//! queries of each skill, so that none is suggested again after a person has rejected it.

use std::{collections::HashMap, io};

use library::{Durability, Library, LibraryError, open_dir, read_bounded, write_atomically};

use super::{FORMAT, Plan};

const FOLDER: &str = "curate";
/// Number of plans to keep.
const PLANS: usize = 20;
/// Largest size of a plan in bytes.
const PLAN_BYTES: u64 = 32 << 20;
const SUGGESTED: &str = "suggested";
/// Number of suggested queries to keep for each skill, the newest ones.
const QUERIES: usize = 1000;

fn place(library: &Library) -> std::path::PathBuf {
    library.own_path().join(FOLDER)
}

fn io_at(library: &Library) -> impl Fn(io::Error) -> LibraryError {
    let path = place(library);
    move |source| LibraryError::Io { path: path.clone(), source }
}

/// Stores a plan and removes the oldest ones.
///
/// # Errors
/// The system refused to read or write a file.
pub fn keep(library: &Library, plan: &Plan) -> Result<(), LibraryError> {
    let io = io_at(library);
    let dir = library::ensure_dir(&place(library))?;
    let bytes = serde_json::to_vec(plan).map_err(|error| io(error.into()))?;
    write_atomically(&dir, &format!("{}.json", plan.id), &bytes, Durability::Whole).map_err(&io)?;
    let mut plans = all(library)?;
    plans.sort_by_key(|plan| plan.time);
    let old = plans.len().saturating_sub(PLANS);
    plans.iter().take(old).try_for_each(|plan| dir.remove_file(format!("{}.json", plan.id))).map_err(io)
}

/// Returns the plan with an id, or with a unique prefix of at least four digits.
///
/// # Errors
/// The system refused to read a file.
pub fn stored(library: &Library, id: &str) -> Result<Option<Plan>, LibraryError> {
    let mut found = all(library)?.into_iter().filter(|plan| id.len() >= 4 && plan.id.starts_with(id));
    let first = found.next();
    Ok(first.filter(|_| found.next().is_none()))
}

/// Returns the newest plan.
///
/// # Errors
/// The system refused to read a file.
pub fn latest(library: &Library) -> Result<Option<Plan>, LibraryError> {
    Ok(all(library)?.into_iter().max_by_key(|plan| plan.time))
}

/// Returns all stored plans. Files that are not plans are skipped.
fn all(library: &Library) -> Result<Vec<Plan>, LibraryError> {
    let io = io_at(library);
    let Some(dir) = open_dir(&place(library))? else { return Ok(Vec::new()) };
    let mut plans = Vec::new();
    for entry in dir.entries().map_err(&io)? {
        let name = entry.map_err(&io)?.file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) else { continue };
        let bytes = read_bounded(&dir, name, PLAN_BYTES).map_err(&io)?.unwrap_or_default();
        let plan = serde_json::from_slice::<Plan>(&bytes).ok();
        plans.extend(plan.filter(|plan| plan.v == FORMAT && format!("{}.json", plan.id) == name));
    }
    Ok(plans)
}

/// Returns the digests of the queries that were suggested for each skill.
pub(super) fn suggested(library: &Library) -> Result<HashMap<String, Vec<String>>, LibraryError> {
    let Some(dir) = open_dir(&place(library))? else { return Ok(HashMap::new()) };
    let bytes = read_bounded(&dir, SUGGESTED, PLAN_BYTES).map_err(io_at(library))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// Adds suggested queries of a skill by their digests.
pub(super) fn note_suggested(library: &Library, skill: &str, digests: Vec<String>) -> Result<(), LibraryError> {
    let (io, mut all) = (io_at(library), suggested(library)?);
    let known = all.entry(skill.to_owned()).or_default();
    known.extend(digests);
    known.drain(..known.len().saturating_sub(QUERIES));
    let dir = library::ensure_dir(&place(library))?;
    let bytes = serde_json::to_vec(&all).map_err(|error| io(error.into()))?;
    write_atomically(&dir, SUGGESTED, &bytes, Durability::Durable).map_err(io)
}
