//! Configuration of hosts, the programs that run agents, with the format in which each lists MCP servers.
//!
//! Nothing here does I/O. The command line reads the configuration file and writes the result.

mod hooks;
mod json;
mod toml;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use hooks::HookSite;

/// Name of the skillhub server in a host's configuration.
pub const SERVER: &str = "skillhub";

/// Command with which a host starts the skillhub server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// Program name or path.
    pub command: String,
    /// Arguments of the program, `mcp` and its flags.
    pub args: Vec<String>,
}

/// A program that runs agents and reads MCP servers from a configuration file.
#[derive(Debug)]
pub struct Host {
    /// Id for `--agent`, the same as in the table of agents' skill folders.
    pub id: &'static str,
    /// Product name, for display.
    pub title: &'static str,
    /// True if the host lists the skills of its own folders, which makes a list from the server redundant.
    pub lists_skills: bool,
    /// Candidate configuration files of a project, relative to its root. The first existing file is used, or the first
    /// candidate if none exists.
    project: &'static [&'static str],
    /// Candidate configuration files of the user, with the same rule.
    user: &'static [UserFile],
    form: Form,
    /// Place of the hook that records the outcomes of sessions, if the host has hooks.
    hook: Option<HookSite>,
}

/// A configuration file in the user's home.
#[derive(Debug)]
struct UserFile {
    /// Environment variable that overrides the folder.
    variable: Option<&'static str>,
    /// Default folder, relative to the user's home.
    folder: &'static str,
    file: &'static str,
}

const fn below(folder: &'static str, file: &'static str) -> UserFile {
    UserFile { variable: None, folder, file }
}

/// The syntax of a server entry in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `{"mcpServers": {"skillhub": {"command", "args"}}}`
    McpServers,
    /// Like [`Self::McpServers`], with `"type": "stdio"`.
    McpServersTyped,
    /// `{"servers": {"skillhub": {"type": "stdio", "command", "args"}}}`
    Servers,
    /// `{"mcp": {"skillhub": {"type": "local", "command": ["skillhub", …], "enabled": true}}}`
    OpenCode,
    /// `[mcp_servers.skillhub]`
    Codex,
}

/// All supported hosts.
const HOSTS: &[Host] = &[
    Host {
        id: "claude-code",
        title: "Claude Code",
        lists_skills: true,
        project: &[".mcp.json"],
        user: &[UserFile { variable: Some("CLAUDE_CONFIG_DIR"), folder: "", file: ".claude.json" }],
        form: Form::McpServersTyped,
        hook: Some(hooks::CLAUDE_CODE),
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
        hook: None,
    },
    Host {
        id: "codex",
        title: "Codex",
        lists_skills: true,
        project: &[".codex/config.toml"],
        user: &[UserFile { variable: Some("CODEX_HOME"), folder: ".codex", file: "config.toml" }],
        form: Form::Codex,
        hook: Some(hooks::CODEX),
    },
    Host {
        id: "cursor",
        title: "Cursor",
        lists_skills: true,
        project: &[".cursor/mcp.json"],
        user: &[below(".cursor", "mcp.json")],
        form: Form::McpServers,
        hook: None,
    },
    Host {
        id: "gemini-cli",
        title: "Gemini CLI",
        lists_skills: true,
        project: &[".gemini/settings.json"],
        user: &[below(".gemini", "settings.json")],
        form: Form::McpServers,
        hook: Some(hooks::GEMINI_CLI),
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
        hook: None,
    },
    Host {
        id: "opencode",
        title: "OpenCode",
        lists_skills: true,
        project: &["opencode.json", "opencode.jsonc"],
        user: &[below(".config/opencode", "opencode.json"), below(".config/opencode", "opencode.jsonc")],
        form: Form::OpenCode,
        hook: Some(hooks::OPENCODE),
    },
];

/// Reasons for which a host's configuration file is not written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// The id does not belong to a supported host.
    #[error("unknown agent {0:?}")]
    Unknown(String),
    /// The host has no configuration file of the requested kind.
    #[error("{host} has no configuration file {place}")]
    NoFile {
        /// Title of the host.
        host: &'static str,
        /// Kind of file, as in `for projects`.
        place: &'static str,
        /// Command or flag to use instead.
        hint: &'static str,
    },
    /// An entry cannot be removed without risk to the rest of the file.
    #[error("{file} was not changed: {why}")]
    Left {
        /// Path of the configuration file.
        file: String,
        /// Reason, as a clause.
        why: String,
        /// Entry to remove by hand.
        entry: &'static str,
    },
    /// The place of the hook holds something of the user.
    #[error("{file} was not changed: {why}")]
    Taken {
        /// Path of the configuration file.
        file: String,
        /// Reason, as a clause.
        why: &'static str,
        /// Way to have both.
        advice: String,
    },
    /// The file's other contents cannot be preserved with certainty.
    #[error("{file} was not changed: {why}")]
    Unsafe {
        /// Path of the configuration file.
        file: String,
        /// Reason, as a clause.
        why: String,
        /// Entry for the user to paste by hand.
        snippet: String,
    },
}

impl Fails for HostError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unknown(_) => {
                let ids: Vec<&str> = HOSTS.iter().map(|host| host.id).collect();
                Failure::new(FailureKind::Usage, "unknown_agent").hint(format!(
                    "use one of {}; in any other agent, add `skillhub mcp` as a stdio server",
                    ids.join(", ")
                ))
            }
            Self::NoFile { hint, .. } => Failure::new(FailureKind::Usage, "usage").hint(*hint),
            Self::Left { entry, .. } => Failure::new(FailureKind::Invalid, "invalid_config")
                .hint(format!("remove {entry} from that file by hand")),
            Self::Taken { advice, .. } => Failure::new(FailureKind::Invalid, "invalid_config").hint(advice.as_str()),
            Self::Unsafe { snippet, .. } => Failure::new(FailureKind::Invalid, "invalid_config")
                .hint(format!("add this to that file by hand:\n{snippet}")),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Unsafe { snippet, file, .. } => json!({"file": file, "snippet": snippet}),
            Self::Taken { file, .. } => json!({"file": file}),
            Self::Unknown(_) | Self::NoFile { .. } | Self::Left { .. } => json!({}),
        }
    }
}

