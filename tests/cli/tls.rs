//! Servers with a certificate of a CA that the system does not know: refused, and trusted by a variable and by a flag.

use std::fs;

use crate::support::{Answer, Sandbox, Server, SmartHttp, TlsFront, git, test_ca};

fn with_variable(sandbox: &Sandbox, file: &str, args: &[&str]) -> Answer {
    let args = [args, &["--json"]].concat();
    let mut command = sandbox.command(&args);
    command.env("SSL_CERT_FILE", file);
    sandbox.finish(command, &args)
}

/// A skillhub server behind TLS, with one release of `acme/notes`.
fn server(sandbox: &Sandbox) -> (Server, TlsFront) {
    let server = Server::start(sandbox, &[]);
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    sandbox.run_with(&["login", &server.url, "--json"], server.admin.as_bytes()).done();
    sandbox.done(&["publish", "notes", "--owner", "acme", "--registry", &server.url]);
    let front = TlsFront::before(&server.url);
    (server, front)
}

#[test]
fn unknown_ca_is_refused() {
    let sandbox = Sandbox::new();
    let (server, front) = server(&sandbox);
    let url = front.url("");
    let login = sandbox.run_with(&["login", &url, "--json"], server.admin.as_bytes());
    let error = login.refused_with_hint(9, "untrusted_certificate");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&url) && message.contains("not trusted"), "{error:#}");
    assert!(error["hint"].as_str().unwrap().contains("--ca-file"), "{error:#}");
    let error =
        sandbox.ask(&["install", "acme/notes", "--registry", &url]).refused_with_hint(9, "untrusted_certificate");
    assert!(error["hint"].as_str().unwrap().contains("SSL_CERT_FILE"), "{error:#}");
    let archive = front.url("/notes.skill");
    sandbox.ask(&["install", &archive]).refused_with_hint(9, "untrusted_certificate");
}

#[test]
fn own_ca_is_trusted_by_variable() {
    let sandbox = Sandbox::new();
    let (_server, front) = server(&sandbox);
    let ca = test_ca().display().to_string();
    let installed = with_variable(&sandbox, &ca, &["install", "acme/notes", "--registry", &front.url("")]).done();
    assert_eq!(installed["skills"][0]["status"], "installed");
}

#[test]
fn own_ca_is_trusted_by_flag() {
    let sandbox = Sandbox::new();
    let (server, front) = server(&sandbox);
    let (url, ca) = (front.url(""), test_ca().display().to_string());
    sandbox.run_with(&["login", &url, "--ca-file", &ca, "--json"], server.admin.as_bytes()).done();
    sandbox.done(&["install", "acme/notes", "--registry", &url, "--ca-file", &ca]);
    sandbox.skill("notes", "Writes notes, and more. Use in tests.", &[]);
    sandbox.done(&["publish", "notes", "--owner", "acme", "--registry", &url, "--ca-file", &ca]);
    let flag_goes_first = ["outdated", "--registry", &url, "--ca-file", &ca];
    assert_eq!(with_variable(&sandbox, "/nowhere.pem", &flag_goes_first).done()["skills"][0]["wanted"], "1.0.1");
}

#[test]
fn damaged_ca_file_is_named() {
    let sandbox = Sandbox::new();
    let (_server, front) = server(&sandbox);
    let url = front.url("");
    let good = fs::read_to_string(test_ca()).unwrap();
    let search = ["search", "notes", "--registry", &url];
    for (name, text) in [("cut.pem", &good[..good.len() / 2]), ("empty.pem", ""), ("other.pem", "not a certificate")] {
        let file = sandbox.cwd().join(name);
        fs::write(&file, text).unwrap();
        let by_flag = sandbox.ask(&[&search[..], &["--ca-file", name]].concat());
        let by_variable = with_variable(&sandbox, file.to_str().unwrap(), &search);
        for answer in [by_flag, by_variable] {
            let error = answer.refused_with_hint(2, "invalid_ca_file");
            assert!(error["message"].as_str().unwrap().contains(name), "{error:#}");
        }
    }
    let error = sandbox.ask(&[&search[..], &["--ca-file", "missing.pem"]].concat()).refused(2, "invalid_ca_file");
    assert!(error["message"].as_str().unwrap().contains("missing.pem"), "{error:#}");
}

#[test]
fn git_trusts_the_same_ca() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("served/team.git");
    sandbox.done(&["index", "init", path.to_str().unwrap()]);
    sandbox.skill("notes", "Writes notes. Use in tests.", &[]);
    sandbox.done(&["publish", "notes", "--owner", "acme", "--registry", path.to_str().unwrap()]);
    git(&sandbox, &["-C", path.to_str().unwrap(), "update-server-info"]);
    let front = TlsFront::before(&SmartHttp::start(&sandbox, None).url(""));
    let (url, ca) = (front.url("/team.git"), test_ca().display().to_string());
    let install = ["install", "acme/notes", "--registry", &url];
    let error = sandbox.ask(&install).refused_with_hint(9, "untrusted_certificate");
    assert!(error["hint"].as_str().unwrap().contains("--ca-file"), "{error:#}");
    with_variable(&sandbox, &ca, &install).done();
    sandbox.done(&["uninstall", "notes"]);
    sandbox.done(&[&install[..], &["--ca-file", &ca]].concat());
}
