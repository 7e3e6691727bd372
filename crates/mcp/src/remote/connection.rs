//! Connection to one running server, from the handshake to the shutdown.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use compose::{ServerSettings, ToolFault};
use rmcp::{
    ClientHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, ClientRequest, Implementation,
        JsonObject, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
    },
    service::{ClientInitializeError, NotificationContext, Peer, RoleClient, RunningService},
    transport::async_rw::AsyncRwTransport,
};

use super::{
    answer::{fault, unexpected_response},
    byte_budget::{ByteBudget, MESSAGE_BYTES, Metered},
    http::{HttpTransport, Session},
    process::Process,
    remote_tool::{TOOLS, plain},
};

/// Time that a server gets to exit before it is killed.
const GRACE: Duration = Duration::from_millis(1000);

/// Maximum number of pages in a tool list.
const PAGES: usize = 64;

/// Delay after a failed handshake, so that the program's last stderr output arrives.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Maximum length, in characters, of a handshake error message.
const MESSAGE_CHARS: usize = 300;

type Running = RunningService<RoleClient, Listener>;

/// A connection to a server, closed when dropped.
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    running: Mutex<Option<Running>>,
    process: Mutex<Option<Process>>,
    session: Option<Arc<Session>>,
    meter: Arc<ByteBudget>,
    has_changed: Arc<AtomicBool>,
}

/// Handler of server notifications. The only one of interest is a changed tool list.
#[derive(Clone)]
struct Listener {
    has_changed: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("skillhub", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(rmcp::model::ClientCapabilities::default(), us)
    }

    fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.has_changed.store(true, Ordering::Relaxed);
        std::future::ready(())
    }
}

impl Connection {
    /// Starts or contacts a server and completes the handshake.
    pub(super) async fn start(server: ServerSettings, until: Instant) -> Result<Self, ToolFault> {
        let (meter, has_changed) = (ByteBudget::new(), Arc::<AtomicBool>::default());
        let listener = Listener { has_changed: Arc::clone(&has_changed) };
        let (running, process, session) = match &server.url {
            Some(url) => {
                let session = Arc::new(Session::new(url, &server.env, Arc::clone(&has_changed)));
                session.answer_until(until);
                let running = listener.serve(HttpTransport::new(Arc::clone(&session))).await;
                (running.map_err(|error| broken(&error))?, None, Some(session))
            }
            None => {
                let (process, streams) = Process::start(&server)?;
                let output = Metered::new(streams.output, Arc::clone(&meter));
                let most = usize::try_from(MESSAGE_BYTES).unwrap_or(usize::MAX);
                let transport = AsyncRwTransport::new_client(output, streams.input).with_max_line_length(most);
                match listener.serve(transport).await {
                    Ok(running) => (running, Some(process), None),
                    Err(_) if meter.is_over() => return Err(flooded()),
                    Err(error) => return Err(with_last_words(broken(&error), &process).await),
                }
            }
        };
        let peer = running.peer().clone();
        let (running, process) = (Mutex::new(Some(running)), Mutex::new(process));
        Ok(Self { peer, running, process, session, meter, has_changed })
    }

    /// Returns whether the connection can take no more requests.
    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed() || self.session.as_ref().is_some_and(|session| session.has_expired())
    }

    /// Returns whether the server announced a change of its tools that has not been fetched yet.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed)
    }

    /// Returns the same flag as [`Self::has_changed()`] and clears it.
    pub(super) fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }

    /// Returns whether the server announces changes of its tools. Otherwise the list must be polled.
    pub(super) fn notifies_changes(&self) -> bool {
        let info = self.peer.peer_info();
        let tools = info.as_ref().and_then(|info| info.capabilities.tools.as_ref());
        self.session.is_none() && tools.is_some_and(|tools| tools.list_changed == Some(true))
    }

    /// Replaces a fault by the flooding fault if the server exceeded its byte limit.
    pub(super) fn explain(&self, seen: ToolFault) -> ToolFault {
        if self.meter.is_over() { flooded() } else { seen }
    }

    /// Lists all tools, page by page.
    pub(super) async fn list(self: Arc<Self>, until: Instant) -> Result<Vec<Tool>, ToolFault> {
        self.ask_until(until);
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let request =
                ListToolsRequest { method: Default::default(), params: Some(page), extensions: Default::default() };
            let answer = self.peer.send_request(ClientRequest::ListToolsRequest(request)).await.map_err(fault)?;
            let ServerResult::ListToolsResult(page) = answer else { return Err(unexpected_response()) };
            tools.extend(page.tools);
            cursor = page.next_cursor;
            // A list without an end: the tools so far already exceed the limit.
            if cursor.is_none() || tools.len() > TOOLS {
                break;
            }
        }
        Ok(tools)
    }

    /// Calls a tool. If the caller stops waiting, the server receives a cancellation.
    pub(super) async fn call(
        self: Arc<Self>,
        tool: String,
        arguments: JsonObject,
        until: Instant,
    ) -> Result<CallToolResult, ToolFault> {
        self.ask_until(until);
        match self.peer.call_tool_once(CallToolRequestParams::new(tool).with_arguments(arguments)).await {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(CallToolResponse::InputRequired(_)) => Err(ToolFault::permanent(
                "needs_person",
                "the tool needs input from a person, which a step cannot \
                                                        provide",
            )),
            Ok(_) => Err(unexpected_response()),
            Err(error) => Err(fault(error)),
        }
    }

    /// Closes the streams, which signals the server to exit.
    pub(super) fn disconnect(&self) {
        drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits for the server to exit. A program is killed after [`GRACE`].
    pub(super) fn end(&self) {
        self.disconnect();
        if let Some(process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            process.end(GRACE);
        }
        if let Some(session) = &self.session {
            session.wait_for_end(GRACE);
        }
    }

    fn ask_until(&self, until: Instant) {
        self.meter.refill();
        if let Some(session) = &self.session {
            session.answer_until(until);
        }
    }
}

fn flooded() -> ToolFault {
    ToolFault::permanent("too_large", "the server sent too much data and was disconnected")
}

fn broken(error: &ClientInitializeError) -> ToolFault {
    let why = match error {
        ClientInitializeError::ConnectionClosed(_) => "it exited before it responded".to_owned(),
        ClientInitializeError::JsonRpcError(error) => plain(&error.message, MESSAGE_CHARS),
        other => plain(&other.to_string(), MESSAGE_CHARS),
    };
    ToolFault::transient("server_failed", format!("the server did not complete the MCP handshake: {why}"))
}

async fn with_last_words(mut fault: ToolFault, process: &Process) -> ToolFault {
    tokio::time::sleep(LAST_WORDS).await;
    if let Some(said) = process.last_stderr_line() {
        fault.message = format!("{}; last line on stderr: {said}", fault.message);
    }
    fault
}
