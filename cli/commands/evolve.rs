//! `skillhub evolve`: programs that improve skills.

mod conformance;
mod with;

use clap::Subcommand;

use crate::{
    context::Context,
    exit::{CliError, Exit},
};

/// What to do with programs that improve skills.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  skillhub evolve run my-skill --with ./improve.py
                                                 have a program propose a better version
  skillhub evolve conformance --with ./improve.py
                                                 does the program keep to the protocol?")]
pub enum EvolveCommand {
    /// Have a program propose a better version of a skill; a person decides
    Run(with::WithArgs),
    /// Try whether a program keeps to the protocol
    Conformance(conformance::ConformanceArgs),
}

/// Runs it.
pub fn run(context: &Context, command: &EvolveCommand) -> Result<Exit, CliError> {
    match command {
        EvolveCommand::Run(args) => with::run(context, args),
        EvolveCommand::Conformance(args) => conformance::run(context, args),
    }
}
