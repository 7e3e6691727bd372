//! The official Python client drives the server through the whole story.

use std::process::Command;

use crate::support::Sandbox;

/// The package that the script uses.
const PACKAGE: &str = "mcp==2.3.0";

fn drive(transport: &str, mode: &str) {
    let sandbox = Sandbox::project();
    let mut command = Command::new("python3");
    sandbox.confine(&mut command);
    if let Some(path) = std::env::var_os("PYTHONPATH") {
        command.env("PYTHONPATH", path);
    }
    let has_package = command.args(["-c", "import mcp_types, mcp.client.client"]).output();
    assert!(
        has_package.as_ref().is_ok_and(|output| output.status.success()),
        "this test needs Python's package {PACKAGE}: `python3 -m pip install {PACKAGE}` ({has_package:?})"
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py");
    let mut command = Command::new("python3");
    sandbox.confine(&mut command).arg(script).args([transport, mode, "forms", env!("CARGO_BIN_EXE_skillhub")]);
    if let Some(path) = std::env::var_os("PYTHONPATH") {
        command.env("PYTHONPATH", path);
    }
    let output = command.output().unwrap();
    let (told, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("done:"), "{transport} {mode}: {told}\n{failed}");
}

#[test]
fn over_stdio_in_the_older_protocol() {
    drive("stdio", "legacy");
}

#[test]
fn over_stdio_in_the_newer_protocol() {
    drive("stdio", "2026-07-28");
}

#[test]
fn over_http_in_the_older_protocol() {
    drive("http", "legacy");
}

#[test]
fn over_http_in_the_newer_protocol() {
    drive("http", "2026-07-28");
}
