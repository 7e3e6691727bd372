//! `skillhub new`: start a skill.

use std::path::PathBuf;

use clap::Args;
use library::folder;
use serde_json::json;
use skill::{Bundle, File, Limits, SkillPath, frontmatter};

use crate::{
    context::{Context, skill_name},
    exit::{CliError, Exit, io_at},
    print::{STRONG, shell_word},
};

/// Flags of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub new pdf-forms
  skillhub new pdf-forms --description \"Fills PDF forms. Use when a PDF has fields.\" --in skills")]
pub struct NewArgs {
    /// The skill's name, which is also its folder's
    name: String,
    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Folder to make the skill in
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    parent: PathBuf,
}

/// Makes the folder.
pub fn run(context: &Context, args: &NewArgs) -> Result<Exit, CliError> {
    let name = skill_name(&args.name)?;
    let description = args.description.clone().unwrap_or_else(|| {
        format!("TODO: say what {name} does. Use when TODO: name the tasks and words that should bring it up.")
    });
    let text = template(name.as_str(), &description);
    let file = File { bytes: text.into_bytes().into(), executable: false };
    let bundle = Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default())
        .map_err(|error| CliError::new("too_large", Exit::Invalid, error.to_string()))?;
    let parent = context.absolute(&args.parent);
    let path = parent.join(name.as_str());
    if std::fs::symlink_metadata(&path).is_ok() {
        return Err(CliError::new("exists", Exit::Conflict, format!("{} is there already", path.display()))
            .hint("choose another name, or remove it first"));
    }
    let dir = folder::create_at(&parent)?;
    folder::write(&dir, name.as_str(), &bundle).map_err(io_at(&path))?;
    let document = json!({"ok": true, "name": name.as_str(), "path": path});
    context.out.answer(&document, |out| {
        writeln!(out, "Created {STRONG}{}{STRONG:#}", path.join("SKILL.md").display())?;
        writeln!(
            out,
            "Next: write it, then `skillhub validate {}`",
            shell_word(&args.parent.join(name.as_str()).display().to_string())
        )
    })?;
    Ok(Exit::Done)
}

fn template(name: &str, description: &str) -> String {
    let title: Vec<String> = name.split('-').map(capitalised).collect();
    format!(
        "---\nname: {}\ndescription: {}\n---\n\n# {}\n\n## When to use\n\nSay which tasks this skill is for, and which it is not.\n\n## Steps\n\n1. Write what to do, in the order of doing it.\n2. Put long material into `references/` and programs into `scripts/`, and say here when to open them.\n",
        frontmatter::scalar(name),
        frontmatter::scalar(description),
        title.join(" "),
    )
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
