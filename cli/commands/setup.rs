//! `skillhub setup` adopts existing skills and connects the agents.

mod found;
mod hosts;
mod links;
mod record;
mod screen;
mod undo;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use client::{AdoptStatus, Adopted};
use ops::MissingLink;
use serde_json::{Value, json};
use skill::counted;

use self::{
    found::{FoundLibrary, places},
    hosts::{InUse, in_use},
    record::{FileChange, SetupRecord},
    screen::{name_of, result_lines, survey_lines},
};
use crate::{
    commands::{adopt, mcp::install},
    context::Context,
    exit::{CliError, Exit, error_of_one},
    global::Global,
    print::{GOOD, STRONG, WARN, hanging, page_columns, terminal_columns, visible, wrapped, wrapped_message},
    reading::read_line,
};

pub use self::{
    record::written_folders,
    undo::{is_last_operation, run as run_undo},
};

/// Command that undoes a setup.
const UNDO: &str = "skillhub setup --undo";

/// Flags of `setup`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub setup                                 show the plan, ask once, then apply it
  skillhub setup -y                              apply it without asking
  skillhub setup --undo                          undo everything that setup changed

Moves a project's skills to its .agents/skills and your own to ~/.agents/skills, and links the old places to
them, so that every agent reads the same files. The originals are kept; `setup --undo` restores them. Adds
skillhub to the agents' MCP servers, and a hook that records on this machine which skills their sessions used
(not with `use_log = false` in the table [agent] of config.toml). Skills that the scanner blocks stay where
they are unless you accept the findings. Run it again for skills and agents that came later. Without a terminal,
nothing changes unless you pass -y.")]
pub struct SetupArgs {
    /// Undo the last setup: restore folders and agents' configuration files
    #[arg(long)]
    undo: bool,
    /// Also replace folders that git tracks with links, and follow the project's links to skills elsewhere
    #[arg(long, conflicts_with = "undo")]
    link: bool,
}

/// The skills and agents that `setup` found.
pub struct Survey {
    places: Vec<FoundLibrary>,
    agents: Vec<InUse>,
    user_home: PathBuf,
}

/// The user's answer to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    Accept,
    No,
}

