//! A [`Sandbox`] at a terminal: programs run with a pseudo-terminal, as for a person.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

#[cfg(target_os = "linux")]
use super::hints;
use super::{Answer, Sandbox};

/// Streams of a program that are connected to the terminal; the others are closed or a pipe.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Standard input is the terminal.
    pub stdin: bool,
    /// Standard output is the terminal.
    pub stdout: bool,
}

impl Terminal {
    /// Standard input and output, as for a person.
    pub const BOTH: Self = Self { stdin: true, stdout: true };
}

impl Sandbox {
    /// Runs the program at a terminal.
    #[track_caller]
    pub fn at_terminal(&self, args: &[&str]) -> Answer {
        self.with_terminal(self.command(args), args, Terminal::BOTH)
    }

    /// Runs the program at a terminal with this typed input.
    #[track_caller]
    pub fn typing(&self, typed: &str, args: &[&str]) -> Answer {
        self.with_terminal_typing(self.command(args), args, Terminal::BOTH, typed)
    }

    /// Runs a prepared command with these streams at a terminal.
    #[track_caller]
    pub fn with_terminal(&self, command: Command, args: &[&str], terminal: Terminal) -> Answer {
        self.with_terminal_typing(command, args, terminal, "")
    }

    /// Runs a prepared command with these streams at a terminal, with this typed input.
    #[track_caller]
    pub fn with_terminal_typing(&self, mut command: Command, args: &[&str], terminal: Terminal, typed: &str) -> Answer {
        let (ours, theirs) = pair();
        File::from(ours.try_clone().unwrap()).write_all(typed.as_bytes()).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        if terminal.stdin {
            command.stdin(theirs.try_clone().unwrap());
        }
        match terminal.stdout {
            true => command.stdout(theirs.try_clone().unwrap()),
            false => command.stdout(writer.try_clone().unwrap()),
        };
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // The program has its own copies of these ends; while one is open here, reading never ends.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        drop((theirs, writer));
        let mut source = if terminal.stdout { File::from(ours) } else { File::from(OwnedFd::from(reader)) };
        let mut stdout = Vec::new();
        // Reading a terminal whose other end is closed is an error, after all output was read.
        let _closed = source.read_to_end(&mut stdout);
        let mut stderr = Vec::new();
        child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        let status = child.wait().unwrap();
        let answer = Answer::new(args.join(" "), std::process::Output { status, stdout, stderr });
        #[cfg(target_os = "linux")]
        hints::check(
            self,
            &hints::Asked { command: &command, at_terminal: terminal.stdin && terminal.stdout },
            &answer,
        );
        answer
    }

    /// Creates a token of the reviewer `ann` at a terminal.
    #[track_caller]
    pub fn token(&self) -> String {
        let answer = self.at_terminal(&["reviewer", "new", "--name", "ann"]).exits(0);
        let token = answer.text().trim().to_owned();
        assert!(token.starts_with("skillhub-reviewer-") && !token.contains(char::is_whitespace), "{answer}");
        token
    }
}

/// Opens a pseudo-terminal: our end and that of the program.
pub fn pair() -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    (ours, theirs)
}
