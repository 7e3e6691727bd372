//! Attacks on the native tools, and attacks by servers and commands on skillhub.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{tests::bounds, *};

fn code(native: &Native, tool: &str, input: Value) -> &'static str {
    native.call(tool, &input, &bounds(5_000)).unwrap_err().code
}

/// Starts a server that calls `serve` for each connection after the head of the request was read.
fn server(serve: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), serve) = (stream, Arc::clone(&serve)) else { return };
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    head.push(byte[0]);
                }
                let _gone = serve(&mut stream);
            });
        }
    });
    port
}

fn web(hosts: &[u16]) -> Native {
    let hosts = hosts.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let settings = NativeSettings { hosts, private_addresses: true, fetch_bytes: 50_000, ..NativeSettings::default() };
    Native::new(settings, Path::new("."))
}

fn at(port: u16) -> Value {
    json!({"url": format!("http://127.0.0.1:{port}/")})
}

#[test]
fn expensive_query_is_refused_early() {
    let native = Native::new(NativeSettings::default(), Path::new("."));
    let deep = (0..100).fold(json!("x"), |inner, _| json!({"a": inner, "b": 1}));
    let wide = json!((0..3_000).map(|n| json!({"n": n, "s": "x".repeat(20)})).collect::<Vec<_>>());
    let wild = format!("${}", "[*,*,*,*]".repeat(20));
    let open = format!("$[?{}@.a{}]", "(".repeat(400), ")".repeat(400));
    let unclosed = format!("$[?{}", "(".repeat(900));
    let filters = format!("${}", "[?@[?@[?@[?@[?@..*]]]]]".repeat(3));
    let long = format!("$.{}", "a".repeat(2_000));
    for (data, query) in [
        (&deep, "$..*..*..*..*..*..*"),
        (&wide, wild.as_str()),
        (&wide, "$[?count($[?@.n > 5]) > 3]"),
        (&wide, "$[?@.n < $[?@.n == $[?@.s].n].n]"),
        (&deep, open.as_str()),
        (&deep, unclosed.as_str()),
        (&deep, filters.as_str()),
        (&deep, long.as_str()),
        (&deep, "$..[*,*,*,*,*,*]..[*,*,*,*,*,*]"),
    ] {
        let began = Instant::now();
        let answer = native.call("json_query", &json!({"data": data, "query": query}), &bounds(3_000));
        assert!(answer.is_err(), "{query}");
        assert!(began.elapsed() < Duration::from_secs(4), "{query}: {:?}", began.elapsed());
    }
    // Small parts that are found repeatedly can exceed the size limit of an answer.
    let texts = json!((0..300).map(|_| "x".repeat(2_000)).collect::<Vec<_>>());
    assert_eq!(code(&native, "json_query", json!({"data": texts, "query": "$[*,*,*]"})), "too_large");
    let usual = json!({"data": wide, "query": "$[?@.n < 10 && @.s != 'y'].n"});
    assert_eq!(native.call("json_query", &usual, &bounds(3_000)).unwrap().as_array().unwrap().len(), 10);
    let every = json!({"data": deep, "query": "$..b"});
    assert_eq!(native.call("json_query", &every, &bounds(3_000)).unwrap().as_array().unwrap().len(), 100);
    let quoted = json!({"data": {"a..,$(": 1}, "query": "$['a..,$(']"});
    assert_eq!(native.call("json_query", &quoted, &bounds(3_000)).unwrap(), json!([1]));
}

