//! The routes of a library, and the server that runs them ([`serve`]).

use std::{net::SocketAddr, sync::Arc, time::Instant};

use agent::CatalogueCache;
use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware,
    routing::{get, post},
};
use skill::Limits;
use web::{ApiError, ServeError, on_thread, runtime, serve_until_signal};

use crate::{
    codegen, custom, decisions,
    gateway::{Gateway, into_api_error},
    guard, pages, proposals, skills,
    systems::DIALECTS,
};

/// Serves a library until the process is asked to end. Calls `ready` with the bound address.
///
/// # Errors
/// [`ServeError`]
pub fn serve(gateway: Gateway, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let gateway = Arc::new(gateway);
    let (limits, proxies) = (gateway.limits.clone(), gateway.proxies.clone());
    runtime()?.block_on(async {
        tokio::spawn(look_out(Arc::clone(&gateway)));
        serve_until_signal(address, app(&gateway), &limits, &proxies, ready, || {}).await
    })
}

/// Refreshes the catalogue in the background when other programs change files, so that no request waits for it.
async fn look_out(gateway: Arc<Gateway>) {
    loop {
        let (began, looking) = (Instant::now(), Arc::clone(&gateway));
        // A faulty library is reported to the request that uses it.
        let _told = on_thread(move || looking.live.refresh().map_err(into_api_error)).await;
        tokio::time::sleep(CatalogueCache::pause_after(began.elapsed())).await;
    }
}

/// Builds the router of the API and the pages.
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
        .route_layer(middleware::from_fn_with_state(Arc::clone(gateway), guard::bearer))
        .merge(
            pages::router(gateway.scanner)
                .route_layer(middleware::from_fn_with_state(Arc::clone(gateway), decisions::held_to_table)),
        )
        .fallback(pages::nothing)
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this address does not support the method")
        })
        .layer(DefaultBodyLimit::max(archive));
    DIALECTS
        .iter()
        .fold(all, |all, dialect| (dialect.answers)(all))
        .layer(middleware::from_fn_with_state(Arc::clone(gateway), guard::guard))
        .with_state(Arc::clone(gateway))
}
