//! [`Connection`]: a client of the server over its standard streams, that speaks the protocol line by line.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A connection of a client that is called `tester`.
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
    /// Starts the server in the sandbox and shakes hands.
    pub fn open(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::of(sandbox, args, &json!({}))
    }

    /// The same for a client that can do this.
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

    /// The same in the revision 2026-07-28, without shaking hands.
    pub fn newer(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut connection = Self::start(sandbox, args);
        connection.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
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

    /// Sends one message.
    pub fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").and_then(|()| stdin.flush()).unwrap();
    }

    /// Reads one message.
    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server has gone");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and gives its number.
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

    /// The result of a request that must end well.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    /// The result of a tool.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The document of a tool that must end well.
    #[track_caller]
    pub fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result:#}");
        assert_eq!(result["structuredContent"]["ok"], true, "{tool}: {result:#}");
        result["structuredContent"].clone()
    }

    /// The error of a tool that must fail.
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

    /// Ends the server without a word, as a crash does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the connection; the server must end well.
    pub fn close(mut self) {
        self.stdin = None;
        assert!(self.child.wait().unwrap().success());
    }
}
