//! `skillhub completions` prints a completion script for a shell.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{
    args::Cli,
    exit::{CliError, Exit},
};

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub completions bash > ~/.local/share/bash-completion/completions/skillhub
  skillhub completions zsh > ~/.zfunc/_skillhub
  skillhub completions fish > ~/.config/fish/completions/skillhub.fish")]
pub struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Prints the completion script.
#[expect(clippy::unnecessary_wraps, reason = "every command has the same form")]
pub fn run(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "skillhub", &mut script);
    let _closed = io::Write::write_all(&mut io::stdout().lock(), &script);
    Ok(Exit::Done)
}
