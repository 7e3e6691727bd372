//! [`Host`]: a program that runs agents, and how its configuration names our server.
//!
//! Everything here computes: the command line reads the file and writes what comes out.

mod json;
mod toml;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

/// The name under which a host knows us.
pub const SERVER: &str = "skillhub";

/// How we are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    /// As `--agent` names it; the same as in the table of agents' folders.
    pub id: &'static str,
    /// Its own name.
    pub title: &'static str,
    /// Whether it lists the skills of its folders by itself, so that we need not.
    pub lists_skills: bool,
    /// Its file in a project, from the root; the first that exists is taken, else the first.
    project: &'static [&'static str],
    /// The same for the user.
    user: &'static [UserFile],
    form: Form,
}

/// A configuration file of the user.
#[derive(Debug)]
struct UserFile {
    /// The variable that names another folder.
    variable: Option<&'static str>,
    /// That folder, from the user's home.
    folder: &'static str,
    file: &'static str,
}

const fn below(folder: &'static str, file: &'static str) -> UserFile {
    UserFile { variable: None, folder, file }
}

/// How a file spells a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `{"mcpServers": {"skillhub": {"command", "args"}}}`
    McpServers,
    /// The same with `"type": "stdio"`.
    McpServersTyped,
    /// `{"servers": {"skillhub": {"type": "stdio", "command", "args"}}}`
    Servers,
    /// `{"mcp": {"skillhub": {"type": "local", "command": ["skillhub", …], "enabled": true}}}`
    OpenCode,
    /// `[mcp_servers.skillhub]`
    Codex,
}

/// The hosts that we know.
const HOSTS: &[Host] = &[
    Host {
        id: "claude-code",
        title: "Claude Code",
        lists_skills: true,
        project: &[".mcp.json"],
        user: &[UserFile { variable: Some("CLAUDE_CONFIG_DIR"), folder: "", file: ".claude.json" }],
        form: Form::McpServersTyped,
    },
    Host {
        id: "claude-desktop",
        title: "Claude Desktop",
        lists_skills: false,
        project: &[],
        user: &[
            #[cfg(target_os = "macos")]
            below("Library/Application Support/Claude", "claude_desktop_config.json"),
            #[cfg(windows)]
            UserFile {
                variable: Some("APPDATA"),
                folder: "AppData/Roaming",
                file: "Claude/claude_desktop_config.json",
            },
            #[cfg(not(any(target_os = "macos", windows)))]
            below(".config/Claude", "claude_desktop_config.json"),
        ],
        form: Form::McpServers,
    },
    Host {
        id: "codex",
        title: "Codex",
        lists_skills: true,
        project: &[".codex/config.toml"],
        user: &[UserFile { variable: Some("CODEX_HOME"), folder: ".codex", file: "config.toml" }],
        form: Form::Codex,
    },
    Host {
        id: "cursor",
        title: "Cursor",
        lists_skills: true,
        project: &[".cursor/mcp.json"],
        user: &[below(".cursor", "mcp.json")],
        form: Form::McpServers,
    },
    Host {
        id: "gemini-cli",
        title: "Gemini CLI",
        lists_skills: true,
        project: &[".gemini/settings.json"],
        user: &[below(".gemini", "settings.json")],
        form: Form::McpServers,
    },
    Host {
        id: "github-copilot",
        title: "GitHub Copilot in VS Code",
        lists_skills: true,
        project: &[".vscode/mcp.json"],
        user: &[
            #[cfg(target_os = "macos")]
            below("Library/Application Support/Code/User", "mcp.json"),
            #[cfg(windows)]
            UserFile { variable: Some("APPDATA"), folder: "AppData/Roaming", file: "Code/User/mcp.json" },
            #[cfg(not(any(target_os = "macos", windows)))]
            below(".config/Code/User", "mcp.json"),
        ],
        form: Form::Servers,
    },
    Host {
        id: "opencode",
        title: "OpenCode",
        lists_skills: true,
        project: &["opencode.json", "opencode.jsonc"],
        user: &[below(".config/opencode", "opencode.json"), below(".config/opencode", "opencode.jsonc")],
        form: Form::OpenCode,
    },
];

