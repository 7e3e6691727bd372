//! `skillhub uninstall` removes installed skills.

use std::io;

use clap::Args;
use client::Outcome;
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit, error_of_one, exit_of_one, failed},
    print::{BAD, Page, STRONG, WARN},
};

/// Flags of `uninstall`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub uninstall pdf-forms
  skillhub uninstall pdf-forms pdf-basics        together, if one requires the other
  skillhub rollback pdf-forms                    restore the skill
  skillhub undo                                  restore it with everything removed with it

Dependencies that no other skill needs are removed too, unless they were changed here.")]
pub struct UninstallArgs {
    /// Skills to remove
    #[arg(required = true)]
    name: Vec<String>,
}

/// Uninstalls each skill that can be removed. The exit code is the most severe of all results.
pub fn run(context: &Context, args: &UninstallArgs) -> Result<Exit, CliError> {
    let names = args.name.iter().map(|name| context.skill_called(name)).collect::<Result<Vec<_>, _>>()?;
    let mut library = context.library()?;
    let lock_path = context.lock_path(&library);
    let permit = context.permit()?;
    let mut outcomes =
        client::uninstall(&mut library, &names, &lock_path, &context.stamp(), &permit).map_err(failed)?;
    if let [(_, Err(_))] = outcomes.as_slice()
        && let Some((name, Err(error))) = outcomes.pop()
    {
        return Err(context.hint_elsewhere(failed(error), "skillhub uninstall", &name));
    }
    let exit = outcomes.iter().map(|(_, result)| exit_of_one(result.as_ref().err())).max().unwrap_or(Exit::Done);
    let document = json!({"ok": exit == Exit::Done, "skills": outcomes.iter().map(document).collect::<Vec<_>>()});
    context.out.answer(&document, |out| {
        outcomes.iter().try_for_each(|outcome| text(context, outcome, out))?;
        match outcomes.iter().any(|(_, result)| result.is_ok()) {
            true => out.message(format_args!("Undo it, with links and lock-file lines: skillhub undo")),
            false => Ok(()),
        }
    })?;
    Ok(exit)
}

fn document((name, result): &Outcome) -> Value {
    match result {
        Ok(skill) => json!({
            "name": skill.name, "status": "uninstalled", "revision": skill.revision, "previous": skill.previous,
            "removed": skill.removed, "kept": skill.kept, "warnings": skill.warnings,
            "checkout": if skill.checkout_pending.is_some() { "pending" } else { "done" },
        }),
        Err(error) => json!({"name": name.as_str(), "status": "failed", "error": error_of_one(error)}),
    }
}

fn text(context: &Context, (name, result): &Outcome, out: &mut Page) -> io::Result<()> {
    let skill = match result {
        Ok(skill) => skill,
        Err(error) => return writeln!(out, "{BAD}Failed{BAD:#} {STRONG}{name}{STRONG:#}\n  {error}"),
    };
    writeln!(out, "Uninstalled {STRONG}{}{STRONG:#}", skill.name)?;
    for path in &skill.removed {
        writeln!(out, "  removed {}", context.short(path))?;
    }
    for path in &skill.kept {
        writeln!(out, "  {WARN}kept{WARN:#} {}", context.short(path))?;
    }
    for warning in &skill.warnings {
        out.message(format_args!("  {WARN}note{WARN:#}: {warning}"))?;
    }
    if let Some(pending) = &skill.checkout_pending {
        out.message(format_args!("  {WARN}note{WARN:#}: the folder is not removed yet: {pending}"))?;
    }
    Ok(())
}
