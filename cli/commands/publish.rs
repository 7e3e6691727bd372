//! `skillhub publish` publishes skills as releases in a registry.

mod batch;

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use client::{
    Accept, BlockedSkill, Fork, ForkResults, Logins, PublishError, PublishOptions, PublishStatus, Published, Publisher,
    SigningKey,
};
use evolve::Stats;
use library::{Library, StoredWaiver};
use ops::skill_name;
use registry_index::{Bump, EvalCounts, OutcomeCounts};
use serde_json::json;
use skill::{SkillName, counted};

use crate::{
    accepting::{AcceptArgs, Acceptor, accept_hint},
    commands::{eval::Store, info::results_lines},
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::{FAINT, STRONG, WARN, findings_lines, problem_line, verdict_style, visible},
    reading::text_at,
};

/// Flags of `publish`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub publish ./my-skill --owner acme
  skillhub publish ./my-skill --bump minor --changelog \"Handles scanned pages\"
  skillhub publish skills/ --changed --dry-run   a table of what would be published
  skillhub publish skills/ --changed --bump patch --changelog @CHANGES.md
  skillhub publish ./my-skill --owner acme --registry git@host:team/skills.git
  skillhub publish ./my-skill --sign             with ~/.ssh/id_ed25519, or the configured key
  skillhub publish ./my-skill --sign=~/.ssh/work
  skillhub publish ./my-skill --dry-run
  skillhub publish ./my-skill --accept remote-pipe-to-shell --reason 'our own installer'
  skillhub publish pdf-forms --from-fork --owner me   an installed skill with your changes

Scans the skill and adds a release to the registry of --registry, else to the configured one. A published
release cannot be changed; `skillhub yank` hides it from new installs. Several skills are all checked before
the first one is published; after a failure, the same command continues.")]
pub struct PublishArgs {
    /// Skill folders, or folders of skills; with --from-fork, an installed skill
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Version, as MAJOR.MINOR.PATCH [default: the frontmatter's, else the next patch version]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Increase this number of the newest version, instead of using the frontmatter's
    #[arg(long, value_name = "PART", conflicts_with = "version")]
    bump: Option<Part>,
    /// Publish only skills whose content differs from their newest release
    #[arg(long, conflicts_with = "from_fork")]
    changed: bool,
    /// Owner of the skill [default: the configured owner, else the account of `skillhub login`]
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
    /// Changes in this release, for its users: a text, or @FILE
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    changelog: String,
    /// Sign the release with an ssh-ed25519 key [default: the configured key, else ~/.ssh/id_ed25519]
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true)]
    sign: Option<Option<PathBuf>>,
    /// Publish an installed skill with your changes under your own owner name, and record its origin
    #[arg(long)]
    from_fork: bool,
    /// With --from-fork, leave out the results of runs and evals
    #[arg(long, requires = "from_fork")]
    no_results: bool,
    /// Show what would be published, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// A number of a version.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Part {
    /// 1.2.3 becomes 2.0.0
    Major,
    /// 1.2.3 becomes 1.3.0
    Minor,
    /// 1.2.3 becomes 1.2.4
    Patch,
}

impl From<Part> for Bump {
    fn from(part: Part) -> Self {
        match part {
            Part::Major => Self::Major,
            Part::Minor => Self::Minor,
            Part::Patch => Self::Patch,
        }
    }
}

/// Maximum size in bytes of the file of a changelog: several times the limit of the text.
const CHANGELOG_FILE_BYTES: u64 = 64 << 10;

/// Publishes the skill, or several.
pub fn run(context: &Context, args: &PublishArgs) -> Result<Exit, CliError> {
    let options = PublishOptions {
        version: args.version.clone(),
        owner: args.owner.clone().or_else(|| context.config.owner.clone()).or_else(|| signed_in(context)),
        bump: args.bump.map(Bump::from),
        changed: args.changed,
        changelog: changelog(context, &args.changelog)?,
        dry_run: args.dry_run,
    };
    let registries = context.registries();
    let config_path = context.home.config();
    let signing = args.sign.as_ref().map(|named| signing_key(context, named.as_ref())).transpose()?;
    let by =
        Publisher { registries: &registries, config_path: &config_path, signing: signing.as_ref(), now: context.now };
    let acceptor = Acceptor::new(context, &args.accept)?;
    let accept = |blocked: &[BlockedSkill<'_>]| match args.dry_run {
        true => client::accept_nothing(blocked),
        false => recorded(context, blocked, acceptor.decide(blocked)),
    };
    let published = match (args.from_fork, args.paths.as_slice()) {
        (true, [named]) => publish_fork(context, args, named, &options, by, &accept)?,
        (true, _) => return Err(CliError::usage("--from-fork publishes one installed skill".to_owned())),
        (false, paths) => match folders(context, paths)?.as_slice() {
            [folder] if paths.len() == 1 && !args.changed => {
                client::publish(folder, &options, by, &accept).map_err(refused)?
            }
            folders => {
                let items = client::publish_all(folders, &options, by, &accept).map_err(failed)?;
                return batch::answer(context, &items, args.dry_run);
            }
        },
    };
    print(context, &published)
}

