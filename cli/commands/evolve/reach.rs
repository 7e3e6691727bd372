//! [`TrialReach`]: the agents in use whose hosts read a skill on trial, and those of them that cannot follow it.

use agent::{Reads, Views};
use library::{Library, StoredTrial};
use mcp::hosts::Host;
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    commands::mcp::install,
    context::Context,
    exit::{CliError, failed},
};

/// The agents in use that read a skill in a folder, by their products' names.
pub struct TrialReach {
    /// Agents whose links follow the trial.
    follow: Vec<&'static str>,
    /// Agents that read the former revision in all sessions.
    cannot: Vec<&'static str>,
    /// Number of the former revision.
    former: u64,
}

impl TrialReach {
    /// Determines which agents in use can follow a trial: those with a link of skillhub to the skill and a hook at the
    /// start of a session, if the text shows which revision a session read.
    ///
    /// # Errors
    /// The library, the configuration or a folder cannot be read.
    pub fn of(context: &Context, library: &Library, skill: &SkillName, trial: &StoredTrial) -> Result<Self, CliError> {
        let former = library.revision(&trial.base).map_err(failed)?.number;
        let mut reach = Self { follow: Vec::new(), cannot: Vec::new(), former };
        let (catalogue, settings) = (context.catalogue(&context.places(false), Vec::new(), None)?, context.settings()?);
        let Some(listed) = catalogue.skills.iter().find(|listed| listed.name == *skill) else { return Ok(reach) };
        let (views, links) = (Views::new(&catalogue, &settings), library.state()?.of(skill).placed);
        let is_told_apart = evolve::can_follow(library, trial).map_err(failed)?;
        for host in context.hosts().in_use {
            if views.effective(&host, listed).reads == Reads::Nothing {
                continue;
            }
            let has_link = links.iter().any(|link| host.owns(link));
            let follows = is_told_apart && has_link && has_hook(context, host.id);
            let agents = if follows { &mut reach.follow } else { &mut reach.cannot };
            agents.push(host.name);
        }
        Ok(reach)
    }

    /// Names the agents that cannot follow, in sentences without a period. The first one warns if none can.
    pub fn sentences(&self) -> Vec<String> {
        let none = self.follow.is_empty() && !self.cannot.is_empty();
        let warning = none.then(|| {
            "no agent in use can follow this trial; only runs that read it over MCP or with `read --run` do".to_owned()
        });
        warning.into_iter().chain(self.cannot.iter().filter_map(|name| self.sentence_about(name))).collect()
    }

    /// Describes one of the agents. `None` if it follows the trial, or does not read the skill in a folder.
    pub fn sentence_about(&self, name: &str) -> Option<String> {
        let cannot = self.cannot.contains(&name);
        cannot.then(|| format!("{name} cannot follow this trial and reads revision {}", self.former))
    }

    /// Returns the agents as JSON.
    pub fn document(&self) -> Value {
        json!({"follow": self.follow, "cannot_follow": self.cannot})
    }
}

/// Returns whether the host reports the start of its sessions to skillhub, here or everywhere.
fn has_hook(context: &Context, id: &str) -> bool {
    let Some(host) = Host::find(id).ok().filter(|host| host.reports_starts()) else { return false };
    let files = [context.project(), None].map(|root| install::hook_file(context, host, root));
    files.into_iter().flatten().any(|file| {
        let text = install::current_text(&file).ok().flatten().unwrap_or_default();
        host.without_hook(&file, &text).is_ok_and(|without| without != text)
    })
}
