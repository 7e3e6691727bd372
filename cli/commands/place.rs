//! `skillhub where`: where everything is.

use clap::Args;
use serde_json::json;

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// Flags of `where`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub where
  git --git-dir=\"$(skillhub where --json | jq -r .history)\" log refs/skills/my-skill")]
pub struct WhereArgs {}

/// Prints every place, whether or not it is there yet.
pub fn run(context: &Context, _args: &WhereArgs) -> Result<Exit, CliError> {
    let library = context.library()?;
    let registry = context.registries().location();
    let places = [
        ("home", context.home.path().display().to_string()),
        ("library", library.path().display().to_string()),
        ("history", library.history_path().display().to_string()),
        ("registry", registry),
        ("config", context.home.config().display().to_string()),
        ("lock", context.lock_path(&library).display().to_string()),
    ];
    let mirror = context.registries().mirror().map(|path| ("mirror", path.display().to_string()));
    let places: Vec<_> = places.into_iter().chain(mirror).collect();
    let mut document = json!({"ok": true, "scope": library.scope()});
    for (key, place) in &places {
        document[key] = json!(place);
    }
    context.out.answer(&document, |out| places.iter().try_for_each(|(key, place)| writeln!(out, "{key:<9}{place}")))?;
    Ok(Exit::Done)
}
