//! Authentication and host check of the HTTP server, request by request.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

pub const TOKEN: &str = "a-token-of-the-tests";

/// A server that is stopped on drop.
pub struct Served {
    child: Child,
    /// Document that the server printed when it was ready.
    pub ready: Value,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// Serves at an address, with a token.
pub fn serve(sandbox: &Sandbox, token: &str, args: &[&str]) -> Served {
    let mut command = sandbox.command(&[&["mcp", "--http", "127.0.0.1:0", "--json"], args].concat());
    command.env("SKILLHUB_MCP_TOKEN", token).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Served { child, ready: serde_json::from_str(&line).unwrap() }
}

impl Served {
    /// Sends `initialize` with these headers and returns the status.
    fn status(&self, path: &str, headers: &[&str]) -> u16 {
        let url = self.ready["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"},
        }})
        .to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        let host = if headers.iter().any(|header| header.starts_with("Host:")) {
            String::new()
        } else {
            format!("Host: {address}\r\n")
        };
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\n{host}{headers}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        String::from_utf8_lossy(&head)[9..].parse().unwrap()
    }
}

#[test]
fn server_checks_token_host_and_origin() {
    let sandbox = Sandbox::new();
    let origins = ["--origin", "https://app.example.com:443", "--host", "skills.example.com"];
    let served = serve(&sandbox, TOKEN, &origins);
    assert_eq!(served.ready["token"], Value::Null, "a token that was given is not shown");
    let bearer = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(served.status("/mcp", &[&bearer]), 200);
    assert_eq!(served.status("/mcp", &[]), 401);
    for wrong in ["Authorization: Bearer wrong", "Authorization: Bearer ", "Authorization: Basic YTpi"] {
        assert_eq!(served.status("/mcp", &[wrong]), 401, "{wrong}");
    }
    assert_eq!(served.status("/mcp", &["Authorization: Bearer a-token-of-the-test", "Host: evil.example"]), 401);
    assert_eq!(served.status("/mcp", &[&bearer, "Host: evil.example"]), 403);
    assert_eq!(served.status("/mcp", &[&bearer, "Host: skills.example.com"]), 200);
    assert_eq!(served.status("/mcp", &[&bearer, "Origin: https://evil.example"]), 403);
    assert_eq!(served.status("/mcp", &[&bearer, "Origin: null"]), 403);
    assert_eq!(served.status("/mcp", &[&bearer, "Origin: https://app.example.com"]), 200);
    assert_eq!(served.status("/other", &[&bearer]), 404);
}

/// A token that is too short is refused.
#[test]
fn missing_token_is_generated() {
    let sandbox = Sandbox::new();
    let served = serve(&sandbox, "", &[]);
    let token = served.ready["token"].as_str().unwrap();
    assert_eq!(token.len(), 64);
    assert_eq!(served.status("/mcp", &[&format!("Authorization: Bearer {token}")]), 200);
    let mut command = sandbox.command(&["mcp", "--http", "127.0.0.1:0", "--json"]);
    command.env("SKILLHUB_MCP_TOKEN", "short");
    sandbox.finish(command, &["mcp"]).exits(2);
    sandbox.ask(&["mcp", "--http", "nowhere"]).exits(2);
    sandbox.ask(&["mcp", "--host", "x"]).exits(2);
}

#[test]
fn silent_connections_make_room() {
    let sandbox = Sandbox::new();
    let served = serve(&sandbox, TOKEN, &[]);
    let address = served.ready["url"].as_str().unwrap();
    let address = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let began = Instant::now();
    let _silent: Vec<_> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(served.status("/mcp", &[&format!("Authorization: Bearer {TOKEN}")]), 200);
    assert!(began.elapsed() < Duration::from_secs(20), "it waited until silent ones were given up");
}

/// A service manager ends a server with SIGTERM.
#[cfg(target_os = "linux")]
#[test]
fn server_ends_when_asked() {
    use nix::sys::signal::{Signal, kill};
    let sandbox = Sandbox::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut served = serve(&sandbox, TOKEN, &[]);
        kill(nix::unistd::Pid::from_raw(served.child.id().try_into().unwrap()), signal).unwrap();
        assert!(served.child.wait().unwrap().success(), "{signal}");
    }
}
