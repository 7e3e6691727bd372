//! The API below `/v1`, with an OpenAPI description at `/v1/openapi.json` that is generated from the handlers.

mod accounts;
mod description;
mod documents;
mod keys;
mod moderation;
mod publishing;
mod reading;

pub use publishing::reason;
pub use reading::lineage_of;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    routing::get,
};
use jiff::Timestamp;
use skill::{Owner, QualifiedName, SkillName};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Client, bearer, extract, on_thread,
    pages::session::{Cookies, MARKET},
};

pub use publishing::TEXT_CHARS;
pub use reading::{ReleasePath, count, file_answer, of_release};

use crate::{access::Caller, error::ApiError, hub::Hub};

/// The state that all handlers share.
pub type Shared = Arc<Hub>;

/// Builds all routes below `/v1`.
pub fn router() -> Router<Shared> {
    let (router, mut description) = OpenApiRouter::with_openapi(description::Description::openapi())
        .routes(routes!(reading::search))
        .routes(routes!(reading::skill))
        .routes(routes!(reading::release))
        .routes(routes!(reading::files))
        .routes(routes!(reading::file))
        .routes(routes!(reading::scan_of_release))
        .routes(routes!(reading::archive))
        .routes(routes!(reading::diff))
        .routes(routes!(reading::lineage))
        .routes(routes!(reading::owners_of_name))
        .routes(routes!(publishing::publish))
        .routes(routes!(publishing::yank, publishing::unyank))
        .routes(routes!(publishing::deprecate, publishing::undeprecate))
        .routes(routes!(publishing::star, publishing::unstar))
        .routes(routes!(publishing::report))
        .routes(routes!(accounts::owner))
        .routes(routes!(accounts::set_member, accounts::remove_member))
        .routes(routes!(keys::add_key, keys::retire_key))
        .routes(routes!(accounts::whoami))
        .routes(routes!(accounts::tokens, accounts::new_token))
        .routes(routes!(accounts::revoke))
        .routes(routes!(moderation::reports))
        .routes(routes!(moderation::decide))
        .routes(routes!(moderation::quarantine, moderation::restore))
        .routes(routes!(moderation::withdraw))
        .routes(routes!(moderation::quarantined))
        .routes(routes!(moderation::downloaders))
        .routes(routes!(moderation::audit))
        .split_for_parts();
    description::describe(&mut description);
    let description = Arc::new(description);
    router.route(
        "/v1/openapi.json",
        get(move || {
            let description = Arc::clone(&description);
            async move { Json(description.as_ref().clone()) }
        }),
    )
}

/// Runs a function on a thread for blocking work. It is cancelled if the client disconnects before it starts.
///
/// # Errors
/// Errors of the function.
pub async fn run<T: Send + 'static>(
    hub: &Shared,
    work: impl FnOnce(&Hub) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let hub = Arc::clone(hub);
    on_thread(move || work(&hub)).await
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, hub: &Shared) -> Result<Self, ApiError> {
        if let Some(token) = bearer(&parts.headers).map(str::to_owned) {
            if token.is_empty() {
                return Err(unknown_token());
            }
            let client = Client::of(parts);
            let caller = run(hub, move |hub| {
                let caller = hub.stores.people.caller(&token, Timestamp::now())?;
                if caller.is_none() {
                    hub.note_failed_sign_in(client, "token")?;
                }
                Ok(caller)
            });
            return caller.await?.ok_or_else(unknown_token);
        }
        let header = hub.settings.proxy_account_header.as_deref().filter(|_| Client::of(parts).is_proxied);
        let name = header.and_then(|header| parts.headers.get(header)?.to_str().ok());
        let Some(name) = name else { return by_cookie(parts, hub).await };
        let name = Owner::parse(name.trim()).map_err(|error| ApiError::bad_request(error.to_string()))?;
        run(hub, move |hub| Ok(hub.stores.people.signed_in(name, Timestamp::now())?)).await
    }
}

/// Returns the caller who is signed in on the pages. Browsers also send cookies with requests that other sites cause,
/// so a cookie alone only permits reading; forms of the pages need a proof in addition. An ended session counts as
/// anonymous.
async fn by_cookie(parts: &Parts, hub: &Shared) -> Result<Caller, ApiError> {
    let secret = Cookies::of(&parts.headers, MARKET).secret;
    let Some(secret) = secret.filter(|_| parts.method.is_safe()) else { return Ok(Caller::Anonymous) };
    let caller = run(hub, move |hub| Ok(hub.stores.sessions.caller(&secret, Timestamp::now())?)).await?;
    Ok(caller.unwrap_or(Caller::Anonymous))
}

fn unknown_token() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is unknown, expired or revoked")
        .hint("create a new token, or omit the header")
}

/// Parses `owner/name` from two segments of a path.
///
/// # Errors
/// [`ApiError`] with 404, as no skill can have such a name.
pub fn name_of(owner: &str, name: &str) -> Result<QualifiedName, ApiError> {
    let none = || ApiError::not_found(format!("the skill {owner}/{name} was not found"));
    let (owner, name) =
        (Owner::parse(owner).map_err(|_| none())?, SkillName::parse_standard(name).map_err(|_| none())?);
    if !name.is_publishable() {
        return Err(none());
    }
    Ok(QualifiedName { owner, name })
}

/// Extractor of the shared hub.
pub type HubState = State<Shared>;
