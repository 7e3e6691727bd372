//! `skillhub mcp` serves skills to agents over the Model Context Protocol.

pub mod install;
mod uninstall;

use std::net::SocketAddr;

use clap::{Args, Subcommand};
use library::Actor;
use mcp::{HttpAuth, Options, Servers, serve_http, serve_stdio};
use ops::{Refusal, Workspace};
use serde_json::json;

use crate::{
    context::{Context, setup},
    exit::{CliError, Exit, failed},
    global::Global,
};

/// Flags of `mcp`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skillhub mcp install --agent claude-code       configure Claude Code to start the server
  skillhub mcp install --agent codex --print     show the configuration, and write nothing
  skillhub mcp uninstall --agent claude-code     remove the server and its hook again
  skillhub mcp                                   serve over stdin and stdout, for an agent's host
  skillhub mcp --http 127.0.0.1:8756             serve over HTTP, for clients with the token

The history records changes as made by `agent:` and the name of the client.")]
pub struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// What to do besides serving.
#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Add the server to the configuration of an agent
    Install(install::InstallArgs),
    /// Remove the server and its hook from the configuration of an agent
    Uninstall(uninstall::UninstallArgs),
}

/// How to serve.
#[derive(Debug, Args)]
struct ServeArgs {
    /// Apply the permissions of this agent [default: the name of the client]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Do not list the skills in the instructions, for agents that list them already
    #[arg(long)]
    no_catalogue: bool,
    /// List all tools from the start, for hosts that do not notice when tools join
    #[arg(long)]
    all_tools: bool,
    /// List compiled tools only after a skill that brings them was read
    #[arg(long)]
    defer_tools: bool,
    /// Serve streamable HTTP at this address, such as 127.0.0.1:8756, instead of stdin and stdout
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Accept requests to this host name too; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    host: Vec<String>,
    /// Accept requests from web pages of this origin (scheme, host and port); repeatable
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    origin: Vec<String>,
}

/// Environment variable with the bearer token of HTTP clients.
const TOKEN_VARIABLE: &str = "SKILLHUB_MCP_TOKEN";

/// Serves, or runs the subcommand.
pub fn run(context: &Context, global: &Global, args: &McpArgs) -> Result<Exit, CliError> {
    if global.actor.is_some() {
        return Err(CliError::usage("--actor cannot be used here: the history names each client of the server")
            .hint("leave --actor out"));
    }
    match &args.command {
        Some(McpCommand::Install(args)) => install::run(context, global, args),
        Some(McpCommand::Uninstall(args)) => uninstall::run(context, global, args),
        None => serve(context, global.clone(), &args.serve),
    }
}

fn serve(context: &Context, global: Global, args: &ServeArgs) -> Result<Exit, CliError> {
    let open = move |actor: Actor| -> Result<Workspace, Refusal> {
        let mut place = Workspace::open(setup(&global)?)?;
        (place.actor, place.asks_people) = (actor, true);
        Ok(place)
    };
    let ServeArgs { all_tools, defer_tools, .. } = *args;
    let options = Options { agent: args.agent.clone(), catalogue: !args.no_catalogue, all_tools, defer_tools };
    let servers = Servers::new(Box::new(open), options)?;
    match &args.http {
        None => serve_stdio(&servers).map_err(failed)?,
        Some(address) => serve_address(context, &servers, args, address)?,
    }
    Ok(Exit::Done)
}

fn serve_address(context: &Context, servers: &Servers, args: &ServeArgs, address: &str) -> Result<(), CliError> {
    let address: SocketAddr = address.parse().map_err(|_| {
        CliError::usage(format!("{address:?} is not an address")).hint("give IP and port, such as 127.0.0.1:8756")
    })?;
    let token = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let made = token.is_none();
    let token = token.map(|token| token.to_string_lossy().into_owned());
    let gate = HttpAuth::new(token, args.host.clone(), args.origin.clone()).map_err(failed)?;
    let shown = made.then(|| gate.token().to_owned());
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/mcp");
        let document = json!({"ok": true, "url": url, "token": shown});
        let text = match &shown {
            Some(token) => format!("Serving {url}\nToken for `Authorization: Bearer`, shown only once: {token}"),
            None => format!("Serving {url}, with the token of {TOKEN_VARIABLE}"),
        };
        // The server runs on even if nobody reads its output.
        let _closed = context.out.answer(&document, |out| writeln!(out, "{text}"));
    };
    serve_http(servers, address, gate, ready).map_err(failed)
}
