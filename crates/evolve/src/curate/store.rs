//! [`keep`], [`stored`]: plans as they wait to be applied.
//!
//! `curate/<id>.json` in the library's folder of the home. A plan is data: nothing is done because it stands in
//! one, only what would be decided again now.

use std::io;

use library::{Durability, Library, LibraryError, open_dir, read_bounded, write_atomically};

use super::{FORMAT, Plan};

const FOLDER: &str = "curate";
/// Plans that are kept.
const PLANS: usize = 20;
/// Bytes of a plan.
const PLAN_BYTES: u64 = 32 << 20;

fn place(library: &Library) -> std::path::PathBuf {
    library.own_path().join(FOLDER)
}

fn io_at(library: &Library) -> impl Fn(io::Error) -> LibraryError {
    let path = place(library);
    move |source| LibraryError::Io { path: path.clone(), source }
}

/// Keeps a plan, and drops the oldest ones.
///
/// # Errors
/// The system refused.
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

/// The plan of an id, or of its first digits.
///
/// # Errors
/// The system refused.
pub fn stored(library: &Library, id: &str) -> Result<Option<Plan>, LibraryError> {
    let mut found = all(library)?.into_iter().filter(|plan| id.len() >= 4 && plan.id.starts_with(id));
    let first = found.next();
    Ok(first.filter(|_| found.next().is_none()))
}

/// The plan that was made last.
///
/// # Errors
/// The system refused.
pub fn latest(library: &Library) -> Result<Option<Plan>, LibraryError> {
    Ok(all(library)?.into_iter().max_by_key(|plan| plan.time))
}

/// All plans that are kept. What is none is passed over.
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
