//! `skillhub index` creates, verifies and exports a registry's index.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use client::{RegistryError, init_registry, is_git_location};
use registry_index::{Index, Stamp};
use serde_json::json;
use skill::counted;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::{BAD, GOOD, STRONG, shell_word},
};

/// What to do with an index.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub index init /srv/skills
  skillhub index init git@example.org:team/skills.git    in an empty repository on a git host
  skillhub index verify /srv/skills
  skillhub index export /srv/skills ./site       files that any web server can serve")]
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
    /// Write the files of a registry into a folder
    Export {
        /// Registry
        dir: PathBuf,
        /// Folder to create
        target: PathBuf,
    },
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &IndexCommand) -> Result<Exit, CliError> {
    match command {
        IndexCommand::Init { dir } => init(context, dir),
        IndexCommand::Verify { dir } => verify(context, dir.as_deref()),
        IndexCommand::Export { dir, target } => export(context, dir, target),
    }
}

fn init(context: &Context, dir: &Path) -> Result<Exit, CliError> {
    let given = dir.to_string_lossy();
    let place = match given.contains("://") || is_git_location(&given) {
        true => given.into_owned(),
        false => context.absolute(dir).display().to_string(),
    };
    let by = Stamp { by: context.actor.to_string(), at: context.now };
    let place = init_registry(&place, &context.cwd, &context.home, &by).map_err(failed)?;
    context.out.answer(&json!({"ok": true, "registry": place}), |out| {
        writeln!(out, "Created the registry {STRONG}{place}{STRONG:#}")?;
        let place = shell_word(&place);
        writeln!(out, "Publish a skill: skillhub --registry {place} publish DIR --owner OWNER")
    })?;
    Ok(Exit::Done)
}

fn open(context: &Context, dir: &Path) -> Result<Index, CliError> {
    let given = dir.to_string_lossy();
    if is_git_location(&given) {
        return Err(failed(RegistryError::NotHere(given.into_owned())));
    }
    Index::open(&context.absolute(dir)).map_err(failed)
}

fn verify(context: &Context, dir: Option<&Path>) -> Result<Exit, CliError> {
    let (index, place) = match dir {
        Some(dir) => (open(context, dir)?, context.absolute(dir)),
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
    let index = open(context, dir)?;
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
    })?;
    Ok(Exit::Done)
}
