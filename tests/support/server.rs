//! [`Server`]: the real `skillhub serve` on loopback, and requests to it.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use serde_json::Value;
use ureq::{Agent, http::Request};

use super::Sandbox;

/// A server with its own data folder, which runs until this is dropped.
pub struct Server {
    child: Child,
    /// Base URL of the server.
    pub url: String,
    /// Token of an admin account.
    pub admin: String,
    data: PathBuf,
    log: PathBuf,
}

/// Response of a server.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Server {
    /// Starts a server in the folder `hub` of a sandbox; a second one there serves the same registry.
    pub fn start(sandbox: &Sandbox, flags: &[&str]) -> Self {
        let data = sandbox.path("hub");
        let folder = data.to_str().unwrap();
        std::fs::create_dir_all(&data).unwrap();
        let admin = sandbox.run(&["serve", "admin-token", "--data", folder]).exits(0).text().trim().to_owned();
        assert!(admin.starts_with("skh_") && !admin.contains(char::is_whitespace), "{admin}");
        let log = sandbox.path("hub.log");
        let mut command = sandbox.command(&["serve", "--data", folder, "--log"]);
        if !flags.contains(&"--addr") {
            command.args(["--addr", "127.0.0.1:0"]);
        }
        let lines = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut child = command.args(flags).stdout(Stdio::piped()).stderr(lines).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line:?}: {}", std::fs::read_to_string(&log).unwrap());
        Self { child, url, admin, data, log }
    }

    /// Returns the index as a folder.
    pub fn index(&self) -> PathBuf {
        self.data.join("index.git")
    }

    /// Returns the text of its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Returns a memory figure of the process from the system, such as `VmRSS`.
    #[cfg(target_os = "linux")]
    pub fn memory_kb(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(&format!("{key}:"))).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Asks the process to end, and waits.
    #[cfg(target_os = "linux")]
    pub fn end(mut self) {
        let id = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills the process, like a crash.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a request, with a token if given.
    pub fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &[u8]) -> Reply {
        ask(&self.url, method, path, token, body).unwrap()
    }

    /// Sends a request with these headers.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        send(&self.url, method, path, headers, body).unwrap()
    }

    /// Returns the data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the JSON document of a resource that exists.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None, b"").done()
    }

    /// Creates a token for an account, and the account if it does not exist.
    pub fn token(&self, account: &str, scope: &str) -> String {
        let body = serde_json::json!({"account": account, "scope": scope, "label": "test"}).to_string();
        let made = self.ask("POST", "/v1/tokens", Some(&self.admin), body.as_bytes()).done();
        made["secret"].as_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Sends a request; an error if the server is not running.
pub fn ask(url: &str, method: &str, path: &str, token: Option<&str>, body: &[u8]) -> Result<Reply, ureq::Error> {
    ask_by_name(url, None, method, path, token, body)
}

/// Like [`ask`], with the host name that the client uses.
pub fn ask_by_name(
    url: &str,
    name: Option<&str>,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: &[u8],
) -> Result<Reply, ureq::Error> {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers: Vec<_> = name.map(|name| ("Host", name)).into_iter().collect();
    headers.extend(authorization.as_deref().map(|token| ("Authorization", token)));
    if body.first() == Some(&b'{') {
        headers.push(("Content-Type", "application/json"));
    }
    send(url, method, path, &headers, body)
}

/// Sends a request with only these significant headers; an error if the server is not running.
pub fn send(url: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Reply, ureq::Error> {
    let config = Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
    let agent: Agent = config.max_redirects(0).build().into();
    let mut request = Request::builder().method(method).uri(format!("{url}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = agent.run(request.body(body.to_vec()).unwrap())?;
    let headers = answer.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
    Ok(Reply {
        status: answer.status().as_u16(),
        headers: headers.collect(),
        body: answer.body_mut().with_config().limit(64 << 20).read_to_vec()?,
    })
}

impl Reply {
    /// Parses the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    /// Asserts success and returns the document.
    #[track_caller]
    pub fn done(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let document = self.json();
        assert_eq!(document["ok"], true, "{document}");
        document
    }

    /// Asserts the status and returns the error code.
    #[track_caller]
    pub fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        let document = self.json();
        assert_eq!(document["ok"], false, "{document}");
        assert!(document["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{document}");
        document["error"]["code"].as_str().unwrap().to_owned()
    }

    /// Returns the cookies that it sets, as a browser sends them back.
    pub fn cookies(&self) -> String {
        let set = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        set.filter_map(|(_, value)| value.split(';').next()).collect::<Vec<_>>().join("; ")
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
