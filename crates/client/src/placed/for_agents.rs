//! [`show_in`] and [`hide_from`]: linking a skill of the library for some agents, and hiding it from them.

use library::{Library, LibraryError, LinkChanges, LinkPlan, Stamp};
use skill::SkillName;

use crate::{agent_folders::AgentFolder, install::Linking, tracked::TrackedFolders};

/// Name in the log of the action that updates links automatically. `undo` reverses it.
pub const RELINK: &str = "relink";

/// Links a skill in agents' folders. The links replace originals with one of the skill's contents, unless git tracks
/// them and `replaces_tracked` is not set.
///
/// # Errors
/// The library's state cannot be read or written. A link that fails is a warning.
pub fn show_in(
    library: &Library,
    skill: &SkillName,
    folders: &[AgentFolder],
    replaces_tracked: bool,
    stamp: &Stamp,
) -> Result<LinkChanges, LibraryError> {
    let command = format!("skillhub enable {skill}");
    let linking =
        Linking { folders, only_new: false, copy: false, of_lock: false, replaces_tracked, command: &command };
    let linked = linking.of(library, skill, &mut TrackedFolders::default());
    let changes = library.link(skill, &linked.plan, stamp, RELINK, |state| {
        state.hidden_in.retain(|hidden| folders.iter().all(|folder| folder.path != *hidden));
    })?;
    let warnings = linked.warnings.into_iter().chain(changes.warnings).collect();
    Ok(LinkChanges { warnings, ..changes })
}

/// Removes a skill's links and copies from agents' folders, and prevents it from being linked there again.
///
/// # Errors
/// The library's state cannot be read or written. A link that cannot be removed is a warning.
pub fn hide_from(
    library: &Library,
    skill: &SkillName,
    folders: &[AgentFolder],
    stamp: &Stamp,
) -> Result<LinkChanges, LibraryError> {
    let removed = folders.iter().map(|folder| folder.path.join(skill.as_str())).collect();
    let plan = LinkPlan { removed, ..LinkPlan::default() };
    library.link(skill, &plan, stamp, RELINK, |state| {
        state.note_hidden(&stamp.actor);
        let hidden = folders.iter().map(|folder| folder.path.clone());
        state.hidden_in.extend(hidden);
        state.hidden_in.sort();
        state.hidden_in.dedup();
    })
}
