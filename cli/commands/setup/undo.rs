//! [`run`]: the last setup undone, in both libraries and in the agents' configurations.

use std::{fs, io::ErrorKind, path::PathBuf};

use client::{UndoError, Undone};
use jiff::Timestamp;
use mcp::hosts::Host;
use serde_json::json;
use skill::counted;

use super::{
    found::context_of,
    record::{FileChange, SetupRecord},
};
use crate::{
    args::Global,
    commands::mcp::install,
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::{GOOD, WARN, visible},
    sight::FolderSight,
};

/// Whether the last operation of the context's library is that of the last setup, so that `undo` means all of it.
///
/// # Errors
/// The record or the library cannot be read.
pub fn is_last_operation(context: &Context) -> Result<bool, CliError> {
    let Some((record, _)) = SetupRecord::last(context)?.filter(|_| !context.library_is_named()) else {
        return Ok(false);
    };
    Ok(look(context, &record)?.is_some_and(|undone| moment(&undone.time) == moment(&record.time)))
}

/// Undoes the last setup.
pub fn run(context: &Context, global: &Global) -> Result<Exit, CliError> {
    let Some((record, path)) = SetupRecord::last(context)? else {
        return Err(CliError::new("not_found", Exit::NotFound, "no setup is there to undo")
            .hint("undo the last operation instead: skillhub undo"));
    };
    let contexts = contexts(context, global, &record)?;
    for context in &contexts {
        check_is_last(context, &record)?;
    }
    let (mut skills, mut warnings) = (Vec::new(), Vec::new());
    for context in &contexts {
        undo_library(context, &record, (&mut skills, &mut warnings))?;
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for file in &record.files {
        match restore(file) {
            Ok(true) => files.push(file.path.clone()),
            Ok(false) => {}
            Err(error) => warnings.push(format!("{}: {}", file.path.display(), error.message)),
        }
    }
    for folder in &record.folders {
        // One that holds something stays.
        let _kept = fs::remove_dir(folder);
    }
    SetupRecord::forget(&path)?;
    let document = json!({"ok": true, "status": "undone", "skills": skills, "files": files, "warnings": warnings});
    context.out.answer(&document, |out| {
        let (skills, files) = (counted(skills.len(), "skill"), counted(files.len(), "configuration file"));
        writeln!(out, "{GOOD}Undone{GOOD:#}: {skills} and {files} are as before the setup")?;
        warnings.iter().try_for_each(|warning| out.message(format_args!("{WARN}note{WARN:#}: {}", visible(warning))))
    })?;
    Ok(Exit::Done)
}

/// The libraries in which the setup managed skills.
fn contexts(context: &Context, global: &Global, record: &SetupRecord) -> Result<Vec<Context>, CliError> {
    let mut contexts = Vec::new();
    if let Some(root) = &record.project {
        std::env::set_current_dir(root).map_err(io_at(root))?;
        contexts.push(context_of(context, global, true)?);
    }
    if record.user {
        contexts.push(context_of(context, global, false)?);
    }
    Ok(contexts)
}

/// What undoing would undo in a library, where that belongs to the setup.
fn look(context: &Context, record: &SetupRecord) -> Result<Option<Undone>, CliError> {
    let mut library = context.library()?;
    let lock_path = context.lock_path(&library);
    let by = (&context.stamp(), &context.permit()? as &library::Permit<'_>);
    match client::undo(&mut library, &lock_path, by, true) {
        Ok(undone) => Ok(Some(undone).filter(|undone| moment(&undone.time) >= moment(&record.time))),
        Err(UndoError::Nothing) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn check_is_last(context: &Context, record: &SetupRecord) -> Result<(), CliError> {
    match look(context, record)? {
        Some(undone) if moment(&undone.time) != moment(&record.time) => {
            let library = context.shown(context.library_path());
            let scope = if context.library_project().is_some() { "--project" } else { "--global" };
            let message = format!("{library} has changed since the setup: {} at {}", undone.action, undone.time);
            Err(CliError::new("conflict", Exit::Conflict, message)
                .hint(format!("undo that first: skillhub {scope} undo")))
        }
        _ => Ok(()),
    }
}

fn undo_library(
    context: &Context,
    record: &SetupRecord,
    (skills, warnings): (&mut Vec<String>, &mut Vec<String>),
) -> Result<(), CliError> {
    if look(context, record)?.is_none() {
        return Ok(());
    }
    let sight = FolderSight::new(context)?;
    let mut library = context.library()?;
    let lock_path = context.lock_path(&library);
    let by = (&context.stamp(), &context.permit()? as &library::Permit<'_>);
    let undone = client::undo(&mut library, &lock_path, by, false).map_err(failed)?;
    let state = library.state()?;
    for skill in &undone.skills {
        sight.apply(&library, &skill.name, &state.of(&skill.name));
        skills.push(skill.name.to_string());
        warnings.extend(skill.warnings.iter().cloned());
    }
    Ok(())
}

/// Brings a file back: as it was, or without our entry where others have written it since.
fn restore(file: &FileChange) -> Result<bool, CliError> {
    let now = match fs::read_to_string(&file.path) {
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
            host.removed(&file.path, &now).map_err(failed)?
        }
        None => super::hosts::without_agents(&now, file)?,
    };
    if without != now {
        install::write(&file.path, Some(&now), &without)?;
    }
    Ok(without != now)
}
