//! `skillhub serve` runs a marketplace over HTTP or, with `--gateway`, serves the library.

#[cfg(feature = "cluster")]
mod engines;
mod file;
mod gateway;
mod mirror;
#[cfg(not(feature = "cluster"))]
mod no_engines;
mod operating;
mod results;
mod storage;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde_json::json;
use server::{Hub, NewToken, Scope, Settings, Visibility, store::People};
use skill::Owner;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    global::Global,
};
#[cfg(not(feature = "cluster"))]
use no_engines as engines;
use storage::ServedIndex;

/// Default account of the first token.
const FIRST_ACCOUNT: &str = "admin";

/// Flags of `serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  skillhub serve --data /srv/skillhub                         a registry on 127.0.0.1:8700, readable by all
  skillhub serve --data /srv/skillhub --visibility private    require a token for reading
  skillhub serve --addr 0.0.0.0:8700 --host skills.example.org
  skillhub serve --config /etc/skillhub/serve.toml            read all settings from a file
  skillhub serve admin-token --data /srv/skillhub             create the first token
  skillhub serve mirror acme/pdf --registry URL --data DIR    copy a release from another registry
  skillhub serve --gateway                                    serve your library to a browser or host program
  skillhub login http://127.0.0.1:8700                        store a token for the server")]
pub struct ServeArgs {
    #[command(subcommand)]
    command: Option<ServeCommand>,
    #[command(flatten)]
    serve: ServerArgs,
}

/// What to do besides serving.
#[derive(Debug, Subcommand)]
enum ServeCommand {
    /// Create a token for an administrator, and print it
    AdminToken(AdminTokenArgs),
    /// Copy releases and their signatures from another registry
    Mirror(mirror::MirrorArgs),
    /// Show the schema of the database, or bring it up to date (builds with `cluster`)
    Schema(operating::SchemaArgs),
    /// Compare database, archives and git repository (builds with `cluster`)
    Check(operating::CheckArgs),
    /// Copy an index with its accounts between a data folder and the engines (builds with `cluster`)
    Move(operating::MoveArgs),
}

/// Flags of `serve admin-token`.
#[derive(Debug, Args)]
struct AdminTokenArgs {
    /// Data folder of the server [default: below the home]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Configuration file of the server, instead of its data folder
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    config: Option<PathBuf>,
    /// Account to create the token for
    #[arg(long, value_name = "NAME", default_value = FIRST_ACCOUNT)]
    account: String,
}

/// How to serve.
#[derive(Debug, Default, Args)]
struct ServerArgs {
    /// Read settings, limits and further indexes from this TOML file; flags override it
    #[arg(long, value_name = "FILE", env = "SKILLHUB_SERVE_CONFIG")]
    config: Option<PathBuf>,
    /// Listen at this IP and port [default: 127.0.0.1:8700]
    #[arg(long, value_name = "ADDR", env = "SKILLHUB_SERVE_ADDR")]
    addr: Option<String>,
    /// Serve your library and its web pages instead of a registry, to those who have the gateway's token
    #[arg(long, conflicts_with_all = ["config", "data", "visibility", "read_only", "proxy_account_header", "rate"])]
    gateway: bool,
    /// Store the index and all other data in this folder [default: below the home]
    #[arg(long, value_name = "DIR", env = "SKILLHUB_SERVE_DATA")]
    data: Option<PathBuf>,
    /// Who may read [default: public]
    #[arg(long, value_name = "WHO", env = "SKILLHUB_SERVE_VISIBILITY")]
    visibility: Option<Reading>,
    /// Refuse all changes, as for a mirror
    #[arg(long)]
    read_only: bool,
    /// Accept requests to this host name too, `*` for any; repeatable
    #[arg(long, value_name = "NAME", env = "SKILLHUB_SERVE_HOST", value_delimiter = ',')]
    host: Vec<String>,
    /// Trust the Forwarded and X-Forwarded-* headers of this proxy: an address, or a block such as 10.0.0.0/8
    #[arg(long, value_name = "ADDRESS", env = "SKILLHUB_SERVE_TRUSTED_PROXIES", value_delimiter = ',')]
    trusted_proxy: Vec<String>,
    /// Header in which a trusted proxy names the signed-in account
    #[arg(long, value_name = "HEADER", env = "SKILLHUB_SERVE_PROXY_ACCOUNT_HEADER")]
    proxy_account_header: Option<String>,
    /// Limit changes and searches per client and minute; 0 for no limit [default: 600]
    #[arg(long, value_name = "N", env = "SKILLHUB_SERVE_RATE")]
    rate: Option<u32>,
    /// Log each request to stderr as a line of JSON
    #[arg(long)]
    log: bool,
}

