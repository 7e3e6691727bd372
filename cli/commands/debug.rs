//! `skillhub debug`: what an agent sees here, what it does not see, and why.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
};

use agent::{Catalogue, Form, Listed, Look, Settings, Sight, ToolPolicy};
use clap::Args;
use library::Scope;
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    catalogue::{builtin, exit_with, problems},
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, Table},
    sight::FolderSight,
};

/// Flags of `debug`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub debug                                 from this folder
  skillhub debug --agent codex                   as this agent
  skillhub debug --json")]
pub struct DebugArgs {
    /// The agent that looks
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// A folder in which skills are looked for.
struct Place {
    path: PathBuf,
    scope: Scope,
    kind: &'static str,
    skills: usize,
}

/// A skill and how the agent stands to it.
struct Shown<'a> {
    listed: &'a Listed,
    sight: &'static str,
    why: String,
}

/// All that is told.
struct Picture<'a> {
    agent: String,
    places: Vec<Place>,
    skills: Vec<Shown<'a>>,
    notes: Vec<String>,
    still_seen: Vec<String>,
    prompt: String,
    policy: ToolPolicy,
}

/// Prints places, skills, what is hidden and why, the prompt and the tool policy.
pub fn run(context: &Context, args: &DebugArgs) -> Result<Exit, CliError> {
    let settings = context.settings()?;
    let agent = context.agent(args.agent.as_deref());
    let catalogue = Catalogue::collect(&context.places(true), builtin()?).map_err(failed)?;
    let picture = Picture {
        places: places(context, &catalogue),
        skills: catalogue.skills.iter().map(|listed| Shown::of(listed, &settings, &agent)).collect(),
        notes: catalogue.notes.clone(),
        still_seen: still_seen(context, &catalogue, &settings, &agent)?,
        prompt: prompt(&catalogue, &settings, &agent),
        policy: policy(&catalogue, &settings, &agent),
        agent,
    };
    let problems = problems(&catalogue, context.out);
    let mut document = picture.document();
    document["ok"] = json!(problems.is_empty());
    document["problems"] = json!(problems);
    document["shadowed"] = catalogue.shadowed.iter().map(shadowed).collect();
    context.out.answer(&document, |out| picture.write(out))?;
    Ok(exit_with(&problems))
}

fn places(context: &Context, catalogue: &Catalogue) -> Vec<Place> {
    let places = context.places(true);
    let all = places.libraries.into_iter().map(|place| (place, "library"));
    let all = all.chain(places.folders.into_iter().map(|place| (place, "folder")));
    all.map(|((path, scope), kind)| {
        let real = library::resolve(&path).unwrap_or_else(|_| path.clone());
        let stands_here = |listed: &&Listed| listed.path.as_ref().is_some_and(|at| at.starts_with(&real));
        let skills = catalogue.skills.iter().filter(stands_here).count();
        Place { path, scope, kind, skills }
    })
    .collect()
}

/// The prompt as `skillhub prompt` prints it.
fn prompt(catalogue: &Catalogue, settings: &Settings, agent: &str) -> String {
    let mut seen = catalogue.seen(settings, agent);
    seen.retain(|listed| listed.scope != Scope::Builtin);
    agent::prompt(&seen, &[], Look { form: Form::Xml, container_path: None, evolution: false })
}

fn policy(catalogue: &Catalogue, settings: &Settings, agent: &str) -> ToolPolicy {
    let declared: Vec<_> = catalogue.seen(settings, agent).into_iter().map(Listed::declared).collect();
    ToolPolicy::of(&declared, &settings.always_on)
}

fn shadowed((name, by, path): &(SkillName, Option<PathBuf>, Option<PathBuf>)) -> Value {
    json!({"name": name.as_str(), "path": path, "by": by})
}

