//! `skillhub waive` lets a person accept a scanner finding in a file.

use std::path::PathBuf;

use clap::Args;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use library::{Library, StoredWaiver};
use serde_json::{Value, json};
use skill::{File, Limits, SkillName, SkillPath};
use skill_manage::{ManageError, RequestError, Waive, unwaive, waive};

use crate::{
    commands::manage::read_input,
    context::Context,
    exit::{CliError, Exit},
    print::{STRONG, Table, stored_time, visible},
};

/// Flags of `waive`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub waive my-skill remote-pipe-to-shell --reason \"our own installer\"
  skillhub waive my-skill dynamic-code --path scripts/run.py --reason \"input is checked\" --days 30
  skillhub waive my-skill private-key --path assets/test.pem --content test.pem --reason \"for tests\"
  skillhub waive --list
  skillhub waive --remove 1a2b3c4d

A waiver accepts what one rule finds in one file of one skill, as the file is now (with --content: as
it will be). The finding counts again when the file changes or the waiver expires: after 90 days, or
after at most a year with --days or --until. `adopt`, `import`, `install`, `update` and `publish` create
waivers with --accept; `publish` ignores all others. Needs a terminal or SKILLHUB_REVIEWER_TOKEN.")]
pub struct WaiveArgs {
    /// Skill
    #[arg(required_unless_present_any = ["list", "remove"], conflicts_with = "remove")]
    name: Option<String>,
    /// Rule that the finding names
    #[arg(required_unless_present_any = ["list", "remove"], conflicts_with_all = ["list", "remove"])]
    rule: Option<String>,
    /// File with the finding, if the rule fires in several
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Accept this future content of the file, `-` for stdin
    #[arg(long, value_name = "FILE", requires = "path")]
    content: Option<PathBuf>,
    /// The file of --content will be executable [default: as in the skill or its proposal]
    #[arg(long, requires = "content")]
    executable: bool,
    /// Reason why the finding is acceptable
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["list", "remove"])]
    reason: Option<String>,
    /// Expire after N days [default: 90]
    #[arg(long, value_name = "N", conflicts_with = "until")]
    days: Option<u32>,
    /// Expire at the end of this day in UTC, such as 2026-12-31
    #[arg(long, value_name = "DATE")]
    until: Option<Date>,
    /// List waivers, of all skills or of one
    #[arg(long, conflicts_with_all = ["remove", "reason", "path", "days", "until"])]
    list: bool,
    /// Remove a waiver, so that its finding counts again
    #[arg(long, value_name = "ID", conflicts_with_all = ["reason", "path", "days", "until"])]
    remove: Option<String>,
}

/// Adds, lists or removes waivers.
pub fn run(context: &Context, args: &WaiveArgs) -> Result<Exit, CliError> {
    match (&args.remove, &args.name, &args.rule) {
        (Some(id), _, _) => remove(context, id),
        (None, Some(name), Some(rule)) if !args.list => add(context, args, name, rule),
        (None, name, _) => list(context, name.as_deref()),
    }
}

fn add(context: &Context, args: &WaiveArgs, name: &str, rule: &str) -> Result<Exit, CliError> {
    let name = context.skill_called(name)?;
    let path = args.path.as_deref().map(SkillPath::parse).transpose();
    let path = path.map_err(|fault| ManageError::from(RequestError::Path(fault)))?;
    let reviewer = context.reviewer("waive a finding")?;
    let content = match &args.content {
        Some(file) => {
            let bytes = read_input(context, file, Limits::default().request_bytes)?;
            Some(File { bytes: bytes.into(), executable: args.executable })
        }
        None => None,
    };
    let order = Waive {
        skill: &name,
        rule,
        path: path.as_ref(),
        content,
        reason: args.reason.as_deref().unwrap_or_default(),
        until: end(context.now, args)?,
    };
    let library = context.library_with(&name)?;
    let stored = waive(&library, &order, &reviewer, context.now)?;
    refresh_lock(context, &library, &name);
    let mut document = entry(&library, name.as_str(), &stored, context.now);
    document["ok"] = json!(true);
    context.out.answer(&document, |out| {
        let StoredWaiver { id, rule, path, until, executable, .. } = &stored;
        let mode = if *executable { "an executable" } else { "a non-executable" };
        writeln!(out, "Waived {STRONG}{rule}{STRONG:#} in {path} of {name} until {}, as {id}", stored_time(until))?;
        writeln!(out, "It applies to this content as {mode} file; the finding counts again if either changes.")?;
        out.message(format_args!("Remove it (people only): skillhub waive --remove {id}"))
    })
}

