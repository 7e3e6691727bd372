//! `skillhub tools` compiles skills to tools, and shows the tools that the skills in use leave to an agent.

mod call;
mod compile;
mod list;
mod policy;
mod trace;

use clap::Subcommand;

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// What `tools` does.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub tools compile site-monitor            a skill that declares `tool_schema` becomes a tool
  skillhub tools list                            the compiled tools, their state and their level
  skillhub tools call site-monitor --input '{\"sites\":[\"a.example\"]}' --dry-run
  skillhub tools policy --active pdf-forms,git-notes")]
pub enum ToolsCommand {
    /// Compile skills that declare `tool_schema` to tools
    Compile(compile::CompileArgs),
    /// List the compiled tools, or those that steps may call
    List(list::ListArgs),
    /// Show one tool: its schemas, steps and level
    Show(list::ShowArgs),
    /// Take compiled tools away; the skills stay
    Remove(compile::RemoveArgs),
    /// Run a compiled tool, or show what it would do
    Call(call::CallArgs),
    /// Show what runs did, step by step
    Trace(trace::TraceArgs),
    /// Show which tools may be called while skills are in use
    Policy(policy::PolicyArgs),
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &ToolsCommand) -> Result<Exit, CliError> {
    match command {
        ToolsCommand::Compile(args) => compile::run(context, args),
        ToolsCommand::List(args) => list::run(context, args),
        ToolsCommand::Show(args) => list::show(context, args),
        ToolsCommand::Remove(args) => compile::remove(context, args),
        ToolsCommand::Call(args) => call::run(context, args),
        ToolsCommand::Trace(args) => trace::run(context, args),
        ToolsCommand::Policy(args) => policy::run(context, args),
    }
}
