//! `skillhub outdated` lists installed skills that have newer releases.

use clap::Args;
use client::{Outdated, ReleaseNotes};
use library::CommitId;
use schemars::JsonSchema;
use serde::Serialize;
use skill::failure::Fails;

use crate::{
    accepting::AcceptArgs,
    commands::install::installer,
    context::Context,
    exit::{CliError, ErrorOfOne, Exit, error_of_one, exit_of_one},
    hints,
    print::{BAD, FAINT, GOOD, Table, WARN, notes_lines, visible},
};

/// Flags of `outdated`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub outdated
  skillhub outdated --json
  skillhub update                                install the versions in the UPDATE column")]
pub struct OutdatedArgs {
    /// Include skills that are up to date
    #[arg(long)]
    all: bool,
    /// Use only the cache and local files
    #[arg(long)]
    offline: bool,
}

/// Lists the skills. The exit code is that of a source that could not be reached, if any.
pub fn run(context: &Context, args: &OutdatedArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let mut skills = installer(context, &mut library, "checking the sources", &AcceptArgs::default(), |installer| {
        Ok(client::outdated(installer, args.offline)?)
    })?;
    let is_seen = context.seen()?;
    skills.retain(|skill| is_seen(skill.skill.as_str()));
    let exit = skills.iter().map(|skill| exit_of_one(skill.error.as_ref())).max().unwrap_or(Exit::Done);
    let is_told =
        |skill: &&Outdated| args.all || skill.wanted.is_some() || skill.error.is_some() || !skill.warnings.is_empty();
    let told: Vec<&Outdated> = skills.iter().filter(is_told).collect();
    let document =
        OutdatedDocument { ok: exit == Exit::Done, skills: told.iter().copied().map(OutdatedSkill::of).collect() };
    context.out.answer(&document, |out| {
        if told.is_empty() {
            return match skills.len() {
                0 => writeln!(out, "No installed skills"),
                1 => writeln!(out, "The installed skill is up to date"),
                count => writeln!(out, "All {count} installed skills are up to date"),
            };
        }
        let mut table = Table::new(&["skill", "installed", "update", "newest", "requested"]);
        told.iter().for_each(|skill| table.row(&row(skill)));
        table.write(out)?;
        for skill in &told {
            if !skill.notes.is_empty() {
                writeln!(out, "Changes in {}:", visible(&skill.origin.name()))?;
            }
            for line in notes_lines(&skill.notes) {
                writeln!(out, "  {line}")?;
            }
            for warning in &skill.warnings {
                out.message(format_args!(
                    "{WARN}note{WARN:#}: {FAINT}{}{FAINT:#} {}",
                    skill.origin.name(),
                    visible(&hints::for_user(warning))
                ))?;
            }
            if let Some(error) = &skill.error {
                writeln!(out, "{BAD}error{BAD:#}: {}: {}", skill.origin.name(), visible(&error.to_string()))?;
                if let Some(hint) = error.failure().hint {
                    writeln!(out, "{GOOD}hint{GOOD:#}: {}", visible(&hints::for_user(&hint.to_string())))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(exit)
}

fn row(skill: &Outdated) -> Vec<String> {
    let origin = &skill.origin;
    let has = origin.commit().map(ToString::to_string).or(origin.version()).unwrap_or_default();
    let cut = |release: &str| {
        if release.len() > 16 { release.get(..12).unwrap_or(release).to_owned() } else { release.to_owned() }
    };
    let asked = if skill.requested.is_empty() { "newest" } else { &skill.requested };
    vec![
        visible(&origin.name()),
        cut(&has),
        skill.wanted.as_deref().map(cut).unwrap_or_default(),
        skill.newest.as_deref().map(cut).unwrap_or_default(),
        visible(asked),
    ]
}

/// Answer of `skillhub outdated --json`.
#[derive(Debug, Serialize, JsonSchema)]
struct OutdatedDocument<'a> {
    /// False if a source could not be asked.
    ok: bool,
    /// Installed skills with something to tell: a newer release, a warning or an error; all with `--all`.
    skills: Vec<OutdatedSkill<'a>>,
}

/// An installed skill and what its source has.
#[derive(Debug, Serialize, JsonSchema)]
struct OutdatedSkill<'a> {
    /// Full name in its source.
    name: String,
    /// Source that it was installed from.
    source: &'a str,
    /// Installed version, if its source has versions.
    installed: Option<String>,
    /// Installed commit, if its source is a git repository.
    commit: Option<&'a str>,
    /// Version or branch that was asked for; empty for the newest.
    requested: &'a str,
    /// Version or commit that `update` would bring.
    wanted: Option<&'a str>,
    /// Newest version or commit, whatever was asked for.
    newest: Option<&'a str>,
    /// Changelogs of the releases that `update` would bring, newest first.
    changelog: &'a [ReleaseNotes],
    /// Warnings, one sentence each.
    warnings: &'a [String],
    /// Reason why the source could not be asked.
    error: Option<ErrorOfOne>,
}

impl<'a> OutdatedSkill<'a> {
    fn of(skill: &'a Outdated) -> Self {
        Self {
            name: skill.origin.name(),
            source: skill.origin.location(),
            installed: skill.origin.version(),
            commit: skill.origin.commit().map(CommitId::as_str),
            requested: &skill.requested,
            wanted: skill.wanted.as_deref(),
            newest: skill.newest.as_deref(),
            changelog: &skill.notes,
            warnings: &skill.warnings,
            error: skill.error.as_ref().map(error_of_one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_the_published_schema() {
        testkit::assert_published::<OutdatedDocument<'_>>("outdated");
    }
}
