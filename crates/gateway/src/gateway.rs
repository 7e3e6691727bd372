//! The [`Gateway`] to a library, its callers, and the [`Work`] that a request does.

use std::{sync::Arc, thread, time::Duration};

use agent::CatalogueCache;
use axum::{
    Json,
    body::Bytes,
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use library::{Actor, ActorKind};
use ops::{OpenWorkspace, Workspace};
use serde::de::DeserializeOwned;
use serde_json::Value;
use skill::{Limits, failure::Fails};
use skill_manage::Reviewer;
use tokio::sync::Semaphore;
use web::{ApiError, ServerLimits, TrustedProxies, extract::json, on_thread};

use crate::{http_auth::HttpAuth, sessions::Sessions};

/// Time limit of a request. An install scans every file.
const REQUEST_TIME: Duration = Duration::from_secs(120);

/// Serves one library over HTTP.
pub struct Gateway {
    open: Box<OpenWorkspace>,
    pub(crate) live: CatalogueCache,
    /// Scans the skills that pages show.
    pub(crate) scanner: scan::Scanner,
    pub(crate) gate: HttpAuth,
    pub(crate) sessions: Sessions,
    /// Proxies whose forwarding headers are trusted.
    pub(crate) proxies: TrustedProxies,
    pub(crate) limits: ServerLimits,
    /// Permits for requests that read, as each may hold all files of a skill in memory.
    reading: Arc<Semaphore>,
    /// Receives the lines of the log, each a JSON object.
    pub(crate) log: fn(&str),
}

/// The state that all handlers share.
pub(crate) type Shared = Arc<Gateway>;

/// The context of a request: the workplace as it is now, and the caller.
pub(crate) struct Work<'a> {
    pub place: Workspace,
    pub live: &'a CatalogueCache,
    pub reviewer: Option<Reviewer>,
}

/// The interface through which a request came. It names the agent that holds the gateway's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The JSON API, below `/api/`.
    Api,
    /// The pages, in a browser.
    Pages,
}

impl Surface {
    /// Returns the actor that the history records for a caller who has not proven to be a person.
    pub fn actor(self) -> Actor {
        Actor::new(ActorKind::Agent, if self == Self::Api { "gateway" } else { "pages" })
    }
}

/// The credentials of a request, in addition to the gateway's own token.
#[derive(Debug, Clone)]
pub(crate) struct RequestCredentials {
    /// Interface through which the request came.
    pub surface: Surface,
    /// True if the request only reads, so that an expired reviewer's token is ignored instead of rejected.
    pub reads: bool,
    /// True if the HTTP method is safe.
    pub is_safe: bool,
    /// Token that proves a reviewer, if the request has one.
    pub reviewer_token: Option<String>,
}

/// The result of an API handler.
pub(crate) type ApiResult = Result<Json<Value>, ApiError>;

/// The caller of the API, and the gateway that is called.
pub(crate) struct Caller {
    gateway: Shared,
    asker: RequestCredentials,
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, gateway: &Shared) -> Result<Self, ApiError> {
        Ok(Self { gateway: Arc::clone(gateway), asker: RequestCredentials::of(parts)? })
    }
}

impl RequestCredentials {
    /// Returns the credentials that the guard stored in a request.
    ///
    /// # Errors
    /// The request had no token.
    pub fn of(parts: &Parts) -> Result<Self, ApiError> {
        let asker = parts.extensions.get::<Self>().cloned();
        asker.ok_or_else(|| ApiError::bad_request("the request has no token"))
    }
}

impl Gateway {
    /// Creates the gateway to a workplace. Calls `log` with a line of JSON for each request that failed in the server.
    ///
    /// # Errors
    /// [`ApiError`] when the workplace cannot be opened.
    pub fn new(
        open: Box<OpenWorkspace>,
        gate: HttpAuth,
        proxies: TrustedProxies,
        log: fn(&str),
    ) -> Result<Self, ApiError> {
        let place = open(Surface::Api.actor())?;
        let places = place.places(true);
        let scanner = places.home.scanner();
        let live = CatalogueCache::new(places, place.public_skills()?);
        let limits = ServerLimits { request_time: REQUEST_TIME, ..ServerLimits::default() };
        let reading = Arc::new(Semaphore::new(thread::available_parallelism().map_or(1, usize::from)));
        Ok(Self { open, live, scanner, gate, sessions: Sessions::default(), proxies, limits, reading, log })
    }

    fn work(&self, asker: &RequestCredentials) -> Result<Work<'_>, ApiError> {
        let mut place = (self.open)(asker.surface.actor())?;
        let reviewer = match &asker.reviewer_token {
            None => None,
            // For a request that only reads, an expired token means that the caller is not a person.
            Some(token) if asker.reads => Reviewer::with_token(&place.home, token, place.now).ok(),
            Some(token) => Some(Reviewer::with_token(&place.home, token, place.now).map_err(into_api_error)?),
        };
        if let Some(person) = &reviewer {
            place = (self.open)(person.actor().clone())?;
        }
        Ok(Work { place, live: &self.live, reviewer })
    }
}

/// Runs a function for a caller of the API.
pub(crate) async fn work_for<T: Send + 'static>(
    caller: Caller,
    work: impl FnOnce(&Work<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    run_blocking(&caller.gateway, caller.asker, work).await
}

/// Runs a function in the workplace, on a thread for blocking work.
pub(crate) async fn run_blocking<T: Send + 'static>(
    gateway: &Shared,
    asker: RequestCredentials,
    work: impl FnOnce(&Work<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let gateway = Arc::clone(gateway);
    let permit = if asker.is_safe { Arc::clone(&gateway.reading).acquire_owned().await.ok() } else { None };
    on_thread(move || {
        let _held = permit;
        work(&gateway.work(&asker)?)
    })
    .await
}

/// Converts an error of the lower crates.
pub(crate) fn into_api_error(error: impl Fails) -> ApiError {
    ApiError::of(&error)
}

/// Parses a JSON body, whatever its content type. Unknown fields are rejected.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let most = Limits::default().request_bytes;
    if body.len() as u64 > most {
        let message = format!("the request has {} bytes; the limit is {most}", body.len());
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    let body = if body.is_empty() { &b"{}"[..] } else { body };
    json(body)
}
