//! [`history_entries`]: a skill's history as DeerFlow writes it, and the revision that an index of it means.

use std::collections::BTreeSet;

use library::{Action, ActorKind, FolderState, Library, Revision};
use scan::{Scanner, Verdict};
use serde_json::{Value, json};
use skill::{Bundle, SkillName, SkillPath};
use skill_manage::{ManageError, documents};

use crate::{
    error::ApiError,
    gateway::{Work, told},
};

/// The newest `limit` entries of a skill's history, the oldest of them first: one for each revision.
///
/// # Errors
/// The library never had the skill, or cannot be read.
pub fn history_entries<'a>(
    library: &'a Library,
    name: SkillName,
    limit: usize,
) -> Result<impl Iterator<Item = Result<Value, ManageError>> + use<'a>, ManageError> {
    let mut revisions = documents::history(library, name, limit.saturating_add(1))?.revisions;
    let earlier = if revisions.len() > limit { revisions.pop() } else { None };
    let mut before = earlier.map_or(Ok(Bundle::default()), |earlier| files_of(library, &earlier))?;
    Ok(revisions.into_iter().rev().map(move |revision| {
        let after = files_of(library, &revision)?;
        let before = std::mem::replace(&mut before, after.clone());
        Ok(entry(library.scanner(), &revision, &before, &after))
    }))
}

fn files_of(library: &Library, revision: &Revision) -> Result<Bundle, ManageError> {
    Ok(if revision.tombstone { Bundle::default() } else { library.bundle(&revision.id)? })
}

fn entry(by: Scanner, revision: &Revision, before: &Bundle, after: &Bundle) -> Value {
    let all: BTreeSet<&SkillPath> = before.paths().chain(after.paths()).collect();
    let changed: Vec<&SkillPath> = all.into_iter().filter(|path| before.get(path) != after.get(path)).collect();
    let skill_md = SkillPath::skill_md();
    let path = changed.iter().find(|path| ***path == skill_md).or(changed.first()).map_or(&skill_md, |path| *path);
    let text = |files: &Bundle| files.get(path).and_then(|file| file.text().map(str::to_owned));
    let mut entry = brief(revision);
    entry["file_path"] = json!(path.as_str());
    entry["prev_content"] = json!(text(before));
    entry["new_content"] = json!(text(after));
    entry["files"] = changed.iter().map(|path| path.as_str()).collect();
    entry["scanner"] = decision(revision, Some((by, after)));
    entry
}

/// An entry without contents.
fn brief(revision: &Revision) -> Value {
    let stamp = &revision.stamp;
    let is_human = matches!(stamp.actor.kind, ActorKind::Person | ActorKind::External);
    let action = match revision.action {
        Action::Edit if is_human => "human_edit",
        Action::Delete if is_human => "human_delete",
        action => action.as_str(),
    };
    json!({
        "ts": documents::time(stamp.time),
        "action": action,
        "author": if is_human { "human" } else { "agent" },
        "thread_id": stamp.thread,
        "file_path": SkillPath::skill_md().as_str(),
        "prev_content": null,
        "new_content": null,
        "scanner": decision(revision, None),
        "history_index": revision.number.saturating_sub(1),
        "revision": revision.id.as_str(),
    })
}

/// The decision as it was made. The findings behind it are not kept, so that they are those of today's rules.
fn decision(revision: &Revision, files: Option<(Scanner, &Bundle)>) -> Value {
    let findings = match files.filter(|_| revision.verdict != Verdict::Allow) {
        Some((scanner, files)) => scanner.scan(files).findings,
        None => Vec::new(),
    };
    let reason = match findings.first() {
        _ if revision.verdict == Verdict::Allow => "nothing was found that weighs".to_owned(),
        Some(worst) => format!("{}:{}: {}", worst.path, worst.line, worst.message),
        None => format!("the rules {} decided it", revision.ruleset),
    };
    json!({"decision": revision.verdict, "reason": reason, "findings": findings})
}

/// All entries, the newest `limit` of them with contents, so that each has the index that a rollback takes.
///
/// # Errors
/// As [`history_entries`].
pub fn document(work: &Work<'_>, name: &SkillName, limit: usize) -> Result<Vec<Value>, ApiError> {
    let library = work.place.library_of(name)?;
    let entries: Result<Vec<Value>, ManageError> =
        history_entries(&library, name.clone(), limit).map_err(told)?.collect();
    let entries = entries.map_err(told)?;
    let all = documents::history(&library, name.clone(), usize::MAX).map_err(told)?.revisions;
    let older = all.iter().skip(entries.len()).rev().map(|revision| {
        let mut entry = brief(revision);
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
