//! [`command`]: a program to start, without the secrets of this process.
//!
//! Every child of skillhub is made here: git, ssh-keygen, pagers, editors, runners, servers of tools and commands of the
//! configuration. A token proves who acts, and none of them acts for the user at a registry or in a review.

use std::{ffi::OsStr, process::Command};

/// A program that inherits the environment without tokens.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_secret(name)) {
        command.env_remove(name);
    }
    command
}

/// Whether a variable holds a token: `SKILLHUB_TOKEN`, `SKILLHUB_TOKEN_<NAME>`, `SKILLHUB_REVIEWER_TOKEN`,
/// `SKILLHUB_MCP_TOKEN` and whatever else of ours is called a token. Some systems ignore the case of names.
pub fn is_secret(name: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref().to_string_lossy().to_uppercase();
    name.starts_with("SKILLHUB_") && name.contains("TOKEN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_secrets() {
        for name in
            ["SKILLHUB_TOKEN", "SKILLHUB_TOKEN_TEAM", "SKILLHUB_REVIEWER_TOKEN", "SKILLHUB_MCP_TOKEN", "skillhub_token"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["SKILLHUB_HOME", "SKILLHUB_REGISTRY", "PATH", "TOKEN"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
