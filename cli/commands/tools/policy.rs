//! `skillhub tools policy` shows the tools that the skills in use leave to an agent.

use agent::{Declared, ToolPolicy};
use clap::Args;
use serde_json::json;
use skill::SkillName;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, Table},
};

/// Flags of `tools policy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools policy                          while every skill that the agent sees may be in use
  skillhub tools policy --active pdf-forms,git-notes
  skillhub tools policy --active pdf-forms --always-on Read,Grep --json

A skill that has `allowed-tools` allows these. When no skill in use has any, every tool may be called; as
soon as one has, only what some of them allow, besides those that are always on: skillhub's own, and the
ones named here or by `always_on` in config.toml.")]
pub struct PolicyArgs {
    /// The skills in use; all that the agent sees otherwise
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    active: Vec<String>,
    /// Tools that no skill takes away
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    always_on: Vec<String>,
    /// The agent that uses them
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Prints the policy.
pub fn run(context: &Context, args: &PolicyArgs) -> Result<Exit, CliError> {
    let settings = context.settings()?;
    let agent = context.agent(args.agent.as_deref());
    let catalogue = context.catalogue(&context.places(true), context.public_skills()?, args.agent.as_deref())?;
    let names: Vec<SkillName> = args.active.iter().map(|name| context.skill_called(name)).collect::<Result<_, _>>()?;
    let active: Vec<Declared> = match names.is_empty() {
        true => catalogue.seen(&settings, &agent).into_iter().map(|listed| listed.declared()).collect(),
        false => {
            let found = names.iter().map(|name| catalogue.find(name).map(|listed| listed.declared()));
            found.collect::<Result<_, _>>().map_err(failed)?
        }
    };
    let mut always_on = settings.always_on.clone();
    always_on.extend(args.always_on.iter().cloned());
    let policy = ToolPolicy::of(&active, &always_on);
    let mut document = json!({"ok": true, "active": active.iter().map(|of| of.skill.as_str()).collect::<Vec<_>>()});
    document["policy"] = policy.document();
    context.out.answer(&document, |out| {
        if !policy.restricts {
            writeln!(out, "Every tool may be called: no skill in use has `allowed-tools`.")?;
        } else {
            writeln!(out, "Only these tools may be called:")?;
            let mut table = Table::new(&["tool", "held to", "by"]);
            for (tool, by) in &policy.tools {
                let by: Vec<&str> = by.iter().map(SkillName::as_str).collect();
                table.row(&[tool.tool.clone(), tool.pattern.clone().unwrap_or_default(), by.join(", ")]);
            }
            table.write(out)?;
        }
        let always = if always_on.is_empty() { String::new() } else { format!(", {}", always_on.join(", ")) };
        writeln!(out, "{FAINT}Always on: {STRONG}skillhub's own tools{STRONG:#}{FAINT}{always}{FAINT:#}")
    })?;
    Ok(Exit::Done)
}
