//! `skillhub pin` and `skillhub unpin` forbid or allow changes of a skill by agents.

use clap::Args;
use library::Library;
use serde_json::json;
use skill::SkillName;

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::STRONG,
};

/// Flags of `pin`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub pin my-skill                          agents can read it, but not change it
  skillhub unpin my-skill                        undo it (people only)

Agents can pin a skill too. Their changes, rollbacks, installs and deletions of a pinned skill are
refused. People can still change it.")]
pub struct PinArgs {
    /// Skill
    name: String,
}

/// Flags of `unpin`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub unpin my-skill                        at a terminal, or with SKILLHUB_REVIEWER_TOKEN

For scripts, see `skillhub reviewer --help`.")]
pub struct UnpinArgs {
    /// Skill
    name: String,
}

/// Pins a skill, so that agents cannot change it.
pub fn pin(context: &Context, args: &PinArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let library = context.library_with(&name)?;
    skill_manage::pin(&library, &name, &context.stamp())?;
    let document = json!({"ok": true, "name": name.as_str(), "pinned": true, "library": library.path()});
    context.out.answer(&document, |out| writeln!(out, "Pinned {STRONG}{name}{STRONG:#}: only people can change it"))
}

/// Unpins a skill.
pub fn unpin(context: &Context, args: &UnpinArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let reviewer = context.reviewer("unpin a skill")?;
    let library = pinned_library(context, &name)?;
    skill_manage::unpin(&library, &name, &reviewer, context.now)?;
    let document = json!({"ok": true, "name": name.as_str(), "pinned": false, "library": library.path()});
    context.out.answer(&document, |out| {
        writeln!(out, "Unpinned {STRONG}{name}{STRONG:#}: agents can change it as the policy allows")
    })
}

/// Returns the library in which the skill is pinned, even if it is deleted there, else the library that has the skill.
fn pinned_library(context: &Context, name: &SkillName) -> Result<Library, CliError> {
    for library in context.visible_libraries()? {
        let library = context.within(library, name)?;
        if library.state()?.of(name).pinned {
            return Ok(library);
        }
    }
    Ok(context.library_with(name)?)
}
