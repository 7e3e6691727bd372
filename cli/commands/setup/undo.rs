//! Undo of the last setup, in both libraries and in the agents' configurations.

use std::{fs, io::ErrorKind, path::PathBuf};

use client::{Operation, UndoneSkill};
use library::Action;
use mcp::hosts::Host;
use ops::FolderVisibility;
use serde_json::json;
use skill::counted;

use super::{
    UNDO,
    found::context_of,
    links,
    record::{FileChange, LibraryBefore, SetupRecord},
};
use crate::{
    commands::mcp::install,
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    global::Global,
    hints,
    print::{GOOD, WARN, page_columns, visible, wrapped_message},
    reading::text_at,
};

/// Returns whether the library's last operation belongs to the last setup, so that `undo` must undo all of it.
///
/// # Errors
/// The record or the library cannot be read.
pub fn is_last_operation(context: &Context) -> Result<bool, CliError> {
    let Some((record, _)) = SetupRecord::last(context)?.filter(|_| !context.library_is_named()) else {
        return Ok(false);
    };
    let before = record.libraries.iter().find(|before| before.project.as_deref() == context.project());
    Ok(before
        .map(|before| since(context, before))
        .transpose()?
        .is_some_and(|operations| is_setup_alone(&operations, record.attempts)))
}

/// Undoes the last setup.
pub fn run(context: &Context, global: &Global) -> Result<Exit, CliError> {
    let Some((record, path)) = SetupRecord::last(context)? else {
        return Err(CliError::new("not_found", Exit::NotFound, "no setup to undo")
            .hint("undo the last operation instead: skillhub undo"));
    };
    let libraries = libraries(context, global, &record)?;
    if !global.yes {
        libraries.iter().try_for_each(|(context, before)| check_is_last(context, before, record.attempts))?;
    }
    // Every library is checked before the first one changes.
    for (context, before) in &libraries {
        undo_library(context, before, true)?;
    }
    let (mut skills, mut warnings) = (Vec::new(), Vec::new());
    for (context, before) in &libraries {
        for skill in undo_library(context, before, false)? {
            skills.push(skill.name.to_string());
            warnings.extend(skill.warnings);
        }
    }
    let mut files: Vec<PathBuf> = Vec::new();
    // Backwards, because a file may have been changed twice.
    for file in record.files.iter().rev() {
        match restore(file) {
            Ok(true) if files.contains(&file.path) => {}
            Ok(true) => files.push(file.path.clone()),
            Ok(false) => {}
            Err(error) => warnings.push(format!("{}: {}", file.path.display(), error.message)),
        }
    }
    for folder in &record.folders {
        // A folder that is not empty is kept.
        let _kept = fs::remove_dir(folder);
    }
    SetupRecord::forget(&path)?;
    let earlier = SetupRecord::last(context)?.is_some();
    let mut document = json!({"ok": true, "status": "undone", "skills": skills, "files": files, "warnings": warnings});
    document["earlier"] = json!(earlier);
    context.out.answer(&document, |out| {
        let (skills, files) = (counted(skills.len(), "skill"), counted(files.len(), "configuration file"));
        let which = if earlier { " the last setup" } else { "" };
        let mut lines = vec![format!("{GOOD}Undone{GOOD:#}{which}: restored {skills} and {files}")];
        lines.extend(earlier.then(|| format!("An earlier setup remains. Undo it too: {UNDO}")));
        for line in lines.iter().flat_map(|line| wrapped_message(line, page_columns())) {
            writeln!(out, "{line}")?;
        }
        let notes = warnings.iter().map(|warning| format!("{WARN}note{WARN:#}: {}", visible(warning)));
        let notes = notes.flat_map(|note| wrapped_message(&note, page_columns())).collect::<Vec<_>>();
        notes.iter().try_for_each(|line| out.message(format_args!("{line}")))
    })?;
    Ok(Exit::Done)
}

/// Opens the libraries in which the setup managed skills, independent of the current folder.
fn libraries<'r>(
    context: &Context,
    global: &Global,
    record: &'r SetupRecord,
) -> Result<Vec<(Context, &'r LibraryBefore)>, CliError> {
    let mut libraries = Vec::new();
    for before in &record.libraries {
        if let Some(root) = &before.project {
            std::env::set_current_dir(root).map_err(io_at(root))?;
        }
        libraries.push((context_of(context, global, before.project.is_some())?, before));
    }
    Ok(libraries)
}

/// Returns a library's operations since the beginning of a setup, its own included, newest first.
fn since(context: &Context, before: &LibraryBefore) -> Result<Vec<Operation>, CliError> {
    let operations = client::operations(&context.library()?).map_err(failed)?;
    Ok(operations.into_iter().take_while(|operation| operation.id != before.operation).collect())
}

