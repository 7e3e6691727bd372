//! `skillhub gc` compacts a library's data.

use clap::Args;
use client::{CACHE_BYTES, Cache, LockFile, MirrorsTidied};
use library::{Library, ProposalId, Sizes};
use serde_json::{Value, json};
use skill::counted;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, Table},
};

/// Flags of `gc`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub gc                                    the library in use here
  skillhub gc --global --json

Keeps all revisions, log entries and pending proposals. Packs the history, compresses old log entries,
and removes leftovers of stopped commands. Keeps the newest 1,000 decided proposals, up to 64 MiB. Above
256 MiB, removes the fetched archives that were not used for longest. Packs the local copies of
registries, and removes those that are no longer configured and were not used for 30 days.")]
pub struct GcArgs {}

/// Maximum number of removed proposals that are listed.
const NAMED: usize = 10;

/// Collects garbage and prints the sizes before and after.
pub fn run(context: &Context, _args: &GcArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let collected = library.collect_garbage()?;
    let cache = Cache::of(&context.home).trim(CACHE_BYTES).map_err(failed)?;
    let (before, after) = (collected.before, collected.after);
    let mirrors = mirrors(context, &library)?;
    let kept_before = before.total() + cache.before + mirrors.before;
    let freed = kept_before.saturating_sub(after.total() + cache.after + mirrors.after);
    let dropped: Vec<&str> = collected.proposals.iter().map(ProposalId::as_str).collect();
    let document = json!({
        "ok": true, "library": library.path(), "before": sizes(&before), "after": sizes(&after),
        "cache": {"before": cache.before, "after": cache.after}, "freed": freed,
        "registries": {"before": mirrors.before, "after": mirrors.after, "dropped": mirrors.dropped},
        "folders": collected.folders, "proposals": dropped, "originals": collected.originals, "pending": collected.pending,
    });
    context.out.answer(&document, |out| {
        let mut table = Table::new(&["what", "bytes before", "bytes after"]);
        let rows = [
            ("history", before.history, after.history),
            ("journal", before.journal, after.journal),
            ("log", before.events, after.events),
            ("other", before.other, after.other),
            ("fetched archives", cache.before, cache.after),
            ("registry mirrors", mirrors.before, mirrors.after),
        ];
        for (what, before, after) in rows {
            table.row(&[what.to_owned(), before.to_string(), after.to_string()]);
        }
        table.write(out)?;
        for folder in &collected.folders {
            writeln!(out, "{FAINT}removed {folder}, left by a stopped command{FAINT:#}")?;
        }
        if collected.originals > 0 {
            let count = counted(collected.originals, "operation");
            writeln!(out, "{FAINT}removed the originals that {count} replaced with links over 90 days ago{FAINT:#}")?;
        }
        for mirror in &mirrors.dropped {
            writeln!(out, "{FAINT}removed {}, the mirror of an unused registry{FAINT:#}", context.short(mirror))?;
        }
        if !dropped.is_empty() {
            let (count, first) = (dropped.len(), dropped.iter().take(NAMED).copied().collect::<Vec<_>>().join(", "));
            let more = if count > NAMED { ", …" } else { "" };
            writeln!(
                out,
                "{FAINT}removed the {} decided longest ago ({first}{more}); see `skillhub log`{FAINT:#}",
                counted(count, "proposal")
            )?;
        }
        writeln!(out, "{GOOD}{} freed{GOOD:#}", counted(freed, "byte"))
    })?;
    if collected.pending {
        context.out.note("the journal was kept, because some operations are not applied yet; see `skillhub doctor`");
    }
    Ok(Exit::Done)
}

/// Removes unused mirrors. None is removed if the lock file is unreadable, because it may name any of them.
fn mirrors(context: &Context, library: &Library) -> Result<MirrorsTidied, CliError> {
    match LockFile::read(&context.lock_path(library)) {
        Ok(lock) => context.registries().tidy_mirrors(&lock).map_err(failed),
        Err(_) => Ok(MirrorsTidied::default()),
    }
}

fn sizes(sizes: &Sizes) -> Value {
    json!({
        "history": sizes.history, "journal": sizes.journal, "events": sizes.events, "other": sizes.other,
        "total": sizes.total(),
    })
}
