//! [`Daemon`]: a real `git daemon` on loopback, standing in for a registry on another machine.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Sandbox, git};

/// Serves the folder `served` of a sandbox until it is dropped.
pub struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    /// Starts a daemon; with `takes_pushes` it accepts anonymous pushes.
    pub fn start(sandbox: &Sandbox, takes_pushes: bool) -> Self {
        let served = sandbox.path("served");
        std::fs::create_dir_all(&served).unwrap();
        // Not `git daemon`, which leaves its child, the daemon, behind when it is killed.
        let program = PathBuf::from(git(sandbox, &["--exec-path"]).trim()).join("git-daemon");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut command = Command::new(&program);
        sandbox.confine(&mut command).args(["--listen=127.0.0.1", "--reuseaddr", "--export-all"]);
        command.arg(format!("--port={free}")).arg(format!("--base-path={}", served.display()));
        if takes_pushes {
            command.arg("--enable=receive-pack");
        }
        command.arg(&served).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let daemon = Self { child, port: free };
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, free)).is_err() {
            assert!(Instant::now() < deadline, "git daemon does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    /// Returns the URL of a repository in the served folder.
    pub fn url(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
