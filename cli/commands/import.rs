//! `skillhub import` adopts skills that other tools installed, with their origins.

use std::{io, path::PathBuf};

use clap::Args;
use client::{ForeignLock, ImportStatus, Imported, InstallRequest};
use serde_json::{Value, json};
use skill::counted;

use crate::{
    accepting::AcceptArgs,
    commands::install::installer,
    context::Context,
    exit::{CliError, Exit, error_of_one, exit_of_one, failed},
    print::{BAD, FAINT, Page, STRONG, Table, WARN, findings_lines, visible},
};

/// Flags of `import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub import                                skills-lock.json and .clawhub/lock.json here
  skillhub import --global                       skills from `npx skills add -g`
  skillhub import ../other/skills-lock.json
  skillhub import --dry-run                      preview the skills and their sources
  skillhub import --offline                      existing folders only, without the network

Keeps existing folders with their changes and records their sources, so that `skillhub outdated` and
`skillhub update` work. Installs skills without a folder from their source. Never changes the other tool's
lock file. `skillhub undo` undoes an import.")]
pub struct ImportArgs {
    /// Lock files of `npx skills` or ClawHub [default: the project's; with --global, yours]
    path: Vec<PathBuf>,
    /// Import existing folders only, without contacting their sources
    #[arg(long)]
    offline: bool,
    /// Also replace folders that git tracks with links
    #[arg(long)]
    link: bool,
    /// Show what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// Imports the skills. The exit code is the most severe of all results.
pub fn run(context: &Context, args: &ImportArgs) -> Result<Exit, CliError> {
    let locks = match args.path.as_slice() {
        [] => ForeignLock::find(&context.foreign_locks()),
        paths => paths.iter().map(|path| ForeignLock::read(&context.absolute(path))).collect(),
    };
    let locks = locks.map_err(failed)?;
    let request = InstallRequest {
        offline: args.offline,
        dry_run: args.dry_run,
        replaces_tracked: args.link || context.is_at_terminal(),
        ..InstallRequest::default()
    };
    let mut library = context.library()?;
    let rows = installer(context, &mut library, "importing", &args.accept, |installer| {
        Ok(installer.import(&locks, &request)?)
    })?;
    let exit = rows.iter().map(|row| exit_of_one(row.error())).max().unwrap_or(Exit::Done);
    let files = locks.iter().map(|lock| json!({"path": lock.path, "tool": lock.tool.as_str(), "skills": lock.len()}));
    let document = json!({
        "ok": exit == Exit::Done,
        "files": files.collect::<Vec<_>>(),
        "skills": rows.iter().map(document).collect::<Vec<_>>(),
    });
    context.out.answer(&document, |out| text(context, &locks, &rows, out))?;
    Ok(exit)
}

fn text(context: &Context, locks: &[ForeignLock], rows: &[Imported], out: &mut Page) -> io::Result<()> {
    for lock in locks {
        let count = counted(lock.len(), "skill");
        writeln!(out, "{FAINT}{} ({}): {count}{FAINT:#}", context.short(&lock.path), lock.tool.as_str())?;
    }
    if rows.is_empty() {
        return writeln!(out, "Nothing to import");
    }
    let mut table = Table::new(&["skill", "", "from", "folder"]);
    for row in rows {
        let folder = row.folder.as_ref().map(|folder| context.short(folder)).unwrap_or_default();
        table.row(&[visible(&row.key), word(row).to_owned(), visible(&row.source), visible(&folder)]);
    }
    table.write(out)?;
    for row in rows {
        let name = visible(&row.key);
        if let Some(error) = row.error() {
            writeln!(out, "{BAD}error{BAD:#}: {STRONG}{name}{STRONG:#}: {}", visible(&error.to_string()))?;
        }
        let report = row.installed.as_ref().and_then(|installed| installed.report.as_ref());
        for line in findings_lines(report.iter().flat_map(|report| &report.findings)) {
            writeln!(out, "  {line}")?;
        }
        let why = row.why.as_ref().filter(|_| row.status != ImportStatus::Unchanged);
        for note in why.into_iter().chain(row.installed.iter().flat_map(|installed| &installed.warnings)) {
            out.message(format_args!("{WARN}note{WARN:#}: {STRONG}{name}{STRONG:#}: {}", visible(note)))?;
        }
    }
    if rows.iter().any(|row| matches!(row.status, ImportStatus::Imported | ImportStatus::Installed)) {
        out.message(format_args!("Next: `skillhub outdated` lists newer releases, `skillhub undo` undoes the import"))?;
    }
    Ok(())
}

fn word(row: &Imported) -> &'static str {
    match row.status {
        ImportStatus::Imported if row.is_changed => "imported, with changes",
        ImportStatus::Imported => "imported",
        ImportStatus::Installed => "installed",
        ImportStatus::Unchanged => "already here",
        ImportStatus::DryRun if row.folder.is_none() => "would be installed",
        ImportStatus::DryRun => "would be imported",
        ImportStatus::Left => "skipped",
        ImportStatus::Failed => "not imported",
    }
}

fn document(row: &Imported) -> Value {
    let installed = row.installed.as_ref();
    json!({
        "key": row.key,
        "tool": row.tool.as_str(),
        "file": row.file,
        "source": row.source,
        "folder": row.folder,
        "changed": row.is_changed,
        "status": row.status,
        "why": row.why,
        "name": installed.map(|installed| &installed.name),
        "version": installed.map(|installed| &installed.version),
        "path": installed.map(|installed| &installed.path),
        "links": installed.map(|installed| &installed.links),
        "digest": installed.and_then(|installed| installed.digest).map(|digest| digest.to_string()),
        "revision": installed.map(|installed| &installed.revision),
        "commit": installed.and_then(|installed| installed.origin.as_ref()?.commit().map(ToString::to_string)),
        "warnings": installed.map(|installed| &installed.warnings),
        "findings": installed.and_then(|installed| installed.report.as_ref()).map(|report| &report.findings),
        "error": row.error().map(error_of_one),
    })
}
