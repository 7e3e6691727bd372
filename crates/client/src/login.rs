//! [`Logins`]: tokens for registries on servers, in a file of the home that only its user can read.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use library::{Home, from_toml, open_dir, read_bounded, write_private};
use serde::{Deserialize, Serialize};
use skill::{
    Limits,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use crate::http::{self, HttpError, HttpRequest, HttpResponse};

const FILE: &str = "logins.toml";
const FORMAT: u32 = 1;

/// Time for which a refused connection is retried, since a server may still be starting, and the delay between
/// attempts.
const START_LIMIT: Duration = Duration::from_secs(5);
const START_PAUSE: Duration = Duration::from_millis(50);

/// Logins of a home, by the URL of the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Logins {
    format: u32,
    #[serde(default)]
    servers: BTreeMap<String, Login>,
}

/// A login at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// Name of the account.
    pub account: String,
    /// Bearer token, stored in plain text.
    pub token: String,
}

/// Reasons why signing in, reading logins or signing out failed.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The server cannot be reached.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The URL does not belong to a skillhub server.
    #[error("{0} is not a skillhub server")]
    NoServer(String),
    /// The server rejected the token.
    #[error("{0} does not accept this token")]
    Unknown(String),
    /// The file with the logins cannot be used.
    #[error("cannot use {FILE} in the skillhub home: {0}")]
    File(String),
}

impl Fails for LoginError {
    fn failure(&self) -> Failure {
        match self {
            Self::Http(error) => error.of_server(),
            Self::NoServer(_) => Failure::new(FailureKind::NotFound, "not_a_registry")
                .hint("give the URL of the server, as in http://host:port"),
            Self::Unknown(_) => Failure::new(FailureKind::Refused, "unauthorized").hint(
                "ask the operator of the server for a token; on the server itself, run: skillhub serve admin-token --data \
                 DIR",
            ),
            Self::File(_) => Failure::new(FailureKind::Failed, "io").hint("delete the file and sign in again"),
        }
    }
}

/// Sends a request. If the connection is refused, retries for some seconds: the server may have been started just
/// before.
fn ask_when_up(url: &str, asked: &HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
    let until = Instant::now() + START_LIMIT;
    loop {
        match http::ask(url, asked, Limits::default().state_bytes) {
            Err(HttpError::Refused { .. }) if Instant::now() < until => thread::sleep(START_PAUSE),
            answered => return answered,
        }
    }
}

#[derive(Deserialize)]
struct Who {
    account: Option<String>,
}

impl Logins {
    /// Reads the logins of a home.
    ///
    /// # Errors
    /// [`LoginError::File`]
    pub fn read(home: &Home) -> Result<Self, LoginError> {
        let bad = |error: &dyn std::fmt::Display| LoginError::File(error.to_string());
        let bytes = match open_dir(home.path()).map_err(|error| bad(&error))? {
            Some(dir) => read_bounded(&dir, FILE, Limits::default().state_bytes).map_err(|error| bad(&error))?,
            None => None,
        };
        let Some(bytes) = bytes else { return Ok(Self { format: FORMAT, servers: BTreeMap::new() }) };
        let text = String::from_utf8(bytes).map_err(|error| bad(&error))?;
        let logins: Self = from_toml(&text).map_err(|error| bad(&error))?;
        match logins.format {
            FORMAT => Ok(logins),
            other => Err(bad(&format!("it has format {other}, but this version of skillhub reads only {FORMAT}"))),
        }
    }

    /// Returns the login for the server at a URL.
    pub fn of(&self, url: &str) -> Option<&Login> {
        self.servers.get(url.trim_end_matches('/'))
    }

    /// Verifies a token with the server and stores it. Returns the name of the account.
    ///
    /// # Errors
    /// [`LoginError`]; nothing is stored then.
    pub fn sign_in(mut self, home: &Home, url: &str, token: &str) -> Result<String, LoginError> {
        let url = url.trim_end_matches('/').to_owned();
        let asked = HttpRequest { token: Some(token), ..HttpRequest::default() };
        let answer = ask_when_up(&format!("{url}/v1/whoami"), &asked)?;
        let who = match answer.status {
            200 => serde_json::from_slice::<Who>(&answer.bytes).map_err(|_| LoginError::NoServer(url.clone()))?,
            401 => return Err(LoginError::Unknown(url)),
            _ => return Err(LoginError::NoServer(url)),
        };
        let account = who.account.ok_or_else(|| LoginError::Unknown(url.clone()))?;
        self.servers.insert(url, Login { account: account.clone(), token: token.to_owned() });
        self.write(home)?;
        Ok(account)
    }

    /// Deletes the login for a server. Returns `false` if there was none. The token stays valid until it is revoked.
    ///
    /// # Errors
    /// [`LoginError::File`]
    pub fn sign_out(mut self, home: &Home, url: &str) -> Result<bool, LoginError> {
        let had = self.servers.remove(url.trim_end_matches('/')).is_some();
        if had {
            self.write(home)?;
        }
        Ok(had)
    }

    /// Returns all servers with a login, by URL.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &Login)> {
        self.servers.iter().map(|(url, login)| (url.as_str(), login))
    }

    fn write(&self, home: &Home) -> Result<(), LoginError> {
        let bad = |error: &dyn std::fmt::Display| LoginError::File(error.to_string());
        let dir = home.ensure().map_err(|error| bad(&error))?;
        let text = toml::to_string(self).map_err(|error| bad(&error))?;
        write_private(&dir, FILE, text.as_bytes()).map_err(|error| bad(&error))
    }
}
