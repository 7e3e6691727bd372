//! Tokens: the servers that receive them, and programs started by skillhub, which inherit none.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use crate::support::{Answer, Sandbox, Terminal, git, write_files};

const TOKENS: [(&str, &str); 5] = [
    ("SKILLHUB_TOKEN", "secret-common"),
    ("SKILLHUB_TOKEN_TEAM", "secret-team"),
    ("SKILLHUB_REVIEWER_TOKEN", "secret-reviewer"),
    ("SKILLHUB_MCP_TOKEN", "secret-mcp"),
    ("SKILLHUB_GATEWAY_TOKEN", "secret-gateway"),
];

/// A server that keeps the heads of requests and gives one answer to all.
struct Listener {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn start(status: &'static str, header: String, body: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                kept.lock().unwrap().push(head.join("\n"));
                let answer = format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{header}\r\n{body}",
                    body.len()
                );
                let _client_that_left = stream.write_all(answer.as_bytes());
            }
        });
        Self { port, heads }
    }

    fn refusing() -> Self {
        let body = r#"{"ok":false,"error":{"code":"unauthorized","message":"a token is needed"}}"#;
        Self::start("401 Unauthorized", String::new(), body)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The same under an address that is not loopback's.
    fn plain_url(&self) -> String {
        format!("http://0.0.0.0:{}", self.port)
    }

    fn saw(&self, text: &str) -> bool {
        self.heads.lock().unwrap().iter().any(|head| head.contains(text))
    }

    fn count(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

/// Runs a command with all tokens in its environment.
#[track_caller]
fn with_tokens(sandbox: &Sandbox, args: &[&str]) -> Answer {
    let args = [args, &["--json"]].concat();
    let mut command = sandbox.command(&args);
    command.envs(TOKENS).env_remove("SKILLHUB_REVIEWER_TOKEN");
    sandbox.finish(command, &args)
}

fn configure(sandbox: &Sandbox, servers: &[(&str, &str)]) {
    let tables: String = servers
        .iter()
        .map(|(name, url)| format!("[registries.{name}]\nlocation = \"{url}\"\nowners = [\"{name}\"]\n"))
        .collect();
    write_files(&sandbox.skillhub_home(), &[("config.toml", tables.as_bytes(), false)]);
}

#[test]
fn token_is_sent_to_named_registry() {
    let (named, other) = (Listener::refusing(), Listener::refusing());
    let sandbox = Sandbox::new();
    configure(&sandbox, &[("first", &named.url()), ("other", &other.url())]);
    with_tokens(&sandbox, &["search", "x", "--registry", "first"]).refused(5, "unauthorized");
    assert!(named.saw("secret-common") && other.count() == 0);
    let args = ["search", "x", "--json"];
    let mut command = sandbox.command(&args);
    command.envs(TOKENS).env_remove("SKILLHUB_REVIEWER_TOKEN").env("SKILLHUB_REGISTRY", other.url());
    sandbox.finish(command, &args).refused(5, "unauthorized");
    assert!(other.saw("secret-common"), "the variable names a registry as the flag does");
}

#[test]
fn several_registries_get_their_own_tokens() {
    let (team, other) = (Listener::refusing(), Listener::refusing());
    let sandbox = Sandbox::new();
    configure(&sandbox, &[("team", &team.url()), ("other-b", &other.url())]);
    with_tokens(&sandbox, &["info", "team/x"]).refused(5, "unauthorized");
    assert!(team.saw("secret-team") && !team.saw("secret-common"));
    let error = with_tokens(&sandbox, &["info", "other-b/x"]).refused_with_hint(5, "unauthorized");
    assert!(!other.saw("secret"), "no token is for it");
    assert!(error["hint"].as_str().unwrap().contains("SKILLHUB_TOKEN_OTHER_B"), "{error:#}");
}

#[test]
fn only_registry_gets_the_common_token() {
    let only = Listener::refusing();
    let sandbox = Sandbox::new();
    configure(&sandbox, &[("only", &only.url())]);
    let url = only.url();
    for args in [&["info", "only/x"][..], &["login", &url]] {
        let error = with_tokens(&sandbox, args).refused_with_hint(5, "unauthorized");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.starts_with("unset SKILLHUB_TOKEN,") && !hint.contains("skillhub login"), "{error:#}");
    }
    assert!(only.saw("secret-common"));
}

#[test]
fn token_stays_off_plain_http() {
    let server = Listener::start("200 OK", String::new(), r#"{"account":"ann"}"#);
    let sandbox = Sandbox::new();
    let url = server.plain_url();
    let error = sandbox.run_with(&["login", &url, "--json"], b"secret").refused_with_hint(5, "insecure");
    assert!(error["hint"].as_str().unwrap().contains("--insecure"), "{error:#}");
    for args in [&["search", "x", "--registry", &url][..], &["login", &url], &["publish", ".", "--registry", &url]] {
        if args[0] == "publish" {
            sandbox.skill("demo", "Does it. Use in tests.", &[]);
            with_tokens(&sandbox, &["publish", "demo", "--owner", "acme", "--registry", &url]).refused(5, "insecure");
        } else {
            with_tokens(&sandbox, args).refused(5, "insecure");
        }
    }
    assert_eq!(server.count(), 0, "nothing was sent");
    sandbox.run_with(&["login", &url, "--insecure", "--json"], b"secret-typed").done();
    assert!(server.saw("secret-typed"));
    sandbox.ask(&["search", "x", "--registry", &url]).refused(5, "insecure");
    assert_eq!(server.count(), 1, "a token that was kept is held back as well");
}

#[test]
fn redirect_gets_no_token() {
    let target = Listener::refusing();
    let source = Listener::start("302 Found", format!("Location: {}/there\r\n", target.plain_url()), "");
    let sandbox = Sandbox::new();
    let answer = with_tokens(&sandbox, &["search", "x", "--registry", &source.url()]);
    assert_ne!(answer.exit, 0);
    assert!(source.saw("secret-common") && !target.saw("secret"), "{answer}");
    let login = sandbox.run_with(&["login", &source.url(), "--json"], b"secret-typed");
    assert_ne!(login.exit, 0);
    assert!(!target.saw("secret"));
}

/// A program that writes its environment to the file and goes on as `then` says.
fn spy(sandbox: &Sandbox, name: &str, then: &str) -> std::path::PathBuf {
    let script = format!("#!/bin/sh\nenv >> {}\n{then}\n", seen_path(sandbox).display());
    write_files(&sandbox.path("bin"), &[(name, script.as_bytes(), true)]);
    sandbox.path("bin").join(name)
}

fn seen_path(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path("seen-environment")
}

#[track_caller]
fn assert_saw_no_token(sandbox: &Sandbox) {
    let seen = std::fs::read_to_string(seen_path(sandbox)).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("secret-"), "{seen}");
    std::fs::remove_file(seen_path(sandbox)).unwrap();
}

fn program_path(name: &str) -> String {
    let paths = std::env::var("PATH").unwrap();
    let found = paths.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    found.unwrap().display().to_string()
}

#[test]
fn git_inherits_no_token() {
    let sandbox = Sandbox::new();
    let source = sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    let place = source.to_str().unwrap();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main", place]);
    git(&sandbox, &["-C", place, "add", "."]);
    git(&sandbox, &["-C", place, "commit", "--quiet", "--message=skill"]);
    spy(&sandbox, "git", &format!("exec {} \"$@\"", program_path("git")));
    let args = ["install", &format!("git+file://{place}"), "--json"];
    let mut command = sandbox.command(&args);
    command.envs(TOKENS).env_remove("SKILLHUB_REVIEWER_TOKEN");
    command.env("PATH", format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap()));
    sandbox.finish(command, &args).done();
    assert_saw_no_token(&sandbox);
}

