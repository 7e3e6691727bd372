//! State of a configured server, running or not.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, atomic::AtomicBool},
    time::{Duration, Instant},
};

use compose::{Approval, Bounds, ServerSettings, ToolFault, ToolSpec};
use serde_json::Value;
use skill::uri;

use super::{
    answer::answer,
    connection::Connection,
    engine::Engine,
    remote_tool::{NAME_CHARS, RemoteTool, offered, plain},
};

/// Timeout for a server to start and list its tools. Some servers are downloaded before they run.
const START_TIME: Duration = Duration::from_secs(30);

/// Minimum delay before another attempt to start a server that failed.
const REST: Duration = Duration::from_secs(5);

/// Factor by which that delay exceeds the duration of the failed attempt. A hanging server thus does not block every
/// request for tools.
const REST_FACTOR: u32 = 10;

/// Maximum age of a tool list from a server that does not announce changes.
const FRESH: Duration = Duration::from_secs(5);

/// Number of consecutive unanswered calls after which a server is stopped. The next call restarts it.
const STRIKES: u32 = 2;

/// Interval at which a caller checks whether another call is still starting the server.
const LOOK: Duration = Duration::from_millis(2);

static NEVER: AtomicBool = AtomicBool::new(false);

pub(super) struct ServerSlot {
    name: String,
    server: ServerSettings,
    state: Mutex<State>,
    /// The fault that makes its tools unavailable, and the time until which no new attempt is made.
    failed: Mutex<Option<(ToolFault, Instant)>>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    offered: Vec<RemoteTool>,
    listed: Option<Instant>,
    strikes: u32,
}

impl ServerSlot {
    pub(super) fn new(name: String, server: ServerSettings) -> Self {
        let failed = problem(&name, &server).map(|fault| (fault, Instant::now()));
        Self { name, server, state: Mutex::default(), failed: Mutex::new(failed) }
    }

    /// Returns the fault that makes its tools unavailable.
    pub(super) fn fault(&self) -> Option<ToolFault> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(fault, _)| fault.clone())
    }

    /// Lists its current tools. The list is empty if the server cannot be started.
    pub(super) fn tools(&self, engine: &Engine) -> Vec<ToolSpec> {
        let bounds = Bounds {
            deadline: Instant::now() + START_TIME,
            cancelled: &NEVER,
            answer_bytes: usize::MAX,
            level: Approval::None,
        };
        let Ok(state) = self.ready(engine, &bounds, Some(FRESH)) else { return Vec::new() };
        state.offered.iter().map(|tool| tool.spec.clone()).collect()
    }

    /// Calls a tool, by the server's own name of it.
    pub(super) fn call(
        &self,
        engine: &Engine,
        own: &str,
        input: &Value,
        bounds: &Bounds<'_>,
    ) -> Result<Value, ToolFault> {
        let Value::Object(arguments) = input else {
            return Err(ToolFault::permanent("invalid_input", "a tool's input must be an object"));
        };
        let (connection, tool) = self.found(engine, own, bounds).map_err(|fault| self.named(fault))?;
        let work = Arc::clone(&connection).call(own.to_owned(), arguments.clone(), bounds.deadline);
        let outcome = match engine.wait(bounds, work) {
            Ok(answered) => {
                self.count(|_| 0, &connection);
                answered.and_then(|result| answer(result, bounds.answer_bytes))
            }
            Err(fault) => {
                if fault.code == "timeout" {
                    self.count(|strikes| strikes + 1, &connection);
                }
                Err(fault)
            }
        };
        outcome.map_err(|fault| {
            let mut fault = self.named(connection.explain(fault));
            if fault.transient && !tool.is_repeatable {
                fault.transient = false;
                fault.hint = Some(
                    "check whether the call took effect before you repeat it; the tool is not declared idempotent"
                        .to_owned(),
                );
            }
            fault
        })
    }

    /// Takes the connection out, for the caller to close.
    pub(super) fn leave(&self) -> Option<Arc<Connection>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).connection.take()
    }

    fn found(
        &self,
        engine: &Engine,
        own: &str,
        bounds: &Bounds<'_>,
    ) -> Result<(Arc<Connection>, RemoteTool), ToolFault> {
        let state = self.ready(engine, bounds, None)?;
        let shown = plain(own, NAME_CHARS);
        let tool = state.offered.iter().find(|tool| tool.own == own).cloned();
        let (Some(tool), Some(connection)) = (tool, state.connection.clone()) else {
            return Err(ToolFault::permanent("unknown_tool", format!("the server has no tool {shown}")));
        };
        if tool.spec.approval > bounds.level {
            let (now, then) = (tool.spec.approval.as_str(), bounds.level.as_str());
            let message = format!(
                "{shown} now needs the approval level {now}; when its tools were listed, it needed \
                                   {then}"
            );
            return Err(ToolFault::permanent("approval_needed", message).hint("list the server's tools again"));
        }
        Ok((connection, tool))
    }

    /// Updates the count of unanswered calls, and disconnects a server that reaches [`STRIKES`].
    fn count(&self, next: impl Fn(u32) -> u32, of: &Arc<Connection>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.strikes = next(state.strikes);
        let is_this = state.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, of));
        if state.strikes >= STRIKES && is_this {
            state.connection = None;
            state.strikes = 0;
        }
    }

    /// Starts the server if necessary and loads its tools. A list older than `fresh` is fetched again if the server
    /// does not announce changes.
    fn ready(
        &self,
        engine: &Engine,
        bounds: &Bounds<'_>,
        fresh: Option<Duration>,
    ) -> Result<MutexGuard<'_, State>, ToolFault> {
        let mut state = self.locked(bounds)?;
        if state.connection.as_ref().is_some_and(|connection| connection.is_closed()) {
            state.connection = None;
        }
        if is_current(&state, fresh) {
            return Ok(state);
        }
        if state.connection.is_none() {
            self.rested()?;
        }
        let started = Instant::now();
        let own = Bounds { deadline: bounds.deadline.min(started + START_TIME), ..*bounds };
        let renewed = self.renew(&mut state, engine, &own);
        let failed = renewed.err().map(|fault| match fault.code {
            "timeout" => ToolFault::transient("timeout", "the server did not start in time"),
            _ => fault,
        });
        if let Some(fault) = &failed {
            (state.connection, state.offered, state.listed) = (None, Vec::new(), None);
            // A caller's own short deadline or cancellation is no evidence against the server.
            if fault.code == "cancelled"
                || (fault.code == "timeout" && own.deadline == bounds.deadline && fresh.is_none())
            {
                return Err(fault.clone());
            }
        }
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) =
            failed.clone().map(|fault| (fault, Instant::now() + REST.max(started.elapsed() * REST_FACTOR)));
        failed.map_or(Ok(state), Err)
    }

    fn renew(&self, state: &mut State, engine: &Engine, bounds: &Bounds<'_>) -> Result<(), ToolFault> {
        let connection = match &state.connection {
            Some(connection) => Arc::clone(connection),
            None => {
                let started = engine.wait(bounds, Connection::start(self.server.clone(), bounds.deadline))??;
                let connection = Arc::new(started);
                state.connection = Some(Arc::clone(&connection));
                connection
            }
        };
        // Cleared before the request, so that a change during the response is fetched again.
        let _told = connection.take_change();
        let listed = engine.wait(bounds, Arc::clone(&connection).list(bounds.deadline))?;
        let tools = listed.map_err(|fault| connection.explain(fault))?;
        state.offered = offered(&self.name, &self.server, tools);
        state.listed = Some(Instant::now());
        Ok(())
    }

    /// Returns whether a start may be attempted: never with an invalid configuration, and only after a delay following
    /// a failure.
    fn rested(&self) -> Result<(), ToolFault> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.as_ref() {
            Some((fault, until)) if fault.code == "invalid_server" || Instant::now() < *until => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    /// Locks the state, waiting while another call starts the server.
    fn locked(&self, bounds: &Bounds<'_>) -> Result<MutexGuard<'_, State>, ToolFault> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return Ok(state),
                Err(TryLockError::Poisoned(state)) => return Ok(state.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    let left = bounds.remaining()?;
                    std::thread::sleep(LOOK.min(left));
                }
            }
        }
    }

    fn named(&self, mut fault: ToolFault) -> ToolFault {
        fault.message = format!("{}: {}", self.name, fault.message);
        fault
    }
}

