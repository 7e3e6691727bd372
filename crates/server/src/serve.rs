//! [`serve`]: connections, and how they end.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, DefaultBodyLimit, Request},
    middleware,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn as connection_service};
use hyper_util::rt::{TokioIo, TokioTimer};
use skill::{
    Limits,
    failure::{Fails, Failure},
};
use thiserror::Error;
use tokio::{
    net::{TcpListener, TcpStream},
    signal,
    sync::watch,
};
use tower::{ServiceExt, service_fn};

use crate::{
    api::{self, Shared},
    connections::{Connections, Place},
    descriptors,
    error::ApiError,
    foreign,
    guard::{asked_for, guard, is_named},
    hub::{DataError, Hub},
    operations, pages,
    proxies::TrustedProxies,
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

/// Serves until the process is asked to end; `ready` is told the address as it is then. Each of `others` is an index of
/// its own at the names that it has; address and limits are those of the first.
///
/// # Errors
/// [`ServeError`]
pub fn serve(settings: Settings, others: Vec<Settings>, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    let (address, limits, proxies) = (settings.address, settings.limits.clone(), settings.trusted_proxies.clone());
    let first = Arc::new(Hub::open(settings)?);
    let others: Vec<Shared> =
        others.into_iter().map(|settings| Hub::open(settings).map(Arc::new)).collect::<Result<_, _>>()?;
    runtime()?.block_on(async {
        let (end, ending) = watch::channel(());
        let all = std::iter::once(&first).chain(&others);
        let upkeeps: Vec<_> = all.map(|hub| tokio::spawn(upkeep(Arc::clone(hub), ending.clone()))).collect();
        let around = (&limits, &proxies);
        let served = until_asked_to_end(address, by_name(&first, &others), around, ready).await;
        drop((end, ending));
        for upkeep in upkeeps {
            let _done = upkeep.await;
        }
        served
    })
}

/// The routes of several indexes: a request is for the one of `others` that has the name it asks for, else for `first`.
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
    (limits, proxies): (&ServerLimits, &TrustedProxies),
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let io = |what: String| move |error| ServeError::Io { what, error };
    let most = descriptors::for_connections(limits.connections);
    let listener = TcpListener::bind(address).await.map_err(io(format!("cannot listen on {address}")))?;
    ready(listener.local_addr().map_err(io("cannot tell the address".to_owned()))?);
    let (end, ending) = watch::channel(());
    let open = Connections::new(most, limits.connections_of_client.min(most));
    tokio::select! {
        () = accept(listener, app, (limits, proxies), &open, &ending) => {}
        ended = asked_to_end() => ended.map_err(io("cannot wait for the end".to_owned()))?,
    }
    drop(ending);
    let _all_are_gone = end.send(());
    let _late_ones_are_cut = tokio::time::timeout(limits.shutdown_time, end.closed()).await;
    Ok(())
}

async fn accept(
    listener: TcpListener,
    app: Router,
    (limits, proxies): (&ServerLimits, &TrustedProxies),
    open: &Arc<Connections>,
    ending: &watch::Receiver<()>,
) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of descriptors, mostly.
            open.close_one();
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let Some(place) = open.admit(proxies.client_of_connection(peer.ip())) else { continue };
        let _as_it_is = stream.set_nodelay(true);
        cut_when_stalled(&stream, limits.stall_time);
        tokio::spawn(connected(stream, peer, app.clone(), limits.clone(), Arc::new(place), ending.clone()));
    }
}

/// Has the system close a connection whose client takes nothing of what it is sent for that long.
#[cfg(target_os = "linux")]
fn cut_when_stalled(stream: &TcpStream, time: Duration) {
    let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let _as_it_is = rustix::net::sockopt::set_tcp_user_timeout(stream, millis);
}

/// Other systems decide themselves when that is.
#[cfg(not(target_os = "linux"))]
fn cut_when_stalled(_: &TcpStream, _: Duration) {}

/// Answers the requests of one connection.
async fn connected(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    limits: ServerLimits,
    place: Arc<Place>,
    mut ending: watch::Receiver<()>,
) {
    let of_requests = Arc::clone(&place);
    let answer = connection_service(move |request: Request<Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let (app, busy) = (app.clone(), of_requests.busy());
        async move {
            let _until_answered = busy;
            Ok::<_, Infallible>(app.oneshot(request).await.unwrap_or_else(|never| match never {}))
        }
    });
    let mut connection = http1::Builder::new();
    connection.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(HEAD_BYTES);
    let mut connection = std::pin::pin!(connection.serve_connection(TokioIo::new(stream), answer));
    tokio::select! {
        _client_gone = connection.as_mut() => {}
        _told_to_end = ending.changed() => {
            connection.as_mut().graceful_shutdown();
            let _client_gone = connection.await;
        }
        () = place.asked_to_close() => if place.is_in_use() {
            connection.as_mut().graceful_shutdown();
            let _answered_or_too_slow = tokio::time::timeout(limits.shutdown_time, connection).await;
        }
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
