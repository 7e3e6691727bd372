//! Classification of paths: credentials, sessions and chat histories ([`is_secret`]), and files that control agents or
//! the system ([`steers`]).

use std::{borrow::Cow, sync::LazyLock};

use crate::literals::Literals;

/// Condition on the text that follows a part of a path.
#[derive(Debug, Clone, Copy)]
enum Then {
    Anything,
    /// End of the path.
    Nothing,
    /// End of the path, or a character that does not continue the file name.
    NewName,
    /// End of the path, or a suffix that still refers to the whole folder.
    WholeFolder,
    /// End of a complete file name, optionally with one of the usual `.env` suffixes.
    Environment,
}

use Then::{Anything, Environment, NewName, Nothing, WholeFolder};

/// Parts of paths of secrets as tab-separated values, kept as data because they change often. The first lines describe
/// the columns.
const TABLE: &str = include_str!("../data/secret_paths.tsv");

/// Returns the parts of paths of secrets, with the condition on the text that follows each.
fn secrets() -> impl Iterator<Item = (&'static str, Then)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).flat_map(|line| {
        let (then, parts) = line.split_once('\t').unwrap_or_default();
        let then = match then {
            "nothing" => Nothing,
            "new name" => NewName,
            "whole folder" => WholeFolder,
            "environment" => Environment,
            _ => Anything,
        };
        parts.split('\t').map(move |part| (part, then))
    })
}

/// Maximum length of a path in bytes. Longer texts are not considered paths.
const LONGEST: usize = 300;

