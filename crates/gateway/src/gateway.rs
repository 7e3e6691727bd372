//! [`Gateway`]: one library over HTTP, for its operator or for a host that manages skills the way DeerFlow does.
//!
//! | path | does |
//! |---|---|
//! | `GET /api/skills` | every skill that agents of the library could see, switched off ones as well |
//! | `GET`, `PUT /api/skills/{name}` | one; `{"enabled": false}` hides it from agents |
//! | `POST /api/skills/install` | the body is a `.skill` archive; `deerflow.rs` reads forms and paths as well |
//! | `POST /api/skills/reload` | look at all folders again |
//! | `GET /api/skills/custom` | those that can be changed: the library's own |
//! | `GET`, `PUT`, `DELETE /api/skills/custom/{name}` | its text; `{"content": …}` replaces it; a last revision without files |
//! | `GET …/custom/{name}/history`, `…/diff` | revisions, and what differs between two |
//! | `POST …/custom/{name}/rollback` | an earlier revision again |
//! | `GET /api/proposals`, `/api/proposals/{id}` | what waits for a decision |
//! | `POST /api/proposals/{id}/accept`, `/reject` | the decision, with a reviewer's token |
//! | `POST /api/skills.codegen`, `/api/skills.codegen.remove` | compile skills to tools; take these away: `{"names": [...]}` |
//! | `GET /api/skills.codegen.status` | the compiled ones |
//! | all others | the library's pages, for people (`pages/library.rs`) |
//!
//! It changes nothing itself: each request opens the [`Workplace`] and goes through `skill_manage`, as the command line and
//! the MCP server do, and so shares their lock, history, policy and events. Who acts comes from the connection: whoever has
//! the gateway's token is the agent `gateway`, or `pages` in a browser, and a person only with a reviewer's token beside it.

mod codegen;
mod custom;
mod decisions;
mod deerflow;
mod gate;
mod proposals;
mod sessions;
mod skills;
mod workplace;

use std::{
    net::SocketAddr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use agent::Live;
use axum::{
    Router,
    body::Bytes,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware,
    routing::{get, post},
};
use jiff::Timestamp;
use library::Actor;
use serde::de::DeserializeOwned;
use skill::{Limits, SkillName, failure::Fails};
use skill_manage::{ManageError, RequestError, Reviewer};
use tokio::sync::Semaphore;

use crate::{
    blocking::on_thread, error::ApiError, pages, proxies::TrustedProxies, serve::ServeError, settings::ServerLimits,
};
pub(crate) use custom::change;
pub(crate) use gate::{Asker, Surface};
pub use gate::{Gate, GateError};
pub(crate) use proposals::{library_with, reviewer};
pub(crate) use sessions::Sessions;
pub(crate) use skills::is_custom;
pub use workplace::{Open, Readers, Upload, Workplace};

/// How long a request may take: an install scans every file.
const REQUEST_TIME: Duration = Duration::from_secs(120);

/// One library over HTTP.
pub struct Gateway {
    open: Box<Open>,
    live: Live,
    /// What scans the skills that pages show.
    scanner: scan::Scanner,
    pub(crate) gate: Gate,
    pub(crate) sessions: Sessions,
    /// Proxies whose headers about a client are believed.
    pub(crate) proxies: TrustedProxies,
    limits: ServerLimits,
    /// Permits of requests that read: each may hold all files of a skill.
    reading: Arc<Semaphore>,
    /// Takes the lines of the log, each a JSON object.
    log: fn(&str),
}

/// What hosts of another system send and read on the same routes.
struct Dialect {
    /// Makes its bodies ours, before the handlers of the API see them.
    bodies: fn(Router<Shared>, &Shared) -> Router<Shared>,
    /// Makes all answers what it reads.
    answers: fn(Router<Shared>) -> Router<Shared>,
}

/// The systems. Each is a module that hangs on the rest by its entry here alone.
const DIALECTS: &[Dialect] = &[deerflow::DIALECT];

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

/// Serves a library until the process is asked to end; `ready` is told the address as it is then.
///
/// # Errors
/// [`ServeError`]
pub fn serve_gateway(gateway: Gateway, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let gateway = Arc::new(gateway);
    let (limits, proxies) = (gateway.limits.clone(), gateway.proxies.clone());
    let around = (&limits, &proxies);
    crate::serve::runtime()?.block_on(async {
        tokio::spawn(look_out(Arc::clone(&gateway)));
        crate::serve::until_asked_to_end(address, app(&gateway), around, ready).await
    })
}

/// Looks for what other programs change, so that no request has to.
async fn look_out(gateway: Arc<Gateway>) {
    loop {
        let (began, looking) = (Instant::now(), Arc::clone(&gateway));
        // Whoever asks is told what is wrong with a library.
        let _told = on_thread(move || looking.live.refresh().map_err(told)).await;
        tokio::time::sleep(Live::pause_after(began.elapsed())).await;
    }
}

/// All routes.
pub fn app(gateway: &Arc<Gateway>) -> Router {
    let archive = usize::try_from(Limits::default().archive_bytes).unwrap_or(usize::MAX);
    let one = "/api/skills/custom/{name}";
    let at = |rest: &str| format!("{one}/{rest}");
    let api = Router::new()
        .route("/api/prompt/{form}", get(skills::prompt))
        .route("/api/skills", get(skills::list))
        .route("/api/skills/install", post(skills::install))
        .route("/api/skills/reload", post(skills::reload))
        .route("/api/skills/{name}", get(skills::one).put(skills::set_enabled))
        .route("/api/skills/custom", get(skills::custom))
        .route(one, get(custom::one).put(custom::edit).delete(custom::delete))
        .route(&at("history"), get(custom::history))
        .route(&at("diff"), get(custom::diff))
        .route(&at("rollback"), post(custom::roll_back))
        .route("/api/skills.codegen", post(codegen::compile))
        .route("/api/skills.codegen.status", get(codegen::status))
        .route("/api/skills.codegen.remove", post(codegen::remove))
        .route("/api/proposals", get(proposals::list))
        .route("/api/proposals/{id}", get(proposals::one))
        .route("/api/proposals/{id}/accept", post(proposals::accept))
        .route("/api/proposals/{id}/reject", post(proposals::reject));
    let api = DIALECTS.iter().fold(api, |api, dialect| (dialect.bodies)(api, gateway));
    let all = api
        .route_layer(middleware::from_fn_with_state(Arc::clone(gateway), decisions::held_to_table))
        .route_layer(middleware::from_fn_with_state(Arc::clone(gateway), gate::bearer))
        .merge(
            pages::library::router(gateway.scanner)
                .route_layer(middleware::from_fn_with_state(Arc::clone(gateway), decisions::held_to_table)),
        )
        .fallback(pages::library::nothing)
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this cannot be done here")
        })
        .layer(DefaultBodyLimit::max(archive));
    DIALECTS
        .iter()
        .fold(all, |all, dialect| (dialect.answers)(all))
        .layer(middleware::from_fn_with_state(Arc::clone(gateway), gate::guard))
        .with_state(Arc::clone(gateway))
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
fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let most = Limits::default().request_bytes;
    if body.len() as u64 > most {
        let message = format!("the request has {} bytes, the limit is {most}", body.len());
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    let body = if body.is_empty() { &b"{}"[..] } else { body };
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("the request is not readable: {error}")))
}
