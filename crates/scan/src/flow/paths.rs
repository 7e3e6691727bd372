//! [`is_secret`]: which paths lead to credentials, sessions or what a user said.

use std::sync::LazyLock;

use crate::literals::Literals;

/// What has to follow a part of a path.
#[derive(Debug, Clone, Copy)]
enum Then {
    Anything,
    /// The end.
    Nothing,
    /// No more of the same name.
    NewName,
    /// The end of what names a whole folder.
    WholeFolder,
    /// A name of its own, with one of the usual endings or none.
    Environment,
}

use Then::{Anything, Environment, NewName, Nothing, WholeFolder};

const SECRETS: &[(&str, Then)] = &[
    (".ssh/id_", Anything),
    (".ssh/config", Anything),
    (".ssh", WholeFolder),
    ("id_rsa", Nothing),
    ("id_ed25519", Nothing),
    ("id_ecdsa", Nothing),
    ("id_dsa", Nothing),
    (".aws/credentials", Anything),
    (".aws/config", Anything),
    (".aws", WholeFolder),
    (".git-credentials", Anything),
    (".netrc", NewName),
    (".npmrc", NewName),
    (".pypirc", NewName),
    (".yarnrc.yml", Nothing),
    (".kube/config", Anything),
    (".kube", WholeFolder),
    (".docker/config.json", Anything),
    (".gnupg", Anything),
    ("/etc/shadow", Anything),
    ("Login Data", Anything),
    ("logins.json", Anything),
    ("key4.db", Anything),
    ("cookies.sqlite", Anything),
    ("/Cookies", Nothing),
    ("Local State", Anything),
    ("User Data", WholeFolder),
    ("Keychains", Anything),
    ("login.keychain", Anything),
    ("wallet.dat", Anything),
    (".electrum", Anything),
    (".config/gcloud", NewName),
    (".config/solana", NewName),
    (".config/gh", NewName),
    (".config/op", NewName),
    (".azure", NewName),
    ("bash_history", Anything),
    ("zsh_history", Anything),
    ("python_history", Anything),
    ("psql_history", Anything),
    ("mysql_history", Anything),
    ("node_repl_history", Anything),
    ("ConsoleHost_history", Anything),
    (".claude/projects", Anything),
    (".claude/history", Anything),
    (".claude/.credentials", Anything),
    (".codex/auth", Anything),
    (".codex/sessions", Anything),
    (".codex/history", Anything),
    (".cursor/mcp.json", Anything),
    (".openclaw", Anything),
    (".vault-token", Anything),
    ("application_default_credentials", Anything),
    ("/environ", Nothing),
    (".env", Environment),
    (".tfstate", Nothing),
    (".terraformrc", Anything),
    (".config/configstore", Anything),
    ("gh/hosts.yml", Nothing),
    (".m2/settings.xml", Anything),
    (".cargo/credentials", Anything),
    (".gem/credentials", Anything),
    ("config/master.key", Nothing),
    ("/security-credentials", Anything),
    ("/service-accounts/default/token", Anything),
];

/// Longer texts are no paths.
const LONGEST: usize = 300;

/// Whether a folded text is, or ends in, such a path.
pub(super) fn is_secret(text: &str) -> bool {
    static PARTS: LazyLock<Literals> = LazyLock::new(|| Literals::new(SECRETS.iter().map(|(part, _)| *part)));
    if text.len() > LONGEST {
        return false;
    }
    let plain = text.contains('\\').then(|| text.replace('\\', "/"));
    let text = plain.as_deref().unwrap_or(text);
    let mut found = false;
    PARTS.find(text.as_bytes(), |place, range| {
        let Some((part, then)) = SECRETS.get(place) else { return };
        let before = text.get(..range.start).unwrap_or("");
        let after = text.get(range.end..).unwrap_or("");
        found |= text.get(range) == Some(part) && follows(*then, before, after);
    });
    found
}

fn follows(then: Then, before: &str, after: &str) -> bool {
    match then {
        Anything => true,
        Nothing => after.is_empty(),
        NewName => !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_')),
        WholeFolder => matches!(after, "" | "/" | "/." | "/*" | "/**" | "/\0"),
        Environment => {
            let own = before.is_empty() || before.ends_with(['/', '\0']);
            own && matches!(after, "" | ".local" | ".production" | ".prod" | ".development" | ".staging")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_told_from_its_like() {
        for path in
            ["~/.ssh/id_rsa", ".env", "\0/.env.local", "a\\.aws\\credentials", "~/.ssh", "~/.config/gh/hosts.yml"]
        {
            assert!(is_secret(path), "{path}");
        }
        for path in ["~/.ssh/known_hosts", "a.env", ".env.example", ".netrc.md", "~/.config/ghost", "/cookies"] {
            assert!(!is_secret(path), "{path}");
        }
    }
}