/// Returns whether a constant-folded text is, or ends in, the path of a secret.
pub fn is_secret(text: &str) -> bool {
    static SECRETS: LazyLock<Vec<(&str, Then)>> = LazyLock::new(|| secrets().collect());
    static PARTS: LazyLock<Literals> = LazyLock::new(|| Literals::new(secrets().map(|(part, _)| part)));
    // Patterns that exclude a path, and executables.
    if text.len() > LONGEST || text.starts_with([':', '!']) || text.ends_with(".exe") {
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

/// Returns whether a text is the path of the public half of an SSH key pair, or ends in it.
pub(super) fn is_public_key(text: &str) -> bool {
    let Some((before, name)) = text.split_once(".ssh/id_") else { return false };
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    !before.contains(|c: char| c.is_whitespace() || c == ',') && name.strip_suffix(".pub").is_some_and(is_name)
}

/// Words in names of files with login credentials.
const LIKELY: &[&str] = &["credential", "token", "auth", "secret", "passw", "wallet", "keystore", "cookie", "session"];

/// Returns whether a constant-folded text is a path in a program's folder below the user's home, with a file name that
/// suggests login credentials.
pub(super) fn is_likely_secret(text: &str) -> bool {
    const OF_PROGRAMS: [&str; 4] = ["~/.", "~/Library/Application Support/", "AppData/", "$XDG_CONFIG_HOME/"];
    let plain = if text.contains('\\') { Cow::Owned(text.replace('\\', "/")) } else { Cow::Borrowed(text) };
    let Some((_, file)) = plain.rsplit_once('/') else { return false };
    let file = file.to_ascii_lowercase();
    if !LIKELY.iter().any(|word| file.contains(word)) {
        return false;
    }
    let inside = OF_PROGRAMS.iter().find_map(|start| plain.find(start).and_then(|at| plain.get(at + start.len()..)));
    inside.is_some_and(|inside| inside.len() < LONGEST && inside.contains('/'))
}

/// Effect of a file that agents or the system obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steering {
    /// Description of the file's effect.
    pub what: &'static str,
    /// True if the file steers agents or controls logins. False if it only starts something, which some tools
    /// legitimately need.
    pub is_grave: bool,
}

/// Parts of paths, their effect, and whether they count only in absolute paths and in paths below the home directory.
const AGENTS: &[(&str, &str, bool)] = &[
    ("CLAUDE.md", "an agent instruction file", true),
    ("AGENTS.md", "an agent instruction file", true),
    ("GEMINI.md", "an agent instruction file", true),
    ("MEMORY.md", "an agent memory file", true),
    ("SOUL.md", "an agent memory file", false),
    (".claude/settings.json", "an agent settings file with hooks", false),
    (".claude/settings.local.json", "an agent settings file with hooks", false),
    (".claude.json", "the configured servers of an agent", true),
    (".cursor/mcp.json", "the configured servers of an agent", true),
    (".codex/config.toml", "an agent settings file", true),
    (".gemini/settings.json", "an agent settings file", true),
    ("mcp_config.json", "the configured servers of an agent", true),
    ("claude_desktop_config.json", "the configured servers of an agent", false),
    ("*/SKILL.md", "the text of other skills", false),
    ("authorized_keys", "a login configuration file", false),
    ("sitecustomize.py", "a Python startup file", false),
    ("usercustomize.py", "a Python startup file", false),
    (".cursor/rules", "an agent instruction file", true),
    (".cursorrules", "an agent instruction file", true),
    (".windsurfrules", "an agent instruction file", true),
    (".clinerules", "an agent instruction file", true),
    ("copilot-instructions.md", "an agent instruction file", true),
    (".codex/AGENTS", "an agent instruction file", true),
    (".windsurf/mcp", "the configured servers of an agent", true),
    (".continue/config", "an agent settings file", true),
    ("opencode.json", "an agent settings file", true),
    (".aider.conf.yml", "an agent settings file", true),
    ("cline_mcp_settings.json", "the configured servers of an agent", false),
    ("/etc/sudoers", "the sudo configuration", false),
    ("/etc/pam.d/", "a login configuration file", false),
    ("/etc/ssh/sshd_config", "a login configuration file", false),
    ("/etc/hosts", "the table of host names", false),
    ("/etc/ld.so.preload", "the system-wide preload list", false),
    ("/etc/passwd", "a login configuration file", false),
    (".ssh/config", "the configuration of connections", true),
    (".ssh/rc", "a login script", true),
    (".pip/pip.conf", "the configuration of package sources", true),
    (".config/pip/pip.conf", "the configuration of package sources", true),
];
const STARTS: &[(&str, &str, bool)] = &[
    (".npmrc", "the configuration of package sources", true),
    (".gitconfig", "the global git configuration", true),
    (".claude/agents", "an agent instruction file", true),
    (".claude/commands", "an agent instruction file", true),
    (".claude/hooks", "an agent settings file with hooks", true),
    ("LaunchAgents/", "a login startup entry", true),
    ("/LaunchDaemons/", "a system startup entry", false),
    (".config/autostart/", "a login startup entry", true),
    (".config/systemd/user/", "a login startup entry", true),
    ("/etc/cron", "a scheduled job", false),
    ("/etc/systemd/system/", "a system startup entry", false),
    ("Start Menu/Programs/Startup", "a login startup entry", false),
    ("/.bashrc", "a shell startup file", true),
    ("/.zshrc", "a shell startup file", true),
    ("/.zshenv", "a shell startup file", true),
    ("/.profile", "a shell startup file", true),
    ("/.bash_profile", "a shell startup file", true),
    ("/.zprofile", "a shell startup file", true),
    ("/.zlogin", "a shell startup file", true),
    ("/.bash_login", "a shell startup file", true),
    ("/.bash_logout", "a shell startup file", true),
    ("/.xprofile", "a login startup entry", true),
    ("/.xinitrc", "a login startup entry", true),
    ("/.config/fish/", "a shell startup file", true),
    ("/.config/git/hooks", "a global git hook", true),
    ("/etc/profile", "a shell startup file", false),
    ("/etc/bash.bashrc", "a shell startup file", false),
    ("/etc/zsh/", "a shell startup file", false),
    ("/etc/rc.local", "a system startup entry", false),
    ("/etc/init.d/", "a system startup entry", false),
    ("/etc/udev/rules.d/", "a system startup entry", false),
    ("/var/spool/cron", "a scheduled job", false),
    ("/usr/lib/systemd/", "a system startup entry", false),
    ("/lib/systemd/system", "a system startup entry", false),
    (".git/hooks/", "a git hook", false),
    ("$PROFILE", "a shell startup file", false),
    ("WindowsPowerShell/profile.ps1", "a shell startup file", false),
    (".vscode/tasks.json", "an editor task or startup file", false),
    (".vimrc", "an editor task or startup file", true),
    (".emacs", "an editor task or startup file", true),
    ("/.ipython/profile_default/startup", "a Python startup file", true),
    (".pythonrc", "a Python startup file", true),
];

/// Returns the effect of writing to a path, if it is a steering file.
pub fn steers(path: &str) -> Option<Steering> {
    let plain = path.replace('\\', "/").replace("//", "/");
    let is_own = plain.starts_with(['~', '/']) || plain.starts_with("$HOME") || plain.contains("/home/");
    let find = |all: &[(&str, &'static str, bool)]| {
        let found = all.iter().find(|(part, _, own)| plain.contains(part) && (is_own || !own));
        found.map(|(_, what, _)| *what)
    };
    let agents = find(AGENTS).map(|what| Steering { what, is_grave: true });
    agents.or_else(|| find(STARTS).map(|what| Steering { what, is_grave: false }))
}

/// Folders in a home directory that usually hold data which cannot be recreated.
const KEPT: &[&str] = &[
    "Documents", "Desktop", "Pictures", "Downloads", "Projects", "Music", "Movies", "Videos", "Library", "Workspace",
    "workspace", "projects", "code", "src", "work", "repos", ".ssh", ".config", ".local", ".local/share", ".gnupg",
    ".aws", ".kube", ".mozilla", ".password-store",
];

/// Returns whether a path refers to the whole home directory, the root, or one of the folders with the user's data.
pub(super) fn is_all_of_home(path: &str) -> bool {
    let path = path.replace("//", "/");
    let path = path.as_str();
    let rest = path.strip_prefix("$HOME").map(|rest| format!("~{rest}"));
    let path = rest.as_deref().unwrap_or(path);
    let is_root = matches!(path, "/" | "/*" | "~");
    let Some(inside) = path.strip_prefix('~') else { return is_root };
    let inside = inside.trim_matches(['/', '*', '~']);
    is_root || inside.is_empty() || KEPT.contains(&inside)
}

fn follows(then: Then, before: &str, after: &str) -> bool {
    match then {
        Anything => true,
        Nothing => after.is_empty(),
        NewName => !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_')),
        WholeFolder => matches!(after, "" | "/" | "/." | "/*" | "/**" | "/\0"),
        Environment => {
            let own = before.is_empty() || before.ends_with(['/', '\0', '*']);
            own && matches!(after, "" | "*" | ".*" | ".local" | ".production" | ".prod" | ".development" | ".staging")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_home_differs_from_its_parts() {
        assert!(["~", "~/", "~/*", "~/~/*", "/", "~/Documents", "$HOME/"].into_iter().all(is_all_of_home));
        assert!(!["~/.cache", "/tmp/x", "~/Documents/x", "*", "", "\0", "~/\0"].into_iter().any(is_all_of_home));
    }

    #[test]
    fn program_credentials_are_likely_secret() {
        assert!(
            ["~/.acme/token.json", "~/.config/acme/auth", "C:\\AppData\\Acme\\Cookies"]
                .into_iter()
                .all(is_likely_secret)
        );
        assert!(
            !["token.json", "~/.token", "~/.acme/config.json", "src/auth.ts", "~/.cache/acme/page"]
                .into_iter()
                .any(is_likely_secret)
        );
    }

    #[test]
    fn secret_paths_differ_from_lookalikes() {
        for path in
            ["~/.ssh/id_rsa", ".env", "\0/.env.local", "a\\.aws\\credentials", "~/.ssh", "~/.config/gh/hosts.yml"]
        {
            assert!(is_secret(path), "{path}");
        }
        for path in ["~/.ssh/known_hosts", "a.env", ".env.example", ".netrc.md", "~/.config/ghost", "/cookies"] {
            assert!(!is_secret(path), "{path}");
        }
    }

    #[test]
    fn only_the_whole_name_of_a_public_key_counts() {
        assert!(["~/.ssh/id_rsa.pub", "key@/home/a/.ssh/id_ed25519.pub"].into_iter().all(is_public_key));
        for path in
            ["~/.ssh/id_rsa", "~/.ssh/id_*.pub/../id_rsa", "~/.ssh/id_rsa ~/.ssh/id_a.pub", "~/.ssh/id_*.pub", "x.pub"]
        {
            assert!(!is_public_key(path), "{path}");
        }
    }
}
