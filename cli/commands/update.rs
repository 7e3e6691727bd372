//! `skillhub update` updates installed skills and merges their local changes.

use clap::Args;
use client::{Choice, SkillToUpdate, UpdateRequest};
use skill::SkillName;

use crate::{
    accepting::AcceptArgs,
    commands::install::{answer, with_progress},
    context::Context,
    exit::{CliError, Exit, failed},
};

/// Flags of `update`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub update                                all installed skills
  skillhub update pdf-forms --dry-run            preview the changes, and conflicts with yours
  skillhub update acme/pdf-forms@^2              to the newest in a range; the lock file keeps it
  skillhub update pdf-forms --theirs             resolve conflicts with the release's side
  skillhub update pdf-forms --from me/pdf-forms  merge a fork, or the original of a fork
  skillhub undo                                  undo the update

Your changes are merged with the release. In a conflict the skill stays as it is, and a proposal holds both
sides: resolve it with `skillhub review edit ID`, which prints the command that accepts the result.")]
pub struct UpdateArgs {
    /// Skills, as name, owner/name or owner/name@version [default: all]
    name: Vec<String>,
    /// Merge the newest release of this fork, or of the original, into the skill, which keeps its source
    #[arg(long, value_name = "OWNER/NAME", requires = "name")]
    from: Option<String>,
    /// Resolve conflicts with the release's side
    #[arg(long, conflicts_with = "ours")]
    theirs: bool,
    /// Resolve conflicts with your side
    #[arg(long)]
    ours: bool,
    /// Use only the cache and local files
    #[arg(long)]
    offline: bool,
    /// Accept the owner's new signing key with this fingerprint, as the error prints it (people only)
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
    let from = args.from.as_deref().map(str::parse).transpose().map_err(|error: client::SpecError| failed(error))?;
    if from.is_some() && args.name.len() != 1 {
        return Err(CliError::usage("--from merges into one skill: name exactly one".to_owned()));
    }
    let request = UpdateRequest { skills, from, choice, offline: args.offline, dry_run: args.dry_run, accept_keys };
    let updated = with_progress(context, "updating", &args.accept, |waiting| context.update(&request, waiting));
    let updated = updated.map_err(|error| {
        let names = request.skills.iter().filter_map(|skill| bare_name(&skill.name));
        names.fold(error, |error, name| context.hint_elsewhere(error, "skillhub update", &name))
    })?;
    answer(context, updated, "Nothing to update: no installed skills", &[], &str::to_owned)
}

/// Returns the name without its owner.
fn bare_name(text: &str) -> Option<SkillName> {
    SkillName::parse(text.rsplit('/').next()?).ok()
}

fn skill_to_update(text: &str) -> Result<SkillToUpdate, CliError> {
    let (name, request) = match text.split_once('@') {
        Some((name, request)) => {
            (name, Some(request.parse().map_err(|error| failed(client::SpecError::Wanted(error)))?))
        }
        None => (text, None),
    };
    match name.is_empty() {
        true => Err(CliError::usage(format!("{text:?} has no skill name"))
            .hint("name a skill as name, owner/name or owner/name@^1.2")),
        false => Ok(SkillToUpdate { name: name.to_owned(), request }),
    }
}
