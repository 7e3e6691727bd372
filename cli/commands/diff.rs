//! `skillhub diff`: what changed between two revisions.

use clap::Args;
use library::{Library, Revision, RevisionId};
use skill::SkillName;
use skill_manage::documents::{self, Comparison, Since};

use crate::{
    context::{Context, skill_name},
    exit::{CliError, Exit},
    print::{FAINT, coloured_diff},
};

/// Flags of `diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub diff my-skill                         the last change
  skillhub diff my-skill 3                       from revision 3 to the newest
  skillhub diff my-skill 3 head~1
  skillhub diff my-skill --upstream              from what was installed to the newest")]
pub struct DiffArgs {
    /// The skill
    name: String,
    /// The earlier revision; the one before the newest otherwise
    from: Option<String>,
    /// The later revision; the newest otherwise
    to: Option<String>,
    /// Compare with the release that was installed
    #[arg(long, conflicts_with_all = ["from", "to"])]
    upstream: bool,
}

/// Compares them.
pub fn run(context: &Context, args: &DiffArgs) -> Result<Exit, CliError> {
    let name = skill_name(&args.name)?;
    let library = context.library()?;
    let upstream = if args.upstream { Some(installed(&library, &name)?) } else { None };
    let since = match args.from.as_deref().or(upstream.as_ref().map(RevisionId::as_str)) {
        Some(from) => Since::Revision(from),
        None => Since::Parent,
    };
    let comparison = documents::compare(&library, &name, since, args.to.as_deref().unwrap_or("head"))?;
    let Comparison { from, to, difference } = &comparison;
    let head = format!("{FAINT}{} → {}{FAINT:#}\n", title(from.as_ref()), title(Some(to)));
    let text = match difference.files.is_empty() {
        true => format!("{head}no difference\n"),
        false => format!("{head}{}", coloured_diff(&difference.text)),
    };
    context.out.long_answer(&comparison.document(), || text)?;
    Ok(Exit::Done)
}

fn title(revision: Option<&Revision>) -> String {
    match revision {
        Some(revision) => format!("revision {} ({})", revision.number, revision.id.short()),
        None => "nothing".to_owned(),
    }
}

/// The newest revision that a release brought.
fn installed(library: &Library, name: &SkillName) -> Result<RevisionId, CliError> {
    let is_other = |revision: &Revision| {
        revision.origin.as_ref().is_none_or(|origin| origin.digest != revision.digest.to_string())
    };
    let mut revisions = library.walk(name).skip_while(|found| matches!(found, Ok(revision) if is_other(revision)));
    let revision = revisions.next().ok_or_else(|| {
        CliError::new("not_found", Exit::NotFound, format!("{name} was not installed from anywhere"))
            .hint(format!("`skillhub history {name}` lists its revisions"))
    })??;
    Ok(revision.id)
}
