//! Tests with hostile servers. Each call must end within its deadline with a fault, and the next call must work.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use compose::Approval;
use serde_json::json;

use super::*;

const HOSTILE: &str = include_str!("hostile.py");

fn server(how: &str) -> ServerSettings {
    ServerSettings { command: ["python3", "-c", HOSTILE, how].map(str::to_owned).to_vec(), ..ServerSettings::default() }
}

fn remote(how: &str) -> Remote {
    Remote::new([("s".to_owned(), server(how))].into())
}

fn at(url: String) -> Remote {
    Remote::new([("s".to_owned(), ServerSettings { url: Some(url), ..ServerSettings::default() })].into())
}

fn call_for(remote: &Remote, tool: &str, input: &Value, millis: u64) -> Result<Value, ToolFault> {
    call_at(remote, tool, input, millis, Approval::ExecEscalation)
}

fn call_at(remote: &Remote, tool: &str, input: &Value, millis: u64, level: Approval) -> Result<Value, ToolFault> {
    let cancelled = AtomicBool::new(false);
    let deadline = Instant::now() + Duration::from_millis(millis);
    let done = remote.call(tool, input, &Bounds { deadline, cancelled: &cancelled, answer_bytes: 1 << 20, level });
    assert!(Instant::now() < deadline + Duration::from_millis(500), "{tool} holds its caller up");
    done
}

fn call(remote: &Remote, tool: &str, input: &Value) -> Result<Value, ToolFault> {
    call_for(remote, tool, input, 20_000)
}

fn code(remote: &Remote, tool: &str) -> &'static str {
    call(remote, tool, &json!({})).unwrap_err().code
}

fn names(remote: &Remote) -> Vec<String> {
    remote.tools().into_iter().map(|tool| tool.name).collect()
}

#[cfg(target_os = "linux")]
fn is_there(pid: &str) -> bool {
    let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    !state.is_empty() && !state.starts_with(b"Z")
}

#[test]
fn tools_are_listed_and_called() {
    let remote = remote("well");
    let tools = remote.tools();
    assert_eq!(remote.faults(), []);
    let level = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().approval;
    assert_eq!(level("mcp__s__echo"), Approval::None);
    assert_eq!(level("mcp__s__add"), Approval::PlanConfirm);
    assert_eq!(level("mcp__s__fail"), Approval::ExecEscalation);
    assert_eq!(call(&remote, "mcp__s__echo", &json!({"text": "名"})).unwrap(), json!("名"));
    assert_eq!(call(&remote, "mcp__s__add", &json!({"a": 1, "b": 2})).unwrap(), json!({"sum": 3}));
    assert_eq!(call(&remote, "mcp__s__parts", &json!({})).unwrap(), json!(["one", "two"]));
    let fault = call(&remote, "mcp__s__fail", &json!({})).unwrap_err();
    assert_eq!((fault.code, fault.message.as_str()), ("tool_failed", "s: there is no such city"));
    assert!(!fault.transient, "a tool that may destroy is not called twice");
    for unknown in ["mcp__s__nothing", "mcp__other__echo", "mcp__s", "echo", "", "mcp____echo"] {
        assert_eq!(code(&remote, unknown), "unknown_tool", "{unknown}");
    }
    assert_eq!(call(&remote, "mcp__s__echo", &json!(["text"])).unwrap_err().code, "invalid_input");
}

/// The server may hang, end or answer another request.
#[test]
fn failing_server_recovers_on_next_call() {
    let remote = remote("well");
    remote.tools();
    for (tool, fault) in [("hang", "timeout"), ("hang", "timeout"), ("die", "server_gone"), ("other", "timeout")] {
        let name = format!("mcp__s__{tool}");
        // A server that hangs fails the next call too, and is restarted after that.
        let faults: Vec<_> = (0..2).filter_map(|_| call_for(&remote, &name, &json!({}), 800).err()).collect();
        assert!(faults.iter().any(|seen| seen.code == fault), "{tool}: {faults:?}");
        let echo = (0..3).find_map(|_| call_for(&remote, "mcp__s__echo", &json!({"text": "again"}), 3000).ok());
        assert_eq!(echo, Some(json!("again")), "after {tool}");
    }
}