/// Converts an error, with the command that accepts the findings of a blocked skill.
fn refused(error: PublishError) -> CliError {
    let accept_hint = match &error {
        PublishError::Blocked(blocked) => accept_hint([blocked.report()]),
        _ => None,
    };
    failed(error).with_accept_hint(accept_hint)
}

/// Publishes an installed skill under the publisher's own name.
fn publish_fork(
    context: &Context,
    args: &PublishArgs,
    named: &Path,
    options: &PublishOptions,
    by: Publisher<'_>,
    accept: &Accept<'_>,
) -> Result<Published, CliError> {
    let mut library = context.library()?;
    let name = installed_name(context, &library, named)?;
    let known = |library: &Library, fork: &Fork<'_>| match args.no_results {
        true => ForkResults::default(),
        false => fork_results(context, library, fork),
    };
    client::publish_fork(&mut library, &name, options, by, &context.stamp(), &known, accept).map_err(refused)
}

/// Returns the folders of all skills, each once.
fn folders(context: &Context, paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        let path = context.absolute(path);
        let found = client::skill_folders(&library::real_path(&path).map_err(io_at(&path))?).map_err(failed)?;
        for folder in found {
            if !all.contains(&folder) {
                all.push(folder);
            }
        }
    }
    Ok(all)
}

/// Returns the text of a changelog, or that of the file named after an `@`.
fn changelog(context: &Context, given: &str) -> Result<String, CliError> {
    if given.starts_with("--") {
        return Err(CliError::usage(format!("--changelog needs a text, but {given} is a flag")));
    }
    let Some(file) = given.strip_prefix('@') else { return Ok(given.to_owned()) };
    let path = context.absolute(Path::new(file));
    text_at(&path, CHANGELOG_FILE_BYTES).map_err(io_at(&path))
}

