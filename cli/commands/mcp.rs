//! `skillhub mcp`: skills for agents over the Model Context Protocol.

pub mod install;

use std::{collections::BTreeSet, net::SocketAddr};

use agent::{Builtin, Catalogue, Places, Settings};
use clap::{Args, Subcommand};
use compose::Hosts;
use library::{Actor, Head, Home, Library};
use mcp::{Gate, Options, Refusal, Servers, Told, Used, Workplace, serve_http, serve_stdio};
use serde_json::{Value, json};
use skill::{SkillName, failure::Failure};
use skill_manage::{Elsewhere, Policy, documents::HostsDocument};

use crate::{
    args::Global,
    catalogue::public_skills,
    commands::{enable, install as install_skill, record, search},
    context::Context,
    exit::{CliError, Exit, failed},
    views::AgentsPicture,
};

/// Flags of `mcp`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skillhub mcp install --agent claude-code       tell an agent's host to start the server
  skillhub mcp install --agent codex --print     only show what would be written, and where
  skillhub mcp                                   what the host starts: the protocol over stdin and stdout
  skillhub mcp --http 127.0.0.1:8756             streamable HTTP, for clients that have the token

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
    /// Offer tools that few need only after a skill was read that brings them
    #[arg(long)]
    defer_tools: bool,
    /// Serve streamable HTTP at this address, such as 127.0.0.1:8756, in place of stdin and stdout
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// A further name by which clients may call the server
    #[arg(long, value_name = "NAME", requires = "http")]
    host: Vec<String>,
    /// An origin of web pages that may connect: scheme, host and port
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    origin: Vec<String>,
}

/// The variable that holds the token of HTTP clients.
const TOKEN_VARIABLE: &str = "SKILLHUB_MCP_TOKEN";

/// Serves, or does what the subcommand says.
pub fn run(context: &Context, global: &Global, args: &McpArgs) -> Result<Exit, CliError> {
    if global.actor.is_some() {
        return Err(CliError::usage("through this server it is always the client that acts")
            .hint("leave --actor out; the history names the client"));
    }
    match &args.command {
        Some(McpCommand::Install(args)) => install::run(context, global, args),
        None => serve(context, global.clone(), &args.serve),
    }
}

fn serve(context: &Context, global: Global, args: &ServeArgs) -> Result<Exit, CliError> {
    let open = move |actor: Actor| -> Result<Box<dyn Workplace>, Refusal> {
        let mut context = Context::new(&global).map_err(refusal)?;
        (context.actor, context.asks_people) = (actor, true);
        Ok(Box::new(context))
    };
    let options = Options { agent: args.agent.clone(), catalogue: !args.no_catalogue, defer_tools: args.defer_tools };
    let servers = Servers::new(Box::new(open), options).map_err(told)?;
    match &args.http {
        None => serve_stdio(&servers).map_err(failed)?,
        Some(address) => serve_address(context, &servers, args, address)?,
    }
    Ok(Exit::Done)
}

fn serve_address(context: &Context, servers: &Servers, args: &ServeArgs, address: &str) -> Result<(), CliError> {
    let address: SocketAddr = address.parse().map_err(|_| {
        CliError::usage(format!("{address:?} is no address")).hint("write IP and port, such as 127.0.0.1:8756")
    })?;
    let token = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let made = token.is_none();
    let token = token.map(|token| token.to_string_lossy().into_owned());
    let gate = Gate::new(token, args.host.clone(), args.origin.clone()).map_err(failed)?;
    let shown = made.then(|| gate.token().to_owned());
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/mcp");
        let document = json!({"ok": true, "url": url, "token": shown});
        let text = match &shown {
            Some(token) => format!("Serving {url}\nToken, for `Authorization: Bearer`, shown this once: {token}"),
            None => format!("Serving {url}, with the token of {TOKEN_VARIABLE}"),
        };
        // Nobody reads on; the server serves all the same.
        let _closed = context.out.answer(&document, |out| writeln!(out, "{text}"));
    };
    serve_http(servers, address, gate, ready).map_err(failed)
}

/// What the server's start was refused for.
fn told(refusal: Refusal) -> CliError {
    let Refusal { message, failure, details, .. } = refusal;
    CliError { code: failure.code, exit: failure.kind.into(), message, hint: failure.hint, details }
}

/// An error of the command line as a client is told it.
fn refusal(error: CliError) -> Refusal {
    let failure = Failure { kind: error.exit.kind(), code: error.code, hint: error.hint };
    Refusal { message: error.message, failure, details: error.details, question: None }
}

impl Workplace for Context {
    fn library(&self) -> Result<Library, Refusal> {
        self.library().map_err(refusal)
    }

    fn library_of(&self, name: &SkillName) -> Result<Library, Refusal> {
        self.library_of(name).map_err(refusal)
    }

    fn libraries(&self) -> Result<Vec<Library>, Refusal> {
        self.libraries().map_err(refusal)
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

    fn skills_of_branch(&self, library: &Library) -> Option<BTreeSet<SkillName>> {
        self.skills_of_branch(library)
    }

    fn places(&self) -> Places {
        self.places(true)
    }

    fn hosts_read(&self, catalogue: &Catalogue, name: Option<&SkillName>) -> Result<HostsDocument, Refusal> {
        Ok(AgentsPicture::of(self, catalogue, name).map_err(refusal)?.document())
    }

    fn builtin(&self) -> Result<Vec<Builtin>, Refusal> {
        public_skills(self).map_err(refusal)
    }

    fn settings(&self) -> Result<Settings, Refusal> {
        self.settings().map_err(refusal)
    }

    fn tool_hosts(&self) -> Result<Hosts, Refusal> {
        self.tool_hosts().map_err(refusal)
    }

    fn note_use(&self, catalogue: &Catalogue, settings: &Settings, used: Used<'_>) {
        self.note_use(catalogue, settings, Some(used.name), used.kind, used.state, used.agent);
    }

    fn note_activation(&self, catalogue: &Catalogue, settings: &Settings, read: (&SkillName, &Head), run: &str) {
        let library = catalogue.find(read.0).ok().and_then(|listed| catalogue.library_of(listed));
        self.note_activation(library, settings, read, run);
    }

    fn record(&self, outcome: Told<'_>) -> Result<Value, Refusal> {
        record::for_agent(self, outcome).map_err(refusal)
    }

    fn set_enabled(&self, name: &SkillName, enabled: bool) -> Result<Value, Refusal> {
        enable::set(self, name, enabled).map(|(document, _)| document).map_err(refusal)
    }

    fn search(&self, query: &str, limit: usize) -> Result<Value, Refusal> {
        let found = client::search(&self.registries(), query, limit)?;
        Ok(search::document(&found.results, &found.skipped))
    }

    fn install(&self, spec: &str) -> Result<Value, Refusal> {
        install_skill::for_agent(self, spec).map_err(refusal)
    }
}
