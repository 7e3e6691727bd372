//! `skillhub mcp`: skills for agents over the Model Context Protocol.

mod install;

use clap::{Args, Subcommand};
use library::{Home, Library};
use mcp::{Refusal, Servers, Workplace, serve_stdio};
use skill::{SkillName, failure::Failure};
use skill_manage::{Elsewhere, Policy};

use crate::{
    args::Global,
    context::Context,
    exit::{CliError, Exit, failed},
};

/// Flags of `mcp`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skillhub mcp install --agent claude-code       tell an agent's host to start the server
  skillhub mcp install --agent codex --print     only show what would be written, and where
  skillhub mcp                                   what the host starts: the protocol over stdin and stdout

What an agent does through it is recorded as done by `agent:` and the name of its client.")]
pub struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// What to do besides serving.
#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Write the server into the configuration of an agent's host, keeping what is there
    Install(install::InstallArgs),
}

/// How to serve.
#[derive(Debug, Args)]
struct ServeArgs {
    /// The agent that is served, whose permissions hold; the name of its client otherwise
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Do not tell the agent which skills there are, because its host lists them
    #[arg(long)]
    no_catalogue: bool,
}

/// Serves, or does what the subcommand says.
pub fn run(context: &Context, global: &Global, args: &McpArgs) -> Result<Exit, CliError> {
    if global.actor.is_some() {
        return Err(CliError::usage("through this server it is always the client that acts")
            .hint("leave --actor out; the history names the client"));
    }
    match &args.command {
        Some(McpCommand::Install(args)) => install::run(context, global, args),
        None => serve(global.clone(), &args.serve),
    }
}

fn serve(global: Global, _args: &ServeArgs) -> Result<Exit, CliError> {
    let open = move || -> Result<Box<dyn Workplace>, Refusal> { Ok(Box::new(Context::new(&global).map_err(refusal)?)) };
    serve_stdio(&Servers::new(Box::new(open))).map_err(failed)?;
    Ok(Exit::Done)
}

/// An error of the command line as a client is told it.
fn refusal(error: CliError) -> Refusal {
    let failure = Failure { kind: error.exit.kind(), code: error.code, hint: error.hint };
    Refusal { message: error.message, failure, details: error.details }
}

impl Workplace for Context {
    fn library(&self) -> Result<Library, Refusal> {
        self.library().map_err(refusal)
    }

    fn home(&self) -> &Home {
        &self.home
    }

    fn elsewhere(&self) -> Result<Vec<Elsewhere>, Refusal> {
        self.elsewhere().map_err(refusal)
    }

    fn policy(&self) -> Result<Policy, Refusal> {
        self.policy().map_err(refusal)
    }

    fn note_change(&self, library: &Library, skill: &SkillName) -> Option<String> {
        self.lock_warning(library, skill)
    }
}
