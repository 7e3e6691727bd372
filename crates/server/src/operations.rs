//! Routes for operators: `/healthz`, `/readyz` and `/metrics`.

use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};

use crate::{
    api::{HubState, Shared, run},
    error::ApiError,
};

/// Builds the routes for operators.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

/// Answers 200 if the index and the database can be read.
async fn ready(State(hub): HubState) -> Result<&'static str, ApiError> {
    run(&hub, |hub| {
        hub.stores.releases.check_readiness()?;
        Ok("ready\n")
    })
    .await
}

async fn metrics(State(hub): HubState) -> Result<impl IntoResponse, ApiError> {
    let text =
        run(&hub, |hub| Ok(hub.metrics.text(hub.stores.catalogue.count()?, &hub.stores.releases.gauges()?))).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
