//! `skillhub debug` shows the skills that an agent sees, those hidden from it, and the reasons.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use agent::{
    AgentView, Catalogue, Form, Host, ListOptions, ListedSkill, Reads, Settings, Shadowed, SkillLocations, ToolPolicy,
    Views, Visibility,
};
use clap::Args;
use library::Scope;
use ops::{FolderVisibility, Remedy};
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    catalogue::{exit_with, problems, public_folder},
    commands::evolve::reach::TrialReach,
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, STRONG, Table},
};

/// Flags of `debug`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub debug                                 the view of any agent in this folder
  skillhub debug --agent codex                   the view of this agent
  skillhub debug --json")]
pub struct DebugArgs {
    /// Apply the permissions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// A folder that is searched for skills.
struct SearchedFolder {
    path: PathBuf,
    scope: Scope,
    kind: &'static str,
    skills: usize,
}

/// A skill and its visibility to the agent.
struct Shown<'a> {
    listed: &'a ListedSkill,
    sight: &'static str,
    why: String,
    /// The host's view of the skill. `None` for built-in skills, and for agents that are not in the table of agents.
    view: Option<AgentView>,
}

/// The contents of the report.
struct Picture<'a> {
    agent: String,
    places: Vec<SearchedFolder>,
    skills: Vec<Shown<'a>>,
    notes: Vec<String>,
    still_seen: Vec<String>,
    /// Sentences about trials that the agent cannot follow.
    trials: Vec<String>,
    prompt: String,
    policy: ToolPolicy,
}

