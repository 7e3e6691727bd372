//! `skillhub yank` withholds a release from new installs, or deprecates it.

use clap::Args;
use registry_index::Deprecation;
use serde_json::json;
use skill::{QualifiedName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    hints,
    print::{STRONG, shell_word},
};

/// Maximum length of a reason, in characters. Servers enforce the same limit.
const REASON_CHARS: usize = 4000;

/// Flags of `yank`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub yank acme/pdf-forms@1.2.0 --reason \"it loses pages; use 1.2.1\"
  skillhub yank acme/pdf-forms@1.2.0 --undo
  skillhub yank acme/pdf-forms --deprecate --replacement acme/forms     all releases
  skillhub yank acme/pdf-forms@1.2.0 --deprecate --reason \"it loses pages\"
  skillhub yank acme/pdf-forms --deprecate --undo

A yanked release is installed only where a lock file or an exact version asks for it. A deprecated release
still installs, with a note that names the replacement.")]
pub struct YankArgs {
    /// owner/name@version; with --deprecate, owner/name means all releases
    spec: String,
    /// Make the release available again; with --deprecate, remove the deprecation
    #[arg(long)]
    undo: bool,
    /// Mark the release, or all releases, as deprecated instead of yanking it
    #[arg(long)]
    deprecate: bool,
    /// Skill to use instead of the deprecated one
    #[arg(long, value_name = "OWNER/NAME", requires = "deprecate", conflicts_with = "undo")]
    replacement: Option<QualifiedName>,
    /// Reason, shown to those who have it installed
    #[arg(long, value_name = "TEXT", conflicts_with = "undo")]
    reason: Option<String>,
}

/// Sets or clears the flag of the release.
pub fn run(context: &Context, args: &YankArgs) -> Result<Exit, CliError> {
    let spec = args.spec.parse().map_err(|error: client::SpecError| failed(error))?;
    let by = context.config.owner.clone().unwrap_or_else(|| context.actor.to_string());
    let reason = args.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > REASON_CHARS) {
        return Err(CliError::usage(format!("the reason is longer than {REASON_CHARS} characters")));
    }
    let registries = context.registries();
    let yanked = if args.deprecate {
        let replacement = args.replacement.as_ref().map(ToString::to_string);
        let advice = Deprecation { replacement, reason: reason.unwrap_or_default().to_owned() };
        client::deprecate(&registries, &spec, (!args.undo).then_some(&advice), &by, context.now)
    } else {
        client::yank(&registries, &spec, !args.undo, reason, &by, context.now)
    }
    .map_err(failed)?;
    let entry = &yanked.entry;
    let document = json!({
        "ok": true, "registry": yanked.location, "name": entry.name.to_string(),
        "version": entry.version, "yanked": entry.yanked, "reason": entry.yanked_reason(),
        "deprecated": entry.deprecated(), "releases": yanked.releases,
    });
    context.out.answer(&document, |out| {
        let word = match (args.deprecate, args.undo) {
            (true, false) => "Deprecated",
            (true, true) => "No longer deprecated:",
            (false, false) => "Yanked",
            (false, true) => "Unyanked",
        };
        let which = match yanked.releases {
            1 => entry.version.to_string(),
            several => format!("({})", counted(several, "release")),
        };
        writeln!(out, "{word} {STRONG}{} {which}{STRONG:#} in {}", entry.name, yanked.location)?;
        if args.undo {
            return Ok(());
        }
        let deprecate = if args.deprecate { " --deprecate" } else { "" };
        let command = format!("skillhub yank {}{deprecate} --undo", shell_word(&args.spec));
        out.message(format_args!("To take it back: {}", hints::for_user(&command)))
    })
}
