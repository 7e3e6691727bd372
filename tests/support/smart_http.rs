//! [`SmartHttp`]: the real `git http-backend` on loopback, standing in for a registry behind a web server.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use super::{Sandbox, git};

/// Serves the folder `served` of a sandbox as long as the test process lives.
pub struct SmartHttp {
    port: u16,
}

/// A request in the form that the backend receives.
struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl SmartHttp {
    /// Starts the server. Only `user` may push; without one, nobody may.
    pub fn start(sandbox: &Sandbox, user: Option<&'static str>) -> Self {
        let served = sandbox.path("served");
        std::fs::create_dir_all(&served).unwrap();
        let program = PathBuf::from(git(sandbox, &["--exec-path"]).trim()).join("git-http-backend");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (program, served) = (program.clone(), served.clone());
                thread::spawn(move || {
                    let mut command = Command::new(&program);
                    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
                    command.env("GIT_PROJECT_ROOT", served).env("GIT_HTTP_EXPORT_ALL", "1");
                    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
                    command.envs(user.map(|user| ("REMOTE_USER", user)));
                    let _closed_early = answer(stream, command);
                });
            }
        });
        Self { port }
    }

    /// Returns the URL of a repository in the served folder.
    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }
}

/// Handles one request per connection.
fn answer(mut stream: TcpStream, mut backend: Command) -> io::Result<()> {
    let request = Request::read(&mut stream)?;
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    backend.env("REQUEST_METHOD", &request.method).env("PATH_INFO", path).env("QUERY_STRING", query);
    backend.env("CONTENT_LENGTH", request.body.len().to_string()).env("REMOTE_ADDR", "127.0.0.1");
    for (header, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        backend.envs(request.header(header).map(|value| (variable, value)));
    }
    let mut child = backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut pipe = child.stdin.take().unwrap();
    let writer = thread::spawn(move || pipe.write_all(&request.body));
    let output = child.wait_with_output()?;
    let _ended_early = writer.join();
    let end = output.stdout.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(0);
    let (head, body) = (String::from_utf8_lossy(&output.stdout[..end]), &output.stdout[(end + 4)..]);
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let others: String =
        head.lines().filter(|line| !line.starts_with("Status: ")).map(|l| format!("{l}\r\n")).collect();
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\n{others}Content-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(body)
}

impl Request {
    fn read(stream: &mut TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Self { method, target, headers: Vec::new(), body: Vec::new() };
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if request.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        match request.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => reader.take(length).read_to_end(&mut request.body).map(drop)?,
            None if request.header("transfer-encoding").is_some() => request.body = chunks(&mut reader)?,
            None => {}
        }
        Ok(request)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a body in chunked transfer encoding.
fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        reader.take(length).read_to_end(&mut body)?;
        reader.read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}
