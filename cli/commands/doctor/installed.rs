//! Checks of the results of installs: the lock file, and links in agents' folders.

use std::path::Path;

use client::{LinkState, LinkedSkill, VisibilityOutcome};
use library::Library;
use ops::FolderVisibility;
use skill::{counted, failure::Fails};

use super::Findings;
use crate::{context::Context, exit::CliError};

/// Compares the lock file with the heads.
pub fn check_lock_file(context: &Context, library: &Library, findings: &mut Findings) {
    let path = context.lock_path(library);
    if !matches!(client::has_pending_lines(library), Ok(false)) {
        let message = "entries of the last operation are not written yet";
        findings.mendable("lock_file", "lock_lines_pending", path.display(), message, || {
            client::write_pending_lines(library).map(|()| "written".to_owned()).map_err(|error| error.to_string())
        });
    } else if findings.fix
        // A power loss leaves lines that the lock file already has, or damaged ones. They are not reported.
        && let Err(error) = client::write_pending_lines(library)
    {
        let message = format!("lock-lines.json cannot be deleted: {error}");
        findings.cannot("lock_file", "lock_lines_pending", library.own_path().display(), message);
    }
    if let Err(error @ client::LockFileError::ConflictMarkers { .. }) = client::LockFile::read(&path) {
        findings
            .mendable("lock_file", "lock_file_conflict", path.display(), error, || resolve_conflicts(&path, library));
        // `install` fetches releases that are missing here. Other differences are not reported until the conflict is
        // resolved.
        return;
    }
    let drifts = match client::drifts(&path, library) {
        Ok(drifts) => drifts,
        Err(error) => {
            let hint = error.failure().hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            findings.cannot("lock_file", error.failure().code, path.display(), format!("{error}{hint}"));
            return;
        }
    };
    let in_work_tree = context.skills_of_branch(library).is_some();
    let is_of_branch =
        |drift: &client::Drift| drift.kind.can_be_repaired() && in_work_tree && is_of_branch(library, drift);
    let (of_branch, drifts): (Vec<_>, Vec<_>) = drifts.into_iter().partition(is_of_branch);
    for drift in of_branch {
        findings.ok("lock_file", &path, format!("{}: differs in this git branch", drift.name));
    }
    let repaired = if findings.fix && drifts.iter().any(|drift| drift.kind.can_be_repaired()) {
        client::repair_drifts(&path, library, &drifts, context.agent_folders_of(library).all())
    } else {
        Ok(())
    };
    let repaired = repaired.map(|()| "updated from the library".to_owned()).map_err(|error| error.to_string());
    for drift in drifts {
        let message = format!("{} {}", drift.name, drift.kind.describe());
        match drift.kind {
            // The lock file of a fresh clone lists skills that are not installed yet. `install` does that.
            client::DriftKind::NotInstalled => findings.ok("lock_file", &path, message),
            kind if kind.can_be_repaired() => {
                findings.mendable("lock_file", "lock_file_behind", path.display(), message, || repaired.clone());
            }
            _ => findings.cannot("lock_file", "lock_file_ahead", path.display(), message),
        }
    }
    findings.close("lock_file", &path, "matches the library");
}

/// Returns whether a skill differs from the lock file because a git branch has another state of it, so that its folder
/// does not show the newest revision. The state of another branch is never written here.
fn is_of_branch(library: &Library, drift: &client::Drift) -> bool {
    let name = &drift.skill;
    let has_folder = library.folders().is_ok_and(|folders| folders.iter().any(|folder| folder == name.as_str()));
    let Ok(Some(head)) = library.head(name) else { return false };
    let shown = library.revision_in_folder(name).ok().flatten();
    let shows_head = shown.is_some_and(|shown| shown.digest == head.digest);
    match drift.kind {
        client::DriftKind::Missing => !has_folder || !shows_head,
        client::DriftKind::Gone => has_folder,
        _ => has_folder && !shows_head,
    }
}

/// Resolves the conflict markers of a merge in the lock file.
fn resolve_conflicts(path: &Path, library: &Library) -> Result<String, String> {
    let healed = client::resolve_conflicts(path, library).map_err(|error| error.to_string())?;
    if healed.undecided.is_empty() {
        return Ok(format!("merged, {} in all", counted(healed.entries, "entry")));
    }
    let choices = healed.undecided.iter().map(|one| format!("{}: {} or {}", one.name, one.ours, one.theirs));
    let choices = choices.collect::<Vec<_>>().join("; ");
    Err(format!("merged, but you have to decide ({choices}): delete one side between each pair of markers"))
}

/// Checks the links that were placed for agents.
pub fn check_links(context: &Context, library: &Library, findings: &mut Findings) -> Result<(), CliError> {
    let of_branch = context.skills_of_branch(library);
    let folders = library.folders()?;
    let mut placed = client::linked_skills(library)?;
    // Links to a skill of another git branch are left alone.
    placed.retain(|place| {
        let has_folder = folders.iter().any(|folder| folder == place.skill.as_str());
        let exists = || library.head(&place.skill).is_ok_and(|head| head.is_some_and(|head| !head.tombstone));
        has_folder || of_branch.as_ref().is_none_or(|skills| skills.contains(&place.skill)) || !exists()
    });
    let sight = FolderVisibility::new(context)?;
    let is_denied = |place: &LinkedSkill| {
        let folder = place.path.parent();
        place.exists && place.enabled && folder.is_some_and(|folder| sight.hides(library, &place.skill, folder))
    };
    let (denied, others): (Vec<_>, Vec<_>) = placed.iter().partition(|place| is_denied(place));
    denied.into_iter().for_each(|place| check_denied(library, place, findings));
    for place in others.into_iter().filter(|place| !place.is_as_expected()) {
        let mut after = String::new();
        if findings.fix {
            match client::repair_link(library, place, &context.stamp()) {
                Ok(true) => {
                    findings.mendable("links", "link_broken", place.path.display(), place.describe(), || {
                        Ok(if place.exists { "linked again".to_owned() } else { "forgotten".to_owned() })
                    });
                    continue;
                }
                Ok(false) => {}
                Err(error) => after = format!("; not repaired: {error}"),
            }
        }
        let message = format!("{}{after}", place.describe());
        match place.standing {
            LinkState::Elsewhere(_) | LinkState::Other => {
                findings.cannot("links", "link_changed", place.path.display(), message);
            }
            _ => findings.mendable("links", "link_broken", place.path.display(), message, || {
                Err("it could not be changed".to_owned())
            }),
        }
    }
    findings.close(
        "links",
        library.path(),
        format!("all {} links and copies in agents' folders are as recorded", placed.len()),
    );
    Ok(())
}

/// Checks a location whose agents may not see the skill, where no link may remain.
fn check_denied(library: &Library, place: &LinkedSkill, findings: &mut Findings) {
    let message = format!("shows {}, which is hidden from the agents that read it", place.skill);
    match place.standing {
        LinkState::Nothing | LinkState::Dangling(_) => {}
        LinkState::Elsewhere(_) | LinkState::Other => {
            findings.cannot("links", "link_changed", place.path.display(), place.describe());
        }
        LinkState::Ours | LinkState::EndedTrial => {
            findings.mendable("links", "link_denied", place.path.display(), message, || {
                match client::sync_link(library, &place.skill, &place.path, false) {
                    Some(VisibilityOutcome::Left(_, why)) => Err(why),
                    _ => Ok("removed".to_owned()),
                }
            })
        }
    }
}
