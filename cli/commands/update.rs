//! `skillhub update` updates installed skills and merges their local changes.

use clap::Args;
use client::{Choice, SkillToUpdate, UpdateRequest};

use crate::{
    accepting::AcceptArgs,
    commands::install::{answer, while_shown},
    context::Context,
    exit::{CliError, Exit, failed},
};

/// Flags of `update`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub update                                everything that was installed
  skillhub update pdf-forms --dry-run            what would change, and what of yours it would touch
  skillhub update acme/pdf-forms@^2              to the newest that fits, which the lock file notes
  skillhub update pdf-forms --theirs             where both changed the same, take the release's side
  skillhub undo                                  take the update back

Changes made here are kept: they are merged with the release. Where both changed the same, the skill stays
as it is and a proposal holds both sides; `skillhub review edit ID` settles it, `review accept` takes it.")]
pub struct UpdateArgs {
    /// The skills: name, owner/name, or owner/name@version; none means all
    name: Vec<String>,
    /// Where both sides changed the same, take the new release's
    #[arg(long, conflicts_with = "ours")]
    theirs: bool,
    /// Where both sides changed the same, keep what is here
    #[arg(long)]
    ours: bool,
    /// Use the cache and this machine only
    #[arg(long)]
    offline: bool,
    /// Go on although an owner signs with another key than before: its fingerprint, as the refusal names it
    #[arg(long, value_name = "SHA256:…")]
    accept_key: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long, alias = "check")]
    dry_run: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// Updates the skills. The exit code is the most severe of all results.
pub fn run(context: &Context, args: &UpdateArgs) -> Result<Exit, CliError> {
    let choice = match (args.theirs, args.ours) {
        (true, _) => Choice::Theirs,
        (false, true) => Choice::Ours,
        (false, false) => Choice::Ask,
    };
    let skills = args.name.iter().map(|text| skill_to_update(text)).collect::<Result<_, _>>()?;
    let accept_keys = args.accept_key.clone();
    let request = UpdateRequest { skills, choice, offline: args.offline, dry_run: args.dry_run, accept_keys };
    let updated = while_shown(context, ("updating", &args.accept), |waiting| context.update(&request, waiting))?;
    answer(context, updated, "There is nothing to update: no skill was installed from anywhere")
}

fn skill_to_update(text: &str) -> Result<SkillToUpdate, CliError> {
    let (name, request) = match text.split_once('@') {
        Some((name, request)) => {
            (name, Some(request.parse().map_err(|error| failed(client::SpecError::Wanted(error)))?))
        }
        None => (text, None),
    };
    match name.is_empty() {
        true => {
            Err(CliError::usage(format!("{text:?} names no skill")).hint("write a name, owner/name or owner/name@^1.2"))
        }
        false => Ok(SkillToUpdate { name: name.to_owned(), request }),
    }
}
