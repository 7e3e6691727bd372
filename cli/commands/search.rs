//! `skillhub search` searches the registries for skills.

use std::num::NonZeroUsize;

use clap::Args;
use ops::SearchDocument;

use crate::{
    context::Context,
    exit::{CliError, Exit},
    hints,
    print::{FAINT, STRONG, WARN, visible},
};

/// Default number of results.
const DEFAULT_RESULTS: NonZeroUsize = match NonZeroUsize::new(client::DEFAULT_RESULTS) {
    Some(number) => number,
    None => NonZeroUsize::MIN,
};

/// Flags of `search`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub search pdf forms
  skillhub search 表单 --json")]
pub struct SearchArgs {
    /// Words to search for in names, titles, keywords and descriptions
    #[arg(required = true)]
    query: Vec<String>,
    /// Show at most N skills
    #[arg(long, value_name = "N", default_value_t = DEFAULT_RESULTS)]
    limit: NonZeroUsize,
}

/// Prints the search results. An empty result is a success.
pub fn run(context: &Context, args: &SearchArgs) -> Result<Exit, CliError> {
    let query = args.query.join(" ");
    let found = context.search(&query, args.limit.get())?;
    for skipped in &found.skipped {
        context.out.note(&format!("left out: {skipped}; see all faults with `skillhub index verify`"));
    }
    let results = &found.results;
    context.out.answer(&SearchDocument::of(&found), |out| {
        for result in results {
            writeln!(out, "{STRONG}{}{STRONG:#} {FAINT}{}{FAINT:#}", result.name, result.version)?;
            let title = result.title.iter().map(String::as_str);
            let text = title.chain([result.description.as_str()]).collect::<Vec<_>>().join(" · ");
            writeln!(out, "  {}", visible(&shortened(&text)))?;
            if let Some(deprecated) = &result.deprecated {
                writeln!(out, "  {WARN}{}{WARN:#}", visible(&shortened(deprecated)))?;
            }
        }
        match results.first() {
            None => writeln!(out, "No skills match {query:?}; try fewer or other words"),
            Some(first) => {
                writeln!(out, "Install one: {}", hints::for_user(&format!("skillhub install {}", first.name)))
            }
        }
    })?;
    Ok(Exit::Done)
}

/// Shortens a description to one line of at most 160 characters.
fn shortened(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}
