//! `skillhub mcp uninstall` removes what `mcp install` wrote from the configuration of an agent's host.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use mcp::hosts::{Host, HostError};
use serde_json::{Value, json};

use super::install::{self, Planned};
use crate::{
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    global::Global,
    print::{FAINT, GOOD, Page, STRONG},
};

/// Flags of `mcp uninstall`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub mcp uninstall --agent claude-code       from .mcp.json of the project, and the project's hook
  skillhub --global mcp uninstall --agent codex    from ~/.codex/config.toml
  skillhub mcp uninstall --agent vscode --print    show what would remain, and write nothing

Removes the server `skillhub` and the hook that records sessions. Comments, order and other settings in
the files are kept. A file that holds nothing else is removed, with its folder if that is empty. A server
of that name that does not start `skillhub mcp` is kept.")]
pub struct UninstallArgs {
    /// Agent whose configuration to change
    #[arg(long, value_name = "ID")]
    agent: String,
    /// Print the files' paths and new contents, and write nothing
    #[arg(long)]
    print: bool,
}

/// Removes the entry and the hook, or prints the result with `--print`.
pub fn run(context: &Context, global: &Global, args: &UninstallArgs) -> Result<Exit, CliError> {
    let host = Host::find(&args.agent).map_err(failed)?;
    let (root, files) = install::files_of(context, global, host)?;
    let mut changes = plan(context, host, root.as_deref(), &files)?;
    changes.retain(Planned::is_new);
    if !args.print {
        let top = root.as_deref().unwrap_or(&context.user_home);
        changes.iter().try_for_each(|change| write(host, change, top))?;
    }
    let status = match (changes.is_empty(), args.print) {
        (true, _) => "unchanged",
        (false, true) => "dry_run",
        (false, false) => "removed",
    };
    let listed: Vec<Value> = changes.iter().map(|change| document(host, change)).collect();
    context.out.answer(&json!({"ok": true, "agent": host.id, "status": status, "files": listed}), |out| {
        match status {
            "unchanged" => return nothing(out, context, host, root.is_some()),
            "dry_run" => return preview(out, host, &changes),
            _ => writeln!(out, "{GOOD}Removed{GOOD:#} skillhub from {STRONG}{}{STRONG:#}:", host.title)?,
        }
        changes.iter().try_for_each(|change| writeln!(out, "  {}", context.shown(&change.target)))?;
        out.message(format_args!(
            "Restart it to apply the change. To connect it again: {}",
            again(host, root.is_none())
        ))
    })
}

fn again(host: &Host, of_user: bool) -> String {
    format!("skillhub {}mcp install --agent {}", if of_user { "--global " } else { "" }, host.id)
}

/// Plans the changes of all files before one is written. Several files of a host may have the entry, and a file may
/// have the entry and the hook.
fn plan(context: &Context, host: &Host, root: Option<&Path>, files: &[PathBuf]) -> Result<Vec<Planned>, CliError> {
    let mut changes = Vec::new();
    for file in files {
        remove(&mut changes, file, root, |text| host.uninstalled(file, text))?;
    }
    if let Some(file) = install::hook_file(context, host, root) {
        remove(&mut changes, &file, root, |text| host.without_hook(&file, text))?;
    }
    Ok(changes)
}

fn remove(
    changes: &mut Vec<Planned>,
    file: &Path,
    root: Option<&Path>,
    without: impl Fn(&str) -> Result<String, HostError>,
) -> Result<(), CliError> {
    let target = install::real_place(file, root)?;
    match changes.iter_mut().find(|change| change.target == target) {
        Some(change) => change.after = without(&change.after).map_err(failed)?,
        None => {
            let Some(before) = install::current_text(&target)? else { return Ok(()) };
            let after = without(&before).map_err(failed)?;
            changes.push(Planned { target, before: Some(before), after });
        }
    }
    Ok(())
}

/// Writes a file, or removes it if it holds nothing else, with the folders below `top` that are empty then.
fn write(host: &Host, change: &Planned, top: &Path) -> Result<(), CliError> {
    let (file, before) = (&change.target, change.before.as_deref());
    install::write(file, before, &change.after)?;
    if !host.is_bare(&change.after) {
        return Ok(());
    }
    fs::remove_file(file).map_err(io_at(file))?;
    let top = top.canonicalize().map_err(io_at(top))?;
    let folders = file.ancestors().skip(1).take_while(|folder| *folder != top && folder.starts_with(&top));
    // A folder with other files stays.
    let _emptied = folders.map_while(|folder| fs::remove_dir(folder).ok()).count();
    Ok(())
}

fn document(host: &Host, change: &Planned) -> Value {
    let content = (!host.is_bare(&change.after)).then_some(&change.after);
    json!({"file": change.target, "content": content})
}

fn preview(out: &mut Page, host: &Host, changes: &[Planned]) -> io::Result<()> {
    changes.iter().try_for_each(|change| {
        let file = change.target.display();
        match host.is_bare(&change.after) {
            true => writeln!(out, "{FAINT}{file} would be removed{FAINT:#}"),
            false => write!(out, "{FAINT}{file}{FAINT:#}\n{}", change.after),
        }
    })
}

/// Reports that there is nothing to remove, and names the user's configuration if that has an entry.
fn nothing(out: &mut Page, context: &Context, host: &Host, in_project: bool) -> io::Result<()> {
    let place = if in_project { "this project" } else { "your configuration" };
    writeln!(out, "{} does not start skillhub in {place}: nothing to remove", host.title)?;
    let of_user = if in_project { install::user_files(context, host) } else { Vec::new() };
    let is_there = of_user
        .iter()
        .any(|file| install::current_text(file).is_ok_and(|text| text.is_some_and(|text| host.starts_skillhub(&text))));
    match is_there {
        true => out.message(format_args!(
            "Your own configuration starts it everywhere. Remove it there: skillhub --global mcp uninstall --agent {}",
            host.id
        )),
        false => Ok(()),
    }
}