/// Prints folders, skills, hidden skills with reasons, the prompt and the tool policy.
pub fn run(context: &Context, args: &DebugArgs) -> Result<Exit, CliError> {
    let settings = context.settings()?;
    let agent = context.agent(args.agent.as_deref());
    let places = context.places_of(&agent);
    // A person sees hidden skills as well, with the reasons.
    let public = context.public_skills()?;
    let folder = public_folder(context, &public);
    let catalogue = context.catalogue(&places, public, args.agent.as_deref())?;
    let (views, host) = (Views::new(&catalogue, &settings), context.host(&agent));
    let show = |listed| {
        let view = host.as_ref().map(|host| views.effective(host, listed));
        Shown::of(listed, listed.visibility(&settings, &agent), &agent, view)
    };
    let picture = Picture {
        places: folders(places, &catalogue),
        skills: catalogue.skills.iter().map(show).collect(),
        notes: catalogue.notes.iter().cloned().chain(catalogue.warnings()).collect(),
        still_seen: still_seen(context, &catalogue, &views, host.as_ref())?,
        trials: trials(context, &catalogue, host.as_ref())?,
        prompt: prompt(&catalogue, &settings, &agent, folder.as_deref()),
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

fn folders(places: SkillLocations, catalogue: &Catalogue) -> Vec<SearchedFolder> {
    let all = places.libraries.into_iter().map(|place| (place, "library"));
    let all = all.chain(places.folders.into_iter().map(|place| (place, "folder")));
    all.map(|((path, scope), kind)| {
        let real = library::resolve(&path).unwrap_or_else(|_| path.clone());
        let stands_here = |listed: &&ListedSkill| listed.path.as_ref().is_some_and(|at| at.starts_with(&real));
        let skills = catalogue.skills.iter().filter(stands_here).count();
        SearchedFolder { path, scope, kind, skills }
    })
    .collect()
}

/// Renders the prompt exactly as `skillhub prompt` prints it.
fn prompt(catalogue: &Catalogue, settings: &Settings, agent: &str, builtin: Option<&Path>) -> String {
    let seen = catalogue.seen(settings, agent);
    agent::prompt(&seen, &[], ListOptions { builtin, ..ListOptions::of(Form::XML) })
}

fn policy(catalogue: &Catalogue, settings: &Settings, agent: &str) -> ToolPolicy {
    let declared: Vec<_> = catalogue.seen(settings, agent).into_iter().map(ListedSkill::declared).collect();
    ToolPolicy::of(&declared, &settings.always_on)
}

fn shadowed(skill: &Shadowed) -> Value {
    json!({"name": skill.name.as_str(), "path": skill.path, "by": skill.by})
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
            "trials": self.trials,
            "prompt": self.prompt,
            "tools": self.policy.document(),
        })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let who = if self.agent.is_empty() { "An agent".to_owned() } else { format!("The agent {}", self.agent) };
        writeln!(out, "{who} looks for skills in:")?;
        let mut table = Table::new(&["folder", "scope", "skills"]);
        for place in &self.places {
            let skills = if place.path.is_dir() { place.skills.to_string() } else { "no folder".to_owned() };
            table.row(&[place.path.display().to_string(), place.scope.as_str().to_owned(), skills]);
        }
        table.write(out)?;
        writeln!(out, "\nand finds:")?;
        let mut table = Table::new(&["skill", "scope", "visibility", "agent reads", "why"]);
        for skill in &self.skills {
            let (name, scope) = (skill.listed.name.to_string(), skill.listed.scope.as_str().to_owned());
            table.row(&[name, scope, skill.sight.to_owned(), skill.reads(), skill.why()]);
        }
        table.write(out)?;
        for note in self.notes.iter().chain(&self.still_seen).chain(&self.trials) {
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
    fn of(listed: &'a ListedSkill, sight: Visibility, agent: &str, view: Option<AgentView>) -> Self {
        let (sight, why) = match sight {
            Visibility::Seen => ("seen", String::new()),
            Visibility::Asked => ("asked", "a permission requires a person's approval".to_owned()),
            Visibility::Disabled => ("disabled", format!("show it to agents: `skillhub enable {}`", listed.name)),
            Visibility::Denied => ("denied", "a permission in config.toml denies it".to_owned()),
            Visibility::NotOnList => ("not_listed", format!("not listed in `skills` of [agents.{agent}]")),
            Visibility::Unusable(fault) => ("unusable", fault),
        };
        Self { listed, sight, why, view: view.filter(|_| listed.path.is_some()) }
    }

    /// Describes the content that the host reads, in a word or two.
    fn reads(&self) -> String {
        match self.view.as_ref().map(|view| &view.reads) {
            Some(Reads::Older { number }) => format!("revision {number}"),
            Some(Reads::Trial { number }) => format!("revision {number}, on trial"),
            Some(reads) => reads.as_str().to_owned(),
            None => String::new(),
        }
    }

    /// Returns the reason that the skill is hidden, or the path from which the host reads other content.
    fn why(&self) -> String {
        match &self.view {
            Some(AgentView {
                reads: Reads::Older { .. } | Reads::Other | Reads::Blocked, path: Some(path), ..
            }) if self.why.is_empty() => path.display().to_string(),
            _ => self.why.clone(),
        }
    }

    fn document(&self) -> Value {
        let listed = self.listed;
        let number = match self.view.as_ref().map(|view| &view.reads) {
            Some(Reads::Older { number } | Reads::Trial { number }) => Some(number),
            _ => None,
        };
        json!({
            "name": listed.name.as_str(), "path": listed.path, "scope": listed.scope, "sight": self.sight,
            "why": self.why, "allowed_tools": listed.tools, "managed": listed.head.is_some(),
            "found_elsewhere": listed.found_elsewhere, "reads": self.view.as_ref().map(|view| view.reads.as_str()),
            "reads_path": self.view.as_ref().and_then(|view| view.path.as_ref()), "reads_revision": number,
        })
    }
}

/// Returns sentences about skills that are hidden from the agent but still read by its host. Without an agent, all
/// agents in use are checked.
fn still_seen(
    context: &Context,
    catalogue: &Catalogue,
    views: &Views<'_>,
    host: Option<&Host>,
) -> Result<Vec<String>, CliError> {
    let hosts = host.map_or_else(|| context.hosts().in_use, |host| vec![host.clone()]);
    let sight = FolderVisibility::new(context)?;
    let mut lines = Vec::new();
    for listed in &catalogue.skills {
        for host in &hosts {
            let view = views.effective(host, listed);
            if let Some(path) = view.path.as_ref().filter(|_| view.is_hidden_but_read()) {
                let remedy = Remedy::of(context, &sight, catalogue, &[host], listed, path);
                let (name, place) = (&listed.name, context.short(path));
                lines.push(format!("{name} is hidden, but {} reads {place}; {remedy}", host.id));
            }
        }
    }
    Ok(lines)
}

/// Returns sentences about the trials that an agent cannot follow.
fn trials(context: &Context, catalogue: &Catalogue, host: Option<&Host>) -> Result<Vec<String>, CliError> {
    let (Some(host), mut lines) = (host, Vec::new()) else { return Ok(Vec::new()) };
    for library in catalogue.libraries() {
        for (name, set) in library.state()?.skills() {
            if let (Some(trial), Ok(skill)) = (&set.trial, SkillName::parse(name)) {
                let reach = TrialReach::of(context, library, &skill, trial)?;
                lines.extend(reach.sentence_about(host.name).map(|sentence| format!("{name}: {sentence}")));
            }
        }
    }
    Ok(lines)
}