#[test]
fn pager_inherits_no_token() {
    let sandbox = Sandbox::new();
    let body: String = (0..200).map(|line| format!("line {line}\n\n")).collect();
    sandbox.create("demo", &body);
    let args = ["blame", "demo", "SKILL.md"];
    let mut command = sandbox.command(&args);
    command.envs(TOKENS).env_remove("SKILLHUB_REVIEWER_TOKEN");
    command.env("PAGER", spy(&sandbox, "pager", "cat > /dev/null"));
    sandbox.with_terminal(command, &args, Terminal::BOTH).exits(0);
    assert_saw_no_token(&sandbox);
}

#[test]
fn notify_command_inherits_no_token() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one");
    let hook = spy(&sandbox, "hook", "cat > /dev/null");
    let config = format!("policy = \"strict\"\n[notify]\ncommand = [{:?}]\n", hook.to_str().unwrap());
    write_files(&sandbox.skillhub_home(), &[("config.toml", config.as_bytes(), false)]);
    with_tokens(&sandbox, &["manage", "patch", "demo", "--find", "one", "--replace", "two"]).done();
    assert_saw_no_token(&sandbox);
}

#[test]
fn editor_inherits_no_token() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one");
    write_files(&sandbox.skillhub_home(), &[("config.toml", b"policy = \"strict\"\n", false)]);
    let held = sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    let args = ["review", "edit", held["proposal"].as_str().unwrap()];
    let mut command = sandbox.command(&args);
    command.envs(TOKENS).env_remove("SKILLHUB_REVIEWER_TOKEN");
    command.env("EDITOR", spy(&sandbox, "editor", "exit 1"));
    sandbox.with_terminal(command, &args, Terminal::BOTH).exits(1);
    assert_saw_no_token(&sandbox);
}
