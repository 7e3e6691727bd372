//! `skillhub doctor --relocate` reassigns the history of a library that was moved.

use std::path::Path;

use client::MovedOutcome;
use library::{Library, RelocateError, Relocation, Scope};
use ops::SKILLS_FOLDER;
use serde_json::json;
use skill::counted;

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, WARN, shell_word},
};

/// Moves the library's data in the home, then updates the links.
pub fn run(context: &Context, old: &Path, new: &Path) -> Result<Exit, CliError> {
    let (old, new) = (context.absolute(old), context.absolute(new));
    let moved = relocate(context, &old, &new)?;
    let library = Library::open(&moved.to, scope(context, &moved), &context.home, &context.config.library.storage)?;
    let places = client::follow_move(&library, &moved, &context.stamp())?;
    let skills = library.skills()?.len();
    let links: Vec<_> = places
        .iter()
        .map(|place| {
            let why = match &place.outcome {
                MovedOutcome::Left(why) => Some(why),
                _ => None,
            };
            json!({"skill": place.skill.as_str(), "path": place.path, "status": place.outcome.as_str(), "message": why})
        })
        .collect();
    let document = json!({
        "ok": true, "from": moved.from, "to": moved.to, "history": library.history_path(), "skills": skills,
        "status": if moved.was_moved { "unchanged" } else { "moved" }, "links": links,
    });
    context.out.answer(&document, |out| {
        let word = if moved.was_moved { "was moved before, to" } else { "is now at" };
        writeln!(out, "The history of {} {word} {STRONG}{}{STRONG:#}", counted(skills, "skill"), moved.to.display())?;
        for place in &places {
            let path = place.path.display();
            match &place.outcome {
                MovedOutcome::Kept => writeln!(out, "  {path} still links to {}", place.skill)?,
                MovedOutcome::Pointed => writeln!(out, "  {path} now links to the new location of {}", place.skill)?,
                MovedOutcome::Gone => writeln!(out, "  {WARN}missing{WARN:#} {path}, where {} was", place.skill)?,
                MovedOutcome::Left(why) => writeln!(out, "  {WARN}left{WARN:#} {path}: {why}")?,
            }
        }
        writeln!(out, "Check it: {}", doctor_there(&moved.to))
    })
}

/// Returns the command that assigns a library's history to its new folder.
pub fn command(from: &Path, to: &Path) -> String {
    let word = |path: &Path| shell_word(&path.display().to_string());
    format!("skillhub doctor --relocate {} {}", word(from), word(to))
}

/// Relocates a library. The folders may be libraries or projects that contain one.
fn relocate(context: &Context, old: &Path, new: &Path) -> Result<Relocation, CliError> {
    let of_project = |error: RelocateError| match error {
        RelocateError::Unknown(_) => {
            let (old, new) = (old.join(SKILLS_FOLDER), new.join(SKILLS_FOLDER));
            library::relocate(&context.home, &old, &new).map_err(|in_project| match in_project {
                RelocateError::Unknown(_) | RelocateError::Missing(_) => error,
                other => other,
            })
        }
        other => Err(other),
    };
    Ok(library::relocate(&context.home, old, new).or_else(of_project)?)
}

/// Returns the command that checks a library. A project's library is checked from inside the project, so that its lock
/// file is included.
fn doctor_there(library: &Path) -> String {
    let word = |path: &Path| shell_word(&path.display().to_string());
    let project =
        library.ancestors().nth(2).filter(|root| library.ends_with(SKILLS_FOLDER) && root.join(".git").exists());
    match project {
        Some(root) => format!("cd {} && skillhub doctor", word(root)),
        None => format!("skillhub --library {} doctor", word(library)),
    }
}

fn scope(context: &Context, moved: &Relocation) -> Scope {
    if moved.to == context.user_home.join(SKILLS_FOLDER) { Scope::User } else { Scope::Project }
}

impl From<RelocateError> for CliError {
    fn from(error: RelocateError) -> Self {
        let message = error.to_string();
        match error {
            RelocateError::Unknown(_) => Self::new("not_found", Exit::NotFound, message)
                .hint("give the old path of the folder; libraries/*/library.toml in the home has the known ones"),
            RelocateError::Missing(_) => Self::new("not_found", Exit::NotFound, message)
                .hint("move the folder first, then run the command again"),
            RelocateError::Same(_) => Self::usage(message).hint("give the old path, then the new one"),
            RelocateError::HasHistory(_) => Self::new("exists", Exit::Conflict, message).hint(
                "skills were changed at the new path since; keep one of the two folders, and move the other away",
            ),
            RelocateError::StillThere { .. } => Self::new("exists", Exit::Conflict, message)
                .hint("move its content to the new path, then run the command again"),
            RelocateError::Library(error) => error.into(),
        }
    }
}
