//! [`serve`]: connections, and how they end.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, DefaultBodyLimit, Request},
    middleware,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use skill::{
    Limits,
    failure::{Fails, Failure},
};
use thiserror::Error;
use tokio::{
    net::TcpListener,
    signal,
    sync::{Semaphore, watch},
};
use tower::ServiceExt;

use crate::{
    api::{self, Shared},
    error::ApiError,
    foreign,
    guard::guard,
    hub::{DataError, Hub},
    operations, pages,
    settings::{ServerLimits, Settings},
    sparse,
};

/// How often what others did to the index is looked for, and downloads are written.
const UPKEEP: Duration = Duration::from_secs(1);

/// Bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;

/// Why a server does not run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Its data folder.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The system.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
}

impl Fails for ServeError {
    fn failure(&self) -> Failure {
        match self {
            Self::Io { error, .. } if error.kind() == io::ErrorKind::AddrInUse => {
                Failure::io().hint("another server listens there; name another port: --addr 127.0.0.1:0 takes any")
            }
            Self::Io { .. } => Failure::io(),
            Self::Data(error) => error.failure(),
        }
    }
}

/// Serves until the process is asked to end; `ready` is told the address as it is then.
///
/// # Errors
/// [`ServeError`]
pub fn serve(settings: Settings, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let address = settings.address;
    let hub = Arc::new(Hub::open(settings)?);
    runtime()?.block_on(async {
        let (end, ending) = watch::channel(());
        let upkeep = tokio::spawn(upkeep(Arc::clone(&hub), ending));
        let served = until_asked_to_end(address, app(&hub), &hub.settings.limits, ready).await;
        drop(end);
        let _done = upkeep.await;
        served
    })
}

/// All routes.
pub fn app(hub: &Shared) -> Router {
    let archive = usize::try_from(Limits::default().archive_bytes).unwrap_or(usize::MAX);
    Router::new()
        .merge(api::router())
        .merge(sparse::router())
        .merge(foreign::router())
        .merge(operations::router())
        .merge(pages::market::router())
        .fallback(pages::market::nothing)
        .method_not_allowed_fallback(|| async {
            ApiError::new(axum::http::StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this cannot be done here")
        })
        .layer(DefaultBodyLimit::max(archive))
        .layer(middleware::from_fn_with_state(Arc::clone(hub), guard))
        .with_state(Arc::clone(hub))
}

/// What connections are served on.
///
/// # Errors
/// [`ServeError::Io`]
pub fn runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| ServeError::Io { what: "cannot start".to_owned(), error })
}

/// Answers by some routes until the process is asked to end, and lets requests end that are under way then.
///
/// # Errors
/// [`ServeError::Io`]
pub async fn until_asked_to_end(
    address: SocketAddr,
    app: Router,
    limits: &ServerLimits,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let io = |what: String| move |error| ServeError::Io { what, error };
    let listener = TcpListener::bind(address).await.map_err(io(format!("cannot listen on {address}")))?;
    ready(listener.local_addr().map_err(io("cannot tell the address".to_owned()))?);
    let (end, ending) = watch::channel(());
    let places = Arc::new(Semaphore::new(limits.connections));
    tokio::select! {
        () = accept(listener, app, limits, &places, &ending) => {}
        ended = asked_to_end() => ended.map_err(io("cannot wait for the end".to_owned()))?,
    }
    drop(end);
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let _late_ones_are_cut = tokio::time::timeout(limits.shutdown_time, places.acquire_many(all)).await;
    Ok(())
}

async fn accept(
    listener: TcpListener,
    app: Router,
    limits: &ServerLimits,
    places: &Arc<Semaphore>,
    ending: &watch::Receiver<()>,
) {
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else { return };
        let Ok((stream, client)) = listener.accept().await else {
            // Out of descriptors, mostly: others have to go first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _as_it_is = stream.set_nodelay(true);
        let (app, head_time, mut ending) = (app.clone(), limits.head_time, ending.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request: Request<Incoming>| {
                let mut request = request.map(axum::body::Body::new);
                request.extensions_mut().insert(ConnectInfo(client));
                let app = app.clone();
                async move { Ok::<_, Infallible>(app.oneshot(request).await.unwrap_or_else(|never| match never {})) }
            });
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new()).header_read_timeout(head_time).max_buf_size(HEAD_BYTES);
            let mut connection = std::pin::pin!(connection.serve_connection(TokioIo::new(stream), answer));
            tokio::select! {
                _client_gone = connection.as_mut() => {}
                _told_to_end = ending.changed() => {
                    connection.as_mut().graceful_shutdown();
                    let _client_gone = connection.await;
                }
            }
            drop(place);
        });
    }
}

/// Looks for what others did to the index and writes downloads, until the server ends.
async fn upkeep(hub: Shared, mut ending: watch::Receiver<()>) {
    loop {
        let is_last = tokio::time::timeout(UPKEEP, ending.changed()).await.is_ok();
        let done = api::run(&hub, |hub| {
            hub.refresh()?;
            Ok(hub.activity.write_downloads()?)
        });
        if let Err(error) = done.await {
            (hub.settings.log)(
                &serde_json::json!({"time": jiff::Timestamp::now().to_string(), "why": error.details}).to_string(),
            );
        }
        if is_last {
            return;
        }
    }
}

#[cfg(unix)]
async fn asked_to_end() -> io::Result<()> {
    let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn asked_to_end() -> io::Result<()> {
    signal::ctrl_c().await
}