fn end(now: Timestamp, args: &WaiveArgs) -> Result<Option<Timestamp>, CliError> {
    let no_date = |error: jiff::Error| CliError::usage(format!("invalid expiry of a waiver: {error}"));
    match (args.days, args.until) {
        (Some(days), _) => now.checked_add((i64::from(days) * 24).hours()).map(Some).map_err(no_date),
        (None, Some(day)) => {
            let next = day.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC)).map_err(no_date)?;
            Ok(Some(next.timestamp()))
        }
        (None, None) => Ok(None),
    }
}

fn list(context: &Context, name: Option<&str>) -> Result<Exit, CliError> {
    let name = name.map(|name| context.skill_called(name)).transpose()?;
    let mut entries = Vec::new();
    let mut table = Table::new(&["id", "skill", "rule", "file", "executable", "until", "by", "reason"]);
    for library in context.visible_libraries()? {
        let state = library.state()?;
        for (skill, of_skill) in state.skills().filter(|(skill, _)| name.as_ref().is_none_or(|n| n.as_str() == *skill))
        {
            for waiver in &of_skill.waivers {
                entries.push(entry(&library, skill, waiver, context.now));
                let until =
                    if waiver.at(context.now).is_some() { stored_time(&waiver.until) } else { "expired".to_owned() };
                let mode = if waiver.executable { "yes" } else { "no" };
                let cells = [&waiver.id, skill, &waiver.rule, &waiver.path, mode, &until, &waiver.by, &waiver.reason];
                table.row(&cells.map(visible));
            }
        }
    }
    context.out.answer(&json!({"ok": true, "waivers": entries}), |out| match entries.is_empty() {
        true => writeln!(out, "No waivers"),
        false => table.write(out),
    })
}

fn remove(context: &Context, id: &str) -> Result<Exit, CliError> {
    let reviewer = context.reviewer("remove a waiver")?;
    let is_here = |library: &Library| -> Result<bool, CliError> {
        Ok(library.state()?.skills().any(|(_, state)| state.waivers.iter().any(|waiver| waiver.id == id)))
    };
    let mut library = context.library()?;
    for other in context.visible_libraries()? {
        if is_here(&other)? {
            library = other;
            break;
        }
    }
    let (skill, waiver) = unwaive(&library, id, &reviewer, context.now)?;
    refresh_lock(context, &library, &skill);
    let mut document = entry(&library, skill.as_str(), &waiver, context.now);
    document["ok"] = json!(true);
    document["active"] = json!(false);
    context.out.answer(&document, |out| {
        writeln!(
            out,
            "Removed the waiver: {STRONG}{}{STRONG:#} in {} of {skill} counts again",
            waiver.rule, waiver.path
        )
    })
}

/// Updates the waivers in the lock file, if the library is the selected one, whose lock file it is.
fn refresh_lock(context: &Context, library: &Library, skill: &SkillName) {
    if context.library().is_ok_and(|chosen| chosen.path() == library.path()) {
        context.refresh_lock(library, skill);
    }
}

fn entry(library: &Library, skill: &str, waiver: &StoredWaiver, now: Timestamp) -> Value {
    json!({
        "id": waiver.id, "name": skill, "rule": waiver.rule, "path": waiver.path, "content": waiver.content,
        "executable": waiver.executable,
        "severity": waiver.severity, "reason": waiver.reason, "by": waiver.by, "created": stored_time(&waiver.created),
        "until": stored_time(&waiver.until), "active": waiver.at(now).is_some(), "library": library.path(),
    })
}
