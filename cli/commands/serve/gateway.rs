//! `skillhub serve --gateway`: the library over HTTP.

use std::net::SocketAddr;

use agent::{Builtin, Catalogue, Places};
use gateway::{Gate, Gateway, Readers, Upload, Workplace};
use library::{Actor, Library};
use serde_json::{Value, json};
use server::Settings;
use skill::{SkillName, failure::Failure};
use skill_manage::{Elsewhere, Policy, Reviewer};
use web::ApiError;

use super::uploads;
use crate::{
    args::Global,
    catalogue::public_skills,
    commands::enable,
    context::Context,
    exit::{CliError, Exit, failed},
    views::AgentsPicture,
};

/// The variable that holds the token of clients.
const TOKEN_VARIABLE: &str = "SKILLHUB_GATEWAY_TOKEN";

/// Serves the library until the process is asked to end.
pub fn run(context: &Context, global: &Global, settings: Settings) -> Result<Exit, CliError> {
    let Settings { address, hosts, trusted_proxies, .. } = settings;
    if global.actor.is_some() {
        return Err(CliError::usage("through the gateway it is always its client that acts")
            .hint("leave --actor out; people send a reviewer's token"));
    }
    let token = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let made = token.is_none();
    let gate = Gate::new(token.map(|token| token.to_string_lossy().into_owned()), hosts).map_err(failed)?;
    let shown = made.then(|| gate.token().to_owned());
    let for_requests = global.clone();
    let open = move |actor: Actor| -> Result<Box<dyn Workplace>, ApiError> {
        let mut context = Context::new(&for_requests).map_err(told)?;
        context.actor = actor;
        Ok(Box::new(context))
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
                    "Serving {library} at {url}, its pages at {pages}\nToken, for `Authorization: Bearer` and the pages, shown \
                     this once: {token}"
                )
            }
            None => format!("Serving {library} at {url}, its pages at {pages}, with the token of {TOKEN_VARIABLE}"),
        };
        // Nobody reads on; the server serves all the same.
        let _closed = context.out.answer(&document, |out| writeln!(out, "{text}"));
    };
    gateway::serve(gateway, address, ready).map_err(failed)?;
    Ok(Exit::Done)
}

/// An error of the command line as a client is told it.
fn told(error: CliError) -> ApiError {
    let failure = Failure { kind: error.exit.kind(), code: error.code, hint: error.hint };
    ApiError::told(failure, error.message, *error.details)
}

/// Why the gateway did not start.
fn start_refused(error: ApiError) -> CliError {
    let message = match error.details.get("log").and_then(Value::as_str) {
        Some(why) => why.to_owned(),
        None => error.message,
    };
    CliError { hint: error.hint, ..CliError::new(error.code, Exit::Failed, message) }
}

impl Workplace for Context {
    fn library(&self) -> Result<Library, ApiError> {
        self.library().map_err(told)
    }

    fn library_of(&self, name: &SkillName) -> Result<Library, ApiError> {
        self.library_of(name).map_err(told)
    }

    fn libraries(&self) -> Result<Vec<Library>, ApiError> {
        self.libraries().map_err(told)
    }

    fn reviewer(&self, token: &str) -> Result<Reviewer, ApiError> {
        Reviewer::with_token(&self.home, token, self.now).map_err(|error| told(error.into()))
    }

    fn elsewhere(&self) -> Result<Vec<Elsewhere>, ApiError> {
        self.elsewhere().map_err(told)
    }

    fn settings(&self) -> Result<agent::Settings, ApiError> {
        self.settings().map_err(told)
    }

    fn policy(&self) -> Result<Policy, ApiError> {
        self.policy().map_err(told)
    }

    fn note_change(&self, library: &Library, skill: &SkillName) -> Option<String> {
        self.lock_warning(library, skill)
    }

    fn tool_hosts(&self) -> Result<compose::Hosts, ApiError> {
        self.tool_hosts().map_err(told)
    }

    fn places(&self) -> Places {
        self.places(true)
    }

    fn readers(&self, catalogue: &Catalogue, name: &SkillName) -> Result<Readers, ApiError> {
        let picture = AgentsPicture::of(self, catalogue, Some(name)).map_err(told)?;
        let agents = picture.readers.into_iter().flatten().collect();
        let differences = picture.differences.into_iter().map(|one| format!("{}: {}", one.message, one.command));
        Ok(Readers { agents, differences: differences.collect() })
    }

    fn builtin(&self) -> Result<Vec<Builtin>, ApiError> {
        public_skills(self).map_err(told)
    }

    fn set_enabled(&self, name: &SkillName, enabled: bool) -> Result<Value, ApiError> {
        enable::set(self, name, enabled).map(|(document, _)| document).map_err(told)
    }

    fn install(&self, archive: &[u8], upload: &Upload) -> Result<Value, ApiError> {
        uploads::install(self, archive, upload).map_err(told)
    }

    fn upload(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        uploads::read(self, path).map_err(told)
    }
}
