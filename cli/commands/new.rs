//! `skillhub new` creates a skill from a template.

use std::path::PathBuf;

use clap::Args;
use library::folder;
use serde_json::json;
use skill::{Bundle, File, Limits, SkillName, SkillPath, template};

use crate::{
    context::Context,
    exit::{CliError, Exit, io_at},
    print::{STRONG, shell_word, visible},
};

/// Flags of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub new pdf-forms
  skillhub new 中文技能                          a suggested ASCII name, with this title
  skillhub new 中文技能 --name report-forms      this name, with this title
  skillhub new pdf-forms --description \"Fills PDF forms. Use when a PDF has fields.\" --in skills")]
pub struct NewArgs {
    /// Name of the skill and of its folder, or a title in any script
    name: Option<String>,
    /// Name of the skill and of its folder, if NAME is a title
    #[arg(long = "name", value_name = "ASCII_NAME", id = "ascii_name")]
    ascii_name: Option<String>,
    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Create the skill in this folder
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    parent: PathBuf,
}

/// Returns the name for a new skill. A title in another script gets a suggested name and is returned as title.
fn named(text: &str) -> Result<(SkillName, Option<&str>), CliError> {
    let parsed = SkillName::parse_standard(text);
    if let Ok(name) = &parsed
        && name.is_publishable()
    {
        return Ok((name.clone(), None));
    }
    let title = text.trim();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '&' | ',' | ':' | '(' | ')');
    let is_title = !title.is_ascii()
        && title.chars().all(is_part)
        && title.chars().count() <= Limits::default().title_chars
        && !title.split_whitespace().collect::<String>().is_empty();
    let suggested = SkillName::suggested(title);
    match is_title {
        true => Ok((suggested, Some(title))),
        false => {
            let why = parsed.err().map_or_else(|| "Windows reserves it for a device".to_owned(), |why| why.to_string());
            let message = format!("{text:?} is not a valid skill name: {why}");
            Err(CliError::new("invalid_skill", Exit::Invalid, message)
                .hint(format!("use lowercase letters, digits and single hyphens, such as: skillhub new {suggested}")))
        }
    }
}

/// Returns a name that was given beside a title. Registries must accept it.
fn chosen(text: &str) -> Result<SkillName, CliError> {
    match named(text)? {
        (name, None) => Ok(name),
        (suggested, Some(_)) => {
            let message = format!("{text:?} is not a name that registries accept: it is not ASCII");
            Err(CliError::new("invalid_skill", Exit::Invalid, message)
                .hint(format!("use lowercase letters, digits and single hyphens, such as {suggested}")))
        }
    }
}

/// Creates the folder with its `SKILL.md`.
pub fn run(context: &Context, args: &NewArgs) -> Result<Exit, CliError> {
    let given = args.name.as_deref().ok_or_else(|| {
        CliError::usage("the new skill needs a name").hint("name it and its folder: skillhub new pdf-forms")
    })?;
    let (name, title) = match &args.ascii_name {
        Some(name) => (chosen(name)?, Some(given.trim()).filter(|title| *title != name)),
        None => named(given)?,
    };
    let text = template::skill_md(name.as_str(), title, args.description.as_deref());
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
    let document = json!({"ok": true, "name": name.as_str(), "title": title, "path": path});
    context.out.answer(&document, |out| {
        writeln!(out, "Created {STRONG}{}{STRONG:#}", path.join("SKILL.md").display())?;
        if let Some(title) = title {
            let other = match args.ascii_name {
                Some(_) => "",
                None => ". Skills are published under ASCII names; to choose one, use --name",
            };
            out.message(format_args!("{} is its title{other}", visible(title)))?;
        }
        out.message(format_args!(
            "Next: edit it, then check it with `skillhub validate {}`\nOnce it has been used, `skillhub curate plan` \
             suggests evals from runs that failed or were corrected",
            shell_word(&args.parent.join(name.as_str()).display().to_string())
        ))
    })
}
