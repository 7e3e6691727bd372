//! [`serve`]: serves one index or several until the process is asked to end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    middleware,
};
use skill::Limits;
use tokio::sync::watch;
use tower::{ServiceExt, service_fn};
use web::{
    ServeError,
    guard::{asked_for, is_named},
    runtime, serve_until_signal,
};

use crate::{
    api::{self, Shared},
    error::ApiError,
    foreign,
    guard::guard,
    hub::Hub,
    operations, pages,
    settings::Settings,
    sparse,
};

/// Interval for reading changes that other processes made to the index, and for writing counted downloads.
const UPKEEP: Duration = Duration::from_secs(1);

/// Interval for checking whether the stores need maintenance.
const TIDYING: Duration = Duration::from_secs(1);

/// Serves until the process is asked to end. `ready` is called with the bound address. Each of `others` is a separate
/// index at its own host names; address and limits are those of the first.
///
/// # Errors
/// [`ServeError`]
pub fn serve(first: Hub, others: Vec<Hub>, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let others: Vec<Shared> = others.into_iter().map(Arc::new).collect();
    let first = Arc::new(first);
    runtime()?.block_on(async {
        let (end, ending) = watch::channel(());
        let all = std::iter::once(&first).chain(&others);
        let upkeeps: Vec<_> = all
            .flat_map(|hub| {
                let tidying = tokio::spawn(tidying(Arc::clone(hub), ending.clone()));
                [tokio::spawn(upkeep(Arc::clone(hub), ending.clone())), tidying]
            })
            .collect();
        let Settings { address, limits, trusted_proxies, .. } = &first.settings;
        let stopping = || log_stage(&first, "stopping: requests in progress are finished");
        let routes = by_name(&first, &others);
        let served = serve_until_signal(*address, routes, limits, trusted_proxies, ready, stopping).await;
        drop((end, ending));
        for upkeep in upkeeps {
            let _done = upkeep.await;
        }
        if served.is_ok() {
            log_stage(&first, "stopped");
        }
        served
    })
}

/// Routes by host name: to the index in `others` that has the requested name, otherwise to `first`.
fn by_name(first: &Shared, others: &[Shared]) -> Router {
    if others.is_empty() {
        return app(first);
    }
    let first = app(first);
    let others: Arc<[_]> = others.iter().map(|hub| (Arc::clone(hub), app(hub))).collect();
    let named = service_fn(move |request: Request| {
        let is_for = |hub: &Shared| asked_for(&request).is_some_and(|name| is_named(&hub.settings.hosts, name));
        let found = others.iter().find(|(hub, _)| is_for(hub));
        found.map_or(&first, |(_, app)| app).clone().oneshot(request)
    });
    Router::new().fallback_service(named)
}

/// Builds all routes of one index.
pub fn app(hub: &Shared) -> Router {
    let archive = usize::try_from(Limits::default().archive_bytes).unwrap_or(usize::MAX);
    Router::new()
        .merge(api::router())
        .merge(sparse::router())
        .merge(foreign::router())
        .merge(operations::router())
        .merge(pages::router())
        .fallback(pages::nothing)
        .method_not_allowed_fallback(|| async {
            ApiError::new(
                axum::http::StatusCode::METHOD_NOT_ALLOWED,
                "invalid_request",
                "this address does not support the method",
            )
        })
        .layer(DefaultBodyLimit::max(archive))
        .layer(middleware::from_fn_with_state(Arc::clone(hub), guard))
        .with_state(Arc::clone(hub))
}

/// Refreshes the index and writes counted downloads at an interval, until the server ends.
async fn upkeep(hub: Shared, mut ending: watch::Receiver<()>) {
    loop {
        let is_last = tokio::time::timeout(UPKEEP, ending.changed()).await.is_ok();
        let done = api::run(&hub, |hub| {
            hub.stores.releases.refresh()?;
            Ok(hub.stores.activity.write_downloads()?)
        });
        log_failure(&hub, done.await);
        if is_last {
            return;
        }
    }
}

/// Runs the stores' maintenance at an interval, until the server ends. A read-only server does none.
async fn tidying(hub: Shared, mut ending: watch::Receiver<()>) {
    while !hub.settings.read_only && tokio::time::timeout(TIDYING, ending.changed()).await.is_err() {
        let ending = ending.clone();
        let go_on = move || ending.has_changed().is_ok();
        log_failure(&hub, api::run(&hub, move |hub| hub.stores.releases.tidy(&go_on)).await);
    }
}

/// Logs a stage of ending, so that an operator can distinguish a stop from a crash.
fn log_stage(hub: &Shared, stage: &str) {
    let line = serde_json::json!({"time": jiff::Timestamp::now().to_string(), "stage": stage});
    (hub.settings.log)(&line.to_string());
}

fn log_failure(hub: &Shared, done: Result<(), ApiError>) {
    if let Err(error) = done {
        let line = serde_json::json!({"time": jiff::Timestamp::now().to_string(), "why": error.details});
        (hub.settings.log)(&line.to_string());
    }
}
