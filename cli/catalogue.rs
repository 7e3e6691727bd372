//! What the command line tells of a [`Catalogue`].

use std::path::PathBuf;

use agent::{Builtin, Catalogue, Places};
use client::{Request, Spec, vetted};
use library::folder::{self, Leftovers};
use serde_json::{Value, json};
use skill::{Limits, QualifiedName, SkillName};

use crate::{
    context::{Context, skill_name},
    exit::{CliError, Exit, failed},
    print::Output,
};

/// The skills inside the program.
///
/// # Errors
/// Never, unless the program was built wrongly.
pub fn builtin() -> Result<Vec<Builtin>, CliError> {
    let internal = |error: String| CliError::new("internal", Exit::Failed, error);
    let seeds = registry_index::builtins().map_err(|error| internal(error.to_string()))?;
    seeds.into_iter().map(|files| Builtin::of(files).map_err(internal)).collect()
}

/// The folder in the home with the files of skills that are read only, for agents that read by paths. What is not as it
/// has to be is written again.
pub fn public_folder(context: &Context, skills: &[Builtin]) -> Option<PathBuf> {
    context.home.ensure().ok()?;
    let place = context.home.path().join("builtin");
    let dir = folder::create_at(&place).ok()?;
    for Builtin { name, files, .. } in skills {
        let is_current = || {
            folder::read(&dir, name.as_str(), Leftovers::Skip, &Limits::default()).is_ok_and(|found| found == *files)
        };
        if !is_current() {
            let fresh = format!(".skillhub-{name}-{:x}", library::random_process_id());
            folder::write(&dir, &fresh, files).ok()?;
            let _absent = dir.remove_dir_all(name.as_str());
            if dir.rename(&fresh, &dir, name.as_str()).is_err() {
                // Another process was first.
                dir.remove_dir_all(&fresh).ok()?;
                is_current().then_some(())?;
            }
        }
    }
    Some(place)
}

/// The skills that are read only: those inside the program, then those of the registry that the configuration names
/// as the storage.
///
/// # Errors
/// As [`builtin`]. What of the registry cannot be read is left out, with a note.
pub fn public_skills(context: &Context) -> Result<Vec<Builtin>, CliError> {
    let mut skills = builtin()?;
    if let Some(given) = context.config.skills.registry() {
        match of_registry(context, given) {
            Ok(found) => skills.extend(found),
            Err(error) => context.out.note(&format!("the registry of [skills] is left out: {}", error.message)),
        }
    }
    Ok(skills)
}

/// The newest release of each skill of a registry that an install would take.
fn of_registry(context: &Context, given: Option<&str>) -> Result<Vec<Builtin>, CliError> {
    let registries = context.registries_at(given).requiring_signatures(context.required_signers()?);
    let registry = registries.default_one().map_err(failed)?;
    let names = registry.with_all_lines().map_err(failed)?.names().map_err(failed)?;
    let release = |name: QualifiedName| {
        let spec = Spec::Qualified { name: name.clone(), request: Request::newest() };
        match vetted(&registries, &spec, context.home.scanner().reading()) {
            Ok(release) => {
                let files = release.cleared.bundle().clone();
                Some(Builtin { name: name.name.clone(), files, qualified: Some(name) })
            }
            Err(error) => {
                context.out.note(&format!("{name} of the registry is left out: {error}"));
                None
            }
        }
    };
    Ok(names.into_iter().filter_map(release).collect())
}

/// The skills that whoever acts, or the agent that is named, may know of, by precedence.
///
/// # Errors
/// A library or the configuration cannot be read.
pub fn collect(
    context: &Context,
    places: &Places,
    builtin: Vec<Builtin>,
    agent: Option<&str>,
) -> Result<Catalogue, CliError> {
    let catalogue = Catalogue::collect(places, builtin).map_err(failed)?;
    if context.is_person() {
        return Ok(catalogue);
    }
    Ok(catalogue.without_hidden(&context.settings()?, &context.agent(agent)))
}

/// Looks for a skill in the visible libraries and their groups, in their histories and as a folder.
///
/// # Errors
/// One cannot be read.
pub fn has_skill(context: &Context, skill: &SkillName) -> Result<bool, CliError> {
    for library in context.visible_libraries()? {
        let library = context.within(library, skill)?;
        if library.head(skill)?.is_some() || library.folders()?.iter().any(|folder| folder == skill.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The skill that an argument names: by its folder, or by the name in its `SKILL.md` where it alone gives that.
///
/// # Errors
/// The text cannot be a name, or several skills give it.
pub fn skill_called(context: &Context, text: &str) -> Result<SkillName, CliError> {
    let parsed = skill_name(text);
    if is_place(text) || matches!(&parsed, Ok(name) if has_skill(context, name)?) {
        return parsed;
    }
    let mut catalogue = Catalogue::inspect(&context.places(true)).map_err(failed)?;
    if !context.is_person() {
        catalogue = catalogue.without_hidden(&context.settings()?, &context.agent(None));
    }
    catalogue.called(text, |_| true).map_err(failed)?.map_or(parsed, Ok)
}

/// Tests for a text that can only be a path or an address.
fn is_place(text: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start)) || text.contains("://")
}

/// What is damaged of single skills, which the others do not suffer from: told to people, and as a part
/// of the document.
pub fn problems(catalogue: &Catalogue, out: Output) -> Vec<Value> {
    let damaged = catalogue.skills.iter().filter(|listed| listed.damaged);
    damaged.map(|listed| problem(out, &listed.name, listed.fault.as_deref().unwrap_or_default())).collect()
}

/// Tells people of one skill that is damaged; gives what the document says of it.
pub fn problem(out: Output, name: &SkillName, why: &str) -> Value {
    out.note(&format!("{name}: {why}; run `skillhub doctor`"));
    json!({"skill": name.as_str(), "code": "damaged_history", "message": why})
}

/// The exit code of an answer that goes on without damaged skills.
pub fn exit_with(problems: &[Value]) -> Exit {
    if problems.is_empty() { Exit::Done } else { Exit::Integrity }
}