#[test]
fn cancelled_call_leaves_silent_server() {
    let silent = server(|_| {
        thread::sleep(Duration::from_secs(20));
        Ok(())
    });
    let cancelled = AtomicBool::new(false);
    let began = Instant::now();
    thread::scope(|threads| {
        threads.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            cancelled.store(true, Ordering::Relaxed);
        });
        let bounds = Bounds { cancelled: &cancelled, ..bounds(15_000) };
        assert_eq!(web(&[silent]).call("web_fetch", &at(silent), &bounds).unwrap_err().code, "cancelled");
    });
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn slow_or_endless_server_is_abandoned() {
    let slow = |head: &'static [u8]| {
        server(move |stream| {
            stream.write_all(head)?;
            loop {
                stream.write_all(b"x")?;
                thread::sleep(Duration::from_millis(50));
            }
        })
    };
    for port in [slow(b"HTTP/1.1 200 "), slow(b"HTTP/1.1 200 OK\r\nX: "), slow(b"HTTP/1.1 200 OK\r\n\r\n")] {
        let began = Instant::now();
        let fault = web(&[port]).call("web_fetch", &at(port), &bounds(400)).unwrap_err();
        assert_eq!((fault.code, fault.transient), ("timeout", true), "{fault}");
        assert!(began.elapsed() < Duration::from_secs(2));
    }
    let endless = |head: &'static [u8], part: &'static [u8]| {
        server(move |stream| {
            stream.write_all(head)?;
            loop {
                stream.write_all(part)?;
            }
        })
    };
    let body = endless(b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 5_000]);
    assert_eq!(code(&web(&[body]), "web_fetch", at(body)), "too_large");
    let head = endless(b"HTTP/1.1 200 OK\r\n", b"X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n");
    assert_eq!(code(&web(&[head]), "web_fetch", at(head)), "unreachable");
    let nonsense = endless(b"", &[0; 1_000]);
    assert_eq!(code(&web(&[nonsense]), "web_fetch", at(nonsense)), "unreachable");
    let page = server(|stream| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"));
    let small = json!({"url": format!("http://127.0.0.1:{page}/"), "max_bytes": 9});
    assert_eq!(code(&web(&[page]), "web_fetch", small), "too_large");
}

#[test]
fn redirect_target_is_resolved_then_checked() {
    let inside = server(|stream| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ninside"));
    for (to, found) in [
        ("/b?u=http://other.example/".to_owned(), Ok("/b?u=http://other.example/")),
        ("b#c".to_owned(), Ok("/b")),
        ("../b?c=/../d".to_owned(), Ok("/b?c=/../d")),
        ("/a/./b/../../c/..".to_owned(), Ok("/")),
        (format!("//127.0.0.1:{inside}/"), Err("not_allowed")),
        (format!("http://127.0.0.1:{inside}/"), Err("not_allowed")),
        (format!("HTTP://127.1:{inside}/"), Err("not_allowed")),
        (format!("http://user@127.0.0.1:{inside}/"), Err("invalid_url")),
        ("file:///etc/passwd".to_owned(), Err("invalid_url")),
        ("#c".to_owned(), Err("bad_answer")),
    ] {
        let first = AtomicBool::new(true);
        let port = server(move |stream| match first.swap(false, Ordering::Relaxed) {
            true => write!(stream, "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"),
            false => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        });
        let page = web(&[port]).call("web_fetch", &at(port), &bounds(5_000));
        let url = page.as_ref().map(|page| page["url"].as_str().unwrap().to_owned()).map_err(|fault| fault.code);
        assert_eq!(url, found.map(|path| format!("http://127.0.0.1:{port}{path}")), "{page:?}");
    }
}

#[test]
fn impossible_port_is_invalid() {
    let fault = web(&[80]).call("web_fetch", &json!({"url": "http://127.0.0.1:99999/"}), &bounds(5_000)).unwrap_err();
    assert_eq!(fault.code, "invalid_url", "{fault}");
}

/// Errors of reading name the reason: a missing file, a folder, a link, or too many bytes.
#[test]
fn write_keeps_the_file_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let native = Native::new(NativeSettings::default(), folder.path());
    let file = folder.path().join("key");
    fs::write(&file, "a").unwrap();
    for (mode, append) in [(0o600, false), (0o600, true), (0o755, false)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let input = json!({"path": "key", "content": "b", "append": append});
        native.call("write_file", &input, &bounds(5_000)).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, mode);
    }
    fs::create_dir(folder.path().join("dir")).unwrap();
    symlink("key", folder.path().join("link")).unwrap();
    symlink("dir", folder.path().join("way")).unwrap();
    fs::write(folder.path().join("large"), vec![b'x'; (4 << 20) + 1]).unwrap();
    for (path, said) in [
        ("none", "does not exist"),
        ("dir", "is a folder"),
        ("link", "is a link"),
        ("large", "is larger than"),
        ("way/key", "behind a link"),
    ] {
        let fault = native.call("read_file", &json!({"path": path}), &bounds(5_000)).unwrap_err();
        assert!(fault.message.contains(said) && !fault.message.contains("skill"), "{path}: {fault}");
    }
}

