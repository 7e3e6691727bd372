//! `skillhub prompt` prints the list of skills for an agent's prompt.

mod host;

use std::path::PathBuf;

use agent::{Catalogue, FORMS, Fit, Form, GivenFolder, ListOptions, ListedSkill};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use library::folder::ToolFiles;
use serde_json::{Value, json};

use crate::{
    catalogue::{exit_with, problems, public_folder},
    commands::discovery::{FoundSkill, find},
    context::Context,
    exit::{CliError, Exit},
};

/// Flags of `prompt`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub prompt                                <available_skills> as the standard defines it
  skillhub prompt --format markdown              by scope, with instructions how to read a skill
  skillhub prompt ./my-skill                     only the skills in these folders
  skillhub prompt --budget 800 --task \"fill in a PDF form\"
  skillhub prompt --format names                 only names, for an agent that can search
  skillhub prompt --agent codex                  only skills that this agent may see
  skillhub prompt --host codex                   the list that Codex itself makes of the skills it finds
  skillhub prompt --format deerflow --container-path /mnt/skills")]
pub struct PromptArgs {
    /// Skill folders, or folders of skills, to list [default: the skills that the agent sees]
    path: Vec<PathBuf>,
    /// Format of the list
    #[arg(long, value_parser = formats(), default_value = "xml")]
    format: String,
    /// Limit the list to this many tokens; the least relevant and least used skills are left out
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Task at hand; skills that match it come first
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Apply the permissions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Print the list in the prompt of this agent's host, within its budget, and report what it cuts
    #[arg(long, value_name = "ID", conflicts_with_all = ["path", "format", "budget", "task", "agent", "container_path", "evolution"])]
    host: Option<String>,
    /// Folder of the skills inside the agent's container, for --format deerflow
    #[arg(long, value_name = "PATH")]
    container_path: Option<String>,
    /// Add instructions on when and how to change skills
    #[arg(long)]
    evolution: bool,
}

/// Name of the format that prints a JSON document instead of prompt text.
const JSON: &str = "json";

/// Returns the accepted values of `--format`.
fn formats() -> PossibleValuesParser {
    let forms = FORMS.iter().map(|form| PossibleValue::new(form.name).help(form.about));
    forms.chain([PossibleValue::new(JSON).help("A JSON document")]).collect::<Vec<_>>().into()
}

/// Prints the skills that the agent sees, with the absolute paths of their `SKILL.md`.
pub fn run(context: &Context, args: &PromptArgs) -> Result<Exit, CliError> {
    if let Some(id) = &args.host {
        return host::run(context, id);
    }
    let settings = context.settings()?;
    let agent = context.agent(args.agent.as_deref());
    let public = context.public_skills()?;
    let folder = public_folder(context, &public);
    let catalogue = match args.path.as_slice() {
        [] => context.catalogue(&context.places(true), public, args.agent.as_deref())?,
        paths => Catalogue::of_folders(read_all(context, paths)?, context.home.scanner()),
    };
    let container_path = args.container_path.as_deref().or(settings.container_path.as_deref());
    let form = Form::named(&args.format).unwrap_or(Form::XML);
    let evolution = args.evolution || form.tells_of_evolution && settings.mentions_evolution(&agent);
    let look = ListOptions { form, container_path, builtin: folder.as_deref(), evolution };
    let fit = Fit { budget: args.budget, task: args.task.as_deref(), uses: context.uses(&catalogue, args.budget)? };
    let list = ListOptions { evolution: false, ..look };
    let fitted = fit.choose(catalogue.seen(&settings, &agent), |skills| agent::prompt(skills, &[], list).len());
    tell_what_is_left_out(context, &catalogue);
    let problems = problems(&catalogue, context.out);
    let names: Vec<&str> = fitted.left_out.iter().map(|listed| listed.name.as_str()).collect();
    let document = || {
        let entries: Vec<Value> = fitted.skills.iter().map(|listed| document(listed, look)).collect();
        json!({"ok": problems.is_empty(), "skills": entries, "left_out": names, "problems": problems})
    };
    let answer = if context.out.json { document() } else { Value::Null };
    context.out.answer(&answer, |out| match args.format.as_str() {
        JSON => writeln!(out, "{:#}", document()),
        _ => out.write_all(agent::prompt(&fitted.skills, &fitted.left_out, look).as_bytes()),
    })?;
    let exit = exit_with(&problems);
    // The process ends here, and freeing tens of thousands of allocations would only take time.
    std::mem::forget(catalogue);
    Ok(exit)
}

/// Reads the files of each skill found at the paths.
fn read_all(context: &Context, paths: &[PathBuf]) -> Result<Vec<GivenFolder>, CliError> {
    let roots: Vec<PathBuf> =
        paths.iter().filter_map(|path| library::real_path(&context.absolute(path)).ok()).collect();
    let root_of =
        |found: &FoundSkill| roots.iter().find(|root| found.path.starts_with(root)).unwrap_or(&found.path).clone();
    let is_hidden = |found: &FoundSkill| {
        let below = found.path.strip_prefix(root_of(found)).unwrap_or(&found.path).to_owned();
        below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
    };
    let read = |found: FoundSkill| {
        Ok(GivenFolder { root: root_of(&found), path: found.path.clone(), files: found.bundle(ToolFiles::Skip)? })
    };
    let found: Vec<FoundSkill> = find(context, paths)?.into_iter().filter(|found| !is_hidden(found)).collect();
    match found.iter().find(|found| found.archive) {
        Some(packed) => {
            let message = format!("{} is a file, not a skill folder", packed.path.display());
            Err(CliError::usage(message).hint("name a folder, or unpack the file first"))
        }
        None => found.into_iter().map(read).collect(),
    }
}

fn tell_what_is_left_out(context: &Context, catalogue: &Catalogue) {
    catalogue.notes.iter().cloned().chain(catalogue.warnings()).for_each(|note| context.out.note(&note));
    for listed in catalogue.skills.iter().filter(|listed| listed.enabled && !listed.damaged) {
        if let Some(fault) = &listed.fault {
            context.out.note(&format!("{} is left out: {fault}", listed.name));
        } else if let Some(why) = listed.held() {
            context.out.note(&format!(
                "{} is listed with its newest revision; a hand edit waits for a person to record it: {why}",
                listed.name
            ));
        }
    }
}

fn document(listed: &ListedSkill, look: ListOptions<'_>) -> Value {
    json!({
        "name": listed.name.as_str(), "description": listed.description, "location": look.location(listed),
        "scope": listed.scope, "edited": listed.is_edited(), "digest": listed.digest(), "held": listed.held(), "warnings": listed.warnings,
    })
}
