//! `skillhub verify` checks every installed file against the lock file.

use clap::Args;
use client::{LockedWaiver, Verified, VerifyStatus};
use library::Library;
use ops::AgentViews;
use serde_json::{Value, json};

use crate::{
    accepting::AcceptArgs,
    commands::install::installer,
    context::Context,
    exit::{CliError, Exit, failed},
    hints,
    print::{BAD, FAINT, GOOD, STRONG, WARN, visible},
};

/// Flags of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub verify                                exit code 8 if a skill fails the check
  skillhub verify --offline                      do not check for withdrawn releases
  skillhub verify --json

Skills pass unchanged (pristine), changed through skillhub (evolved), or edited by hand (modified).")]
pub struct VerifyArgs {
    /// Do not contact registries
    #[arg(long)]
    offline: bool,
}

/// Verifies the skills. Any deviation from the lock file results in exit code 8.
pub fn run(context: &Context, args: &VerifyArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let mut found = installer(context, &mut library, "verifying", &AcceptArgs::default(), |installer| {
        Ok(client::verify(installer, args.offline)?)
    })?;
    let is_seen = context.seen()?;
    found.retain(|skill| is_seen(skill.name.rsplit('/').next().unwrap_or_default()));
    if found.is_empty() {
        return nothing(context, &library, is_seen);
    }
    warn_of_agents(context, &mut found)?;
    let bad: Vec<&Verified> = found.iter().filter(|skill| !skill.status.is_intact()).collect();
    let mut answer = json!({"ok": bad.is_empty(), "skills": found.iter().map(document).collect::<Vec<_>>()});
    if let Some(first) = bad.first() {
        let code = match first.status {
            VerifyStatus::Withdrawn | VerifyStatus::Quarantined => first.status.as_str(),
            _ => "integrity",
        };
        let why = first.why.as_deref().unwrap_or_default();
        answer["error"] = json!({
            "code": code, "message": format!("{}: {why}", first.name), "hint": hint(first), "details": {},
        });
    }
    context.out.answer(&answer, |out| {
        for skill in &found {
            let style = match skill.status {
                VerifyStatus::Modified => WARN,
                status if status.is_intact() => GOOD,
                _ => BAD,
            };
            let version = skill.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
            let word = skill.status.as_str();
            writeln!(out, "{style}{word:<11}{style:#} {STRONG}{}{STRONG:#}{version}", visible(&skill.name))?;
            if let Some(why) = &skill.why {
                writeln!(out, "  {}\n  {GOOD}hint{GOOD:#}: {}", visible(why), hint(skill))?;
            }
            if let Some(key) = &skill.signer {
                let owner = skill.name.split('/').next().unwrap_or_default();
                writeln!(out, "  {FAINT}signed by {owner} with {key}{FAINT:#}")?;
            }
            for file in &skill.files {
                writeln!(out, "  {FAINT}{:?}{FAINT:#} {}", file.change, visible(file.path.as_str()))?;
            }
            for waiver in &skill.accepted {
                writeln!(out, "  {FAINT}{}{FAINT:#}", visible(&waiver.to_string()))?;
            }
            for warning in &skill.warnings {
                out.message(format_args!("  {WARN}note{WARN:#}: {}", visible(warning)))?;
            }
        }
        Ok(())
    })?;
    Ok(if bad.is_empty() { Exit::Done } else { Exit::Integrity })
}

/// Says that the lock file has no skills, and where it is. Installed skills without an entry are an error.
fn nothing(context: &Context, library: &Library, is_seen: impl Fn(&str) -> bool) -> Result<Exit, CliError> {
    let path = context.lock_path(library);
    let state = if path.exists() { "has no skills" } else { "does not exist" };
    let lock = format!("{} {state}", visible(&context.short(&path)));
    let folders = library.folders()?;
    let is_here = |name: &str| is_seen(name) && folders.iter().any(|folder| folder == name);
    let drifts = client::drifts(&path, library).map_err(failed)?;
    let unlisted: Vec<&str> = drifts.iter().map(|drift| drift.skill.as_str()).filter(|name| is_here(name)).collect();
    if !unlisted.is_empty() {
        let message = format!("{lock}, but these skills are installed: {}", unlisted.join(", "));
        return Err(CliError::new("integrity", Exit::Integrity, message)
            .hint("to add their entries from the history: skillhub doctor --fix"));
    }
    context.out.answer(&json!({"ok": true, "skills": []}), |out| writeln!(out, "Nothing to verify: {lock}"))?;
    Ok(Exit::Done)
}

/// Adds a warning to each skill of which an agent's host reads different content.
fn warn_of_agents(context: &Context, found: &mut [Verified]) -> Result<(), CliError> {
    let catalogue = context.catalogue(&context.places(false), Vec::new(), None)?;
    for one in AgentViews::of(context, &catalogue, None)?.differences {
        let is_meant = |skill: &&mut Verified| skill.name.rsplit('/').next() == Some(one.skill.as_str());
        let warning = format!("{}: {}", one.message, one.command);
        found.iter_mut().filter(is_meant).for_each(|skill| skill.warnings.push(warning.clone()));
    }
    Ok(())
}

/// Returns the hint for an entry that is not intact, or whose lock file is behind.
fn hint(skill: &Verified) -> String {
    let name = skill.name.rsplit('/').next().unwrap_or(&skill.name);
    let hint = match skill.status {
        VerifyStatus::Missing => "restore the skills of the lock file: skillhub install".to_owned(),
        VerifyStatus::Withdrawn | VerifyStatus::Quarantined => {
            format!("choose another release: skillhub info {}", skill.name)
        }
        VerifyStatus::Tampered if skill.is_wrong_entry => "correct the entry: skillhub doctor --fix".to_owned(),
        // No history explains the change, so there may be no revision to return to.
        VerifyStatus::Tampered => format!("see the changes: skillhub status {name}"),
        VerifyStatus::Modified if skill.files.is_empty() => "update the lock file: skillhub doctor --fix".to_owned(),
        _ => {
            format!("see the changes with `skillhub status {name}`; undo them with `skillhub rollback {name} head`")
        }
    };
    hints::for_user(&hint)
}

/// Formats an accepted finding as JSON.
pub fn accepted_document(waiver: &LockedWaiver) -> Value {
    let LockedWaiver { rule, path, by, until, reason } = waiver;
    json!({"rule": rule, "path": path, "by": by, "until": until, "reason": reason})
}

fn document(skill: &Verified) -> Value {
    json!({
        "name": skill.name, "version": skill.version, "status": skill.status.as_str(), "files": skill.files,
        "why": skill.why, "warnings": skill.warnings, "signer": skill.signer,
        "accepted": skill.accepted.iter().map(accepted_document).collect::<Vec<_>>(),
    })
}
