//! [`document`]: a skill's history as DeerFlow's gateway gives it, and the revision that an index of it means.

use library::FolderState;
use serde_json::{Value, json};
use skill::SkillName;
use skill_manage::documents;
use web::ApiError;

use crate::gateway::{Work, told};

/// All entries, the newest `limit` of them with contents, so that each has the index that a rollback takes.
///
/// # Errors
/// The library never had the skill, or cannot be read.
pub fn document(work: &Work<'_>, name: &SkillName, limit: usize) -> Result<Vec<Value>, ApiError> {
    let library = work.place.library_of(name)?;
    let entries: Result<Vec<Value>, _> = documents::lines(&library, name.clone(), limit).map_err(told)?.collect();
    let entries = entries.map_err(told)?;
    let all = documents::history(&library, name.clone(), usize::MAX).map_err(told)?.revisions;
    let older = all.iter().skip(entries.len()).rev().map(|revision| {
        let mut entry = documents::line(revision);
        entry["omitted"] = json!(true);
        entry
    });
    Ok(older.chain(entries).collect())
}

/// The revision before the one that an index means: from 0 for the oldest, or back from -1 for the newest. `None` is
/// what the skill was before, which the rollback finds itself.
///
/// # Errors
/// The history is shorter, or has nothing before that entry.
pub fn revision_before(work: &Work<'_>, name: &SkillName, index: &Value) -> Result<Option<String>, ApiError> {
    let library = work.place.library_of(name)?;
    // The rollback says that there is no such skill.
    let Some(head) = library.head(name).map_err(told)? else { return Ok(None) };
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