impl Picture<'_> {
    fn document(&self) -> Value {
        let places = self.places.iter().map(|place| {
            let (path, scope) = (&place.path, place.scope);
            json!({"path": path, "scope": scope, "kind": place.kind, "exists": path.is_dir(), "skills": place.skills})
        });
        json!({
            "agent": self.agent,
            "places": places.collect::<Vec<_>>(),
            "skills": self.skills.iter().map(Shown::document).collect::<Vec<_>>(),
            "notes": self.notes,
            "still_seen": self.still_seen,
            "prompt": self.prompt,
            "tools": self.policy.document(),
        })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let who = if self.agent.is_empty() { "An agent".to_owned() } else { format!("The agent {}", self.agent) };
        writeln!(out, "{who} looks for skills in:")?;
        let mut table = Table::new(&["folder", "scope", "skills"]);
        for place in &self.places {
            let skills = if place.path.is_dir() { place.skills.to_string() } else { "not there".to_owned() };
            table.row(&[place.path.display().to_string(), place.scope.as_str().to_owned(), skills]);
        }
        table.write(out)?;
        writeln!(out, "\nand finds:")?;
        let mut table = Table::new(&["skill", "scope", "sight", "why"]);
        for skill in &self.skills {
            let (name, scope) = (skill.listed.name.to_string(), skill.listed.scope.as_str().to_owned());
            table.row(&[name, scope, skill.sight.to_owned(), skill.why.clone()]);
        }
        table.write(out)?;
        for note in self.notes.iter().chain(&self.still_seen) {
            writeln!(out, "{FAINT}{note}{FAINT:#}")?;
        }
        writeln!(out, "\n{STRONG}Prompt{STRONG:#} ({} bytes):\n{}", self.prompt.len(), self.prompt)?;
        match self.policy.restricts {
            true => writeln!(out, "Tools are restricted by `allowed-tools`; `skillhub tools policy` shows how."),
            false => writeln!(out, "Tools are not restricted: no skill has `allowed-tools`."),
        }
    }
}

impl<'a> Shown<'a> {
    fn of(listed: &'a Listed, settings: &Settings, agent: &str) -> Self {
        let (sight, why) = match listed.sight(settings, agent) {
            Sight::Seen => ("seen", String::new()),
            Sight::Asked => ("asked", "a permission wants a person to be asked".to_owned()),
            Sight::Disabled => ("disabled", format!("`skillhub enable {}` lets agents see it", listed.name)),
            Sight::Denied => ("denied", "a permission in config.toml denies it".to_owned()),
            Sight::NotOnList => ("not_listed", format!("it is not in `skills` of [agents.{agent}]")),
            Sight::Unusable(fault) => ("unusable", fault),
        };
        Self { listed, sight, why }
    }

    fn document(&self) -> Value {
        let listed = self.listed;
        json!({
            "name": listed.name.as_str(), "path": listed.path, "scope": listed.scope, "sight": self.sight,
            "why": self.why, "allowed_tools": listed.tools, "managed": listed.head.is_some(),
            "found_elsewhere": listed.found_elsewhere,
        })
    }
}

/// Sentences about skills that the agent should not see but does, because its host reads the folder that
/// they stand in.
fn still_seen(
    context: &Context,
    catalogue: &Catalogue,
    settings: &Settings,
    agent: &str,
) -> Result<Vec<String>, CliError> {
    let is_meant = |folder: &client::AgentFolder| match agent {
        "" => folder.in_use,
        id => folder.ids.contains(&id),
    };
    let known = [context.agent_folders(), context.user_agent_folders()];
    let folders: BTreeSet<&Path> =
        known.iter().flat_map(|known| known.all()).filter(|f| is_meant(f)).map(|f| f.path.as_path()).collect();
    let is_hidden =
        |listed: &Listed| matches!(listed.sight(settings, agent), Sight::Disabled | Sight::Denied | Sight::NotOnList);
    let sight = FolderSight::new(context)?;
    let mut lines = Vec::new();
    for listed in catalogue.skills.iter().filter(|listed| is_hidden(listed)) {
        for folder in folders.iter().filter(|folder| shows(folder, listed)) {
            let (name, place) = (&listed.name, folder.display());
            let way_on = way_on(&sight, catalogue, listed, folder);
            lines.push(format!(
                "{name} is hidden here, but a host that reads {place} itself goes on showing it{way_on}"
            ));
        }
    }
    Ok(lines)
}

/// What can be done where a host shows a skill that the agent may not see.
fn way_on(sight: &FolderSight, catalogue: &Catalogue, listed: &Listed, folder: &Path) -> String {
    let place = folder.join(listed.name.as_str());
    let Some(library) = catalogue.library_of(listed) else { return String::new() };
    let is_placed = library.state().is_ok_and(|state| state.of(&listed.name).placed.contains(&place));
    let readers: Vec<&str> = sight.readers(folder).collect();
    match (is_placed, sight.hides(library, &listed.name, folder)) {
        (true, true) => "; `skillhub doctor --fix` takes the link away".to_owned(),
        (true, false) if readers.len() > 1 => {
            format!("; it is read by {}, not all of which it is hidden from", readers.join(", "))
        }
        (true, false) => String::new(),
        (false, _) => "; skillhub did not put it there".to_owned(),
    }
}

/// Whether a skill stands in a folder, itself or as a link.
fn shows(folder: &Path, listed: &Listed) -> bool {
    let stands = folder.join(listed.name.as_str());
    let real = library::resolve(&stands).unwrap_or_else(|_| stands.clone());
    stands.exists() && listed.path.as_ref().is_some_and(|path| *path == stands || *path == real)
}
