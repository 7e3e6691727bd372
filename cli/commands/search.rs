//! `skillhub search` searches the registries and other sources for skills.

use std::num::NonZeroUsize;

use clap::Args;
use client::{PUBLIC_SOURCES, SearchRequest, SearchResult, SearchedSource, SourceState};
use library::ActorKind;
use ops::SearchDocument;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    hints,
    print::{FAINT, STRONG, WARN, stored_past_time, visible},
    reading::read_answer,
};

/// Default number of results.
const DEFAULT_RESULTS: NonZeroUsize = match NonZeroUsize::new(client::DEFAULT_RESULTS) {
    Some(number) => number,
    None => NonZeroUsize::MIN,
};

/// Maximum number of times that a question is asked.
const QUESTIONS: usize = 3;

/// Flags of `search`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub search pdf forms
  skillhub search 表单 --json
  skillhub search pdf --offline                  this machine and the cached lists of sources

Searches the registries and the sources that `skillhub source list` shows. At a terminal, the first search asks
whether to search public sources, and remembers a yes or no as [search] public in config.toml.")]
pub struct SearchArgs {
    /// Words to search for in names, titles, keywords and descriptions
    #[arg(required = true)]
    query: Vec<String>,
    /// Show at most N skills
    #[arg(long, value_name = "N", default_value_t = DEFAULT_RESULTS)]
    limit: NonZeroUsize,
    /// Use only this machine and the cached lists of sources
    #[arg(long)]
    offline: bool,
}

/// Prints the search results. An empty result is a success.
pub fn run(context: &Context, args: &SearchArgs) -> Result<Exit, CliError> {
    let query = args.query.join(" ");
    let request = SearchRequest { offline: args.offline, ..context.search_request(args.limit.get()) };
    let request = SearchRequest { public: agrees_to_public(context, &request)?, ..request };
    let found = {
        let _working = context.out.working("searching");
        context.search(&query, &request)?
    };
    for skipped in &found.skipped {
        context.out.note(&format!("left out: {skipped}"));
    }
    for source in found.sources.iter().filter(|source| source.reason.is_some()) {
        context.out.note(&unreached(source));
    }
    context.out.answer(&SearchDocument::of(&found), |out| {
        for SearchResult { name, version, title, description, deprecated, install, .. } in &found.results {
            let version = visible(version);
            writeln!(out, "{STRONG}{}{STRONG:#} {FAINT}{version}{FAINT:#}", visible(name))?;
            let text = title.iter().map(String::as_str).chain([description.as_str()]).collect::<Vec<_>>().join(" · ");
            writeln!(out, "  {}", visible(&shortened(&text)))?;
            if let Some(deprecated) = deprecated {
                writeln!(out, "  {WARN}{}{WARN:#}", visible(&shortened(deprecated)))?;
            }
            if install != name {
                writeln!(out, "  {FAINT}skillhub install {}{FAINT:#}", visible(install))?;
            }
        }
        match found.results.first() {
            None => writeln!(out, "No skills match {query:?}; try fewer or other words")?,
            // The commands of results that need more than their names are shown already.
            Some(SearchResult { name, install, .. }) if install != name => {}
            Some(SearchResult { install, .. }) => {
                writeln!(out, "Install one: {}", hints::for_user(&format!("skillhub install {}", visible(install))))?;
            }
        }
        writeln!(out, "{FAINT}{}{FAINT:#}", visible(&searched(&found.sources)))?;
        if context.config.search.public.is_none() && !request.public && !request.only_registries {
            let config = context.short(&context.home.config());
            writeln!(out, "{FAINT}To search public sources too, set [search] public = true in {config}{FAINT:#}")?;
        }
        Ok(())
    })
}

/// Returns whether public sources may be searched. A person at a terminal who never answered is asked, and the answer
/// is stored. Anything but a yes or no stores nothing. Without a terminal, only the configuration counts.
fn agrees_to_public(context: &Context, request: &SearchRequest) -> Result<bool, CliError> {
    let is_decided = context.config.search.public.is_some() || request.offline || request.only_registries;
    let is_person = context.is_at_terminal() && context.actor.kind == ActorKind::Person;
    if is_decided || !is_person || context.out.json || context.out.quiet {
        return Ok(request.public);
    }
    let names = PUBLIC_SOURCES.map(|source| source.location).join(" and ");
    let question = format!("Also search public sources ({names})? Their skills are not reviewed. [y/N] ");
    let Some(is_agreed) = ask_yes_or_no(&question) else { return Ok(false) };
    client::set_public_search(&context.home, is_agreed).map_err(failed)?;
    context.out.note(&format!("stored the answer in {}", context.short(&context.home.config())));
    Ok(is_agreed)
}

/// Asks until the answer is yes or no, a few times. `None` for an empty answer or the end of the input.
fn ask_yes_or_no(question: &str) -> Option<bool> {
    for _ in 0..QUESTIONS {
        match read_answer(question)?.to_ascii_lowercase().as_str() {
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            "" => return None,
            _ => {}
        }
    }
    None
}

/// Describes a source that could not be searched, or not anew.
fn unreached(source: &SearchedSource) -> String {
    let reason = source.reason.as_deref().unwrap_or_default();
    let SearchedSource { name, location, .. } = source;
    match &source.read_at {
        Some(at) => {
            format!("used the list of {name} from {}, because it was not reached: {reason}", stored_past_time(at))
        }
        None => format!("could not search {name} ({location}): {reason}"),
    }
}

/// Names the sources that were searched.
fn searched(sources: &[SearchedSource]) -> String {
    let name = |source: &SearchedSource| match (&source.state, &source.read_at) {
        (SourceState::Unreachable, _) => None,
        (SourceState::Cached, Some(at)) => {
            Some(format!("{} (from the cache, read {})", source.name, stored_past_time(at)))
        }
        _ => Some(source.name.clone()),
    };
    let names: Vec<String> = sources.iter().filter_map(name).collect();
    format!("Searched: {}", names.join(", "))
}

/// Shortens a description to one line of at most 160 characters.
fn shortened(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}