#[test]
fn flooding_server_is_ended() {
    let remote = remote("well");
    remote.tools();
    for tool in ["mcp__s__flood", "mcp__s__line"] {
        assert_eq!(code(&remote, tool), "too_large", "{tool}");
        assert_eq!(call(&remote, "mcp__s__echo", &json!({"text": "again"})).unwrap(), json!("again"));
    }
    assert_eq!(code(&remote, "mcp__s__large"), "too_large");
    let wrong = call_for(&remote, "mcp__s__wrong", &json!({}), 2000).unwrap_err();
    assert!(["bad_answer", "timeout"].contains(&wrong.code), "{wrong:?}");
    assert_eq!(call(&remote, "mcp__s__echo", &json!({"text": "again"})).unwrap(), json!("again"));
}

#[test]
fn servers_failing_to_start_are_reported() {
    let missing = ServerSettings { command: vec!["no-such-program-anywhere".to_owned()], ..ServerSettings::default() };
    let servers = ["exit", "garbage", "lines", "nonsense", "endless", "well"].map(|how| (how.to_owned(), server(how)));
    let servers =
        servers.into_iter().chain([("missing".to_owned(), missing), ("bad__name".to_owned(), server("well"))]);
    let remote = Remote::new(servers.collect());
    assert!(remote.faults().iter().all(|(name, _)| name == "bad__name"), "nothing is started before it is asked for");
    let started = Instant::now();
    let tools = remote.tools();
    assert!(started.elapsed() < Duration::from_secs(25), "{:?}", started.elapsed());
    assert!(tools.iter().any(|tool| tool.name == "mcp__well__echo"));
    let faults: BTreeMap<String, String> = remote.faults().into_iter().collect();
    let failed: Vec<&str> = faults.keys().map(String::as_str).collect();
    assert_eq!(failed, ["bad__name", "exit", "garbage", "lines", "missing", "nonsense"], "{faults:?}");
    assert!(faults["exit"].contains("No module named 'wonder'"), "{faults:?}");
    assert!(faults["missing"].contains("cannot start"), "{faults:?}");
    assert!(tools.iter().filter(|tool| tool.name.starts_with("mcp__endless__")).count() <= remote_tool::TOOLS);
    assert_eq!(code(&remote, "mcp__exit__echo"), "server_failed");
}

#[test]
fn silent_server_costs_only_deadline() {
    let remote = remote("mute");
    assert_eq!(call_for(&remote, "mcp__s__echo", &json!({}), 300).unwrap_err().code, "timeout");
    let cancelled = AtomicBool::new(false);
    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            cancelled.store(true, Ordering::Relaxed);
        });
        let deadline = started + Duration::from_secs(20);
        let bounds = Bounds { deadline, cancelled: &cancelled, answer_bytes: 1000, level: Approval::ExecEscalation };
        assert_eq!(remote.call("mcp__s__echo", &json!({}), &bounds).unwrap_err().code, "cancelled");
    });
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(remote.faults(), [], "a caller without patience says nothing of the server");
}