/// Why a host's configuration is not written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// No such host.
    #[error("skillhub does not know the configuration of {0:?}")]
    Unknown(String),
    /// It has no file of this kind.
    #[error("{host} has no configuration {place}")]
    NoFile {
        /// The host.
        host: &'static str,
        /// `in a project` or `of the user`.
        place: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// The entry cannot be removed without a risk for the rest.
    #[error("{file} was left as it is: {why}")]
    Left {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// What is in the file cannot be kept for sure.
    #[error("{file} was left as it is: {why}")]
    Unsafe {
        /// The file.
        file: String,
        /// Why not.
        why: String,
        /// What a person can paste.
        snippet: String,
    },
}

impl Fails for HostError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unknown(_) => {
                let ids: Vec<&str> = HOSTS.iter().map(|host| host.id).collect();
                Failure::new(FailureKind::Usage, "unknown_agent")
                    .hint(format!("it is one of {}; others take `skillhub mcp` as a stdio server", ids.join(", ")))
            }
            Self::NoFile { hint, .. } => Failure::new(FailureKind::Usage, "usage").hint(*hint),
            Self::Left { .. } => Failure::new(FailureKind::Invalid, "invalid_config")
                .hint(format!("remove the server `{SERVER}` from it by hand")),
            Self::Unsafe { snippet, .. } => Failure::new(FailureKind::Invalid, "invalid_config")
                .hint(format!("put this into it by hand:\n{snippet}")),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Unsafe { snippet, file, .. } => json!({"file": file, "snippet": snippet}),
            Self::Unknown(_) | Self::NoFile { .. } | Self::Left { .. } => json!({}),
        }
    }
}

impl Host {
    /// All hosts.
    #[must_use]
    pub fn all() -> &'static [Self] {
        HOSTS
    }

    /// The host of an id; `vscode` is another name of GitHub Copilot's.
    ///
    /// # Errors
    /// [`HostError::Unknown`]
    pub fn find(id: &str) -> Result<&'static Self, HostError> {
        let id = if id == "vscode" { "github-copilot" } else { id };
        HOSTS.iter().find(|host| host.id == id).ok_or_else(|| HostError::Unknown(id.to_owned()))
    }

    /// Where its file may be in a project: the first that exists is the one, else the first.
    ///
    /// # Errors
    /// It has none there.
    pub fn project_files(&self, root: &Path) -> Result<Vec<PathBuf>, HostError> {
        let hint = "give --global to write the configuration of the user";
        let files: Vec<PathBuf> = self.project.iter().map(|file| root.join(file)).collect();
        if files.is_empty() {
            return Err(HostError::NoFile { host: self.title, place: "in a project", hint });
        }
        Ok(files)
    }

    /// Where its file of the user may be; `variable` reads the environment.
    #[must_use]
    pub fn user_files(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
        let folder = |file: &UserFile| file.variable.and_then(&variable).unwrap_or_else(|| home.join(file.folder));
        self.user.iter().map(|file| folder(file).join(file.file)).collect()
    }

    /// What to paste into an empty file.
    #[must_use]
    pub fn snippet(&self, entry: &Entry) -> String {
        let made = match self.form {
            Form::Codex => toml::set("", SERVER, entry),
            _ => self.in_json("", entry),
        };
        made.unwrap_or_default()
    }

    /// The text of its file with the entry in it, everything else kept; the same text where it is there already.
    ///
    /// # Errors
    /// [`HostError::Unsafe`], with what can be pasted.
    pub fn written(&self, file: &Path, text: &str, entry: &Entry) -> Result<String, HostError> {
        let made = match self.form {
            Form::Codex => toml::set(text, SERVER, entry),
            _ => self.in_json(text, entry),
        };
        made.map_err(|why| HostError::Unsafe { file: file.display().to_string(), why, snippet: self.snippet(entry) })
    }

    /// The text of its file without the entry, everything else kept; the same text where there is none.
    ///
    /// # Errors
    /// [`HostError::Left`]
    pub fn removed(&self, file: &Path, text: &str) -> Result<String, HostError> {
        let nothing = Entry { command: String::new(), args: Vec::new() };
        let made = match self.form {
            Form::Codex => toml::remove(text, SERVER),
            _ => json::remove(text, &[self.fields(&nothing).0], SERVER),
        };
        made.map_err(|why| HostError::Left { file: file.display().to_string(), why })
    }

    fn in_json(&self, text: &str, entry: &Entry) -> Result<String, String> {
        let (container, fields) = self.fields(entry);
        json::set(text, &[container, SERVER], &fields)
    }

    /// The object that holds the servers, and the fields of ours.
    fn fields(&self, entry: &Entry) -> (&'static str, Vec<(&'static str, Value)>) {
        let Entry { command, args } = entry;
        let started = vec![("command", json!(command)), ("args", json!(args))];
        let typed = || [vec![("type", json!("stdio"))], started.clone()].concat();
        match self.form {
            Form::McpServers | Form::Codex => ("mcpServers", started),
            Form::McpServersTyped => ("mcpServers", typed()),
            Form::Servers => ("servers", typed()),
            Form::OpenCode => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                ("mcp", vec![("type", json!("local")), ("command", json!(words)), ("enabled", json!(true))])
            }
        }
    }
}

#[cfg(test)]
mod tests;