#[test]
fn background_process_delays_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let native = Native::new(NativeSettings { shell: true, ..NativeSettings::default() }, folder.path());
    let began = Instant::now();
    let script = "setsid sleep 8 & echo told";
    let answer = native.call("shell", &json!({"command": "sh", "args": ["-c", script]}), &bounds(20_000)).unwrap();
    assert_eq!((answer["stdout"].as_str(), answer["exit_code"].as_i64()), (Some("told\n"), Some(0)));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn write_never_follows_links() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    let folder = outside.path().join("work");
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/config"), "g").unwrap();
    symlink("../secret", folder.join("out")).unwrap();
    symlink(".git/config", folder.join("inner")).unwrap();
    symlink("nowhere", folder.join("dangling")).unwrap();
    symlink(".git", folder.join("dir")).unwrap();
    // Names that an attacker may expect for our temporary files.
    for count in 0..64 {
        symlink(".git/config", folder.join(format!("a.{}-{count}.tmp", std::process::id()))).unwrap();
    }
    let native = Native::new(NativeSettings::default(), &folder);
    for path in ["out", "inner", "dangling", "dir/config", "e\u{301}", "a\nb", "%2e%2e/secret", "~/x", "a\\b"] {
        for append in [false, true] {
            let input = json!({"path": path, "content": "owned", "append": append});
            assert_eq!(code(&native, "write_file", input), "not_allowed", "{path:?}");
        }
    }
    for text in ["1", "2"] {
        native.call("write_file", &json!({"path": "a", "content": text, "append": true}), &bounds(5_000)).unwrap();
    }
    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "12");
    assert_eq!(fs::read_to_string(folder.join(".git/config")).unwrap(), "g");
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
    let large = json!({"path": "a", "content": "x".repeat(4 << 20), "append": true});
    assert_eq!(code(&native, "write_file", large), "too_large");
    let listed = native.call("list_files", &json!({"pattern": "a", "recursive": true}), &bounds(5_000)).unwrap();
    assert_eq!(listed["files"], json!([{"path": "a", "bytes": 2, "kind": "file"}]));
    let cancelled = AtomicBool::new(true);
    let late = Bounds { cancelled: &cancelled, ..bounds(5_000) };
    let input = json!({"path": "late", "content": "x"});
    assert_eq!(native.call("write_file", &input, &late).unwrap_err().code, "cancelled");
    assert!(!folder.join("late").exists());
}

#[test]
fn template_output_is_limited() {
    let native = Native::new(NativeSettings::default(), Path::new("."));
    let (began, each) = (Instant::now(), vec![1; 100_000]);
    for input in [
        json!({"template": "x".repeat(60_000), "each": each}),
        json!({"template": "", "join": "x".repeat(60_000), "each": each}),
        json!({"template": "$${".repeat(700_000)}),
        json!({"template": "x".repeat(1 << 21)}),
    ] {
        let refused = native.call("text_template", &input, &bounds(5_000)).map(|_| "made");
        assert_eq!(refused.map_err(|fault| fault.code), Err("too_large"));
    }
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let empty = json!({"template": "", "join": "", "each": each});
    assert_eq!(native.call("text_template", &empty, &bounds(0)).unwrap_err().code, "timeout");
}

#[test]
fn full_folder_hides_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2_500 {
        fs::write(folder.path().join(format!("{number}.txt")), "").unwrap();
    }
    fs::write(folder.path().join("zzz.md"), "").unwrap();
    let native = Native::new(NativeSettings::default(), folder.path());
    let listed = native.call("list_files", &json!({"pattern": "*.md"}), &bounds(5_000)).unwrap();
    assert_eq!(listed, json!({"files": [{"path": "zzz.md", "bytes": 0, "kind": "file"}], "more": false}));
    let all = native.call("list_files", &json!({}), &bounds(5_000)).unwrap();
    assert_eq!((all["files"].as_array().unwrap().len(), &all["more"]), (1_000, &json!(true)));
}

#[test]
fn append_keeps_the_file_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (native, file) = (Native::new(NativeSettings::default(), folder.path()), folder.path().join("a"));
    fs::write(&file, "x").unwrap();
    for mode in [0o600, 0o755] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        native.call("write_file", &json!({"path": "a", "content": "y", "append": true}), &bounds(5_000)).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn library_and_lock_are_never_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("library/notes")).unwrap();
    let native = Native::new(NativeSettings::default(), folder.path()).keeping([folder.path().join("library")]);
    for path in ["library/notes/SKILL.md", "library/new", "skillhub.lock", "./a/skillhub.lock"] {
        assert_eq!(code(&native, "write_file", json!({"path": path, "content": "x"})), "not_allowed", "{path}");
    }
    native.call("write_file", &json!({"path": "library2/a", "content": "x"}), &bounds(5_000)).unwrap();
}
