//! `skillhub gc`: what the library keeps, made small.

use clap::Args;
use client::{CACHE_BYTES, Cache};
use library::Sizes;
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, Table},
};

/// Flags of `gc`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub gc                                    the library that is in use here
  skillhub gc --global --json

Nothing is lost: every revision and every line of the log stays. The history becomes one pack, the older
part of the log is compressed, what stopped commands left is removed, and of fetched archives those that
were not used for longest go when there are more than 256 MiB.")]
pub struct GcArgs {}

/// Collects it.
pub fn run(context: &Context, _args: &GcArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let collected = library.collect_garbage()?;
    let cache = Cache::of(&context.home).trim(CACHE_BYTES).map_err(failed)?;
    let (before, after) = (collected.before, collected.after);
    let freed = (before.total() + cache.before).saturating_sub(after.total() + cache.after);
    let document = json!({
        "ok": true, "library": library.path(), "before": sizes(&before), "after": sizes(&after),
        "cache": {"before": cache.before, "after": cache.after}, "freed": freed,
        "folders": collected.folders, "pending": collected.pending,
    });
    context.out.answer(&document, |out| {
        let mut table = Table::new(&["what", "bytes before", "bytes after"]);
        let rows = [
            ("history", before.history, after.history),
            ("journal", before.journal, after.journal),
            ("log", before.events, after.events),
            ("other", before.other, after.other),
            ("fetched archives", cache.before, cache.after),
        ];
        for (what, before, after) in rows {
            table.row(&[what.to_owned(), before.to_string(), after.to_string()]);
        }
        table.write(out)?;
        for folder in &collected.folders {
            writeln!(out, "{FAINT}removed {folder}, which a command that was stopped left in the library{FAINT:#}")?;
        }
        writeln!(out, "{GOOD}{freed} bytes freed{GOOD:#}")
    })?;
    if collected.pending {
        context.out.note("some operations wait to be applied, and the journal stays until then; see `skillhub doctor`");
    }
    Ok(Exit::Done)
}

fn sizes(sizes: &Sizes) -> Value {
    json!({
        "history": sizes.history, "journal": sizes.journal, "events": sizes.events, "other": sizes.other,
        "total": sizes.total(),
    })
}
