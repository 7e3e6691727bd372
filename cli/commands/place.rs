//! `skillhub where` prints the paths that skillhub uses.

use clap::Args;
use ops::Refusal;
use serde_json::json;
use skill::failure::FailureKind;

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

/// Prints every path, existing or not. This works even if other commands refuse the home or library: neither is opened
/// then, and the reason is printed.
pub fn run(context: &Context, _args: &WhereArgs) -> Result<Exit, CliError> {
    let paths = context.library_paths()?;
    let opened = if context.home_fault.is_none() { context.library().err() } else { None };
    let fault = match opened {
        Some(error) if error.failure.kind != FailureKind::Refused => return Err(error.into()),
        refused => refused.as_ref().or(context.home_fault.as_ref()).map(Fault::of),
    };
    let registry = context.registries().location();
    let places = [
        ("home", context.home.path().display().to_string()),
        ("library", paths.library.display().to_string()),
        ("history", paths.history.display().to_string()),
        ("registry", registry),
        ("config", context.home.config().display().to_string()),
        ("lock", paths.lock.display().to_string()),
    ];
    let mirror = context.registries().mirror().map(|path| ("mirror", path.display().to_string()));
    let places: Vec<_> = places.into_iter().chain(mirror).collect();
    let mut document = json!({"ok": true, "scope": paths.scope});
    for (key, place) in &places {
        document[key] = json!(place);
    }
    if let Some(fault) = &fault {
        document["fault"] = json!({"code": fault.code, "message": fault.message, "hint": fault.hint});
        context.out.note(&format!("other commands refuse to work here: {}; {}", fault.message, fault.hint));
    }
    context.out.answer(&document, |out| places.iter().try_for_each(|(key, place)| writeln!(out, "{key:<9}{place}")))
}

/// Reason for which other commands refuse the home or the library.
struct Fault {
    code: &'static str,
    message: String,
    hint: String,
}

impl Fault {
    fn of(error: &Refusal) -> Self {
        let hint = error.failure.hint.as_ref().map(ToString::to_string).unwrap_or_default();
        Self { code: error.failure.code, message: error.message.clone(), hint }
    }
}
