//! `skillhub tools compile` and `skillhub tools remove` turn skills into tools, and withdraw them.

use clap::Args;
use compose::{Outcome, Problem};
use serde_json::json;
use skill::SkillName;

use crate::{
    composing::Composing,
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, STRONG},
};

/// Flags of `tools compile`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools compile site-monitor
  skillhub tools compile site-monitor weekly-report
  skillhub tools compile --all
  skillhub tools compile --all --json

Checks schemas, references, tools, types and cycles, and reports all errors as SKILL.md:LINE:COLUMN. The
tool follows its skill: a change, a rollback or `skillhub disable` takes effect at the next call.
Exit code 3: a skill cannot be compiled.")]
pub struct CompileArgs {
    /// The skills
    names: Vec<String>,
    /// Compile all skills that agents see and that declare a tool
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

/// Flags of `tools remove`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub tools remove site-monitor")]
pub struct RemoveArgs {
    /// Skills whose tools to remove
    #[arg(required = true)]
    names: Vec<String>,
}

/// Compiles the skills and prints the results.
pub fn run(context: &Context, args: &CompileArgs) -> Result<Exit, CliError> {
    if args.names.is_empty() && !args.all {
        return Err(CliError::usage("no skills are named").hint("name skills, or pass --all"));
    }
    let composing = Composing::new(context, None)?;
    let compiled = context.compile_tools(&composing.workshop(), names(context, &args.names)?)?;
    context.out.answer(&compiled, |out| {
        for (name, outcome) in &compiled.skills {
            match outcome {
                Outcome::Compiled(tool) | Outcome::Unchanged(tool) => {
                    let state = if matches!(outcome, Outcome::Unchanged(_)) { "unchanged" } else { "compiled" };
                    let called = if tool.alias == tool.name { String::new() } else { format!(", also {}", tool.alias) };
                    writeln!(out, "{STRONG}{}{STRONG:#} {state}: level {}{called}", tool.name, tool.approval.as_str())?;
                }
                Outcome::Plain if !args.all => writeln!(out, "{name} declares no `tool_schema`")?,
                Outcome::Plain => {}
                Outcome::Broken(problems) => {
                    writeln!(out, "{STRONG}{name}{STRONG:#} cannot be compiled:")?;
                    for line in problems.iter().flat_map(problem_lines) {
                        writeln!(out, "  {line}")?;
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(if compiled.has_faults() { Exit::Invalid } else { Exit::Done })
}

/// Formats a problem for display.
pub fn problem_lines(problem: &Problem) -> Vec<String> {
    let place = format!("{}:{}:{}", problem.path, problem.line, problem.column);
    let mut lines = vec![format!("{STRONG}{place}{STRONG:#} {}", problem.message)];
    lines.extend(problem.hint.iter().map(|hint| format!("  {FAINT}{hint}{FAINT:#}")));
    lines
}

/// Removes compiled tools.
pub fn remove(context: &Context, args: &RemoveArgs) -> Result<Exit, CliError> {
    let composing = Composing::new(context, None)?;
    composing.workshop().remove(&names(context, &args.names)?).map_err(failed)?;
    context.out.answer(&json!({"ok": true, "removed": args.names}), |out| {
        writeln!(out, "Removed the tools of {}", args.names.join(", "))
    })
}

fn names(context: &Context, names: &[String]) -> Result<Vec<SkillName>, CliError> {
    let called = |name: &String| -> Result<SkillName, CliError> {
        let skill = context.skill_called(name)?;
        match name.strip_prefix("skill_") {
            Some(of_tool) if !context.has_skill(&skill)? => Ok(context.skill_called(of_tool)?),
            _ => Ok(skill),
        }
    };
    names.iter().map(called).collect()
}
