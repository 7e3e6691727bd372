//! MCP transport over HTTP, with one request per message.
//!
//! Each response is read up to the requested answer. The server's notification stream is not opened, so changes of its
//! tools are found by polling.
//!
//! The protocol library's own HTTP transport is not used: it bounds single events and not an answer, renews sessions
//! and resumes streams past the deadline of a call, and keeps a stream open for each server. Its transport for child
//! processes bounds neither their output nor the time to the kill of their group; of it, only the framing is used.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::{BufRead, BufReader, Read as _},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rmcp::{
    model::{ClientJsonRpcMessage, ErrorCode, ServerJsonRpcMessage},
    service::RoleClient,
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use ureq::{
    Agent, Body,
    http::{Response, header},
};

use super::byte_budget::MESSAGE_BYTES;

/// Error code of an [`ErrorData`] for a failure that a retry cannot fix.
pub(super) const LASTING: ErrorCode = ErrorCode(-32_071);

/// Error code for a failure that a retry may fix.
pub(super) const PASSING: ErrorCode = ErrorCode(-32_072);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// Timeout for a message without a response.
const NOTICE_TIME: Duration = Duration::from_secs(5);

/// Timeout for the request that ends the session.
const LEAVE_TIME: Duration = Duration::from_millis(800);

/// Capacity of the queue of incoming messages.
const WAITING: usize = 64;

/// State shared by the requests of one connection.
pub(super) struct Session {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    id: Mutex<Option<String>>,
    version: Mutex<Option<String>>,
    until: Mutex<Instant>,
    has_changed: Arc<AtomicBool>,
    has_expired: AtomicBool,
    has_ended: AtomicBool,
}

/// A failed request: its error code, lasting or passing, and the reason.
struct Failed {
    code: ErrorCode,
    why: String,
}