/// Permitted readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, JsonSchema)]
#[schemars(rename_all = "lowercase")]
enum Reading {
    /// Everyone
    Public,
    /// Only those who have a token
    Private,
}

impl From<Reading> for Visibility {
    fn from(reading: Reading) -> Self {
        match reading {
            Reading::Public => Self::Public,
            Reading::Private => Self::Private,
        }
    }
}

/// Serves, or runs the subcommand.
pub fn run(context: &Context, global: &Global, args: &ServeArgs) -> Result<Exit, CliError> {
    match &args.command {
        Some(ServeCommand::AdminToken(args)) => admin_token(context, args),
        Some(ServeCommand::Mirror(args)) => mirror::run(context, args),
        Some(ServeCommand::Schema(args)) => operating::schema(context, args),
        Some(ServeCommand::Check(args)) => operating::check(context, args),
        Some(ServeCommand::Move(args)) => operating::move_index(context, args),
        None => serve(context, global, &args.serve),
    }
}

fn serve(context: &Context, global: &Global, args: &ServerArgs) -> Result<Exit, CliError> {
    let (first, others) = file::settings(context, args)?;
    if args.gateway {
        return gateway::run(context, global, Settings { hosts: args.host.clone(), ..first.settings });
    }
    let data = first.place();
    let further: Vec<_> =
        others.iter().map(|index| json!({"data": index.place(), "hosts": index.settings.hosts})).collect();
    let told: Vec<_> = others
        .iter()
        .map(|index| format!("Serving {} as {}", index.place(), index.settings.hosts.join(", ")))
        .collect();
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}");
        let document = json!({"ok": true, "url": url, "data": data, "indexes": further});
        // The server runs on even if nobody reads its output.
        let _closed = context.out.answer(&document, |out| {
            writeln!(out, "Serving {data} at {url}")?;
            told.iter().try_for_each(|told| writeln!(out, "{told}"))
        });
    };
    let first = open(first)?;
    let others = others.into_iter().map(open).collect::<Result<_, _>>()?;
    server::serve(first, others, ready).map_err(failed)?;
    Ok(Exit::Done)
}

/// Opens an index in its data folder or its engines.
fn open(index: ServedIndex) -> Result<Hub, CliError> {
    if !index.storage.is_cluster() {
        return Hub::open(index.settings).map_err(failed);
    }
    let stores = engines::stores(&index)?;
    Hub::over(index.settings, stores).map_err(|error| CliError::new("io", Exit::Failed, error.details.to_string()))
}

/// Opens the accounts of an index alone.
fn accounts(index: &ServedIndex) -> Result<Box<dyn People>, CliError> {
    match index.storage.is_cluster() {
        true => Ok(engines::stores(index)?.people),
        false => Hub::accounts_in(&index.settings.data).map_err(failed),
    }
}

fn admin_token(context: &Context, args: &AdminTokenArgs) -> Result<Exit, CliError> {
    let account = Owner::parse(&args.account).map_err(|error| CliError::usage(error.to_string()))?;
    let accounts = match &args.config {
        Some(config) => accounts(&file::first_of(context, config)?)?,
        None => Hub::accounts_in(&data_folder(context, args.data.as_deref())).map_err(failed)?,
    };
    let by = account.clone();
    let new = NewToken { account, scope: Scope::Admin, label: "made on the server".to_owned(), expires_at: None };
    let (token, secret) = accounts.add_token(&new, true, &by, Timestamp::now()).map_err(|error| {
        CliError::new("io", Exit::Failed, error.to_string())
            .hint("name the server's data folder with --data DIR, or its configuration with --config FILE")
    })?;
    context.out.answer(&json!({"ok": true, "secret": secret, "token": token}), |out| writeln!(out, "{secret}"))
}

fn data_folder(context: &Context, given: Option<&Path>) -> PathBuf {
    given.map_or_else(|| context.home.path().join("server"), Path::to_owned)
}
