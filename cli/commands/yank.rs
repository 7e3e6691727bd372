//! `skillhub yank`: keep a release out of new installs.

use clap::Args;
use serde_json::json;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::STRONG,
};

/// Characters of a reason; a server takes no more.
const REASON_CHARS: usize = 4000;

/// Flags of `yank`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub yank acme/pdf-forms@1.2.0 --reason \"it loses pages; use 1.2.1\"
  skillhub yank acme/pdf-forms@1.2.0 --undo

A yanked release stays where lock files and exact versions ask for it.")]
pub struct YankArgs {
    /// owner/name@version
    spec: String,
    /// Let the release back in
    #[arg(long)]
    undo: bool,
    /// Why, for those who have it installed
    #[arg(long, value_name = "TEXT", conflicts_with = "undo")]
    reason: Option<String>,
}

/// Sets the flag.
pub fn run(context: &Context, args: &YankArgs) -> Result<Exit, CliError> {
    let spec = args.spec.parse().map_err(|error: client::SpecError| failed(error))?;
    let by = context.config.owner.clone().unwrap_or_else(|| context.actor.to_string());
    let reason = args.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > REASON_CHARS) {
        return Err(CliError::usage(format!("a reason has {REASON_CHARS} characters at most")));
    }
    let yanked = client::yank(&context.registries(), &spec, (!args.undo, reason), &by, context.now).map_err(failed)?;
    let entry = &yanked.entry;
    let document = json!({
        "ok": true, "registry": yanked.location, "name": entry.name.to_string(),
        "version": entry.version, "yanked": entry.yanked, "reason": entry.yanked_reason(),
    });
    context.out.answer(&document, |out| {
        let word = if entry.yanked { "Yanked" } else { "Let back in" };
        writeln!(out, "{word} {STRONG}{} {}{STRONG:#} in {}", entry.name, entry.version, yanked.location)
    })?;
    Ok(Exit::Done)
}