impl Host {
    /// Returns all supported hosts.
    pub fn all() -> &'static [Self] {
        HOSTS
    }

    /// Looks up a host by id. `vscode` is an alias of GitHub Copilot's id.
    ///
    /// # Errors
    /// [`HostError::Unknown`]
    pub fn find(id: &str) -> Result<&'static Self, HostError> {
        let id = if id == "vscode" { "github-copilot" } else { id };
        HOSTS.iter().find(|host| host.id == id).ok_or_else(|| HostError::Unknown(id.to_owned()))
    }

    /// Returns the candidate configuration files in a project. Use the first that exists, else the first.
    ///
    /// # Errors
    /// [`HostError::NoFile`] if the host has no configuration file in projects.
    pub fn project_files(&self, root: &Path) -> Result<Vec<PathBuf>, HostError> {
        let hint = "use --global to write the user configuration";
        let files: Vec<PathBuf> = self.project.iter().map(|file| root.join(file)).collect();
        if files.is_empty() {
            return Err(HostError::NoFile { host: self.title, place: "for projects", hint });
        }
        Ok(files)
    }

    /// Returns the candidate configuration files of the user. `variable` reads an environment variable.
    pub fn user_files(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
        let folder = |file: &UserFile| file.variable.and_then(&variable).unwrap_or_else(|| home.join(file.folder));
        self.user.iter().map(|file| folder(file).join(file.file)).collect()
    }

    /// Renders the entry as a complete configuration file, for a user to paste.
    pub fn snippet(&self, entry: &ServerEntry) -> String {
        let made = match self.form {
            Form::Codex => toml::set("", SERVER, entry),
            _ => self.in_json("", entry),
        };
        made.unwrap_or_default()
    }

    /// Adds the entry to a configuration file's text and preserves everything else. Returns the text unchanged if the
    /// entry is already there.
    ///
    /// # Errors
    /// [`HostError::Unsafe`], with a snippet to paste by hand.
    pub fn written(&self, file: &Path, text: &str, entry: &ServerEntry) -> Result<String, HostError> {
        let made = match self.form {
            Form::Codex => toml::set(text, SERVER, entry),
            _ => self.in_json(text, entry),
        };
        made.map_err(|why| HostError::Unsafe { file: file.display().to_string(), why, snippet: self.snippet(entry) })
    }

    /// Removes the entry from a configuration file's text and preserves everything else. Returns the text unchanged if
    /// there is no entry.
    ///
    /// # Errors
    /// [`HostError::Left`]
    pub fn removed(&self, file: &Path, text: &str) -> Result<String, HostError> {
        let made = match self.form {
            Form::Codex => toml::remove(text, SERVER),
            _ => json::remove(text, &[self.container()], SERVER),
        };
        made.map_err(|why| HostError::Left { file: file.display().to_string(), why, entry: "the server `skillhub`" })
    }

    /// Removes the entry as [`Self::removed`] does, but keeps a server of the same name that somebody else defined.
    ///
    /// # Errors
    /// [`HostError::Left`]
    pub fn uninstalled(&self, file: &Path, text: &str) -> Result<String, HostError> {
        let removed = self.removed(file, text)?;
        Ok(if self.starts_skillhub(text) { removed } else { text.to_owned() })
    }

    /// Returns whether the text of a configuration file has a server named `skillhub` that runs `mcp`.
    pub fn starts_skillhub(&self, text: &str) -> bool {
        let words = match self.form {
            Form::Codex => toml::words(text, SERVER),
            _ => json::words(text, &[self.container(), SERVER]),
        };
        words.iter().any(|word| word == "mcp")
    }

    /// Returns the names of all servers in the text of a configuration file, none if it cannot be read.
    pub fn servers(&self, text: &str) -> Vec<String> {
        match self.form {
            Form::Codex => toml::names(text),
            _ => json::names(text, self.container()),
        }
    }

    /// Returns whether the text of a configuration file holds nothing, or only an empty list of servers.
    pub fn is_bare(&self, text: &str) -> bool {
        let plain: String = text.split_whitespace().collect();
        plain.is_empty() || plain == "{}" || plain == format!("{{\"{}\":{{}}}}", self.container())
    }

    fn in_json(&self, text: &str, entry: &ServerEntry) -> Result<String, String> {
        json::set(text, &[self.container(), SERVER], &self.fields(entry))
    }

    /// Returns the key of the object that holds all servers.
    fn container(&self) -> &'static str {
        match self.form {
            Form::McpServers | Form::McpServersTyped | Form::Codex => "mcpServers",
            Form::Servers => "servers",
            Form::OpenCode => "mcp",
        }
    }

    /// Returns the fields of the skillhub entry.
    fn fields(&self, entry: &ServerEntry) -> Vec<(&'static str, Value)> {
        let ServerEntry { command, args } = entry;
        let started = vec![("command", json!(command)), ("args", json!(args))];
        match self.form {
            Form::McpServers | Form::Codex => started,
            Form::McpServersTyped | Form::Servers => [vec![("type", json!("stdio"))], started].concat(),
            Form::OpenCode => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                vec![("type", json!("local")), ("command", json!(words)), ("enabled", json!(true))]
            }
        }
    }
}

#[cfg(test)]
mod tests;
