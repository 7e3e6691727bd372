//! `skillhub enable` and `skillhub disable`: whether agents see a skill.

use agent::Catalogue;
use clap::Args;
use client::SightOutcome;
use serde_json::{Value, json};
use skill::SkillName;

use crate::{
    catalogue::builtin,
    context::{Context, skill_name},
    exit::{CliError, Exit, failed},
    print::STRONG,
    sight::FolderSight,
};

/// Flags of `enable` and `disable`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub disable my-skill                      leaves it out of `prompt`, `read` and searches
  skillhub enable my-skill")]
pub struct EnableArgs {
    /// The skill
    name: String,
}

fn link_document(outcome: &SightOutcome) -> Value {
    match outcome {
        SightOutcome::Hidden(path) => json!({"path": path, "status": "removed"}),
        SightOutcome::Shown(path) => json!({"path": path, "status": "placed"}),
        SightOutcome::Left(path, why) => json!({"path": path, "status": "left", "why": why}),
    }
}

fn link_line(outcome: &SightOutcome) -> String {
    match outcome {
        SightOutcome::Hidden(path) => format!("the link {} is taken away", path.display()),
        SightOutcome::Shown(path) => format!("the link {} is there again", path.display()),
        SightOutcome::Left(path, why) => format!("{} stays, and agents see it: {why}", path.display()),
    }
}

/// Sets it, and gives what became of the links to the skill.
///
/// # Errors
/// There is no such skill, or something cannot be written.
pub fn set(context: &Context, name: &SkillName, enabled: bool) -> Result<(Value, Vec<SightOutcome>), CliError> {
    let catalogue = Catalogue::collect(&context.places(true), builtin()?).map_err(failed)?;
    let listed = catalogue.find(name).map_err(failed)?;
    let library = catalogue.state_library(listed).ok_or_else(|| CliError::usage("there is no library"))?;
    let action = if enabled { "enable" } else { "disable" };
    library.set_state(name, &context.stamp(), action, |state| state.enabled = enabled)?;
    let links = FolderSight::new(context)?.apply(library, name, &library.state()?.of(name));
    let document = json!({
        "ok": true, "name": name.as_str(), "enabled": enabled, "library": library.path(),
        "links": links.iter().map(link_document).collect::<Vec<_>>(),
    });
    Ok((document, links))
}

/// Runs it.
pub fn run(context: &Context, args: &EnableArgs, enabled: bool) -> Result<Exit, CliError> {
    let name = skill_name(&args.name)?;
    let (document, links) = set(context, &name, enabled)?;
    context.out.answer(&document, |out| {
        match enabled {
            true => writeln!(out, "{STRONG}{name}{STRONG:#} is in `prompt` and `read` again")?,
            false => writeln!(
                out,
                "{STRONG}{name}{STRONG:#} is left out of `prompt` and `read`; its folder stays where it is"
            )?,
        }
        links.iter().try_for_each(|link| writeln!(out, "  {}", link_line(link)))
    })?;
    Ok(Exit::Done)
}
