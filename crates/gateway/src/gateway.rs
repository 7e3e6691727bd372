//! [`Gateway`]: a library, what is kept of who asks, and the [`Work`] that a request does in it.

use std::{sync::Arc, thread, time::Duration};

use agent::Live;
use axum::{
    Json,
    body::Bytes,
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use jiff::Timestamp;
use library::{Actor, ActorKind};
use serde::de::DeserializeOwned;
use serde_json::Value;
use skill::{Limits, SkillName, failure::Fails};
use skill_manage::{ManageError, RequestError, Reviewer};
use tokio::sync::Semaphore;
use web::{ApiError, ServerLimits, TrustedProxies, on_thread};

use crate::{
    gate::Gate,
    sessions::Sessions,
    workplace::{Open, Workplace},
};

/// How long a request may take: an install scans every file.
const REQUEST_TIME: Duration = Duration::from_secs(120);

/// One library over HTTP.
pub struct Gateway {
    open: Box<Open>,
    pub(crate) live: Live,
    /// What scans the skills that pages show.
    pub(crate) scanner: scan::Scanner,
    pub(crate) gate: Gate,
    pub(crate) sessions: Sessions,
    /// Proxies whose headers about a client are believed.
    pub(crate) proxies: TrustedProxies,
    pub(crate) limits: ServerLimits,
    /// Permits of requests that read: each may hold all files of a skill.
    reading: Arc<Semaphore>,
    /// Takes the lines of the log, each a JSON object.
    pub(crate) log: fn(&str),
}

/// What handlers share.
pub(crate) type Shared = Arc<Gateway>;

/// What a request works with: the workplace as it is now, and who asks.
pub(crate) struct Work<'a> {
    pub place: Box<dyn Workplace>,
    pub live: &'a Live,
    pub actor: Actor,
    pub reviewer: Option<Reviewer>,
    pub now: Timestamp,
}

/// What a request came through. It names the agent that whoever has the gateway's token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The API.
    Api,
    /// The pages, in a browser.
    Pages,
}

impl Surface {
    /// How the history names whoever has not shown to be a person.
    pub fn actor(self) -> Actor {
        Actor::new(ActorKind::Agent, if self == Self::Api { "gateway" } else { "pages" })
    }
}

/// What a request brings besides the gateway's own token.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    /// What it came through.
    pub surface: Surface,
    /// Whether it changes nothing, so that a proof which is over only means that nobody is shown to be a person.
    pub reads: bool,
    /// Whether its method changes nothing.
    pub is_safe: bool,
    /// What a reviewer has to show.
    pub reviewer_token: Option<String>,
}

/// What the API answers with.
pub(crate) type Answer = Result<Json<Value>, ApiError>;

/// Who calls the API, and the gateway that they reach.
pub(crate) struct Caller {
    gateway: Shared,
    asker: Asker,
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, gateway: &Shared) -> Result<Self, ApiError> {
        Ok(Self { gateway: Arc::clone(gateway), asker: Asker::of(parts)? })
    }
}

impl Asker {
    /// That of a request which brought the token.
    ///
    /// # Errors
    /// It did not.
    pub fn of(parts: &Parts) -> Result<Self, ApiError> {
        let asker = parts.extensions.get::<Self>().cloned();
        asker.ok_or_else(|| ApiError::bad_request("the request came without a token"))
    }
}

impl Gateway {
    /// The gateway to a workplace; `log` takes a line for each request that broke, as JSON.
    ///
    /// # Errors
    /// [`ApiError`] when the workplace cannot be opened.
    pub fn new(open: Box<Open>, gate: Gate, proxies: TrustedProxies, log: fn(&str)) -> Result<Self, ApiError> {
        let place = open(Surface::Api.actor())?;
        let places = place.places();
        let scanner = places.home.scanner();
        let live = Live::new(places, place.builtin()?);
        let limits = ServerLimits { request_time: REQUEST_TIME, ..ServerLimits::default() };
        let reading = Arc::new(Semaphore::new(thread::available_parallelism().map_or(1, usize::from)));
        Ok(Self { open, live, scanner, gate, sessions: Sessions::default(), proxies, limits, reading, log })
    }

    fn work(&self, asker: &Asker) -> Result<Work<'_>, ApiError> {
        let (mut actor, now) = (asker.surface.actor(), Timestamp::now());
        let mut place = (self.open)(actor.clone())?;
        let reviewer = match &asker.reviewer_token {
            None => None,
            // Whoever only reads is told that the token is over by not being named.
            Some(token) if asker.reads => place.reviewer(token).ok(),
            Some(token) => Some(place.reviewer(token)?),
        };
        if let Some(person) = &reviewer {
            actor = person.actor().clone();
            place = (self.open)(actor.clone())?;
        }
        Ok(Work { place, live: &self.live, actor, reviewer, now })
    }
}

/// Does what a caller of the API asks for.
pub(crate) async fn work_for<T: Send + 'static>(
    caller: Caller,
    work: impl FnOnce(&Work<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    at_work(&caller.gateway, caller.asker, work).await
}

/// Does something in the workplace, on a thread that may wait.
pub(crate) async fn at_work<T: Send + 'static>(
    gateway: &Shared,
    asker: Asker,
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

/// An error of the crates below, as a client is told it.
pub(crate) fn told(error: impl Fails) -> ApiError {
    ApiError::of(&error)
}

/// A skill's name out of a path.
pub(crate) fn skill_name(text: &str) -> Result<SkillName, ApiError> {
    SkillName::parse(text).map_err(|fault| told(ManageError::from(RequestError::Name { name: text.to_owned(), fault })))
}

/// A body of JSON, whatever its type says; fields that are not known are refused.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let most = Limits::default().request_bytes;
    if body.len() as u64 > most {
        let message = format!("the request has {} bytes, the limit is {most}", body.len());
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    let body = if body.is_empty() { &b"{}"[..] } else { body };
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("the request is not readable: {error}")))
}
