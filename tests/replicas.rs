//! Three servers over PostgreSQL that are killed while clients publish and install.

use std::{path::Path, process::Command};

#[test]
#[ignore = "needs PostgreSQL"]
fn killed_replicas_lose_nothing_acknowledged() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/crash.py");
    let done = Command::new("python3")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_skillhub"))
        .args(["--seconds", "30"])
        .status()
        .unwrap();
    assert!(done.success(), "{done}");
}
