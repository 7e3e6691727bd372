//! A child that outlives this process ([`start_detached`]).

use std::{
    io::{self, Write},
    process::{Command, Stdio},
};

/// Starts a command in a process group of its own, gives it `input` on its standard input, and does not wait for it.
/// Its output is discarded. It has no limits, so it has to bound itself.
///
/// # Errors
/// The command cannot be started, or does not read its input.
pub fn start_detached(command: &mut Command, input: &[u8]) -> io::Result<()> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::time::Duration;

    use super::*;
    use crate::child;

    #[test]
    fn detached_child_gets_all_input_in_own_group() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = child::command("sh");
        command.args(["-c", "wc -c > new; cut -d ' ' -f 5 /proc/$$/stat >> new; echo $$ >> new; mv new done"]);
        start_detached(command.current_dir(folder.path()), &[b'x'; 200_000]).unwrap();
        let done = folder.path().join("done");
        let is_done = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            done.exists()
        });
        assert!(is_done, "the child did not end");
        let text = std::fs::read_to_string(done).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let [size, group, process] = lines.as_slice() else { panic!("{text}") };
        assert_eq!((*size, group), ("200000", process));
    }
}