fn is_current(state: &State, fresh: Option<Duration>) -> bool {
    let (Some(connection), Some(listed)) = (&state.connection, state.listed) else { return false };
    let is_young = connection.notifies_changes() || fresh.is_none_or(|fresh| listed.elapsed() < fresh);
    is_young && !connection.has_changed()
}

/// Checks a server's configuration and returns its first error.
fn problem(name: &str, server: &ServerSettings) -> Option<ToolFault> {
    let refused = |message: String, hint: &str| Some(ToolFault::permanent("invalid_server", message).hint(hint));
    if !ServerSettings::is_name(name) {
        let message = format!("{} is not a valid server name", plain(name, NAME_CHARS));
        return refused(
            message,
            "use at most 32 ASCII letters, digits, `-` and `_`, without `__` and without `_` at \
                                 either end",
        );
    }
    match (&server.url, server.command.first().is_some_and(|program| !program.is_empty())) {
        (None, true) => None,
        (None, false) => {
            refused("it has neither a command nor a url".to_owned(), "set exactly one of `command` and `url`")
        }
        (Some(_), true) => {
            refused("it has both a command and a url".to_owned(), "set exactly one of `command` and `url`")
        }
        (Some(url), false) => {
            let (scheme, authority) = (uri::scheme(url), uri::authority(url));
            match !matches!(scheme, "http" | "https") || authority.is_empty() || authority.contains('@') {
                true => refused(
                    "its url is not a valid http:// or https:// address".to_owned(),
                    "write `https://host/path`, and set a token as `AUTHORIZATION` under `env`",
                ),
                false => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_need_name_and_one_transport() {
        let command = |words: &[&str]| ServerSettings {
            command: words.iter().map(ToString::to_string).collect(),
            ..ServerSettings::default()
        };
        let url = |url: &str| ServerSettings { url: Some(url.to_owned()), ..ServerSettings::default() };
        assert_eq!(problem("a", &command(&["true"])), None);
        assert_eq!(problem("a", &url("https://example.org/mcp")), None);
        let both = ServerSettings { url: Some("http://example.org".to_owned()), ..command(&["true"]) };
        for (name, server) in [
            ("a__b", command(&["true"])),
            ("a", command(&[])),
            ("a", command(&[""])),
            ("a", url("file:///etc/passwd")),
            ("a", url("http://user:word@example.org/")),
            ("a", url("https://")),
            ("a", both),
        ] {
            assert_eq!(problem(name, &server).unwrap().code, "invalid_server", "{name} {server:?}");
        }
    }
}
