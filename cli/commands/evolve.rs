//! `skillhub evolve` runs optimisers and controls the trials of revisions.

mod conformance;
mod gate;
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
                                                 does the program keep to the protocol?
  skillhub review accept k7m3qx --canary 0.2     accept a change for a fifth of the runs
  skillhub evolve status                         what is on trial, by which numbers, what is awaited
  skillhub evolve try my-skill 4 --share 0.5     put a revision of the history on trial
  skillhub evolve pause my-skill                 all runs get the former revision; nothing is decided
  skillhub evolve force my-skill rollback        end it, whatever the outcomes say
  skillhub evolve check my-skill                 make every decision again from the log

Runs that are told of with `skillhub record` decide. Trying out, pausing and forcing are for people: at
a terminal, or with SKILLHUB_REVIEWER_TOKEN. How the gate decides, and what that guarantees, is in
docs/GATE.md; its numbers are in [gate] of the configuration.")]
pub enum EvolveCommand {
    /// Have a program propose a better version of a skill; a person decides
    Run(with::WithArgs),
    /// Try whether a program keeps to the protocol
    Conformance(conformance::ConformanceArgs),
    /// Show what the gate knows and awaits, and have it decide what can be decided
    Status(gate::StatusArgs),
    /// Put a revision of the history on trial; for people
    Try(gate::TryArgs),
    /// Give all runs the former revision and decide nothing for now; for people
    Pause(gate::NameArgs),
    /// Go on with a trial that was paused; for people
    Resume(gate::NameArgs),
    /// Promote or roll back now; for people
    Force(gate::ForceArgs),
    /// Make every decision again from the log, and compare
    Check(gate::NameArgs),
}

/// Runs the subcommand.
pub fn run(context: &Context, command: &EvolveCommand) -> Result<Exit, CliError> {
    match command {
        EvolveCommand::Run(args) => with::run(context, args),
        EvolveCommand::Conformance(args) => conformance::run(context, args),
        EvolveCommand::Status(args) => gate::status(context, args),
        EvolveCommand::Try(args) => gate::try_out(context, args),
        EvolveCommand::Pause(args) => gate::pause(context, args, true),
        EvolveCommand::Resume(args) => gate::pause(context, args, false),
        EvolveCommand::Force(args) => gate::force(context, args),
        EvolveCommand::Check(args) => gate::check(context, args),
    }
}
