//! [`run_killed`]: a command that is killed at a call that changes files.

use std::process::{Command, ExitStatus, Output};

use crate::{
    crash::{
        boundaries::Boundary,
        tracer::{GATE, Order, Watcher, trace},
    },
    support::{Answer, Sandbox},
};

/// Kills at one boundary, and counts the boundaries.
struct KillAt {
    number: usize,
    order: Order,
    seen: usize,
}

impl Watcher for KillAt {
    fn before(&mut self, boundary: &Boundary) -> Order {
        self.seen = boundary.number + 1;
        if boundary.number == self.number { self.order } else { Order::Go }
    }
}

/// Runs a command with `--json` and kills it at a boundary, unless it ends before. Returns the number of boundaries
/// reached, with the answer.
pub fn run_killed(
    sandbox: &Sandbox,
    args: &[&str],
    stdin: &[u8],
    (number, order): (usize, Order),
) -> (Option<Answer>, usize) {
    let mut shell = Command::new("sh");
    sandbox.confine(&mut shell).args(["-c", GATE, env!("CARGO_BIN_EXE_skillhub")]).args(args).arg("--json");
    let root = sandbox.path("").canonicalize().unwrap();
    let mut watcher = KillAt { number, order, seen: 0 };
    let ended = trace(shell, stdin, &root, &mut watcher);
    let answer = ended.exit.map(|exit| {
        let status: ExitStatus = std::os::unix::process::ExitStatusExt::from_raw(exit << 8);
        Answer::new(args.join(" "), Output { status, stdout: ended.stdout, stderr: ended.stderr.into_bytes() })
    });
    (answer, watcher.seen)
}