/// A new tool of the server is listed, too.
#[test]
fn raised_level_stops_earlier_callers() {
    let remote = remote("well");
    assert!(!names(&remote).contains(&"mcp__s__grown".to_owned()));
    call(&remote, "mcp__s__grow", &json!({})).unwrap();
    assert!((0..50).any(|_| {
        thread::sleep(Duration::from_millis(20));
        names(&remote).contains(&"mcp__s__grown".to_owned())
    }));
    call(&remote, "mcp__s__worsen", &json!({})).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(code(&remote, "mcp__s__add"), "unknown_tool");
    // Another caller's request for the list does not update the approval level known to this run.
    let echo = remote.tools().into_iter().find(|tool| tool.name == "mcp__s__echo").unwrap();
    assert_eq!(echo.approval, Approval::ExecEscalation);
    for level in [Approval::None, Approval::PlanConfirm] {
        let refused = call_at(&remote, "mcp__s__echo", &json!({"text": "known"}), 20_000, level).unwrap_err();
        assert_eq!(refused.code, "approval_needed");
    }
    assert_eq!(call(&remote, "mcp__s__echo", &json!({"text": "known"})).unwrap(), json!("known"));
}

#[test]
fn server_gets_only_configured_environment() {
    let env = [("GIVEN".to_owned(), "yes".to_owned())].into();
    let remote = Remote::new([("s".to_owned(), ServerSettings { env, ..server("well") })].into());
    let told = call(&remote, "mcp__s__variables", &json!({})).unwrap();
    let variables: BTreeMap<String, String> = serde_json::from_str(told.as_str().unwrap()).unwrap();
    assert_eq!(variables["GIVEN"], "yes");
    // Cargo sets this variable for every program that it starts, so the test itself has it.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !variables.contains_key("CARGO_MANIFEST_DIR"));
    assert!(variables.contains_key("PATH"));
}

#[cfg(target_os = "linux")]
#[test]
fn dropped_server_leaves_no_processes() {
    for how in ["well", "stays"] {
        let remote = remote(how);
        let pid = call(&remote, "mcp__s__group", &json!({})).unwrap();
        assert!(is_there(pid.as_str().unwrap()));
        let started = Instant::now();
        drop(remote);
        assert!(started.elapsed() < Duration::from_secs(3), "{how}: {:?}", started.elapsed());
        thread::sleep(Duration::from_millis(100));
        assert!(!is_there(pid.as_str().unwrap()), "{how}");
    }
}

#[test]
fn foreign_runtime_may_call_and_drop() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        tokio::spawn(async {
            let remote = remote("well");
            remote.tools();
            call(&remote, "mcp__s__echo", &json!({"text": "from afar"}))
        })
        .await
        .unwrap()
    });
    assert_eq!(answer.unwrap(), json!("from afar"));
}

#[test]
fn concurrent_callers_get_own_answers() {
    let remote = remote("well");
    thread::scope(|scope| {
        for thread in 0..8 {
            let remote = &remote;
            scope.spawn(move || {
                for i in 0..20 {
                    let text = format!("{thread}-{i}");
                    assert_eq!(call(remote, "mcp__s__echo", &json!({"text": text})).unwrap(), json!(text));
                }
            });
        }
    });
}

/// Serves an HTTP endpoint. `answer` gets each request's head and body, and the stream to respond on.
fn serve(answer: impl Fn(&str, &Value, &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, mut stream) = (Arc::clone(&answer), stream.unwrap());
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|bytes| bytes > 0) {}
                let header = head
                    .lines()
                    .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
                let mut body = vec![0; header.map_or(0, |length| length.parse().unwrap())];
                reader.read_exact(&mut body).unwrap();
                answer(&head, &serde_json::from_slice(&body).unwrap_or_default(), &mut stream);
            });
        }
    });
    format!("http://{address}/mcp")
}

fn send(stream: &mut TcpStream, head: &str, body: &str) {
    let length = body.len();
    let _gone = write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
}

/// Responds to the handshake and to a list request with one tool, and passes tool calls to `rest`.
fn well(message: &Value, stream: &mut TcpStream, rest: impl FnOnce(&mut TcpStream)) {
    let json = "200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: one";
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{
            "name": "ask", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        }]}),
        Some("tools/call") => return rest(stream),
        _ => return send(stream, "202 Accepted", ""),
    };
    send(stream, json, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string());
}

