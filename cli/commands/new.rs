//! `skillhub new` creates a skill from a template.

use std::path::PathBuf;

use clap::Args;
use library::folder;
use serde_json::json;
use skill::{Bundle, File, Limits, SkillName, SkillPath, template};

use crate::{
    context::Context,
    exit::{CliError, Exit, io_at},
    print::{STRONG, shell_word},
};

/// Flags of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub new pdf-forms
  skillhub new pdf-forms --description \"Fills PDF forms. Use when a PDF has fields.\" --in skills")]
pub struct NewArgs {
    /// Name of the skill and of its folder
    name: String,
    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Create the skill in this folder
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    parent: PathBuf,
}

/// Creates the folder with its `SKILL.md`.
pub fn run(context: &Context, args: &NewArgs) -> Result<Exit, CliError> {
    let name = SkillName::parse_standard(&args.name).map_err(|fault| {
        let message = format!("{:?} is not a valid skill name: {fault}", args.name);
        CliError::new("invalid_skill", Exit::Invalid, message).hint("use lowercase letters, digits and single hyphens")
    })?;
    let text = template::skill_md(name.as_str(), args.description.as_deref());
    let file = File { bytes: text.into_bytes().into(), executable: false };
    let bundle = Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default())
        .map_err(|error| CliError::new("too_large", Exit::Invalid, error.to_string()))?;
    let parent = context.absolute(&args.parent);
    let path = parent.join(name.as_str());
    if std::fs::symlink_metadata(&path).is_ok() {
        return Err(CliError::new("exists", Exit::Conflict, format!("{} already exists", path.display()))
            .hint("choose another name, or remove the folder first"));
    }
    let dir = folder::create_at(&parent)?;
    folder::write(&dir, name.as_str(), &bundle).map_err(io_at(&path))?;
    let document = json!({"ok": true, "name": name.as_str(), "path": path});
    context.out.answer(&document, |out| {
        writeln!(out, "Created {STRONG}{}{STRONG:#}", path.join("SKILL.md").display())?;
        out.message(format_args!(
            "Next: edit it, then check it with `skillhub validate {}`",
            shell_word(&args.parent.join(name.as_str()).display().to_string())
        ))
    })?;
    Ok(Exit::Done)
}
