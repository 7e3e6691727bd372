//! [`Hosting`]: repositories that git finds on this machine in place of github.com and other hosts.

use std::{fs, path::PathBuf};

use serde_json::Value;

use super::{Answer, Sandbox, repository, skill_md, write_files};

/// Repositories of hosts, as folders below the sandbox, for the user's `url.<base>.insteadOf`.
pub struct Hosting<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Hosting<'a> {
    /// Redirects git for these hosts.
    pub fn new(sandbox: &'a Sandbox, hosts: &[&str]) -> Self {
        let hosting = Self { sandbox };
        let rule = |host: &&str| {
            let base = hosting.folder(&format!("{host}/")).display().to_string();
            format!("[url \"file://{base}\"]\n\tinsteadOf = https://{host}/\n")
        };
        fs::write(hosting.config(), hosts.iter().map(rule).collect::<String>()).unwrap();
        hosting
    }

    fn config(&self) -> PathBuf {
        self.sandbox.path("gitconfig")
    }

    fn folder(&self, address: &str) -> PathBuf {
        self.sandbox.path("hosts").join(address)
    }

    /// Makes a repository of these files, at an address such as `github.com/acme/kit`.
    pub fn add(&self, address: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.folder(&format!("{address}.git"));
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_bytes(), false)).collect();
        write_files(&folder, &files);
        repository(self.sandbox, &folder);
        folder
    }

    /// Makes a repository with a harmless skill at each of these paths, named like its folder.
    pub fn add_skills(&self, address: &str, paths: &[&str]) -> PathBuf {
        let skill = |path: &&str| {
            let name = path.rsplit('/').next().unwrap();
            (format!("{path}/SKILL.md"), skill_md(name, &format!("Does {name}. Use in tests."), "Read the input."))
        };
        let files: Vec<(String, String)> = paths.iter().map(skill).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        self.add(address, &files)
    }

    /// Runs a command with `--json`.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> Answer {
        let args = [args, &["--json"]].concat();
        let mut command = self.sandbox.command(&args);
        command.env("GIT_CONFIG_GLOBAL", self.config());
        self.sandbox.finish(command, &args)
    }

    /// Runs a command with `--json`, asserts success, and returns its document.
    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        self.ask(args).done()
    }

    /// Runs a command at a terminal with this typed input.
    #[cfg(unix)]
    #[track_caller]
    pub fn typing(&self, typed: &str, args: &[&str]) -> Answer {
        let mut command = self.sandbox.command(args);
        command.env("GIT_CONFIG_GLOBAL", self.config());
        self.sandbox.with_terminal_typing(command, args, super::Terminal::BOTH, typed)
    }
}
