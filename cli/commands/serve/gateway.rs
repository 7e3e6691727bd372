//! `skillhub serve --gateway` serves the library over HTTP.

use std::net::SocketAddr;

use gateway::{Gateway, HttpAuth};
use library::Actor;
use ops::{Refusal, Workspace};
use serde_json::{Value, json};
use server::Settings;
use web::ApiError;

use crate::{
    context::{Context, setup},
    exit::{CliError, Exit, failed},
    global::Global,
};

/// Environment variable with the clients' token.
const TOKEN_VARIABLE: &str = "SKILLHUB_GATEWAY_TOKEN";

/// Serves the library until the process receives a request to stop.
pub fn run(context: &Context, global: &Global, settings: Settings) -> Result<Exit, CliError> {
    let Settings { address, hosts, trusted_proxies, .. } = settings;
    if global.actor.is_some() {
        return Err(CliError::usage("--actor cannot be used here: the history names each client of the gateway")
            .hint("leave --actor out; people send a reviewer's token"));
    }
    let token = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let made = token.is_none();
    let gate = HttpAuth::new(token.map(|token| token.to_string_lossy().into_owned()), hosts).map_err(failed)?;
    let shown = made.then(|| gate.token().to_owned());
    let for_requests = global.clone();
    let open = move |actor: Actor| -> Result<Workspace, Refusal> {
        let mut place = Workspace::open(setup(&for_requests)?)?;
        place.actor = actor;
        Ok(place)
    };
    let gateway = Gateway::new(Box::new(open), gate, trusted_proxies, |line| eprintln!("{line}"));
    let gateway = gateway.map_err(start_refused)?;
    let library = context.library_path().display().to_string();
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/api/skills");
        let pages = format!("http://{address}/");
        let document = json!({"ok": true, "url": url, "pages": pages, "library": library, "token": shown});
        let text = match &shown {
            Some(token) => {
                format!(
                    "Serving {library} at {url}, pages at {pages}\nToken for `Authorization: Bearer` and the pages, \
                     shown only once: {token}"
                )
            }
            None => format!("Serving {library} at {url}, pages at {pages}, with the token of {TOKEN_VARIABLE}"),
        };
        // The server runs on even if nobody reads its output.
        let _closed = context.out.answer(&document, |out| writeln!(out, "{text}"));
    };
    gateway::serve(gateway, address, ready).map_err(failed)?;
    Ok(Exit::Done)
}

/// Converts the error that prevented the gateway from starting.
fn start_refused(error: ApiError) -> CliError {
    let message = match error.details.get("log").and_then(Value::as_str) {
        Some(why) => why.to_owned(),
        None => error.message,
    };
    CliError { hint: error.hint, ..CliError::new(error.code, Exit::Failed, message) }
}