impl Survey {
    fn of(context: &Context, global: &Global, follows_links: bool) -> Result<Self, CliError> {
        let places = places(context, global, follows_links)?;
        let agents = in_use(context, &places);
        Ok(Self { places, agents, user_home: context.user_home.clone() })
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn skills(&self) -> impl Iterator<Item = &Adopted> {
        self.places.iter().flat_map(|place| &place.skills)
    }

    /// Returns the links to managed skills that agents lack.
    fn missing(&self) -> impl Iterator<Item = &MissingLink> {
        self.places.iter().flat_map(|place| &place.missing)
    }

    /// Returns the configuration files that would change.
    fn files(&self, context: &Context) -> Result<Vec<FileChange>, CliError> {
        let mut files: Vec<FileChange> = self.agents.iter().flat_map(InUse::new_files).cloned().collect();
        let ids: Vec<&str> = self.agents.iter().filter(|agent| agent.of_user).map(|agent| agent.agent.id).collect();
        files.extend(hosts::config_change(context, &ids)?);
        Ok(files)
    }
}

/// Shows the survey, asks once, and carries out the setup.
pub fn run(context: &Context, global: &Global, args: &SetupArgs) -> Result<Exit, CliError> {
    if context.library_is_named() {
        return Err(CliError::usage("setup works only on the libraries of the project and the user")
            .hint("leave --library out, and unset SKILLHUB_LIBRARY"));
    }
    if args.undo {
        return run_undo(context, global);
    }
    let survey = Survey::of(context, global, args.link || context.is_at_terminal())?;
    let files = survey.files(context)?;
    if files.is_empty() && !survey.places.iter().any(FoundLibrary::is_changed) {
        return nothing_to_do(context, &survey);
    }
    match decide(context, global, &survey, &files)? {
        Some(Answer::No) => {
            context.out.answer(&json!({}), |out| writeln!(out, "Nothing was changed."))?;
            Ok(Exit::Done)
        }
        Some(answer) => carry_out(context, &survey, &files, args, answer),
        None => show_plan(context, &survey, &files),
    }
}

/// Returns the user's answer, or that of `-y`. `None` if nobody can be asked.
fn decide(
    context: &Context,
    global: &Global,
    survey: &Survey,
    files: &[FileChange],
) -> Result<Option<Answer>, CliError> {
    if global.yes {
        return Ok(Some(Answer::Yes));
    }
    if context.out.json || !context.is_at_terminal() {
        return Ok(None);
    }
    context.out.answer(&json!({}), |out| {
        survey_lines(survey).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        plan_lines(survey, files).iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(Some(ask(blocked(survey))))
}

/// Counts the blocked skills whose findings a person may accept.
fn blocked(survey: &Survey) -> usize {
    survey.skills().filter(|skill| adopt::can_be_accepted(skill)).count()
}

fn ask(blocked: usize) -> Answer {
    let question = match blocked {
        0 => "Continue? [Y/n] ".to_owned(),
        _ => format!("Continue? [y]es, [a]ccept the findings of {} as well, [n]o: ", counted(blocked, "blocked skill")),
    };
    let question = wrapped(&question, page_columns()).join("\n");
    let mut out = io::stdout().lock();
    let _closed = write!(out, "{question}").and_then(|()| out.flush());
    let line = read_line().unwrap_or_default();
    if line.is_empty() {
        return Answer::No;
    }
    match line.trim().to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Answer::Yes,
        "a" | "accept" if blocked > 0 => Answer::Accept,
        _ => Answer::No,
    }
}

/// Describes the planned changes, in a few lines.
fn plan_lines(survey: &Survey, files: &[FileChange]) -> Vec<String> {
    let mut lines = Vec::new();
    if survey.skills().next().is_some() {
        lines.push("skillhub will move the skills to .agents/skills and put links in their place.".to_owned());
    }
    lines.extend(links::lines("It will link for", survey.missing()));
    let connected: Vec<&str> = survey
        .agents
        .iter()
        .filter(|agent| agent.connection.as_ref().is_some_and(|c| c.as_ref().is_ok_and(|c| c.is_new)))
        .map(|agent| agent.agent.name)
        .collect();
    if !connected.is_empty() {
        lines.push(format!("It will be added as an MCP server to {}.", connected.join(", ")));
    }
    let has_hook = |agent: &&InUse| agent.hook.as_ref().is_some_and(|hook| hook.as_ref().is_ok_and(|it| it.is_new));
    let recorded: Vec<&str> = survey.agents.iter().filter(has_hook).map(|agent| agent.agent.name).collect();
    if !recorded.is_empty() {
        lines.push(format!("A hook will record the skills that they use, on this machine: {}.", recorded.join(", ")));
        lines.push("To turn that off, set `use_log = false` in the table [agent] of config.toml.".to_owned());
    } else if connected.is_empty() && !files.is_empty() {
        lines.push("It will record which agents are in use.".to_owned());
    }
    lines.iter().flat_map(|line| wrapped(line, page_columns())).collect()
}

/// Prints the plan and the command that carries it out, when nobody can be asked.
fn show_plan(context: &Context, survey: &Survey, files: &[FileChange]) -> Result<Exit, CliError> {
    let skills: Vec<Value> = survey.skills().map(skill_document).collect();
    let document = document("dry_run", skills, survey, files, survey.missing());
    context.out.answer(&document, |out| {
        survey_lines(survey).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        plan_lines(survey, files).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        let last = wrapped_message("Nothing was changed. Apply the plan: skillhub setup -y", page_columns());
        last.iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(Exit::Done)
}

fn nothing_to_do(context: &Context, survey: &Survey) -> Result<Exit, CliError> {
    let managed: usize = survey.places.iter().map(|place| place.managed).sum();
    context.out.answer(&document("unchanged", Vec::new(), survey, &[], []), |out| {
        survey_lines(survey).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        if managed > 0 {
            return writeln!(out, "Everything is set up.");
        }
        write!(out, "{}", fitted(NEXT_STEPS))
    })?;
    Ok(Exit::Done)
}

fn carry_out(
    context: &Context,
    survey: &Survey,
    files: &[FileChange],
    args: &SetupArgs,
    answer: Answer,
) -> Result<Exit, CliError> {
    let changed = survey.places.iter().filter(|place| place.is_changed());
    let libraries: Vec<&Context> = changed.map(|place| &place.context).collect();
    // A setup that only adds configuration files right after another is undone together with it.
    let adds_to = libraries.is_empty() && is_last_operation(context)?;
    let record = SetupRecord::new(context, &libraries, files.to_vec())?;
    let (mut record, record_path) = record.begin(context, adds_to)?;
    let options = adopt::SetupOptions {
        replaces_tracked: args.link || context.is_at_terminal(),
        accepts_all: answer == Answer::Accept,
    };
    let mut adopted = Vec::new();
    for place in survey.places.iter().filter(|place| !place.skills.is_empty()) {
        adopted.push((place, adopt::carry_out(&place.context, &place.paths(), options)?));
    }
    let mut warnings = Vec::new();
    for file in files {
        if let Err(error) = install::write(&file.path, file.before.as_deref(), &file.after) {
            warnings.push(format!("{} was not changed: {}", survey.shown(&file.path), error.message));
        }
    }
    warnings.extend(adopted.iter().flat_map(|(_, skills)| skills).flat_map(adopt::warnings));
    warnings.extend(survey.places.iter().filter_map(|place| place.next.clone()));
    let linked = links::link_missing(&survey.places, options.replaces_tracked, &mut record, &mut warnings)?;
    let has_adopted = adopted.iter().flat_map(|(_, skills)| skills).any(|skill| skill.status == AdoptStatus::Adopted);
    if record.attempts == 1 && record.files.is_empty() && !has_adopted && linked.is_empty() {
        // Nothing was done that could be undone, so `setup --undo` must refer to the previous setup.
        SetupRecord::forget(&record_path)?;
    } else {
        record.end(context, &record_path)?;
    }
    answer_done(context, survey, files, &Done { adopted, linked, warnings })
}

/// Result of a setup.
struct Done<'s> {
    adopted: Vec<(&'s FoundLibrary, Vec<Adopted>)>,
    linked: Vec<MissingLink>,
    warnings: Vec<String>,
}

fn answer_done(context: &Context, survey: &Survey, files: &[FileChange], done: &Done<'_>) -> Result<Exit, CliError> {
    let Done { adopted, linked, warnings } = done;
    let skills: Vec<Value> = adopted.iter().flat_map(|(_, skills)| skills).map(skill_document).collect();
    let mut document = document("done", skills, survey, files, linked);
    document["warnings"] = json!(warnings);
    context.out.answer(&document, |out| {
        let linked = links::lines(&format!("{GOOD}Linked{GOOD:#} for"), linked);
        result_lines(survey, adopted).iter().chain(&linked).try_for_each(|line| writeln!(out, "{line}"))?;
        for warning in warnings {
            let note = wrapped_message(&format!("{WARN}note{WARN:#}: {}", visible(warning)), page_columns());
            note.iter().try_for_each(|line| out.message(format_args!("{line}")))?;
        }
        let blocked =
            adopted.iter().flat_map(|(_, skills)| skills).filter(|skill| adopt::can_be_accepted(skill)).count();
        if blocked > 0 {
            let count = counted(blocked, "blocked skill");
            let accept = format!("Accept the findings of {count} at a terminal: skillhub setup");
            let lines = wrapped_message(&accept, page_columns());
            lines.iter().try_for_each(|line| out.message(format_args!("{line}")))?;
        }
        writeln!(out, "Undo everything: {STRONG}{UNDO}{STRONG:#}")
    })?;
    Ok(Exit::Done)
}

fn skill_document(skill: &Adopted) -> Value {
    json!({
        "name": name_of(skill), "source": skill.source, "path": skill.path, "agents": skill.agents,
        "status": skill.status.as_str(), "links": skill.links, "originals": skill.originals,
        "managed": matches!(skill.status, AdoptStatus::Adopted | AdoptStatus::Unchanged),
        "verdict": skill.report.as_ref().map(|report| report.verdict()),
        "findings": skill.report.as_ref().map(|report| &report.findings),
        "error": skill.error.as_ref().map(error_of_one),
    })
}

fn document<'l>(
    status: &str,
    skills: Vec<Value>,
    survey: &Survey,
    files: &[FileChange],
    linked: impl IntoIterator<Item = &'l MissingLink>,
) -> Value {
    let agents: Vec<Value> = survey.agents.iter().map(agent_document).collect();
    json!({
        "ok": true, "status": status, "skills": skills,
        "managed": survey.places.iter().map(|place| place.managed).sum::<usize>(),
        "passed_over": survey.places.iter().flat_map(|place| &place.passed_over).collect::<Vec<_>>(),
        "duplicates": survey.places.iter().flat_map(|place| &place.duplicates).map(skill_document).collect::<Vec<_>>(),
        "linked": linked.into_iter().map(links::document).collect::<Vec<_>>(),
        "agents": agents, "files": files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        "undo": (status == "done").then_some(UNDO),
    })
}

fn agent_document(agent: &InUse) -> Value {
    let (status, file, error) = match &agent.connection {
        Some(Ok(connection)) if connection.is_new => ("connect", Some(&connection.file.path), None),
        Some(Ok(connection)) => ("connected", Some(&connection.file.path), None),
        Some(Err(error)) => ("failed", None, Some(error.message.clone())),
        None => ("unknown", None, None),
    };
    let hook = match &agent.hook {
        Some(Ok(hook)) => json!({"status": if hook.is_new { "add" } else { "added" }, "file": hook.file.path}),
        Some(Err(error)) => json!({"status": "failed", "error": error.message}),
        None => json!({"status": "none"}),
    };
    json!({"id": agent.agent.id, "name": agent.agent.name, "mcp": status, "file": file, "error": error, "hook": hook})
}

/// Wraps each line of a text to the width of the terminal.
fn fitted(text: &str) -> String {
    text.lines().flat_map(|line| hanging(line, terminal_columns())).map(|line| line + "\n").collect()
}

const NEXT_STEPS: &str = "No skills here yet. Next steps:
  skillhub search WORD           find a skill in the registry
  skillhub install OWNER/NAME    install it
  skillhub new NAME              write your own
";

const GREETING: &str = "skillhub manages the skills of your agents. Nothing is set up here yet.
  skillhub setup     find and manage your skills and agents (asks first; can be undone)
  skillhub tour      see the main workflow in a temporary folder
  skillhub --help    list all commands
";

/// Returns the greeting for a home that was never set up, `None` once the home is in use.
pub fn greeting(skillhub_home: &Path) -> Option<String> {
    let is_used = ["setup", "libraries", "config.toml"].iter().any(|name| skillhub_home.join(name).exists());
    (!is_used).then(|| fitted(GREETING))
}
