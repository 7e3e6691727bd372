//! `skillhub uninstall`: take installed skills away again.

use clap::Args;
use client::Uninstalled;
use serde_json::{Value, json};

use crate::{
    context::{Context, skill_name},
    exit::{CliError, Exit, failed},
    print::{STRONG, WARN},
};

/// Flags of `uninstall`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub uninstall pdf-forms
  skillhub rollback pdf-forms                    brings it back")]
pub struct UninstallArgs {
    /// The skills
    #[arg(required = true)]
    name: Vec<String>,
}

/// Uninstalls one after the other, and stops at the first that cannot be.
pub fn run(context: &Context, args: &UninstallArgs) -> Result<Exit, CliError> {
    let names = args.name.iter().map(|name| skill_name(name)).collect::<Result<Vec<_>, _>>()?;
    let mut library = context.library()?;
    let lock_path = context.lock_path(&library);
    let mut done = Vec::new();
    for name in &names {
        done.push(client::uninstall(&mut library, name, &lock_path, &context.stamp()).map_err(failed)?);
    }
    let document = json!({"ok": true, "skills": done.iter().map(document).collect::<Vec<_>>()});
    context.out.answer(&document, |out| {
        for skill in &done {
            writeln!(out, "Uninstalled {STRONG}{}{STRONG:#}", skill.name)?;
            for path in &skill.removed {
                writeln!(out, "  took away {}", path.display())?;
            }
            for path in &skill.kept {
                writeln!(out, "  {WARN}left{WARN:#} {}", path.display())?;
            }
            for warning in &skill.warnings {
                writeln!(out, "  {WARN}note{WARN:#}: {warning}")?;
            }
        }
        names.iter().try_for_each(|name| writeln!(out, "Bring it back: skillhub rollback {name}"))
    })?;
    Ok(Exit::Done)
}

fn document(skill: &Uninstalled) -> Value {
    json!({
        "name": skill.name, "status": "uninstalled", "revision": skill.revision, "previous": skill.previous,
        "removed": skill.removed, "kept": skill.kept, "warnings": skill.warnings,
        "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
    })
}
