//! `skillhub evolve` runs optimisers and controls the trials of revisions.

mod conformance;
mod gate;
pub mod reach;
mod with;

use clap::Subcommand;

pub use self::gate::verdict_word;
use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// What to do with programs that improve skills, and with revisions that are tried out.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub evolve run my-skill --with ./improve.py
                                                 have a program propose a better version
  skillhub evolve conformance --with ./improve.py
                                                 test whether the program follows the protocol
  skillhub review accept k7m3qx --canary 0.2     start a trial of a proposal in a fifth of the runs
  skillhub evolve status                         trials, their figures, and what they wait for
  skillhub evolve try my-skill 4 --share 0.5     start a trial of an earlier revision
  skillhub evolve pause my-skill                 use the previous revision in all runs for now
  skillhub evolve force my-skill rollback        end the trial regardless of outcomes
  skillhub evolve check my-skill                 verify the logged decisions

A trial gives a revision to a share of the runs. Outcomes from `skillhub record` decide whether it is
promoted or rolled back: see docs/GATE.md, and `[gate]` in config.toml for the thresholds. Outcomes since
the review checkpoint are also compared with those up to it: `decline` in `[gate]`. Only people can start,
pause, resume and force trials: at a terminal, or with SKILLHUB_REVIEWER_TOKEN.")]
pub enum EvolveCommand {
    /// Have a program propose a better version of a skill
    Run(with::WithArgs),
    /// Test whether a program follows the optimiser protocol
    Conformance(conformance::ConformanceArgs),
    /// Show all trials, and make the decisions that are due
    Status(gate::StatusArgs),
    /// Start a trial of an earlier revision (people only)
    Try(gate::TryArgs),
    /// Pause a trial: use the previous revision (people only)
    Pause(gate::NameArgs),
    /// Resume a paused trial (people only)
    Resume(gate::NameArgs),
    /// End a trial now, with the given verdict (people only)
    Force(gate::ForceArgs),
    /// Recompute all decisions from the log, and compare them
    Check(gate::NameArgs),
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &EvolveCommand) -> Result<Exit, CliError> {
    match command {
        EvolveCommand::Run(args) => with::run(context, args),
        EvolveCommand::Conformance(args) => conformance::run(context, args),
        EvolveCommand::Status(args) => gate::status(context, args),
        EvolveCommand::Try(args) => gate::start_trial(context, args),
        EvolveCommand::Pause(args) => gate::pause(context, args, true),
        EvolveCommand::Resume(args) => gate::pause(context, args, false),
        EvolveCommand::Force(args) => gate::force(context, args),
        EvolveCommand::Check(args) => gate::check(context, args),
    }
}
