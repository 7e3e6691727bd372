//! `skillhub index` creates, verifies and exports a registry's index.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use client::{
    InitializedRegistry, init_registry, is_git_location,
    plugin_marketplace::{MarketplaceRequest, export_marketplace},
    registry_folder,
};
use registry_index::{Index, Stamp};
use serde_json::json;
use skill::{Owner, counted};

use crate::{
    commands::key::owner,
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::{BAD, GOOD, STRONG, WARN, shell_word, visible},
};

/// What to do with an index.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub index init /srv/skills
  skillhub index init git@example.org:team/skills.git    in an empty repository on a git host
  skillhub index verify /srv/skills
  skillhub index export /srv/skills ./site       files that any web server can serve
  skillhub index export /srv/skills ./plugins --marketplace --owner acme
                                                 plugins for Claude Code, to push to a git host")]
pub enum IndexCommand {
    /// Create an empty registry, as a bare git repository
    Init {
        /// Folder to create, or URL of an empty git repository
        #[arg(value_name = "DIR_OR_URL")]
        dir: PathBuf,
    },
    /// Check all entries, archives and commits of a registry
    Verify {
        /// Registry [default: the one in use]
        dir: Option<PathBuf>,
    },
    /// Write the files of a registry, or its skills as plugins, into a folder
    Export(ExportArgs),
}

/// Flags of `index export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Registry: a folder, or with --marketplace also a name or a git URL
    #[arg(value_name = "REGISTRY")]
    dir: PathBuf,
    /// Folder to create; with --marketplace also an earlier export, or an empty git repository
    target: PathBuf,
    /// Write the newest releases as a marketplace of plugins, which Claude Code and `npx skills` read
    #[arg(long)]
    marketplace: bool,
    /// Export the skills of these owners only
    #[arg(long, value_name = "OWNER", num_args = 1.., value_delimiter = ',', requires = "marketplace")]
    owner: Vec<String>,
    /// Name of the marketplace [default: the only owner, or skillhub]
    #[arg(long, value_name = "NAME", requires = "marketplace")]
    name: Option<String>,
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &IndexCommand) -> Result<Exit, CliError> {
    match command {
        IndexCommand::Init { dir } => init(context, dir),
        IndexCommand::Verify { dir } => verify(context, dir.as_deref()),
        IndexCommand::Export(args) if args.marketplace => write_marketplace(context, args),
        IndexCommand::Export(args) => export(context, &args.dir, &args.target),
    }
}

fn init(context: &Context, dir: &Path) -> Result<Exit, CliError> {
    let given = dir.to_string_lossy();
    let place = if is_url(&given) { given.into_owned() } else { context.absolute(dir).display().to_string() };
    let by = Stamp { by: context.actor.to_string(), at: context.now };
    let InitializedRegistry { location: place, is_new } =
        init_registry(&place, &context.cwd, &context.home, &by).map_err(failed)?;
    context.out.answer(&json!({"ok": true, "registry": place, "created": is_new}), |out| {
        match is_new {
            true => writeln!(out, "Created the registry {STRONG}{place}{STRONG:#}")?,
            false => writeln!(out, "{STRONG}{place}{STRONG:#} is a registry already; nothing was changed")?,
        }
        let place = shell_word(&place);
        writeln!(out, "Publish a skill: skillhub --registry {place} publish DIR --owner OWNER")
    })
}

/// Returns whether an argument is a URL or another address rather than a path.
fn is_url(given: &str) -> bool {
    given.contains("://") || is_git_location(given)
}

/// Opens a registry on this machine, named by a path or a `file://` URL. Returns it with its folder.
fn open(context: &Context, dir: &Path) -> Result<(Index, PathBuf), CliError> {
    let given = dir.to_string_lossy();
    let folder = match is_url(&given) {
        true => registry_folder(&given, &context.cwd).map_err(failed)?,
        false => context.absolute(dir),
    };
    Ok((Index::open(&folder).map_err(failed)?, folder))
}

