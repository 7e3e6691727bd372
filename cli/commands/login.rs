//! `skillhub login` and `skillhub logout` manage the tokens for registry servers.

use std::io::{self, IsTerminal};

use clap::Args;
use client::{EnvironmentToken, LoginError, Logins};
use ops::SERVER_TOKEN_VARIABLE;
use serde_json::json;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    global::Global,
    reading::read_line,
};

/// Flags of `login`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub login http://127.0.0.1:8700            prompt for the token
  echo $TOKEN | skillhub login https://skills.example.org
  skillhub login --registry team                  the server named `team` in config.toml

The token is stored in logins.toml in the home, readable only by you. In CI, set SKILLHUB_TOKEN instead; it
overrides the stored token for --registry, or for the only server that is configured. With several servers,
SKILLHUB_TOKEN_TEAM is the token for the one named `team`.

`skillhub publish` publishes as the account of the token unless --owner or config.toml names another owner.
Tokens are sent over plain HTTP to this machine only; --insecure allows it for all. Server certificates
are checked against the system's CAs, or those of --ca-file FILE or SSL_CERT_FILE.")]
pub struct LoginArgs {
    /// The server; that of the registry otherwise
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// Flags of `logout`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub logout http://127.0.0.1:8700           remove the stored token (it stays valid)")]
pub struct LogoutArgs {
    /// The server; that of the registry otherwise
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// Verifies and stores a token.
pub fn login(context: &Context, global: &Global, args: &LoginArgs) -> Result<Exit, CliError> {
    let url = server(context, global, args.url.as_deref())?;
    client::check_token_may_go(&url).map_err(failed)?;
    let logins = Logins::read(&context.home).map_err(failed)?;
    let given = from_environment(context, &url, args.url.is_some());
    let token = given.as_ref().map_or_else(|| typed_token(context), |given| Ok(given.token.clone()))?;
    let account = logins.sign_in(&context.home, &url, &token).map_err(|error| match given {
        Some(given) if matches!(error, LoginError::Unknown(_)) => failed(error).hint(given.hint()),
        _ => failed(error),
    })?;
    let document = json!({"ok": true, "server": url, "account": account});
    context.out.answer(&document, |out| writeln!(out, "Signed in to {url} as {account}"))
}

/// Deletes a stored token.
pub fn logout(context: &Context, global: &Global, args: &LogoutArgs) -> Result<Exit, CliError> {
    let url = server(context, global, args.url.as_deref())?;
    let had = Logins::read(&context.home).map_err(failed)?.sign_out(&context.home, &url).map_err(failed)?;
    let document = json!({"ok": true, "server": url, "status": if had { "signed_out" } else { "unchanged" }});
    let text = if had { "Signed out of" } else { "No stored token for" };
    context.out.answer(&document, |out| writeln!(out, "{text} {url}"))
}

fn server(context: &Context, global: &Global, given: Option<&str>) -> Result<String, CliError> {
    let url = match given {
        Some(url) => url.to_owned(),
        None => context.registries().location(),
    };
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    let named = global.registry.is_some() || given.is_some();
    let what = if named { format!("{url} is not a server") } else { "no server is configured".to_owned() };
    Err(CliError::usage(what).hint("name a server: skillhub login http://127.0.0.1:8700"))
}

/// Returns the server's token from the environment. The common token is also for a server that the command names.
fn from_environment(context: &Context, url: &str, is_named: bool) -> Option<EnvironmentToken> {
    let common = || {
        let token = std::env::var(SERVER_TOKEN_VARIABLE).ok().filter(|token| is_named && !token.is_empty())?;
        Some(EnvironmentToken { variable: SERVER_TOKEN_VARIABLE.to_owned(), token })
    };
    context.registries().token_for(url).or_else(common)
}

/// Returns the token from the first line of standard input.
fn typed_token(context: &Context) -> Result<String, CliError> {
    if io::stdin().is_terminal() {
        context.out.note("Paste the token, and press Enter:");
    }
    match read_line()?.trim() {
        "" => Err(CliError::usage("no token on stdin")
            .hint(format!("pipe it in or set {SERVER_TOKEN_VARIABLE}; the server's operator creates tokens"))),
        token => Ok(token.to_owned()),
    }
}
