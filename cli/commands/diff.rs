//! `skillhub diff` compares two revisions.

use clap::Args;
use library::{Origin, Revision};
use skill_manage::documents::{self, Comparison, DiffBase};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, coloured_diff},
};

/// Flags of `diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub diff my-skill                         the unrecorded hand edit, else the last change
  skillhub diff my-skill 3                       from revision 3 to the folder
  skillhub diff my-skill 3 head~1
  skillhub diff my-skill --upstream              from the installed release to the folder")]
pub struct DiffArgs {
    /// Skill
    name: String,
    /// Earlier revision [default: newest for an edited folder, else the one before it]
    from: Option<String>,
    /// Later revision [default: the folder]
    to: Option<String>,
    /// Compare the folder with the installed release
    #[arg(long, conflicts_with_all = ["from", "to"])]
    upstream: bool,
}

/// Prints the difference.
pub fn run(context: &Context, args: &DiffArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let library = context.library_with_past(&name)?;
    let since = match args.from.as_deref() {
        _ if args.upstream => DiffBase::Release,
        Some(from) => DiffBase::Revision(from),
        None => DiffBase::Parent,
    };
    let comparison = documents::compare(&library, &name, since, args.to.as_deref())?;
    let Comparison { from, to, held, difference, .. } = &comparison;
    let release = from.as_ref().filter(|_| args.upstream).and_then(|from| from.origin.as_ref()).map(Origin::release);
    let before = release.unwrap_or_else(|| title(from.as_ref()));
    let head = format!(
        "{FAINT}{before} → {}{FAINT:#}\n",
        to.as_ref().map_or_else(|| "folder (not recorded)".to_owned(), |to| title(Some(to)))
    );
    if let Some(why) = held {
        context.out.note(&format!("agents see the newest revision until a person records this edit: {why}"));
    }
    let text = match difference.files.is_empty() {
        true => format!("{head}no differences\n"),
        false => format!("{head}{}", coloured_diff(&difference.text)),
    };
    context.out.long_answer(&comparison.document(), || text)
}

fn title(revision: Option<&Revision>) -> String {
    match revision {
        Some(revision) => format!("revision {} ({})", revision.number, revision.id.short()),
        None => "nothing".to_owned(),
    }
}
