//! `skillhub read` prints a skill's instructions, or one of its files, as an agent reads them.

use agent::{Catalogue, Instructions, ListedSkill, SkillSelector};
use clap::Args;
use library::UseKind;
use serde_json::json;
use skill::{SkillName, SkillPath};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
};

/// Flags of `read`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub read my-skill
  skillhub read my-skill references/api.md       one of its files
  skillhub read ~/.agents/skills/my-skill        by the path of its folder, or of its SKILL.md
  skillhub read my-skill --run 7f3a              in a run that may take part in a trial
  skillhub read skillhub-evolving-skills         a built-in skill")]
pub struct ReadArgs {
    /// Skill, by name or by the path of its folder or SKILL.md
    name: String,
    /// File in the skill's folder [default: SKILL.md]
    path: Option<String>,
    /// Apply the permissions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Id of the agent's run: all its reads return the same revision, and the use is recorded
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

/// Prints the body wrapped in `<skill_content>`, with the skill's folder and a list of its files, or prints one file.
pub fn run(context: &Context, args: &ReadArgs) -> Result<Exit, CliError> {
    let catalogue = context.catalogue(&context.places(true), context.public_skills()?, args.agent.as_deref())?;
    let agent = context.agent(args.agent.as_deref());
    let which = which(context, &catalogue.seen(&context.settings()?, &agent), &args.name)?;
    let kind = if args.path.is_some() { UseKind::ReadFile } else { UseKind::Read };
    let ask = |opened: &Instructions| match context.is_person() {
        true => Ok(()),
        false => Err(agent::AgentError::Asked(opened.name.clone()).into()),
    };
    let opened = context.open_skill(&catalogue, &which, &agent, args.run.as_deref(), kind, ask)?;
    match &args.path {
        None => print_instructions(context, &opened),
        Some(path) => print_file(context, &catalogue, &opened.name, path, args.run.as_deref()),
    }
}

/// Resolves the skill on the command line. A path is that of a skill's folder, or of a `SKILL.md` as printed by `prompt`.
/// A title means the one skill that has it, unless it is also a name.
fn which(context: &Context, seen: &[&ListedSkill], text: &str) -> Result<SkillSelector, CliError> {
    if SkillName::parse(text).is_err() {
        let path = context.absolute(text.as_ref());
        let path = library::resolve(&path).unwrap_or(path);
        if text.ends_with(SkillPath::SKILL_MD) || seen.iter().any(|listed| listed.path.as_ref() == Some(&path)) {
            return Ok(SkillSelector { name: None, path: Some(path) });
        }
    }
    let mut titled = seen.iter().filter(|listed| listed.title.as_deref() == Some(text));
    let name = match (titled.next(), titled.next()) {
        (Some(only), None) if seen.iter().all(|listed| listed.name.as_str() != text) => only.name.clone(),
        _ => context.skill_called(text)?,
    };
    Ok(SkillSelector { name: Some(name), path: None })
}

fn print_instructions(context: &Context, opened: &Instructions) -> Result<Exit, CliError> {
    opened.warnings.iter().for_each(|warning| context.out.note(&format!("{}: {warning}", opened.name)));
    context.out.answer(&opened.document(&opened.body), |out| out.write_all(opened.skill_content(usize::MAX).as_bytes()))
}

fn print_file(
    context: &Context,
    catalogue: &Catalogue,
    name: &SkillName,
    path: &str,
    run: Option<&str>,
) -> Result<Exit, CliError> {
    let settings = agent::Settings::default();
    let file = agent::read_file_in_run(catalogue, &settings, "", name, path, run).map_err(failed)?;
    let Some((text, _)) = file.text(0, usize::MAX) else {
        let message = format!("{} of {name} is not a text file", file.path);
        return Err(CliError::new("invalid_path", Exit::Invalid, message)
            .hint(format!("print its bytes: skillhub show {name} {} --json", file.path)));
    };
    let document = json!({"ok": true, "name": name.as_str(), "path": file.path.as_str(), "text": text});
    context.out.answer(&document, |out| out.write_all(text.as_bytes()))
}
