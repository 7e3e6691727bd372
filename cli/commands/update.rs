//! `skillhub update`: newer releases of installed skills, merged with what was changed here.

use std::io::{self, Write};

use clap::Args;
use client::{Choice, InstallStatus, Installed, SkillToUpdate, UpdateRequest};
use serde_json::Value;
use skill::SkillName;

use crate::{
    accepting::AcceptArgs,
    commands::install::{answer, document_of, installer, known_to},
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, WARN, coloured_diff, visible},
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

/// Updates; the exit code is the gravest of all.
pub fn run(context: &Context, args: &UpdateArgs) -> Result<Exit, CliError> {
    let choice = match (args.theirs, args.ours) {
        (true, _) => Choice::Theirs,
        (false, true) => Choice::Ours,
        (false, false) => Choice::Ask,
    };
    let skills = args.name.iter().map(|text| skill_to_update(text)).collect::<Result<_, _>>()?;
    let accept_keys = args.accept_key.clone();
    let request = UpdateRequest { skills, choice, offline: args.offline, dry_run: args.dry_run, accept_keys };
    let mut library = context.library()?;
    let mut updated = installer(context, &mut library, ("updating", &args.accept), |installer| {
        installer.update(&request).map_err(failed)
    })?;
    updated.retain(known_to(context)?);
    answer(context, updated, "There is nothing to update: no skill was installed from anywhere")
}

/// Updates one skill as no flag says, and gives the document.
///
/// # Errors
/// Its source cannot be read, what it holds is blocked, or something is in its way.
pub fn without_flags(context: &Context, name: &SkillName) -> Result<Value, CliError> {
    let skills = vec![SkillToUpdate { name: name.to_string(), request: None }];
    let request = UpdateRequest { skills, ..UpdateRequest::default() };
    let mut library = context.library()?;
    let accept = AcceptArgs::default();
    let mut updated = installer(context, &mut library, ("updating", &accept), |installer| {
        installer.update(&request).map_err(failed)
    })?;
    updated.retain(known_to(context)?);
    document_of(&mut updated).map(|(document, _)| document)
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

/// What a merge or a dry run changes.
pub fn change_text(skill: &Installed, out: &mut dyn Write) -> io::Result<()> {
    let is_told = matches!(skill.status, InstallStatus::Merged | InstallStatus::DryRun | InstallStatus::Conflict);
    if !is_told || skill.previous.is_none() {
        return Ok(());
    }
    if !skill.touched.is_empty() {
        let touched: Vec<&str> = skill.touched.iter().map(skill::SkillPath::as_str).collect();
        writeln!(out, "  changed here and in the release: {}", visible(&touched.join(", ")))?;
    }
    for conflict in &skill.conflicts {
        writeln!(out, "  {WARN}both{WARN:#}: {}", visible(&conflict.to_string()))?;
    }
    let Some(change) = skill.change.as_ref() else { return Ok(()) };
    if skill.status == InstallStatus::DryRun {
        return write!(out, "{}", coloured_diff(&change.text));
    }
    for file in &change.files {
        writeln!(
            out,
            "  {FAINT}{:>+5} {:>+5}{FAINT:#} {}",
            file.added as i64,
            -(file.removed as i64),
            visible(file.path.as_str())
        )?;
    }
    Ok(())
}
