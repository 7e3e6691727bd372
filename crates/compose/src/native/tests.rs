//! Native tools: their results, and their restrictions.

#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::{
    io::{Read, Write},
    net::{IpAddr, TcpListener},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::*;
use crate::settings::SearchSettings;

static NEVER: AtomicBool = AtomicBool::new(false);

pub(super) fn bounds(millis: u64) -> Bounds<'static> {
    Bounds {
        deadline: Instant::now() + Duration::from_millis(millis),
        cancelled: &NEVER,
        answer_bytes: 1 << 20,
        level: Approval::ExecEscalation,
    }
}

fn call(native: &Native, tool: &str, input: Value) -> Result<Value, ToolFault> {
    native.call(tool, &input, &bounds(5_000))
}

fn in_folder(folder: &Path) -> Native {
    Native::new(NativeSettings::default(), folder)
}

/// Starts a local server that answers each connection with the result of `answer` for the request line.
fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), answer) = (stream, Arc::clone(&answer)) else { return };
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let _gone = stream.write_all(&answer(head.lines().next().unwrap_or_default()));
            });
        }
    });
    port
}

fn page(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

fn web(hosts: &[&str], private: bool) -> Native {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let settings =
        NativeSettings { hosts, private_addresses: private, fetch_bytes: 100_000, ..NativeSettings::default() };
    Native::new(settings, Path::new("."))
}

fn fetch(native: &Native, url: &str) -> Result<Value, ToolFault> {
    call(native, "web_fetch", json!({ "url": url }))
}

#[test]
fn files_are_written_read_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let native = in_folder(folder.path());
    let written = call(&native, "write_file", json!({"path": "a/b/report.md", "content": "é"})).unwrap();
    assert_eq!(written, json!({"path": "a/b/report.md", "bytes": 2}));
    assert_eq!(call(&native, "read_file", json!({"path": "./a/b/report.md"})).unwrap()["text"], "é");
    let all = call(&native, "list_files", json!({"recursive": true})).unwrap();
    let paths: Vec<_> = all["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a", "a/b", "a/b/report.md"]);
    assert_eq!(call(&native, "list_files", json!({"path": "a"})).unwrap()["files"][0]["kind"], "folder");
    assert_eq!(call(&native, "read_file", json!({"path": "none"})).unwrap_err().code, "not_found");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("a/b")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing beside it");
}

// CC5
#[cfg(unix)]
#[test]
fn absolute_paths_stay_in_configured_folders() {
    let base = tempfile::tempdir().unwrap();
    let [work, open, other] = ["work", "open", "other"].map(|name| base.path().join(name));
    [&work, &open, &other].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    std::fs::write(other.join("secret"), "s").unwrap();
    std::os::unix::fs::symlink(&other, open.join("link")).unwrap();
    let native = Native::new(NativeSettings { folders: vec![open.clone()], ..NativeSettings::default() }, &work);
    let at = |below: &str| format!("{}/{below}", open.display());
    let written = call(&native, "write_file", json!({"path": at("a/r.md"), "content": "r"})).unwrap();
    assert_eq!(written["path"], at("a/r.md"));
    assert_eq!(call(&native, "read_file", json!({"path": at("a/r.md")})).unwrap()["text"], "r");
    for folder in [at("").trim_end_matches('/'), &at("")] {
        let listed =
            call(&native, "list_files", json!({"path": folder, "recursive": true, "pattern": "*.md"})).unwrap();
        assert_eq!(listed["files"][0]["path"], at("a/r.md"), "{listed}");
    }
    let outside = other.join("secret").display().to_string();
    for path in [&outside, &at("../other/secret"), &at("link/secret"), &at("a/../../other/secret"), &at(".env")] {
        assert!(call(&native, "read_file", json!({"path": path})).is_err(), "{path} was read");
        let fault = call(&native, "write_file", json!({"path": path, "content": "x"})).unwrap_err();
        assert_eq!(fault.code, "not_allowed", "{path}: {fault:?}");
    }
    let settings = NativeSettings { folders: vec![open.clone()], ..NativeSettings::default() };
    let keeping = Native::new(settings, &work).keeping([open.join("library")]);
    let fault = call(&keeping, "write_file", json!({"path": at("library/a/SKILL.md"), "content": "x"})).unwrap_err();
    assert!(fault.message.contains("belongs to skillhub"), "{fault:?}");
    assert_eq!(std::fs::read_to_string(other.join("secret")).unwrap(), "s");
    assert!(call(&native, "write_file", json!({"path": "r.md", "content": "r"})).is_ok() && work.join("r.md").exists());
}

