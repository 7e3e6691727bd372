//! `skillhub read`: a skill's instructions as an agent reads them.

use clap::Args;
use serde_json::json;
use skill::validate::load;

use crate::{
    catalogue::{Catalogue, Listed, unusable},
    commands::prompt::escape,
    context::{Context, skill_name},
    exit::{CliError, Exit},
};

/// Files listed below the instructions.
const FILES_LISTED: usize = 50;

/// Flags of `read`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub read my-skill
  skillhub read skillhub-evolving-skills         a skill that is built in")]
pub struct ReadArgs {
    /// The skill
    name: String,
}

/// Prints the body wrapped in `<skill_content>`, with the skill's folder and a list of its files.
pub fn run(context: &Context, args: &ReadArgs) -> Result<Exit, CliError> {
    let name = skill_name(&args.name)?;
    let catalogue = Catalogue::collect(context, true)?;
    let listed = catalogue.find(&name)?;
    check_readable(listed)?;
    let bundle = catalogue.files(listed)?;
    let text = bundle.skill_md().unwrap_or_default();
    let loaded = load(text.as_bytes(), name.as_str(), &skill::Limits::default())
        .map_err(|problems| CliError::invalid_skill(name.as_str(), &problems))?;
    let files: Vec<&str> = bundle.paths().filter(|path| !path.is_skill_md()).map(skill::SkillPath::as_str).collect();
    let document = json!({
        "ok": true, "name": name.as_str(), "path": listed.path, "content": loaded.body, "files": files,
    });
    context.out.answer(&document, |out| {
        writeln!(out, "<skill_content name=\"{}\">\n{}\n", escape(name.as_str()), contained(&loaded.body))?;
        if let Some(path) = &listed.path {
            writeln!(out, "Skill directory: {}", path.display())?;
            writeln!(out, "Paths in these instructions are relative to it.")?;
        }
        if !files.is_empty() {
            writeln!(out, "<skill_files>")?;
            for file in files.iter().take(FILES_LISTED) {
                writeln!(out, "<file>{}</file>", escape(file))?;
            }
            if files.len() > FILES_LISTED {
                writeln!(out, "and {} more", files.len() - FILES_LISTED)?;
            }
            writeln!(out, "</skill_files>")?;
        }
        writeln!(out, "</skill_content>")
    })?;
    Ok(Exit::Done)
}

/// The instructions, unable to close the element that they stand in.
fn contained(body: &str) -> String {
    body.trim().replace("</skill_content", "&lt;/skill_content")
}

fn check_readable(listed: &Listed) -> Result<(), CliError> {
    let name = &listed.name;
    if !listed.enabled {
        return Err(CliError::new("policy_denied", Exit::Refused, format!("{name} is disabled"))
            .hint(format!("`skillhub enable {name}` lets agents see it again")));
    }
    match &listed.fault {
        Some(fault) => Err(unusable(name, fault)),
        None => Ok(()),
    }
}
