//! `skillhub pack` and `skillhub unpack` convert between a folder and a `.skill` file.

use std::path::{Path, PathBuf};

use clap::Args;
use library::folder::{self, ToolFiles};
use serde_json::json;
use skill::{Limits, Problem, Strictness, archive, counted, validate::validate_bundle};

use crate::{
    commands::discovery::{FoundSkill, read_archive},
    context::Context,
    exit::{CliError, Exit, io_at},
    print::STRONG,
};

/// Flags of `pack`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub pack ./my-skill                       write my-skill.skill here
  skillhub pack ./my-skill -o dist/my-skill.skill")]
pub struct PackArgs {
    /// Skill folder
    dir: PathBuf,
    /// File to write [default: NAME.skill]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Flags of `unpack`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub unpack my-skill.skill ./my-skill")]
pub struct UnpackArgs {
    /// Archive to unpack
    file: PathBuf,
    /// Folder to create
    dir: PathBuf,
}

/// Packs a folder into an archive.
pub fn pack(context: &Context, args: &PackArgs) -> Result<Exit, CliError> {
    let path = context.absolute(&args.dir);
    let path = library::real_path(&path).map_err(io_at(&path))?;
    let found = FoundSkill { path, archive: false };
    let bundle = found.bundle(ToolFiles::Skip)?;
    let name = found.folder_name().unwrap_or_default();
    let problems = validate_bundle(&bundle, Some(&name), Strictness::Standard, &Limits::default());
    if problems.iter().any(Problem::is_error) {
        return Err(CliError::invalid_skill(&name, &problems));
    }
    archive::check_content(&bundle)?;
    let bytes = archive::pack(&bundle);
    let file = context.absolute(args.output.as_deref().unwrap_or(Path::new(&format!("{name}.skill"))));
    if args.output.is_none() && file.is_symlink() {
        // The user did not name this file, and a link of its name may have come with a clone.
        return Err(CliError::new("exists", Exit::Conflict, format!("{} is a link", file.display()))
            .hint("remove it, or name the output file: -o FILE"));
    }
    refuse_inside(&file, &found.path)?;
    std::fs::write(&file, &*bytes).map_err(io_at(&file))?;
    let digest = bundle.digest();
    let document = json!({"ok": true, "file": file, "digest": digest.to_string(), "size": bytes.len()});
    context.out.answer(&document, |out| {
        writeln!(
            out,
            "Packed {} into {STRONG}{}{STRONG:#} ({})",
            counted(bundle.len(), "file"),
            file.display(),
            counted(bytes.len(), "byte")
        )?;
        writeln!(out, "  {digest}")
    })
}

/// Rejects an output file inside the folder, since the next run would pack it.
fn refuse_inside(file: &Path, folder: &Path) -> Result<(), CliError> {
    let target = file.parent().and_then(|parent| library::real_path(parent).ok());
    if target.is_some_and(|target| target.starts_with(folder)) {
        return Err(CliError::usage(format!("{} would be inside the packed folder", file.display()))
            .hint("name a file elsewhere: -o ../my-skill.skill"));
    }
    Ok(())
}

/// Unpacks an archive into a new folder.
pub fn unpack(context: &Context, args: &UnpackArgs) -> Result<Exit, CliError> {
    let limits = Limits::default();
    let file = context.absolute(&args.file);
    let bundle = archive::unpack(&read_archive(&file, &limits)?, &limits)?;
    let target = context.absolute(&args.dir);
    if std::fs::symlink_metadata(&target).is_ok() {
        return Err(CliError::new("exists", Exit::Conflict, format!("{} already exists", target.display()))
            .hint("name a new folder"));
    }
    let (Some(parent), Some(name)) = (target.parent(), target.file_name().and_then(|name| name.to_str())) else {
        return Err(CliError::usage(format!("cannot create a folder at {}", target.display())));
    };
    let dir = folder::create_at(parent)?;
    folder::write(&dir, name, &bundle).map_err(io_at(&target))?;
    let digest = bundle.digest();
    let document = json!({"ok": true, "path": target, "digest": digest.to_string(), "files": bundle.len()});
    context.out.answer(&document, |out| {
        writeln!(out, "Unpacked {} into {STRONG}{}{STRONG:#}", counted(bundle.len(), "file"), target.display())?;
        writeln!(out, "  {digest}")
    })
}
