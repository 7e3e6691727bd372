//! `skillhub rollback` restores an earlier revision of a whole skill.

use clap::Args;
use skill_manage::{Rollback, roll_back};

use crate::{
    commands::manage::{NoteArgs, print},
    context::Context,
    exit::{CliError, Exit},
};

/// Flags of `rollback`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub rollback my-skill                     to the revision before the newest
  skillhub rollback my-skill 3                   to revision 3 of `skillhub history my-skill`
  skillhub rollback my-skill head                discard a hand edit; the history keeps it
  skillhub rollback my-skill 3 --dry-run         show what would change")]
pub struct RollbackArgs {
    /// Skill
    name: String,
    /// Revision: a number, an id or its first digits, head or head~2 [default: head~1]
    revision: Option<String>,
    /// Fail if the skill's newest revision is not this one
    #[arg(long, value_name = "REV")]
    expected_revision: Option<String>,
    #[command(flatten)]
    notes: NoteArgs,
}

/// Restores the revision and prints the report.
pub fn run(context: &Context, args: &RollbackArgs) -> Result<Exit, CliError> {
    let rollback = Rollback {
        skill: context.skill_called(&args.name)?,
        to: args.revision.clone(),
        expected_revision: args.expected_revision.clone(),
        notes: args.notes.notes(),
        dry_run: args.notes.dry_run,
    };
    let mut library = context.library_with_past(&rollback.skill)?;
    let report = context.change(&mut library, |library, acting| roll_back(library, &rollback, acting))?;
    context.note_behind(&library);
    print(context.out, &report)
}
