//! `skillhub completions` prints a completion script for a shell, and the values that the scripts offer.

mod command_line;
mod scripts;
mod values;

use std::io;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::{
    exit::{CliError, Exit},
    global::Global,
};

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub completions bash > ~/.local/share/bash-completion/completions/skillhub
  skillhub completions zsh > ~/.zfunc/_skillhub
  skillhub completions fish > ~/.config/fish/completions/skillhub.fish")]
pub struct CompletionsArgs {
    /// Shell
    #[arg(required_unless_present = "words")]
    shell: Option<Shell>,
    /// Command line up to the cursor, without the program: prints the values for its last word, as the scripts do
    #[arg(last = true, hide = true, conflicts_with = "shell")]
    words: Vec<String>,
}

/// Prints the completion script, or the values for a command line. Without values, or if they cannot be read, it prints
/// nothing. `root` is the whole command line.
#[expect(clippy::unnecessary_wraps, reason = "every command has the same form")]
pub fn run(global: &Global, args: &CompletionsArgs, mut root: Command) -> Result<Exit, CliError> {
    let text = match args.shell {
        Some(shell) => scripts::script(shell, &mut root),
        None => values::lines(global, &args.words, root),
    };
    let _closed = io::Write::write_all(&mut io::stdout().lock(), text.as_bytes());
    Ok(Exit::Done)
}
