//! `skillhub enable` and `skillhub disable`: whether agents see a skill.

use clap::Args;
use serde_json::json;

use crate::{
    context::{Context, skill_name},
    exit::{CliError, Exit},
    print::STRONG,
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

/// Sets it.
pub fn run(context: &Context, args: &EnableArgs, enabled: bool) -> Result<Exit, CliError> {
    let name = skill_name(&args.name)?;
    let library = context.library_with(&name)?;
    let action = if enabled { "enable" } else { "disable" };
    library.set_state(&name, &context.stamp(), action, |state| state.enabled = enabled)?;
    let document = json!({"ok": true, "name": name.as_str(), "enabled": enabled, "library": library.path()});
    context.out.answer(&document, |out| match enabled {
        true => writeln!(out, "{STRONG}{name}{STRONG:#} is in `prompt` and `read` again"),
        false => {
            writeln!(out, "{STRONG}{name}{STRONG:#} is left out of `prompt` and `read`; its folder stays where it is")
        }
    })?;
    Ok(Exit::Done)
}
