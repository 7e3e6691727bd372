//! Child processes without the secrets of this process ([`command`]).
//!
//! Every child of skillhub is created here: git, ssh-keygen, pagers, editors, runners, tool servers and configured
//! commands. A token proves the user's identity, and no child acts for the user at a registry or in a review.

use std::{ffi::OsStr, process::Command};

/// Creates a command that inherits the environment except for tokens.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_secret(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns whether a variable holds a token: `SKILLHUB_TOKEN`, `SKILLHUB_TOKEN_<NAME>`, `SKILLHUB_REVIEWER_TOKEN`,
/// `SKILLHUB_MCP_TOKEN` and any other `SKILLHUB_` variable with `TOKEN` in its name. The comparison ignores case, as
/// some systems do.
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
