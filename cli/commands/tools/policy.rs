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
  skillhub tools policy                          if all skills that the agent sees are in use
  skillhub tools policy --active pdf-forms,git-notes
  skillhub tools policy --active pdf-forms --always-on Read,Grep --json

If no skill in use has `allowed-tools`, all tools may be called. Otherwise only these: the tools that a
skill in use allows, skillhub's own, and those of --always-on or of `always_on` in config.toml.")]
pub struct PolicyArgs {
    /// Skills in use [default: all that the agent sees]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    active: Vec<String>,
    /// Tools that are always allowed
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    always_on: Vec<String>,
    /// Apply the permissions of this agent
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
            writeln!(out, "All tools may be called: no skill in use has `allowed-tools`.")?;
        } else {
            writeln!(out, "Only these tools may be called:")?;
            let mut table = Table::new(&["tool", "limited to", "by"]);
            for (tool, by) in &policy.tools {
                let by: Vec<&str> = by.iter().map(SkillName::as_str).collect();
                table.row(&[tool.tool.clone(), tool.pattern.clone().unwrap_or_default(), by.join(", ")]);
            }
            table.write(out)?;
        }
        let always = if always_on.is_empty() { String::new() } else { format!(", {}", always_on.join(", ")) };
        writeln!(out, "{FAINT}Always on: {STRONG}skillhub's own tools{STRONG:#}{FAINT}{always}{FAINT:#}")
    })
}