/// Stores the waivers in the library and its log. Waivers that cannot be stored are discarded, so their skills stay
/// blocked.
fn recorded(
    context: &Context,
    skills: &[BlockedSkill<'_>],
    mut decided: Vec<Vec<StoredWaiver>>,
) -> Vec<Vec<StoredWaiver>> {
    for (skill, waivers) in skills.iter().zip(&mut decided).filter(|(_, waivers)| !waivers.is_empty()) {
        let library = context.library();
        let stored =
            library.and_then(|library| Ok(client::store_waivers(&library, skill.name, waivers, &context.stamp())?));
        if let Err(error) = stored {
            context.out.note(&format!("{} stays blocked: {}", skill.name, error.message));
            waivers.clear();
        }
    }
    decided
}

/// Returns the signing key: the named one, else the configured one, else SSH's default.
pub fn signing_key(context: &Context, named: Option<&PathBuf>) -> Result<SigningKey, CliError> {
    let configured = || context.config.signing.key.as_ref().map(PathBuf::from);
    let usual = || PathBuf::from("~/.ssh/id_ed25519");
    let path = context.absolute(&named.cloned().or_else(configured).unwrap_or_else(usual));
    SigningKey::read(&path, std::io::stdin().is_terminal()).map_err(failed)
}

/// Resolves an installed skill by its name, or by its folder in the library.
fn installed_name(context: &Context, library: &Library, given: &Path) -> Result<SkillName, CliError> {
    let folder = library::real_path(&context.absolute(given)).ok();
    let in_library = folder.as_deref().filter(|folder| folder.parent() == Some(library.path()));
    let name = in_library.and_then(Path::file_name).unwrap_or(given.as_os_str());
    let hint = "name an installed skill, such as pdf-forms, or its folder in the library";
    skill_name(&name.to_string_lossy()).map_err(|error| error.hint(hint).into())
}

/// Collects the results of a fork as counts, without any run, case or path. Unreadable data is left out, with a note.
fn fork_results(context: &Context, library: &Library, fork: &Fork<'_>) -> ForkResults {
    let leave_out = |what: &str, why: &str| context.out.note(&format!("{what} are left out: {why}"));
    let mut results = ForkResults::default();
    match fork.revision.map(|revision| (revision, Stats::of(library, fork.name, context.now))) {
        Some((_, Ok(stats))) if stats.unreadable > 0 => leave_out("results of runs", "the log has unreadable lines"),
        Some((_, Err(error))) => leave_out("results of runs", &error.to_string()),
        Some((revision, Ok(stats))) => {
            let of_revision = stats.revisions.iter().find(|stats| stats.revision.id == revision.id);
            results.outcomes = of_revision.filter(|stats| stats.count.runs > 0).map(|stats| OutcomeCounts {
                runs: stats.count.runs,
                successes: stats.count.successes,
                failures: stats.count.failures,
                unknown: stats.count.unknown,
            });
        }
        None => {}
    }
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    match Store::of(context).newest(fork.base, &fork.digest.to_string()) {
        Ok(found) => {
            results.evals = found.map(|stored| EvalCounts {
                cases: number(stored.comparison.cases.len()),
                wins: number(stored.comparison.overall.wins),
                losses: number(stored.comparison.overall.losses),
                ties: number(stored.comparison.overall.ties),
            });
        }
        Err(error) => leave_out("results of evals", &error.message),
    }
    results
}

fn print(context: &Context, published: &Published) -> Result<Exit, CliError> {
    let document = json!({
        "ok": true,
        "status": published.status.as_str(),
        "registry": published.location,
        "registry_name": published.registry,
        "name": published.name.to_string(),
        "version": published.version.to_string(),
        "digest": published.digest.to_string(),
        "size": published.size,
        "signer": published.signer,
        "verdict": published.verdict,
        "findings": published.report.findings,
        "problems": published.problems,
        "warnings": published.warnings,
        "forked_from": published.forked_from,
    });
    let present = context.library().ok().and_then(|library| library.head(&published.name.name).ok()?);
    let is_taken = present.is_some_and(|head| !head.tombstone);
    context.out.answer(&document, |out| {
        let release = format!("{STRONG}{} {}{STRONG:#}", published.name, published.version);
        let registry = &published.location;
        match published.status {
            PublishStatus::Published => writeln!(out, "Published {release} to {registry}")?,
            PublishStatus::Unchanged => writeln!(out, "Unchanged: {registry} already has {release} with this content")?,
            PublishStatus::DryRun => writeln!(out, "Would publish {release} to {registry}")?,
            PublishStatus::NotPublished => writeln!(out, "Not published: {release}")?,
        }
        let style = verdict_style(published.verdict);
        writeln!(out, "  {}, scan: {style}{}{style:#}", counted(published.size, "byte"), published.verdict)?;
        writeln!(out, "  {FAINT}{}{FAINT:#}", published.digest)?;
        if let Some(key) = &published.signer {
            writeln!(out, "  signed with {key}")?;
        }
        if let Some(from) = &published.forked_from {
            out.message(format_args!(
                "  forked from {}; `skillhub update` still merges releases from there",
                visible(&from.to_string())
            ))?;
            for line in results_lines(from) {
                writeln!(out, "  {line}")?;
            }
        }
        for warning in &published.warnings {
            out.message(format_args!("  {WARN}note{WARN:#}: {}", visible(warning)))?;
        }
        for line in findings_lines(&published.report.findings) {
            writeln!(out, "  {line}")?;
        }
        for problem in &published.problems {
            writeln!(out, "  {}", problem_line(problem))?;
        }
        match published.status {
            PublishStatus::DryRun => Ok(()),
            _ if published.is_held => Ok(()),
            _ if is_taken => out.message(format_args!("See its releases: skillhub info {}", published.name)),
            _ => out.message(format_args!("Install it: skillhub install {}@{}", published.name, published.version)),
        }
    })
}

/// Returns the account with which the user is logged in to the registry.
fn signed_in(context: &Context) -> Option<String> {
    let logins = Logins::read(&context.home).ok()?;
    logins.of(&context.registries().location()).map(|login| login.account.clone())
}
