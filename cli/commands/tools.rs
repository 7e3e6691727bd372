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
  skillhub tools compile site-monitor            turn a skill with a `tool_schema` into a tool
  skillhub tools list                            compiled tools, with state and level
  skillhub tools call site-monitor --input '{\"sites\":[\"a.example\"]}' --dry-run
  skillhub tools policy --active pdf-forms,git-notes

A skill that declares `tool_schema` can be compiled to a tool, whose steps call other tools. The level of a
tool says what it needs to run: nothing, a confirmed plan, or a person's approval.")]
pub enum ToolsCommand {
    /// Compile skills that declare `tool_schema` to tools
    Compile(compile::CompileArgs),
    /// List the compiled tools, or those that steps may call
    List(list::ListArgs),
    /// Show the schemas, steps and level of a tool
    Show(list::ShowArgs),
    /// Remove compiled tools; the skills stay
    Remove(compile::RemoveArgs),
    /// Run a compiled tool, or show what it would do
    Call(call::CallArgs),
    /// Show past runs, step by step
    Trace(trace::TraceArgs),
    /// Show which tools an agent may call while it uses skills
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
