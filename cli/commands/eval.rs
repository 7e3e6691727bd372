//! `skillhub eval` runs the test cases of skills, and compares a change with the current state.

mod compare;
mod lint;
pub mod required;
mod run;
mod runner;
mod side;
mod store;

use clap::{Args, Subcommand};

pub use self::store::Store;
use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// What to do with cases.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub eval lint ./my-skill                  every problem of evals/evals.json, with its line
  skillhub eval run my-skill --runner ./run.sh   try each case, write grading.json and benchmark.json
  skillhub eval compare my-skill head k7m3qx --runner ./run.sh
                                                 does the held change k7m3qx do worse than what is there?

The runner is a command of yours: it gets the prompt in SKILLHUB_EVAL_PROMPT and the skill's folder in
SKILLHUB_EVAL_SKILL, works in the current folder, and prints the answer.")]
pub enum EvalCommand {
    /// Check the cases of skills
    Lint(lint::LintArgs),
    /// Try a skill on its cases
    Run(run::RunArgs),
    /// Compare two states of a skill on the cases of the first
    Compare(compare::CompareArgs),
}

/// How cases are run.
#[derive(Debug, Args)]
pub struct RunnerArgs {
    /// The command that tries a case, for the system's shell
    #[arg(long, value_name = "CMD")]
    runner: String,
    /// The command that decides assertions in words: JSON on stdin, JSON on stdout
    #[arg(long, value_name = "CMD")]
    judge: Option<String>,
    /// Run the scripts in evals/ that assertions name; they are the skill's and run with your rights
    #[arg(long)]
    allow_scripts: bool,
    /// Only this case; may be given several times
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Seconds that a run may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    time_limit: u64,
    /// KiB that a run may print
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    output_limit: usize,
    /// Where results go, in place of the home
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &EvalCommand) -> Result<Exit, CliError> {
    match command {
        EvalCommand::Lint(args) => lint::run(context, args),
        EvalCommand::Run(args) => run::run(context, args),
        EvalCommand::Compare(args) => compare::run(context, args),
    }
}
