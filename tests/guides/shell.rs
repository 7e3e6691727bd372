//! [`Shell`]: a shell of its own for each page, in which folder, variables and servers stay from step to step.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, PipeReader, Write, pipe},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::page::{Kind, Step};
use crate::support::{Sandbox, write_files};

/// Address of a server in the pages. A page gets a free port in its place.
const ADDRESS: &str = "127.0.0.1:8700";
/// Start of the line that ends the output of a step. The exit code follows.
const END: &str = "@@ exit ";

/// A running shell in a sandbox with a reviewer's token.
pub struct Shell {
    sandbox: Sandbox,
    child: Child,
    output: BufReader<PipeReader>,
    /// Replacements in the texts of later steps.
    values: BTreeMap<String, String>,
    is_over: bool,
}

impl Shell {
    pub fn start() -> Self {
        let sandbox = Sandbox::new();
        let project = project(&sandbox);
        fs::create_dir(&project).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let program = Path::new(env!("CARGO_BIN_EXE_skillhub")).parent().unwrap();
        let (reader, writer) = pipe().unwrap();
        let mut command = Command::new("sh");
        sandbox.confine(&mut command);
        command
            .current_dir(&project)
            .env("PATH", format!("{}:{}", program.display(), std::env::var("PATH").unwrap()))
            .env_remove("GIT_CONFIG_GLOBAL")
            .env("SKILLHUB_SERVE_ADDR", &address)
            .env("SKILLHUB_REVIEWER_TOKEN", sandbox.token())
            .stdin(Stdio::piped())
            .stdout(writer.try_clone().unwrap())
            .stderr(writer);
        let child = command.spawn().unwrap();
        let values = BTreeMap::from([(ADDRESS.to_owned(), address)]);
        let mut shell = Self { sandbox, child, output: BufReader::new(reader), values, is_over: false };
        shell.send(&shell.replaced(PRELUDE));
        shell
    }

    /// Returns whether the shell has ended, after a command of a script failed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Does a step; an error has the output and what is wrong with it.
    pub fn run(&mut self, step: &Step) -> Result<(), String> {
        let text = self.replaced(&step.text);
        match &step.kind {
            Kind::File(path) => self.write(path, &text),
            Kind::Script => drop(self.source(&format!("set -e\n{}\nset +e\n", awaiting_servers(&text)))?),
            Kind::Value(word) => {
                let (_, output) = self.source(&format!("set -e\n{text}\nset +e\n"))?;
                let value = output.trim().lines().last().ok_or("the command prints no value")?;
                self.values.insert(word.clone(), value.to_owned());
            }
            Kind::Command { exit, shown } => {
                let (code, output) = self.source(&awaiting_servers(&text))?;
                if code != *exit {
                    return Err(format!("it exits with {code}:\n{output}"));
                }
                if !resembles(&self.replaced(shown), &output) {
                    return Err(format!("its output is another one:\n{output}"));
                }
            }
        }
        Ok(())
    }

    /// Replaces the words that stand for values, the longest first.
    fn replaced(&self, text: &str) -> String {
        let mut values: Vec<_> = self.values.iter().collect();
        values.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        values.into_iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    }

    fn write(&self, path: &str, text: &str) {
        let (folder, path) = match path.strip_prefix("~/") {
            Some(below) => (self.sandbox.home(), below),
            None => (project(&self.sandbox), path),
        };
        write_files(&folder, &[(path, text.as_bytes(), text.starts_with("#!"))]);
    }

    /// Runs commands in the shell. Returns the exit code and the output; an error if they ended the shell.
    fn source(&mut self, commands: &str) -> Result<(i32, String), String> {
        let file = self.sandbox.path("step.sh");
        fs::write(&file, commands).unwrap();
        self.send(&format!(". '{}' < /dev/null\nprintf '\\n{END}%s\\n' $?\n", file.display()));
        let mut output = String::new();
        loop {
            let mut line = Vec::new();
            if self.output.read_until(b'\n', &mut line).unwrap() == 0 {
                self.is_over = true;
                return Err(format!("a command failed:\n{output}"));
            }
            let line = String::from_utf8_lossy(&line);
            if let Some(code) = line.strip_prefix(END) {
                return Ok((code.trim().parse().unwrap(), output));
            }
            output.push_str(&line);
        }
    }

    fn send(&mut self, text: &str) {
        // A shell that has ended is noticed when its output is read.
        let _ended = self.child.stdin.as_mut().unwrap().write_all(text.as_bytes());
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _reaped = self.child.wait();
    }
}

/// Ends servers with the shell, and defines `started`, which waits for the server that was started last.
const PRELUDE: &str = "servers=
trap 'kill $servers 2> /dev/null' EXIT
started() {
    servers=\"$servers $!\"
    until curl -s -o /dev/null http://127.0.0.1:8700/ || ! kill -0 $! 2> /dev/null; do sleep 0.05; done
}
export GIT_AUTHOR_NAME=ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=ann GIT_COMMITTER_EMAIL=ann@example.org
";

/// Adds a wait after each line that starts a server.
fn awaiting_servers(text: &str) -> String {
    let is_background = |line: &str| line.split("  #").next().unwrap_or_default().trim_end().ends_with(" &");
    text.lines().map(|line| format!("{line}\n{}", if is_background(line) { "started\n" } else { "" })).collect()
}

fn project(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("project")
}

/// Returns whether at least half of the shown words occur in the real output, so that new wording is not a fault.
fn resembles(shown: &str, real: &str) -> bool {
    let (shown, real) = (words(shown), words(real));
    2 * shown.intersection(&real).count() >= shown.len()
}

/// Returns the words without digits: ids, digests and times differ from run to run.
fn words(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'`{}[](),;:/".contains(c));
    words.filter(|word| word.len() > 2 && !word.contains(|c: char| c.is_ascii_digit())).collect()
}