// CC5
#[cfg(unix)]
#[test]
fn literal_paths_are_checked_before_running() {
    let folders = ["/srv/data".into(), "/tmp".into()];
    for (literal, is_whole, is_fault) in [
        ("/tmp/report.md", true, false),
        ("/tmp", true, false),
        ("report.md", true, false),
        ("/tmpx/report.md", true, true),
        ("/tmp/../etc/passwd", true, true),
        ("../report.md", true, true),
        ("/etc/", false, true),
        ("/srv/", false, false),
        ("/srv/other/", false, true),
        ("/", false, false),
        ("/tmp/report-", false, false),
        ("a/../", false, true),
        ("", false, false),
    ] {
        assert_eq!(Located::fault(literal, is_whole, &folders).is_some(), is_fault, "{literal}");
    }
    let hint = Located::fault("/etc/passwd", true, &folders).unwrap().hint.unwrap();
    assert!(hint.contains(r#"`folders = ["/srv/data","/tmp","/etc"]`"#), "{hint}");
}

#[cfg(unix)]
#[test]
fn no_path_escapes_the_folder() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let native = in_folder(folder.path());
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("file")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(fifo.success());
    std::fs::write(folder.path().join(".env"), "TOKEN=1").unwrap();
    let absolute = outside.path().join("secret").display().to_string();
    for path in [
        "../secret", "a/../../secret", "/etc/passwd", &absolute, "link/secret", "file", "pipe", ".env",
        "a/.git/config", "a\\..\\b", "c:x", "con", "a\u{0}b", "a\u{202e}b", "", ".", "..", "a//b", "a/",
    ] {
        let began = Instant::now();
        assert!(call(&native, "read_file", json!({"path": path})).is_err(), "{path:?} was read");
        if path != "a//b" && path != "a/" {
            assert!(
                call(&native, "write_file", json!({"path": path, "content": "x"})).is_err(),
                "{path:?} was written"
            );
        }
        assert!(began.elapsed() < Duration::from_secs(2), "{path:?} waits");
    }
    assert!(call(&native, "list_files", json!({"path": "link"})).is_err());
    assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    let open = NativeSettings { hidden: true, ..NativeSettings::default() };
    assert_eq!(
        call(&Native::new(open, folder.path()), "read_file", json!({"path": ".env"})).unwrap()["text"],
        "TOKEN=1"
    );
}

#[cfg(unix)]
#[test]
fn folder_swapped_for_link_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (inside, away) = (folder.path().join("d"), folder.path().join("e"));
    std::fs::create_dir(&inside).unwrap();
    let native = in_folder(folder.path());
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _swap = std::fs::rename(&inside, &away);
                let _swap = std::os::unix::fs::symlink(outside.path(), &inside);
                let _swap = std::fs::remove_file(&inside);
                let _swap = std::fs::rename(&away, &inside);
            }
        });
        for count in 0..300 {
            let _either = call(&native, "write_file", json!({"path": format!("d/{count}"), "content": "x"}));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn only_listed_hosts_are_contacted() {
    let port = serve(|_| page("200 OK", "content-type: text/html\r\n", "<h1>Up</h1><p>and well"));
    let here = format!("127.0.0.1:{port}");
    let allowed = web(&[&here], true);
    let got = fetch(&allowed, &format!("http://{here}/x")).unwrap();
    assert_eq!((got["status"].as_u64(), got["text"].as_str()), (Some(200), Some("<h1>Up</h1><p>and well")));
    let text = call(&allowed, "web_fetch", json!({"url": format!("http://{here}/"), "format": "text"})).unwrap();
    assert_eq!(text["text"], "Up\nand well");
    for hosts in [&[][..], &["127.0.0.1"], &["127.0.0.2:1"], &["*.0.0.1"], &["example.org"]] {
        let refused = fetch(&web(hosts, true), &format!("http://{here}/")).unwrap_err();
        assert_eq!((refused.code, refused.transient), ("not_allowed", false), "{hosts:?}");
    }
    for url in [
        "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1", "http://", "http://user@example.org/",
        "http://example.org@127.0.0.1/", "http:///x", "javascript:1", "http://a b/",
    ] {
        assert!(
            ["invalid_url", "not_allowed"].contains(&fetch(&web(&["example.org"], true), url).unwrap_err().code),
            "{url}"
        );
    }
}

#[test]
fn internal_addresses_are_always_refused() {
    let port = serve(|_| page("200 OK", "", "inside"));
    let native = web(&["*"], false);
    for host in [
        "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]",
        "0.0.0.0", "[::]",
    ] {
        let fault = fetch(&native, &format!("http://{host}:{port}/")).unwrap_err();
        assert_ne!(fault.message, "inside");
        assert!(["not_allowed", "invalid_url", "unreachable"].contains(&fault.code), "{host}: {fault:?}");
    }
    let settings = || NativeSettings { hosts: vec!["*".to_owned()], ..NativeSettings::default() };
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1"] {
        let address: IpAddr = address.parse().unwrap();
        let resolve: Arc<Resolve> = Arc::new(move |_| vec![address]);
        let native = Native::with_resolver(settings(), Path::new("."), Some(resolve));
        let fault = fetch(&native, &format!("http://innocent.example:{port}/")).unwrap_err();
        assert_eq!((fault.code, fault.transient), ("not_allowed", false), "{address}: {fault:?}");
    }
    // A name with changing DNS answers is resolved only once, and the connection uses the checked address.
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let resolve: Arc<Resolve> = Arc::new(move |_| {
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        vec![if first { "192.0.2.1" } else { "127.0.0.1" }.parse().unwrap()]
    });
    let native = Native::with_resolver(settings(), Path::new("."), Some(resolve));
    assert!(
        native.call("web_fetch", &json!({"url": format!("http://rebinding.example:{port}/")}), &bounds(300)).is_err()
    );
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn redirects_obey_the_same_rules() {
    let inside = serve(|_| page("200 OK", "", "inside"));
    let port = serve(move |line| {
        let to = match line.split(' ').nth(1).unwrap_or_default() {
            "/other" => format!("http://127.0.0.1:{inside}/"),
            "/file" => "file:///etc/passwd".to_owned(),
            "/round" => "/round".to_owned(),
            "/there" => "/end".to_owned(),
            "/up/here" => "end".to_owned(),
            _ => return page("200 OK", "", "end"),
        };
        page("302 Found", &format!("location: {to}\r\n"), "")
    });
    let native = web(&[&format!("127.0.0.1:{port}")], true);
    let get = |path: &str| fetch(&native, &format!("http://127.0.0.1:{port}{path}"));
    assert_eq!(get("/other").unwrap_err().code, "not_allowed");
    assert_eq!(get("/file").unwrap_err().code, "invalid_url");
    assert_eq!(get("/round").unwrap_err().code, "too_many_redirects");
    assert_eq!(get("/there").unwrap()["text"], "end");
    assert_eq!(get("/up/here").unwrap()["url"], format!("http://127.0.0.1:{port}/up/end"));
}

#[test]
fn server_faults_are_classified() {
    let endless = serve(|_| {
        let mut answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
        answer.resize(300_000, b'x');
        answer
    });
    let slow = serve(|_| {
        thread::sleep(Duration::from_secs(20));
        Vec::new()
    });
    let packed = serve(|_| page("200 OK", "content-encoding: gzip\r\n", "\u{1f}"));
    let busy = serve(|_| page("503 Busy", "", ""));
    let gone = serve(|_| page("404 Not Found", "", ""));
    let here = |port: u16| format!("127.0.0.1:{port}");
    let all: Vec<String> = [endless, slow, packed, busy, gone].into_iter().map(here).collect();
    let native = web(&all.iter().map(String::as_str).collect::<Vec<_>>(), true);
    let code = |port: u16, millis: u64| {
        let began = Instant::now();
        let fault = native
            .call("web_fetch", &json!({"url": format!("http://127.0.0.1:{port}/")}), &bounds(millis))
            .unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(5));
        (fault.code, fault.transient)
    };
    assert_eq!(code(endless, 4_000), ("too_large", false));
    assert_eq!(code(slow, 300), ("timeout", true));
    assert_eq!(code(packed, 4_000), ("bad_answer", false));
    assert_eq!(code(busy, 4_000), ("bad_status", true));
    assert_eq!(code(gone, 4_000), ("bad_status", false));
}

