//! MCP over streamable HTTP, with every connection behind one [`HttpAuth`].

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use skill::Limits;
use tokio::{
    net::TcpListener,
    sync::{Notify, Semaphore},
};
use web::{Token, TokenError};

use crate::{
    server::{Server, Servers},
    stdio::ServeError,
};

/// The endpoint's URL path.
const PATH: &str = "/mcp";

/// Connections at the same time. At this ceiling the oldest that has not shown the token is closed for a new one.
const CONNECTIONS: usize = 256;

/// Timeout for a client to send its request header.
const HEADER_TIME: Duration = Duration::from_secs(30);

/// Access control for HTTP: the client must present the token, address the server by an allowed host name, and come
/// from no origin outside the allow list.
#[derive(Clone)]
pub struct HttpAuth {
    token: Token,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl HttpAuth {
    /// Creates a gate with the given token, or with a generated one. The loopback names of this machine are always
    /// allowed hosts.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn new(token: Option<String>, hosts: Vec<String>, origins: Vec<String>) -> Result<Self, TokenError> {
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        Ok(Self { token: Token::new(token)?, hosts: [own.to_vec(), hosts].concat(), origins })
    }

    /// Returns the bearer token, given or generated.
    pub fn token(&self) -> &str {
        self.token.text()
    }

    fn config(&self) -> StreamableHttpServerConfig {
        let body = usize::try_from(Limits::default().request_bytes).unwrap_or(usize::MAX);
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.hosts.clone())
            .with_allowed_origins(self.origins.clone())
            .enforce_origin_validation()
            // Doubled, to leave room for the JSON-RPC envelope around the tool's request.
            .with_max_request_body_bytes(body.saturating_mul(2))
    }
}

type Service = StreamableHttpService<Server, LocalSessionManager>;
type Body = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// Serves an address until the process receives a request to stop. Calls `ready` with the bound address.
///
/// # Errors
/// [`ServeError`]
pub fn serve_http(
    servers: &Servers,
    address: SocketAddr,
    gate: HttpAuth,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let io = |what: String| move |error| web::ServeError { what, error };
    let served = web::runtime()?.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(io(format!("cannot listen on {address}")))?;
        let asked = web::asked_to_end().map_err(io("cannot wait for a shutdown signal".to_owned()))?;
        ready(listener.local_addr().map_err(io("cannot read the address of the socket".to_owned()))?);
        let (servers, watching) = (servers.clone(), servers.clone());
        tokio::spawn(async move { watching.watch().await });
        let service = Service::new(move || Ok(servers.connect()), Arc::default(), gate.config());
        tokio::select! {
            () = accept(listener, service, Arc::new(gate)) => Ok(()),
            ended = asked => ended.map_err(io("cannot wait for a shutdown signal".to_owned())),
        }
    });
    Ok(served?)
}

async fn accept(listener: TcpListener, service: Service, gate: Arc<HttpAuth>) {
    let (places, strangers) = (Arc::new(Semaphore::new(CONNECTIONS)), Arc::<PendingConnections>::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Usually the process is out of file descriptors, so close an unauthenticated connection first.
            strangers.close_oldest();
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if places.available_permits() == 0 && !strangers.close_oldest() {
            continue;
        }
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (service, gate, guest) = (service.clone(), Arc::clone(&gate), PendingConnection::of(&strangers));
        tokio::spawn(async move {
            let known = guest.clone();
            let answer = service_fn(move |request| {
                let (service, gate, known) = (service.clone(), Arc::clone(&gate), known.clone());
                async move { Ok::<_, Infallible>(respond(&service, &gate, &known, request).await) }
            });
            let mut connection = http1::Builder::new();
            connection.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
            tokio::select! {
                _client_gone = connection.serve_connection(TokioIo::new(stream), answer) => {}
                () = guest.close.notified() => {}
            }
            guest.leave();
            drop(place);
        });
    }
}

/// Connections that have not presented the token, by sequence number. The lowest is the oldest.
#[derive(Default)]
struct PendingConnections {
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Notify>>>,
}

impl PendingConnections {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest connection. Returns whether there was one.
    fn close_oldest(&self) -> bool {
        self.open().pop_first().map(|(_, close)| close.notify_one()).is_some()
    }
}

/// An unauthenticated connection, registered in [`PendingConnections`] until it authenticates or closes.
#[derive(Clone)]
struct PendingConnection {
    number: u64,
    close: Arc<Notify>,
    among: Arc<PendingConnections>,
}

impl PendingConnection {
    fn of(among: &Arc<PendingConnections>) -> Self {
        let guest = Self {
            number: among.next.fetch_add(1, Ordering::Relaxed),
            close: Arc::default(),
            among: Arc::clone(among),
        };
        among.open().insert(guest.number, Arc::clone(&guest.close));
        guest
    }

    fn leave(&self) {
        self.among.open().remove(&self.number);
    }
}

async fn respond(
    service: &Service,
    gate: &HttpAuth,
    guest: &PendingConnection,
    request: Request<Incoming>,
) -> Response<Body> {
    if gate.token.is_in(request.headers()) {
        guest.leave();
    } else {
        let mut refused = text_response(StatusCode::UNAUTHORIZED, "missing or wrong bearer token\n");
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    }
    match request.uri().path() {
        PATH | "/" => service.handle(request).await,
        _ => text_response(StatusCode::NOT_FOUND, "not found; the MCP endpoint is /mcp\n"),
    }
}

fn text_response(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
