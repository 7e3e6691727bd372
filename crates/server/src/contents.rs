//! [`files`], [`judgement`]: releases are read, unpacked and scanned once, even for concurrent requests.

use std::sync::Arc;

use axum::body::Bytes;
use registry_index::{Entry, FetchError};
use skill::{Bundle, Digest, Limits};
use tokio::sync::OwnedSemaphorePermit;
use web::pages::Judgement;

use crate::{
    api::{Shared, run},
    error::ApiError,
    hub::Hub,
    work_limiter::Job,
};

/// Returns an archive by its digest; `None` when the index does not have it. The caller has already checked that it may
/// be read.
///
/// # Errors
/// The index cannot be read.
pub async fn archive(hub: &Shared, digest: Digest) -> Result<Option<Bytes>, ApiError> {
    let at_hand = |hub: &Hub| hub.stores.blobs.cached(&digest).map(Some);
    // A read is short whatever its size, and does not wait for scans of large releases.
    once(hub, Job::Read, digest, 0, at_hand, move |hub| Ok(hub.stores.blobs.get(&digest)?)).await
}

/// Returns the files of a release and checks them against its line. The caller has already checked that it may be read.
///
/// # Errors
/// [`ApiError`] with 410 when the archive is gone, with 422 when the line differs from it.
pub async fn files(hub: &Shared, entry: &Entry) -> Result<Bundle, ApiError> {
    let (key, made_for) = (entry.archive, entry.clone());
    let at_hand = move |hub: &Hub| hub.contents.kept(&key);
    let bundle = once(hub, Job::Unpack, key, entry.size, at_hand, move |hub| {
        let archive = hub.stored(&made_for)?;
        let bundle = skill::archive::unpack(&archive, &Limits::default()).map_err(|error| ApiError::broken(&error))?;
        hub.metrics.unpacked();
        hub.contents.keep(key, &bundle);
        Ok(bundle)
    });
    let (bundle, line) = (bundle.await?, entry.clone());
    run(hub, move |_| line.check_files(&bundle).map(|()| bundle).map_err(|error| differs(&error))).await
}

/// Returns the scanner's verdict on the files of a release.
///
/// # Errors
/// The scanner failed.
pub async fn judgement(hub: &Shared, bundle: &Bundle) -> Result<Arc<Judgement>, ApiError> {
    let (key, bytes, bundle) = (bundle.digest(), bundle.total_bytes(), bundle.clone());
    let at_hand = move |hub: &Hub| hub.contents.judgements.kept(&key);
    once(hub, Job::Scan, key, bytes, at_hand, move |hub| {
        hub.metrics.scanned();
        Ok(hub.contents.judgements.of(key, &bundle))
    })
    .await
}

/// Returns the cached value, or makes it. Requests for the same work are serialised, and the work waits for a permit.
async fn once<T: Send + 'static>(
    hub: &Shared,
    job: Job,
    digest: Digest,
    bytes: u64,
    at_hand: impl Fn(&Hub) -> Option<T>,
    make: impl FnOnce(&Hub) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if let Some(found) = at_hand(hub) {
        return Ok(found);
    }
    let turn = hub.contents.lanes.lock_job(job, digest).await;
    if let Some(found) = at_hand(hub) {
        return Ok(found);
    }
    let permit = hub.contents.lanes.permit(bytes).await;
    run(hub, move |hub| {
        // Lock and permit last as long as the work, which continues after the client disconnects.
        let _held: (_, Option<OwnedSemaphorePermit>) = (turn, permit);
        make(hub)
    })
    .await
}

fn differs(error: &FetchError) -> ApiError {
    ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "line_differs", error.to_string())
        .hint("ask the server's operator to check the index with `skillhub index verify`")
}