#[test]
fn http_servers_answer_document_or_stream() {
    for kind in ["application/json", "text/event-stream"] {
        let url = serve(move |head, message, stream| {
            let (id, session) = (message["id"].clone(), head.to_lowercase().contains("mcp-session-id: one"));
            well(message, stream, move |stream| {
                let result = json!({"content": [{"type": "text", "text": format!("in a session: {session}")}]});
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                let notice = "data: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/message\"}\n\n";
                let body = if kind == "application/json" {
                    answer
                } else {
                    format!("{notice}event: message\ndata: {answer}\n\n")
                };
                send(stream, &format!("200 OK\r\nContent-Type: {kind}"), &body);
            });
        });
        let remote = at(url);
        assert_eq!(names(&remote), ["mcp__s__ask"], "{:?}", remote.faults());
        assert_eq!(call(&remote, "mcp__s__ask", &json!({})).unwrap(), json!("in a session: true"), "{kind}");
    }
}

#[test]
fn misbehaving_http_server_fails_in_time() {
    let endless = |stream: &mut TcpStream, bytes: &[u8], pause: u64| {
        let _gone = write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        while stream.write_all(bytes).is_ok() {
            thread::sleep(Duration::from_millis(pause));
        }
    };
    type ToolResult = Box<dyn Fn(&mut TcpStream) + Send + Sync>;
    let cases: [(&str, &str, ToolResult); 8] = [
        ("a flood in a line", "server_failed", Box::new(move |stream| endless(stream, &[b'x'; 65536], 0))),
        (
            "a flood of events",
            "server_failed",
            Box::new(move |stream| endless(stream, &b"data: {}\n\n".repeat(5000), 0)),
        ),
        ("a drip", "timeout", Box::new(move |stream| endless(stream, b":\n", 100))),
        ("silence", "timeout", Box::new(|_| thread::sleep(Duration::from_secs(30)))),
        ("an error", "server_failed", Box::new(|stream| send(stream, "503 Busy", ""))),
        (
            "a redirect",
            "server_failed",
            Box::new(|stream| send(stream, "302 Found\r\nLocation: http://127.0.0.1:1/", "")),
        ),
        (
            "nonsense",
            "server_failed",
            Box::new(|stream| send(stream, "200 OK\r\nContent-Type: application/json", "[[[[")),
        ),
        ("no HTTP", "server_failed", Box::new(|stream| drop(stream.write_all(b"\x00\x01\x02\r\n\r\n")))),
    ];
    for (name, fault, answer) in cases {
        let url = serve(move |_, message, stream| well(message, stream, |stream| answer(stream)));
        let remote = at(url);
        assert_eq!(names(&remote), ["mcp__s__ask"], "{name}: {:?}", remote.faults());
        let seen = call_for(&remote, "mcp__s__ask", &json!({}), 1500).unwrap_err();
        assert!(seen.code == fault || seen.code == "timeout", "{name}: {seen:?}");
    }
}

#[test]
fn unreachable_or_unauthorized_server_is_fault() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = at(format!("http://127.0.0.1:{port}/mcp"));
    assert_eq!(names(&nobody), Vec::<String>::new());
    assert!(nobody.faults()[0].1.contains("unreachable"), "{:?}", nobody.faults());
    let url = serve(|head, message, stream| match head.to_lowercase().contains("authorization: bearer open") {
        true => well(message, stream, |_| ()),
        false => send(stream, "401 Unauthorized", ""),
    });
    let closed = at(url.clone());
    assert_eq!(names(&closed), Vec::<String>::new());
    assert!(closed.faults()[0].1.contains("AUTHORIZATION"), "{:?}", closed.faults());
    let env = [("AUTHORIZATION".to_owned(), "Bearer open".to_owned())].into();
    let server = ServerSettings { url: Some(url), env, ..ServerSettings::default() };
    assert_eq!(names(&Remote::new([("s".to_owned(), server)].into())), ["mcp__s__ask"]);
}