fn verify(context: &Context, dir: Option<&Path>) -> Result<Exit, CliError> {
    let (index, place) = match dir {
        Some(dir) => open(context, dir)?,
        None => {
            let registry = context.registries().default_one().map_err(failed)?;
            let place = registry.whole().map_err(failed)?.to_owned();
            (Index::open(&place).map_err(failed)?, place)
        }
    };
    let faults = index.verify().map_err(failed)?;
    let list: Vec<_> =
        faults.iter().map(|f| json!({"path": f.path, "line": f.line, "message": f.kind.to_string()})).collect();
    let skills = index.names().map_err(failed)?.len();
    let document = json!({"ok": faults.is_empty(), "registry": place, "skills": skills, "faults": list});
    context.out.answer(&document, |out| {
        for fault in &faults {
            writeln!(out, "{BAD}fault{BAD:#} {}: {}", fault.path, fault.kind)?;
        }
        match faults.len() {
            0 => writeln!(out, "{GOOD}No faults{GOOD:#} in {} at {}", counted(skills, "skill"), place.display()),
            count => writeln!(out, "{} in {}", counted(count, "fault"), place.display()),
        }
    })?;
    Ok(if faults.is_empty() { Exit::Done } else { Exit::Integrity })
}

/// Writes every file of the index into a folder, which any web server can serve as a sparse index.
fn export(context: &Context, dir: &Path, target: &Path) -> Result<Exit, CliError> {
    let (index, _) = open(context, dir)?;
    let target = context.absolute(target);
    if std::fs::symlink_metadata(&target).is_ok() {
        return Err(CliError::new("exists", Exit::Conflict, format!("{} already exists", target.display()))
            .hint("name a new folder"));
    }
    let folder = library::ensure_dir(&target)?;
    let paths = index.paths().map_err(failed)?;
    for path in &paths {
        let Some(file) = index.file(path).map_err(failed)? else { continue };
        if let Some((parent, _)) = path.rsplit_once('/') {
            folder.create_dir_all(parent).map_err(io_at(&target))?;
        }
        folder.write(path, &file.bytes).map_err(io_at(&target.join(path)))?;
    }
    context.out.answer(&json!({"ok": true, "path": target, "files": paths.len()}), |out| {
        writeln!(out, "Wrote {} into {STRONG}{}{STRONG:#}", counted(paths.len(), "file"), target.display())
    })
}

/// Writes the newest releases into a folder as plugins.
fn write_marketplace(context: &Context, args: &ExportArgs) -> Result<Exit, CliError> {
    let owners: BTreeSet<Owner> = args.owner.iter().map(|text| owner(text)).collect::<Result<_, _>>()?;
    let registries = context.registries_at(Some(&args.dir.to_string_lossy()));
    let registries = registries.requiring_signatures(context.required_signers()?);
    let target = context.absolute(&args.target);
    let request = MarketplaceRequest { name: args.name.as_deref(), owners: &owners, target: &target };
    let working = context.out.working("checking");
    let exported = export_marketplace(&registries, &request, context.home.scanner());
    drop(working);
    let exported = exported.map_err(failed)?;
    let skills: Vec<String> = exported.skills.iter().map(ToString::to_string).collect();
    let document = json!({
        "ok": true, "path": target, "name": exported.name, "skills": skills, "skipped": exported.skipped,
    });
    context.out.answer(&document, |out| {
        let count = counted(skills.len(), "plugin");
        writeln!(out, "Wrote {count} into {STRONG}{}{STRONG:#}, marketplace {}", target.display(), exported.name)?;
        for skipped in &exported.skipped {
            writeln!(out, "{WARN}skipped{WARN:#} {}: {}", skipped.name, visible(&skipped.reason))?;
        }
        let place = shell_word(&target.display().to_string());
        out.message(format_args!("Next: in Claude Code, /plugin marketplace add {place}"))
    })
}
