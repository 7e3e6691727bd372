//! `skillhub tools list` and `skillhub tools show` describe the available tools.

use agent::PermissionDecision;
use clap::Args;
use compose::{ToolEntry, ToolSpec, own_name};
use serde_json::{Value, json};

use super::compile::problem_lines;
use crate::{
    composing::Composing,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG, Table},
};

/// Flags of `tools list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools list
  skillhub tools list --native                   tools that steps can call, also of MCP servers
  skillhub tools list --agent codex --json")]
pub struct ListArgs {
    /// List the tools that steps can call instead
    #[arg(long)]
    native: bool,
    /// Only tools that this agent may use
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Flags of `tools show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools show site-monitor
  skillhub tools show web_fetch                  a tool that steps can call")]
pub struct ShowArgs {
    /// Tool, by its name or its skill's name
    name: String,
}

/// Lists the tools.
pub fn run(context: &Context, args: &ListArgs) -> Result<Exit, CliError> {
    let composing = Composing::new(context, args.agent.as_deref())?;
    if args.native {
        return native(context, &composing, args.agent.is_some());
    }
    let entries = composing.workshop().follow().map_err(failed)?;
    let offered: Vec<String> = composing.access().offered(&entries).iter().map(|tool| tool.name.clone()).collect();
    let is_shown =
        |entry: &ToolEntry| args.agent.is_none() || entry.tool().is_some_and(|tool| offered.contains(&tool.name));
    let is_shown = |entry: &ToolEntry| !entry.is_gone() && is_shown(entry);
    let seen = composing.seen(&entries);
    let shown: Vec<_> = seen.iter().filter(|(_, entry)| is_shown(entry)).collect();
    let tools: Vec<Value> = shown.iter().map(|(skill, entry)| entry.document(skill)).collect();
    context.out.answer(&json!({"ok": true, "tools": tools}), |out| {
        if shown.is_empty() {
            return writeln!(
                out,
                "{FAINT}No compiled tools. Compile the skills that declare one: `skillhub tools compile --all`{FAINT:#}"
            );
        }
        let mut table = Table::new(&["tool", "state", "level", "what it does"]);
        for (skill, entry) in &shown {
            let (name, level, about) = match entry {
                ToolEntry::Compiled { tool } => (tool.name.clone(), tool.approval.as_str(), tool.description.clone()),
                ToolEntry::Broken { problems, .. } => {
                    ((*skill).clone(), "", problems.first().map(ToString::to_string).unwrap_or_default())
                }
                ToolEntry::Absent { why } => ((*skill).clone(), "", why.clone()),
            };
            table.row(&[name, entry.state().to_owned(), level.to_owned(), about]);
        }
        table.write(out)
    })
}

fn native(context: &Context, composing: &Composing, is_of_agent: bool) -> Result<Exit, CliError> {
    let access = composing.access();
    let is_shown = |spec: &&ToolSpec| !is_of_agent || access.decision(&spec.name) != PermissionDecision::Deny;
    let specs: Vec<&ToolSpec> = composing.specs().iter().filter(is_shown).collect();
    context.out.answer(&json!({"ok": true, "tools": specs}), |out| {
        let mut table = Table::new(&["tool", "level", "what it does"]);
        for spec in specs {
            table.row(&[spec.name.clone(), spec.approval.as_str().to_owned(), spec.description.clone()]);
        }
        table.write(out)
    })
}

/// Prints one tool with its schemas, steps and level.
pub fn show(context: &Context, args: &ShowArgs) -> Result<Exit, CliError> {
    let composing = Composing::new(context, None)?;
    if let Some(spec) = composing.specs().iter().find(|spec| spec.name == own_name(&args.name)) {
        return show_native(context, spec);
    }
    let entries = composing.seen(&composing.workshop().follow().map_err(failed)?);
    let (skill, entry) = composing.entry(&entries, &args.name)?;
    let mut document = entry.document(skill);
    document["ok"] = Value::Bool(true);
    document["tool_schema"] = entry.tool().map(|tool| tool.tool_schema.clone()).unwrap_or_default();
    context.out.answer(&document, |out| match entry {
        ToolEntry::Compiled { tool } => {
            writeln!(out, "{STRONG}{}{STRONG:#} {FAINT}of skill {}{FAINT:#}", tool.name, tool.skill)?;
            writeln!(out, "{}", tool.description)?;
            writeln!(out, "level   {}", tool.approval.as_str())?;
            writeln!(out, "alias   {}", tool.alias)?;
            writeln!(out, "calls   {}", tool.uses.keys().map(String::as_str).collect::<Vec<_>>().join(", "))?;
            writeln!(out, "input   {}", pretty(&tool.input))?;
            writeln!(out, "output  {}", tool.output.as_ref().map_or_else(|| "not declared".to_owned(), pretty))?;
            writeln!(out, "steps   {}", pretty(&tool.tool_schema["steps"]))
        }
        ToolEntry::Broken { problems, .. } => {
            writeln!(out, "{STRONG}{skill}{STRONG:#} cannot be compiled:")?;
            problems.iter().flat_map(problem_lines).try_for_each(|line| writeln!(out, "  {line}"))
        }
        ToolEntry::Absent { why } => writeln!(out, "{STRONG}{skill}{STRONG:#} is not a tool now: {why}"),
    })
}

fn show_native(context: &Context, spec: &ToolSpec) -> Result<Exit, CliError> {
    let mut document = json!(spec);
    document["ok"] = Value::Bool(true);
    context.out.answer(&document, |out| {
        writeln!(out, "{STRONG}{}{STRONG:#}  level {}", spec.name, spec.approval.as_str())?;
        writeln!(out, "{}", spec.description)?;
        writeln!(out, "input   {}", pretty(&spec.input))?;
        writeln!(out, "output  {}", spec.output.as_ref().map_or_else(|| "unknown".to_owned(), pretty))
    })
}

/// Formats a value as JSON, indented to align with its label.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default().replace('\n', "\n        ")
}