#[test]
fn search_contacts_only_its_endpoint() {
    let port = serve(|line| match line.contains("q=a%20%26%20b") {
        true => {
            page("200 OK", "", r#"{"results":[{"title":"T","url":"http://t.example","content":"C"},{"title":"U"}]}"#)
        }
        false => page("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
    });
    let search: SearchSettings =
        toml::from_str(&format!("url = 'http://127.0.0.1:{port}/?q={{query}}&n={{count}}'")).unwrap();
    let settings = NativeSettings { search: Some(search), private_addresses: true, ..NativeSettings::default() };
    let native = Native::new(settings, Path::new("."));
    let found = call(&native, "web_search", json!({"query": "a & b", "count": 1})).unwrap();
    assert_eq!(found["results"], json!([{"title": "T", "url": "http://t.example", "snippet": "C"}]));
    assert_eq!(call(&native, "web_search", json!({"query": "x"})).unwrap_err().code, "not_allowed");
    assert_eq!(
        call(&in_folder(Path::new(".")), "web_search", json!({"query": "x"})).unwrap_err().code,
        "not_configured"
    );
}

#[test]
fn queries_select_and_templates_fill() {
    let native = in_folder(Path::new("."));
    let data = json!({"items": [{"n": 1, "name": "a"}, {"n": 5, "name": "b"}]});
    let query = |data: Value, query: &str, first: bool| {
        call(&native, "json_query", json!({"data": data, "query": query, "first": first}))
    };
    assert_eq!(query(data.clone(), "$.items[?@.n < 3].name", false).unwrap(), json!(["a"]));
    assert_eq!(query(Value::String(data.to_string()), "$..name", true).unwrap(), "a");
    assert_eq!(query(data.clone(), "$.none", true).unwrap(), Value::Null);
    assert_eq!(query(data, "items[", false).unwrap_err().code, "invalid_query");
    let fill = |template: &str, more: Value| {
        let mut input = json!({"template": template, "values": {"who": "you", "n": [1, {"x": "y"}], "none": null}});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&native, "text_template", input)
    };
    assert_eq!(
        fill("For ${who}${none}, ${n.0} times ${n.1.x} $${who} $5 {}", json!({})).unwrap()["text"],
        "For you, 1 times y ${who} $5 {}"
    );
    let each = json!({"each": [{"a": 1}, {"a": "b"}], "join": "; "});
    assert_eq!(fill("<${a}> ${.}", each).unwrap()["text"], r#"<1> {"a":1}; <b> {"a":"b"}"#);
    for (template, more) in [
        ("${missing}", json!({})),
        ("${who", json!({})),
        ("${}", json!({})),
        ("${who.x}", json!({})),
        ("${a}", json!({"each": [{}]})),
    ] {
        assert_eq!(fill(template, more).unwrap_err().code, "invalid_template", "{template}");
    }
    let long = json!({"each": vec!["x".repeat(1000); 2000]});
    assert_eq!(fill("${.}", long).unwrap_err().code, "too_large");
}

#[cfg(unix)]
#[test]
fn commands_are_opt_in_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(call(&in_folder(folder.path()), "shell", json!({"command": "true"})).unwrap_err().code, "unknown_tool");
    let settings = NativeSettings { shell: true, ..NativeSettings::default() };
    let native = Native::new(settings, folder.path());
    assert!(native.tools().iter().any(|tool| tool.name == "shell" && tool.approval == Approval::ExecEscalation));
    let run = |script: &str, millis: u64| {
        native.call("shell", &json!({"command": "sh", "args": ["-c", script], "stdin": "in"}), &bounds(millis))
    };
    assert_eq!(
        run("cat; echo err >&2; exit 3", 5_000).unwrap(),
        json!({"exit_code": 3, "stdout": "in", "stderr": "err\n"})
    );
    assert_eq!(run("env | grep -c CARGO", 5_000).unwrap()["stdout"], "0\n", "the environment is not passed on");
    let began = Instant::now();
    assert_eq!(run("sleep 30 & sleep 30", 300).unwrap_err().code, "timeout");
    assert_eq!(run("sleep 30 & echo left", 5_000).unwrap()["stdout"], "left\n");
    assert_eq!(run("yes", 5_000).unwrap_err().code, "too_large", "ended before its time");
    assert_eq!(run("head -c 3000000 /dev/zero", 5_000).unwrap_err().code, "too_large");
    assert!(began.elapsed() < Duration::from_secs(10));
}
