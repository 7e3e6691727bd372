//! [`Connection`]: a line-by-line client of the server over its standard streams.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A connection of a client named `tester`.
pub struct Connection {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    requests: u64,
    /// Metadata of each request, in the protocol revision without sessions.
    meta: Option<Value>,
    /// Notifications received from the server.
    pub notifications: Vec<Value>,
    /// Result of `initialize`.
    pub server: Value,
}

impl Connection {
    /// Starts the server in the sandbox and initialises the connection.
    pub fn open(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::of(sandbox, args, &json!({}))
    }

    /// Like [`Connection::open`], for a client with these capabilities.
    pub fn of(sandbox: &Sandbox, args: &[&str], capabilities: &Value) -> Self {
        let mut connection = Self::start(sandbox, args);
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"},
        });
        connection.server = connection.request("initialize", &hello);
        connection.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        connection
    }

    /// Starts the server with protocol revision 2026-07-28, which has no initialisation.
    pub fn newer(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::newer_of(sandbox, args, &json!({}))
    }

    /// Like [`Connection::newer`], for a client with these capabilities.
    pub fn newer_of(sandbox: &Sandbox, args: &[&str], capabilities: &Value) -> Self {
        let mut connection = Self::start(sandbox, args);
        connection.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
        }));
        connection.server = connection.request("server/discover", &json!({}));
        connection
    }

    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["mcp"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let notifications = Vec::new();
        Self { child, stdin, stdout, requests: 0, meta: None, notifications, server: Value::Null }
    }

    /// Writes one message to the server.
    pub fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").and_then(|()| stdin.flush()).unwrap();
    }

    /// Reads one message of the server.
    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server has gone");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let mut params = params.clone();
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the whole response to a request, and stores notifications that arrive before it.
    pub fn answer(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        loop {
            let message = self.read();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notifications.push(message);
        }
    }

    /// Returns the result of a successful request.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    /// Returns the result of a tool.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the document of a successful tool.
    #[track_caller]
    pub fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result:#}");
        assert_eq!(result["structuredContent"]["ok"], true, "{tool}: {result:#}");
        result["structuredContent"].clone()
    }

    /// Returns the error of a failed tool.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result:#}");
        assert_eq!(result["structuredContent"]["ok"], false, "{tool}: {result:#}");
        result["structuredContent"]["error"].clone()
    }

    /// Returns whether the server sends this notification within so many seconds. Notifications received until then are
    /// dropped.
    pub fn is_told(&mut self, method: &str, seconds: u64) -> bool {
        let until = Instant::now() + Duration::from_secs(seconds);
        loop {
            let found = self.notifications.iter().position(|message| message["method"] == method);
            if let Some(at) = found {
                self.notifications.drain(..=at);
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
            self.request("resources/templates/list", &json!({}));
        }
    }

    /// Kills the server, like a crash.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the connection, and asserts that the server exits successfully.
    pub fn close(mut self) {
        self.stdin = None;
        assert!(self.child.wait().unwrap().success());
    }
}