impl Session {
    pub(super) fn new(url: &str, env: &BTreeMap<String, String>, has_changed: Arc<AtomicBool>) -> Self {
        let config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .user_agent(concat!("skillhub/", env!("CARGO_PKG_VERSION")));
        Self {
            agent: config.build().into(),
            url: url.to_owned(),
            authorization: env.get("AUTHORIZATION").cloned(),
            id: Mutex::default(),
            version: Mutex::default(),
            until: Mutex::new(Instant::now()),
            has_changed,
            has_expired: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Extends the deadline to `until`. An earlier time has no effect.
    pub(super) fn answer_until(&self, until: Instant) {
        let mut held = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *held = until.max(*held);
    }

    /// Returns whether the server has discarded the session.
    pub(super) fn has_expired(&self) -> bool {
        self.has_expired.load(Ordering::Relaxed)
    }

    /// Waits, for at most `most`, until the session's closing request has been sent.
    pub(super) fn wait_for_end(&self, most: Duration) {
        let until = Instant::now() + most;
        while !self.has_ended.load(Ordering::Relaxed) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn post(&self, message: &Value) -> Result<Option<Value>, Failed> {
        let passing = |why: String| Failed { code: PASSING, why };
        let waits = message.get("method").is_some() && message.get("id").is_some();
        let left = match waits {
            true => self.until.lock().unwrap_or_else(PoisonError::into_inner).saturating_duration_since(Instant::now()),
            false => NOTICE_TIME,
        };
        let mut request = self
            .agent
            .post(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(left.max(Duration::from_millis(1)))).build();
        let body = serde_json::to_vec(message).map_err(|error| passing(error.to_string()))?;
        let answer = request.send(&body).map_err(|error| passing(format!("it is unreachable: {error}")))?;
        let status = answer.status().as_u16();
        match status {
            200..=299 if waits => self.read(message, answer).map(Some),
            200..=299 => Ok(None),
            404 if self.held(&self.id).is_some() => {
                self.has_expired.store(true, Ordering::Relaxed);
                Err(passing("it no longer knows the session".to_owned()))
            }
            408 | 425 | 429 | 500..=599 => Err(passing(format!("HTTP {status}"))),
            401 | 403 => {
                let why = format!("HTTP {status}: set `AUTHORIZATION` under `env` in the server's configuration");
                Err(Failed { code: LASTING, why })
            }
            _ => Err(Failed { code: LASTING, why: format!("HTTP {status}") }),
        }
    }

    /// Reads the answer to a message, from a JSON document or an event stream.
    fn read(&self, message: &Value, answer: Response<Body>) -> Result<Value, Failed> {
        let of = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let is_start = message["method"] == "initialize";
        if let (true, Some(id)) = (is_start, of(SESSION)) {
            *self.id.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
        }
        let kind = of(header::CONTENT_TYPE.as_str()).unwrap_or_default();
        let body = answer.into_body().into_reader().take(MESSAGE_BYTES + 1);
        let found = match kind.starts_with("text/event-stream") {
            true => self.in_events(message, BufReader::new(body)),
            false => in_document(message, body),
        }?;
        if let (true, Some(version)) = (is_start, found["result"]["protocolVersion"].as_str()) {
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
        }
        Ok(found)
    }

    fn in_events(&self, message: &Value, body: impl BufRead) -> Result<Value, Failed> {
        let mut data = String::new();
        let mut bytes = 0;
        for line in body.lines() {
            let line = line.map_err(|error| unread(&error))?;
            bytes += line.len() as u64 + 1;
            if bytes > MESSAGE_BYTES {
                return Err(too_large());
            }
            if let Some(part) = line.strip_prefix("data:") {
                data.push_str(part.strip_prefix(' ').unwrap_or(part));
                data.push('\n');
                continue;
            }
            if !line.is_empty() {
                continue;
            }
            let event: Value = serde_json::from_str(&std::mem::take(&mut data)).unwrap_or_default();
            if is_answer(message, &event) {
                return Ok(event);
            }
            if event["method"] == "notifications/tools/list_changed" {
                self.has_changed.store(true, Ordering::Relaxed);
            }
        }
        Err(Failed { code: PASSING, why: "it ended the stream without a response".to_owned() })
    }

    fn leave(&self) {
        if let Some(id) = self.held(&self.id) {
            let mut request = self.agent.delete(&self.url);
            for (name, value) in self.headers().into_iter().filter(|(name, _)| *name != SESSION) {
                request = request.header(name, value);
            }
            let request = request.header(SESSION, id).config().timeout_global(Some(LEAVE_TIME)).build();
            let _gone_anyway = request.call();
        }
        self.has_ended.store(true, Ordering::Relaxed);
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let all = [
            (header::AUTHORIZATION.as_str(), self.authorization.clone()),
            (SESSION, self.held(&self.id)),
            (VERSION, self.held(&self.version)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn held(&self, place: &Mutex<Option<String>>) -> Option<String> {
        place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn unread(error: &std::io::Error) -> Failed {
    Failed { code: PASSING, why: format!("its response cannot be read: {error}") }
}

fn too_large() -> Failed {
    Failed { code: LASTING, why: format!("its response is larger than {MESSAGE_BYTES} bytes") }
}

fn in_document(message: &Value, mut body: impl std::io::Read) -> Result<Value, Failed> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    if bytes.len() as u64 > MESSAGE_BYTES {
        return Err(too_large());
    }
    let found: Value = match serde_json::from_slice(&bytes) {
        Err(error) if error.is_eof() => {
            return Err(Failed { code: PASSING, why: "its response is truncated".to_owned() });
        }
        read => read.unwrap_or_default(),
    };
    match is_answer(message, &found) {
        true => Ok(found),
        false => Err(Failed { code: LASTING, why: "its response does not match the request".to_owned() }),
    }
}

fn is_answer(message: &Value, answer: &Value) -> bool {
    answer["id"] == message["id"] && (answer.get("result").is_some() || answer.get("error").is_some())
}

/// Transport for the protocol library: sends requests and queues their answers.
pub(super) struct HttpTransport {
    session: Arc<Session>,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    receiver: mpsc::Receiver<ServerJsonRpcMessage>,
}

impl HttpTransport {
    pub(super) fn new(session: Arc<Session>) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { session, sender, receiver }
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = Infallible;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let (session, sender) = (Arc::clone(&self.session), self.sender.clone());
        let message = serde_json::to_value(&item).unwrap_or_default();
        async move {
            let id = message.get("id").filter(|_| message.get("method").is_some()).cloned();
            let posted = tokio::task::spawn_blocking(move || session.post(&message));
            let Some(id) = id else {
                // Later messages may depend on this notification, so wait until it is delivered.
                let _unheard = posted.await;
                return Ok(());
            };
            tokio::spawn(async move {
                let answer = match posted.await {
                    Ok(Ok(answer)) => answer.unwrap_or_default(),
                    Ok(Err(failed)) => failure(&id, failed.code, &failed.why),
                    Err(error) => failure(&id, PASSING, &error.to_string()),
                };
                let read = serde_json::from_value(answer).or_else(|_| {
                    serde_json::from_value(failure(&id, LASTING, "its response is not a valid MCP message"))
                });
                if let Ok(read) = read {
                    let _nobody_waits = sender.send(read).await;
                }
            });
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.receiver.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        let session = Arc::clone(&self.session);
        let _left = tokio::task::spawn_blocking(move || session.leave()).await;
        Ok(())
    }
}

fn failure(id: &Value, code: ErrorCode, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.0, "message": why}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_and_truncated_answers_are_faults() {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
        assert!(in_document(&message, answer.as_bytes()).is_ok());
        let large = std::io::repeat(b'x').take(MESSAGE_BYTES + 1);
        let session = Session::new("http://127.0.0.1/", &BTreeMap::new(), Arc::default());
        let stream = std::io::Cursor::new("data: x\n\n".repeat(1 << 20));
        for failed in [in_document(&message, large), session.in_events(&message, stream)] {
            let failed = failed.err().unwrap();
            assert!(failed.code == LASTING && failed.why.contains("larger than"), "{}", failed.why);
        }
        let cut = in_document(&message, &answer.as_bytes()[..20]).err().unwrap();
        assert!(cut.code == PASSING && cut.why.contains("truncated"), "{}", cut.why);
    }
}