/// Filters the operations to those in effect: no undo operations, and nothing that they undid.
fn standing(operations: &[Operation]) -> Vec<Operation> {
    let (mut left, mut rest) = (Vec::new(), operations);
    while let [first, earlier @ ..] = rest {
        let goes_back_to = |known: &Operation| first.reason.as_deref() == Some(&client::undo_reason(&known.id));
        rest = match earlier.iter().position(goes_back_to) {
            Some(place) => earlier.get(place..).unwrap_or_default(),
            None => {
                left.push(first.clone());
                earlier
            }
        };
    }
    left
}

/// Returns whether an operation may belong to a setup, by its action.
fn is_of_setup(operation: &Operation) -> bool {
    operation.action == Action::Adopt.as_str() || links::is_of_setup(operation)
}

/// Returns whether every operation belongs to an attempt of the setup.
fn is_setup_alone(operations: &[Operation], attempts: usize) -> bool {
    !operations.is_empty() && operations.len() <= attempts && operations.iter().all(is_of_setup)
}

/// Refuses if other operations followed the setup, because they would be undone as well.
fn check_is_last(context: &Context, before: &LibraryBefore, attempts: usize) -> Result<(), CliError> {
    let operations = standing(&since(context, before)?);
    let later = operations.iter().filter(|operation| !is_of_setup(operation)).count();
    // The setup's undo was interrupted after this library.
    let undo = client::undo_reason(&before.operation);
    let is_undone = operations.first().is_some_and(|last| last.reason.as_deref() == Some(undo.as_str()));
    if operations.is_empty() || is_setup_alone(&operations, attempts) || is_undone {
        return Ok(());
    }
    let library = context.shown(context.library_path());
    let message =
        format!("{library} has {} since the setup, which would be undone too", counted(later.max(1), "operation"));
    let list = in_library(context, before, "skillhub undo --list");
    Err(CliError::new("conflict", Exit::Conflict, message)
        .hint(format!("see them with `{list}`, then undo everything with `skillhub setup --undo -y`")))
}

/// Adds the flags for a library to commands about it, unless it is that of the current folder.
fn in_library(context: &Context, before: &LibraryBefore, text: &str) -> String {
    match &before.project {
        Some(root) => hints::for_project(text, root),
        None if context.project_root().is_some() => hints::for_user_library(text),
        None => text.to_owned(),
    }
}

/// Undoes the operations of a library since the setup, or only checks whether that is possible.
fn undo_library(context: &Context, before: &LibraryBefore, dry_run: bool) -> Result<Vec<UndoneSkill>, CliError> {
    let sight = FolderVisibility::new(context)?;
    let mut library = context.library()?;
    let lock_path = context.lock_path(&library);
    let (stamp, permit) = (context.stamp(), context.permit()?);
    let in_library = |text: &str| in_library(context, before, text);
    let undone = client::undo_to(&mut library, &before.operation, &lock_path, &stamp, &permit, dry_run);
    let undone =
        undone.map_err(failed).map_err(|error| CliError { hint: error.hint.as_deref().map(in_library), ..error })?;
    let mut skills = undone.map(|undone| undone.skills).unwrap_or_default();
    skills.iter_mut().flat_map(|skill| &mut skill.warnings).for_each(|warning| *warning = in_library(warning));
    if !dry_run {
        let state = library.state()?;
        for skill in &skills {
            sight.apply(&library, &skill.name, &state.of(&skill.name));
        }
    }
    Ok(skills)
}

/// Restores a file: its old text, or its current text without skillhub's part if others have changed it since.
fn restore(file: &FileChange) -> Result<bool, CliError> {
    let now = match text_at(&file.path, install::CONFIG_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        text => text.map_err(io_at(&file.path))?,
    };
    if now == file.after {
        return match &file.before {
            Some(before) => install::write(&file.path, Some(&now), before).map(|()| true),
            None => fs::remove_file(&file.path).map(|()| true).map_err(io_at(&file.path)),
        };
    }
    if file.before.as_ref() == Some(&now) {
        return Ok(false);
    }
    let without = match &file.agent {
        Some(agent) => {
            let host = Host::find(agent).map_err(failed)?;
            let removed =
                if file.is_hook { host.without_hook(&file.path, &now) } else { host.removed(&file.path, &now) };
            removed.map_err(failed)?
        }
        None => super::hosts::without_agents(&now, file)?,
    };
    if without.is_empty() && file.before.is_none() {
        return fs::remove_file(&file.path).map(|()| true).map_err(io_at(&file.path));
    }
    if without != now {
        install::write(&file.path, Some(&now), &without)?;
    }
    Ok(without != now)
}
