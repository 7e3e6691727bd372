//! `skillhub eval` runs the test cases of skills, and compares a change with the current state.

mod chooser;
mod compare;
mod input;
mod lint;
pub mod required;
mod run;
mod runner;
mod side;
mod store;
mod trigger;

use clap::{Args, Subcommand};

pub use self::store::Store;
use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// What to do with cases.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub eval lint ./my-skill                  problems in evals/evals.json, with their lines
  skillhub eval run my-skill --runner ./run.sh   run each case and grade the answers
  skillhub eval run my-skill --trigger --runner ./choose.sh
                                                 does its description make an agent choose it?
  skillhub eval compare my-skill head k7m3qx --runner ./run.sh
                                                 is the proposal k7m3qx worse than the newest revision?

A skill has its cases in evals/evals.json, and its queries for --trigger in evals/eval_queries.json:
  {\"evals\": [{\"id\": 1, \"prompt\": \"...\", \"assertions\": [\"...\"]}]}
  [{\"query\": \"...\", \"should_trigger\": true}]

The runner is your command: it gets the prompt in SKILLHUB_EVAL_PROMPT and the skill's folder in
SKILLHUB_EVAL_SKILL, works in its current folder, and prints the answer. With --trigger it gets the list
of the installed skills in the file SKILLHUB_EVAL_SKILLS, and prints the names of those to read.")]
pub enum EvalCommand {
    /// Check the test cases of skills
    Lint(lint::LintArgs),
    /// Run a skill on its test cases
    Run(run::RunArgs),
    /// Compare two revisions of a skill on the test cases
    Compare(compare::CompareArgs),
}

/// How cases are run.
#[derive(Debug, Args)]
pub struct RunnerArgs {
    /// Command that runs a case, for the system's shell
    #[arg(long, value_name = "CMD", required_unless_present = "trigger")]
    runner: Option<String>,
    /// Run the queries in evals/eval_queries.json: is the skill chosen when it should be? Without --runner,
    /// skillhub's own search chooses, as a baseline
    #[arg(long, conflicts_with_all = ["judge", "allow_scripts", "cases"])]
    trigger: bool,
    /// Command that grades assertions in plain words: JSON on stdin, JSON on stdout
    #[arg(long, value_name = "CMD")]
    judge: Option<String>,
    /// Allow assertions to run scripts from the skill's evals/ folder, with your rights
    #[arg(long)]
    allow_scripts: bool,
    /// Run only this case; repeatable
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Stop a run after this time, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    time_limit: u64,
    /// Stop a run after this much output, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    output_limit: usize,
    /// Write the results to this folder [default: below the home]
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
}

impl RunnerArgs {
    /// Returns the runner's command line, empty for a run without a runner.
    fn command(&self) -> &str {
        self.runner.as_deref().unwrap_or_default()
    }
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &EvalCommand) -> Result<Exit, CliError> {
    match command {
        EvalCommand::Lint(args) => lint::run(context, args),
        EvalCommand::Run(args) => run::run(context, args),
        EvalCommand::Compare(args) => compare::run(context, args),
    }
}
