//! `skillhub outdated` lists installed skills that have newer releases.

mod pr_body;

use std::io;

use clap::Args;
use client::{Installed, Outdated, ReleaseNotes, UpdateRequest};
use library::CommitId;
use schemars::JsonSchema;
use serde::Serialize;
use skill::failure::Fails;

use crate::{
    accepting::AcceptArgs,
    catalogue::next_of_clone,
    commands::install::installer,
    context::Context,
    exit::{CliError, ErrorOfOne, Exit, error_of_one, exit_of_one, failed},
    hints,
    print::{BAD, FAINT, GOOD, Page, Table, WARN, notes_lines, visible},
};

/// Flags of `outdated`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub outdated
  skillhub outdated --json
  skillhub outdated --pr-body > body.md          the text of a pull request that updates them
  skillhub update                                install the versions in the UPDATE column")]
pub struct OutdatedArgs {
    /// Include skills that are up to date
    #[arg(long)]
    all: bool,
    /// Use only the cache and local files
    #[arg(long)]
    offline: bool,
    /// Print the updates as the text of a pull request, with new capabilities, in Markdown
    #[arg(long)]
    pr_body: bool,
}

/// Lists the skills. The exit code is that of a source that could not be reached, if any.
pub fn run(context: &Context, args: &OutdatedArgs) -> Result<Exit, CliError> {
    let mut library = context.library()?;
    let (mut skills, preview) =
        installer(context, &mut library, "checking the sources", &AcceptArgs::default(), |installer| {
            let skills = client::outdated(installer, args.offline)?;
            let request = UpdateRequest { offline: args.offline, dry_run: true, ..UpdateRequest::default() };
            let preview = args.pr_body.then(|| installer.update(&request).map_err(failed));
            Ok((skills, preview))
        })?;
    let is_seen = context.seen()?;
    skills.retain(|skill| is_seen(skill.skill.as_str()));
    let preview = preview.map(|results| results.map(|results| seen_results(results, &is_seen)));
    let exit = skills.iter().map(|skill| exit_of_one(skill.error.as_ref())).max().unwrap_or(Exit::Done);
    let is_listed =
        |skill: &&Outdated| args.all || skill.wanted.is_some() || skill.error.is_some() || !skill.warnings.is_empty();
    let listed: Vec<&Outdated> = skills.iter().filter(is_listed).collect();
    let document = OutdatedDocument {
        ok: exit == Exit::Done,
        skills: listed.iter().copied().map(OutdatedSkill::of).collect(),
        pr_body: preview.map(|preview| pr_body::body(&listed, &preview)),
    };
    next_of_clone(context, &library)
        .iter()
        .for_each(|next| context.out.note(&format!("not all are installed: {next}")));
    context.out.answer(&document, |out| match &document.pr_body {
        Some(body) => out.write_all(body.as_bytes()),
        None if listed.is_empty() => match skills.len() {
            0 => writeln!(out, "No installed skills"),
            1 => writeln!(out, "The installed skill is up to date"),
            count => writeln!(out, "All {count} installed skills are up to date"),
        },
        None => write_list(out, &listed),
    })?;
    Ok(exit)
}

/// Returns the results about skills that the actor may know of.
fn seen_results(mut results: Vec<Installed>, is_seen: &impl Fn(&str) -> bool) -> Vec<Installed> {
    results.retain(|result| is_seen(result.name.rsplit('/').next().unwrap_or_default()));
    results
}

/// Writes the skills as a table, followed by their changes, warnings and errors.
fn write_list(out: &mut Page, skills: &[&Outdated]) -> io::Result<()> {
    let mut table = Table::new(&["skill", "installed", "update", "newest", "requested"]);
    skills.iter().for_each(|skill| table.row(&row(skill)));
    table.write(out)?;
    for skill in skills {
        if !skill.notes.is_empty() {
            writeln!(out, "Changes in {}:", visible(&skill.origin.name()))?;
        }
        for line in notes_lines(&skill.notes) {
            writeln!(out, "  {line}")?;
        }
        for warning in &skill.warnings {
            out.message(format_args!(
                "{WARN}note{WARN:#}: {FAINT}{}{FAINT:#}: {}",
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
    /// The updates as the text of a pull request, in Markdown; with `--pr-body`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pr_body: Option<String>,
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
