//! The accept loop, its connections, and graceful shutdown ([`serve_until_signal`]).

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, Request},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use skill::failure::{Fails, Failure};
use thiserror::Error;
use tokio::{
    net::{TcpListener, TcpStream},
    signal,
    sync::watch,
};
use tower::ServiceExt;

use crate::{
    connections::{ConnectionSlot, Connections},
    descriptors,
    limits::ServerLimits,
    proxies::TrustedProxies,
};

/// Size limit of a request's head, in bytes.
const HEAD_BYTES: usize = 32 << 10;

/// A system call that a server needs has failed.
#[derive(Debug, Error)]
#[error("{what}: {error}")]
pub struct ServeError {
    /// Description of the operation that failed.
    pub what: String,
    /// Error that the system returned.
    pub error: io::Error,
}

impl Fails for ServeError {
    fn failure(&self) -> Failure {
        match self.error.kind() {
            io::ErrorKind::AddrInUse => Failure::io().hint(
                "another server uses that port; choose another one, or any free port with --addr \
                                    127.0.0.1:0",
            ),
            _ => Failure::io(),
        }
    }
}

/// Creates the asynchronous runtime that serves connections.
///
/// # Errors
/// [`ServeError`]
pub fn runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| ServeError { what: "cannot start the server".to_owned(), error })
}

/// Serves the routes until the process receives SIGINT or SIGTERM, then lets requests in progress finish.
/// Calls `ready` with the bound address, and `stopping` when it has received the signal.
///
/// # Errors
/// [`ServeError`]
pub async fn serve_until_signal(
    address: SocketAddr,
    app: Router,
    limits: &ServerLimits,
    proxies: &TrustedProxies,
    ready: impl FnOnce(SocketAddr),
    stopping: impl FnOnce(),
) -> Result<(), ServeError> {
    let io = |what: String| move |error| ServeError { what, error };
    let most = descriptors::for_connections(limits.connections);
    let listener = TcpListener::bind(address).await.map_err(io(format!("cannot listen on {address}")))?;
    let asked = asked_to_end().map_err(io("cannot wait for a shutdown signal".to_owned()))?;
    ready(listener.local_addr().map_err(io("cannot read the address of the socket".to_owned()))?);
    let (end, ending) = watch::channel(());
    let open = Connections::new(most, limits.connections_of_client.min(most));
    tokio::select! {
        () = accept(listener, app, limits, proxies, &open, &ending) => {}
        ended = asked => ended.map_err(io("cannot wait for a shutdown signal".to_owned()))?,
    }
    stopping();
    drop(ending);
    let _all_are_gone = end.send(());
    let _late_ones_are_cut = tokio::time::timeout(limits.shutdown_time, end.closed()).await;
    Ok(())
}

async fn accept(
    listener: TcpListener,
    app: Router,
    limits: &ServerLimits,
    proxies: &TrustedProxies,
    open: &Arc<Connections>,
    ending: &watch::Receiver<()>,
) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Usually out of file descriptors.
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

/// Has the system close a connection whose client acknowledges no data for that long.
#[cfg(target_os = "linux")]
fn cut_when_stalled(stream: &TcpStream, time: Duration) {
    let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let _as_it_is = rustix::net::sockopt::set_tcp_user_timeout(stream, millis);
}

/// Does nothing, as other systems have a timeout of their own.
#[cfg(not(target_os = "linux"))]
fn cut_when_stalled(_: &TcpStream, _: Duration) {}

/// Serves the requests of one connection.
async fn connected(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    limits: ServerLimits,
    place: Arc<ConnectionSlot>,
    mut ending: watch::Receiver<()>,
) {
    let of_requests = Arc::clone(&place);
    let answer = service_fn(move |request: Request<Incoming>| {
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
        () = place.wait_for_close() => if place.is_in_use() {
            connection.as_mut().graceful_shutdown();
            let _answered_or_too_slow = tokio::time::timeout(limits.shutdown_time, connection).await;
        }
    }
}

/// Listens for SIGINT and SIGTERM from now on, and returns what waits for the first one.
///
/// # Errors
/// The system gives no signals.
#[cfg(unix)]
pub fn asked_to_end() -> io::Result<impl Future<Output = io::Result<()>>> {
    use signal::unix::{SignalKind, signal};
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
        Ok(())
    })
}

/// Returns what waits for Ctrl-C.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn asked_to_end() -> io::Result<impl Future<Output = io::Result<()>>> {
    Ok(signal::ctrl_c())
}
