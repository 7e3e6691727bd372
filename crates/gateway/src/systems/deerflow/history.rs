//! A skill's history in DeerFlow's form ([`document`]), and the revision behind an index in it.

use library::FolderState;
use serde_json::{Value, json};
use skill::SkillName;
use skill_manage::documents;
use web::ApiError;

use crate::gateway::{Work, into_api_error};

/// Returns all entries of a history, of which the newest `limit` have contents. So the indexes fit those of a rollback.
///
/// # Errors
/// The library has no history of the skill, or cannot be read.
pub fn document(work: &Work<'_>, name: &SkillName, limit: usize) -> Result<Vec<Value>, ApiError> {
    let library = work.place.library_of(name)?;
    let entries: Result<Vec<Value>, _> =
        documents::lines(&library, name.clone(), limit).map_err(into_api_error)?.collect();
    let entries = entries.map_err(into_api_error)?;
    let all = documents::history(&library, name.clone(), usize::MAX).map_err(into_api_error)?.revisions;
    let older = all.iter().skip(entries.len()).rev().map(|past| {
        let mut entry = documents::line(&past.revision);
        entry["omitted"] = json!(true);
        entry
    });
    Ok(older.chain(entries).collect())
}

/// Returns the revision that precedes an entry. The index counts from 0 for the oldest entry, or back from -1 for the
/// newest. `None` stands for the previous revision, which the rollback determines itself.
///
/// # Errors
/// The history is shorter, or the entry is its first.
pub fn revision_before(work: &Work<'_>, name: &SkillName, index: &Value) -> Result<Option<String>, ApiError> {
    let library = work.place.library_of(name)?;
    // The rollback reports the missing skill.
    let Some(head) = library.head(name).map_err(into_api_error)? else { return Ok(None) };
    let (count, index) = (i64::try_from(head.number).unwrap_or(i64::MAX), index.as_i64().unwrap_or(-1));
    let position = if index < 0 { count.saturating_add(index) } else { index };
    if !(0..count).contains(&position) {
        return Err(ApiError::bad_request(format!("history_index is out of range: there are {count} entries")));
    }
    let is_edited = || library.folder_state(name).is_ok_and(|state| !matches!(state, FolderState::Clean));
    match (index, position) {
        (-1, 0) if is_edited() => Ok(None),
        (_, 0) => Err(ApiError::bad_request("the entry has no previous content to roll back to")),
        (-1, _) => Ok(None),
        (_, position) => Ok(Some(position.to_string())),
    }
}
