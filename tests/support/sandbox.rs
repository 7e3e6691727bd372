//! [`Sandbox`]: a temporary folder with a home, a working folder, and an otherwise empty environment.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use super::hints;
use super::{Answer, skill_md, write_files};

/// A temporary folder in which commands run.
pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    /// Creates a sandbox outside of any git repository.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Creates a sandbox below a folder.
    pub fn below(parent: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("skillhub-test-").tempdir_in(parent).unwrap();
        for folder in ["home", "work", "tmp"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self { dir }
    }

    /// Creates a sandbox whose working folder is the root of a git repository.
    pub fn project() -> Self {
        let sandbox = Self::new();
        fs::create_dir(sandbox.cwd().join(".git")).unwrap();
        sandbox
    }

    /// Keeps all files on disk after the test, to examine a failure.
    pub fn keep(&mut self) {
        self.dir.disable_cleanup(true);
    }

    /// Returns a path below the sandbox.
    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Returns the user's home folder.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the working folder of commands.
    pub fn cwd(&self) -> PathBuf {
        self.path("work")
    }

    /// Returns skillhub's own folder, `~/.skillhub`.
    pub fn skillhub_home(&self) -> PathBuf {
        self.path("home/.skillhub")
    }

    /// Returns a skill's folder in the user's library, which is used outside of projects.
    pub fn user_skill(&self, name: &str) -> PathBuf {
        self.home().join(".agents/skills").join(name)
    }

    /// Prepares a run of the program with arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillhub"));
        self.confine(&mut command).args(args);
        command
    }

    /// Replaces the environment of any program by the sandbox's, except for the search path.
    pub fn confine<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.path("tmp"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("SKILLHUB_HOME", self.skillhub_home())
            .current_dir(self.cwd())
            .stdin(Stdio::null())
    }

    /// Runs the program and waits.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Answer {
        self.finish(self.command(args), args)
    }

    /// Runs the program with text on standard input.
    #[track_caller]
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Answer {
        self.finish_with(self.command(args), args, stdin)
    }

    /// Runs a prepared command with text on standard input.
    #[track_caller]
    pub fn finish_with(&self, mut command: Command, args: &[&str], stdin: &[u8]) -> Answer {
        let mut child = self.start(command.stdin(Stdio::piped()));
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // A program that needs no more input closes its end.
                let _closed_early = pipe.write_all(stdin);
            });
            self.checked(&command, Answer::new(args.join(" "), child.wait_with_output().unwrap()))
        })
    }

    /// Runs a command with `--json`.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> Answer {
        self.run(&[args, &["--json"]].concat())
    }

    /// Runs a command with `--json`, asserts success, and returns its document.
    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        self.ask(args).done()
    }

    /// Runs a prepared command and waits.
    #[track_caller]
    pub fn finish(&self, mut command: Command, args: &[&str]) -> Answer {
        let child = self.start(&mut command);
        self.checked(&command, Answer::new(args.join(" "), child.wait_with_output().unwrap()))
    }

    /// Checks that the hints of an answer work, and returns it.
    #[track_caller]
    fn checked(&self, command: &Command, answer: Answer) -> Answer {
        #[cfg(target_os = "linux")]
        hints::check(self, &hints::Asked { command, at_terminal: false }, &answer);
        answer
    }

    /// Starts a command without waiting for it.
    pub fn start(&self, command: &mut Command) -> Child {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the program with a reviewer's token.
    #[track_caller]
    pub fn run_as(&self, token: &str, args: &[&str]) -> Answer {
        let args = [args, &["--json"]].concat();
        let mut command = self.command(&args);
        command.env("SKILLHUB_REVIEWER_TOKEN", token);
        self.finish(command, &args)
    }

    /// Runs the program as a person with a reviewer's proof, with text on standard input.
    #[track_caller]
    pub fn run_with_proof(&self, args: &[&str], stdin: &[u8]) -> Answer {
        let args = [&["--actor", "person:ann"], args].concat();
        let mut command = self.command(&args);
        command.env("SKILLHUB_REVIEWER_TOKEN", self.token());
        self.finish_with(command, &args, stdin)
    }

    /// Sends a request of `skill_manage` on standard input.
    #[track_caller]
    pub fn request(&self, request: &Value) -> Answer {
        self.run_with(&["manage", "--request", "-", "--json"], request.to_string().as_bytes())
    }

    /// Writes a valid and harmless skill into the working folder, with more files if given.
    pub fn skill(&self, name: &str, description: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.cwd().join(name);
        let text = skill_md(name, description, "Read the input. Write the output.");
        write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
        let files: Vec<_> =
            files.iter().map(|(path, text)| (*path, text.as_bytes(), path.starts_with("scripts/"))).collect();
        write_files(&folder, &files);
        folder
    }

    /// Creates a skill with this body in the library through `manage`.
    #[track_caller]
    pub fn create(&self, name: &str, body: &str) -> Value {
        let text = skill_md(name, &format!("Does what {name} says. Use in tests."), body);
        self.run_with(&["manage", "create", name, "--content", "-", "--json"], text.as_bytes()).done()
    }
}

/// Returns the folder as the program prints it, with links of the system resolved.
pub fn canonical(path: &Path) -> String {
    path.canonicalize().unwrap().display().to_string()
}
