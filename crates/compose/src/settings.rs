//! Configuration of the tools for steps ([`ToolSettings`]).

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use skill::failure::{Fails, Failure};
use thiserror::Error;
use toml::Table;

use crate::host::Approval;

/// The tables of the user's configuration that concern tools.
///
/// ```toml
/// [tools]
/// folder = "/home/me/work"        # working folder of the file tools and shell; default: the current one
/// folders = ["/tmp"]              # additional allowed folders, as absolute paths
/// hidden = false                  # allow reading and writing of names that begin with a dot
/// hosts = ["example.org", "*.example.net:8443"]   # allow list of web_fetch, "*" for all; default: none
/// private_addresses = false       # allow addresses of this machine and its network
/// fetch_bytes = 2097152           # size limit of one answer
/// shell = false                   # allow steps to run commands
///
/// [tools.groups]                  # tools offered over MCP after reading a skill, besides its allowed-tools
/// pdf-extractor = ["mcp__pdf__extract_pdf_tool"]
///
/// [tools.search]                  # endpoint of web_search; without it, the tool reports that it is not configured
/// url = "https://search.example.org/search?format=json&q={query}"
/// results = "/results"            # JSON Pointer to the list; these four are the defaults
/// title = "/title"
/// link = "/url"
/// snippet = "/content"
/// header = "X-Token"              # sent with each query
/// header_from = "SEARCH_TOKEN"    # environment variable with its value
///
/// [mcp_servers.files]             # an MCP server; its tools are mcp__files__NAME
/// command = ["files-server", "--root", "."]
/// env = { TOKEN = "x" }
/// url = "http://127.0.0.1:9000/mcp"   # instead of `command`; AUTHORIZATION in `env` is sent as a header
/// approval = "plan_confirm"       # level of its tools; default: by the server's annotations
/// tools = { read = "none" }       # level of a single tool
/// ```
#[derive(Debug, Clone, Default, PartialEq, JsonSchema)]
pub struct ToolSettings {
    /// Settings of the native tools.
    #[schemars(rename = "tools")]
    pub native: NativeSettings,
    /// MCP servers whose tools steps may call, by name.
    #[schemars(rename = "mcp_servers")]
    pub servers: BTreeMap<String, ServerSettings>,
}

/// Settings of the native tools, which restrict their access.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NativeSettings {
    /// Working folder; the current one by default.
    pub folder: Option<PathBuf>,
    /// Additional folders allowed for absolute paths.
    pub folders: Vec<PathBuf>,
    /// True to allow reading and writing of hidden files.
    pub hidden: bool,
    /// Allow list of `web_fetch`: `example.org`, `*.example.org` or `*`, each with a port unless it is the scheme's
    /// default.
    pub hosts: Vec<String>,
    /// True to allow addresses of this machine and its network.
    pub private_addresses: bool,
    /// Size limit of one answer from the network, in bytes.
    pub fetch_bytes: u64,
    /// True to allow steps to run commands.
    pub shell: bool,
    /// Endpoint of `web_search`.
    pub search: Option<SearchSettings>,
    /// Names of the tools that a skill makes available once it was read, by skill.
    pub groups: BTreeMap<String, Vec<String>>,
}

impl Default for NativeSettings {
    fn default() -> Self {
        Self {
            folder: None,
            folders: Vec::new(),
            hidden: false,
            hosts: Vec::new(),
            private_addresses: false,
            fetch_bytes: 2 << 20,
            shell: false,
            search: None,
            groups: BTreeMap::new(),
        }
    }
}

/// An endpoint that answers searches with JSON.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// URL with the placeholders `{query}` and optionally `{count}`.
    pub url: String,
    /// JSON Pointer to the list of results.
    #[serde(default = "results")]
    pub results: String,
    /// JSON Pointer to a result's title.
    #[serde(default = "title")]
    pub title: String,
    /// JSON Pointer to a result's address.
    #[serde(default = "link")]
    pub link: String,
    /// JSON Pointer to an excerpt of a result.
    #[serde(default = "snippet")]
    pub snippet: String,
    /// Name of a header to send.
    pub header: Option<String>,
    /// Environment variable with the header's value.
    pub header_from: Option<String>,
}

fn results() -> String {
    "/results".to_owned()
}

fn title() -> String {
    "/title".to_owned()
}

fn link() -> String {
    "/url".to_owned()
}

fn snippet() -> String {
    "/content".to_owned()
}

/// Settings of an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// Command that starts it, with arguments. Empty if it has a URL.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// URL of a running server, instead of a command.
    pub url: Option<String>,
    /// Approval level of its tools.
    pub approval: Option<Approval>,
    /// Approval levels of single tools, by name.
    pub tools: BTreeMap<String, Approval>,
}

/// Error for an invalid table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{table} in config.toml is invalid: {message}")]
pub struct ToolSettingsError {
    /// Name of the table, such as `[tools]`.
    pub table: String,
    /// Description of the fault.
    pub message: String,
}

impl Fails for ToolSettingsError {
    fn failure(&self) -> Failure {
        Failure::invalid_config()
    }
}

impl ToolSettings {
    /// Parses the tables `[tools]` and `[mcp_servers.NAME]`.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn of(tools: &Table, servers: &BTreeMap<String, Table>) -> Result<Self, ToolSettingsError> {
        let native: NativeSettings = read("[tools]", tools)?;
        let fault =
            |table: &str, message: &str| ToolSettingsError { table: table.to_owned(), message: message.to_owned() };
        if let Some(host) = native.hosts.iter().find(|host| !is_host(host)) {
            return Err(fault(
                "[tools]",
                &format!("{host:?} in `hosts` is not a host; write `example.org` or `example.org:8443`"),
            ));
        }
        if let Some(folder) = native.folders.iter().find(|folder| !is_folder(folder)) {
            let message = format!("{folder:?} in `folders` is not an absolute path; write a path such as `/tmp`");
            return Err(fault("[tools]", &message));
        }
        if let Some(message) = native.search.as_ref().and_then(SearchSettings::problem) {
            return Err(fault("[tools.search]", &message));
        }
        let mut read_servers = BTreeMap::new();
        for (name, table) in servers {
            let title = format!("[mcp_servers.{name}]");
            let server: ServerSettings = read(&title, table)?;
            if server.command.is_empty() == server.url.is_none() {
                return Err(fault(&title, "it must have either `command` or `url`"));
            }
            if !ServerSettings::is_name(name) {
                let rule = "the name must have at most 32 ASCII letters, digits, `-` and `_`, without `__` or `_` at either end";
                return Err(fault(&title, rule));
            }
            read_servers.insert(name.clone(), server);
        }
        Ok(Self { native, servers: read_servers })
    }

    /// Describes the first value with which a server cannot be reached. [`Self::of()`] accepts it, as earlier versions
    /// did.
    #[must_use]
    pub fn unusable(&self) -> Option<String> {
        self.servers.iter().find_map(|(name, server)| {
            let has_other_scheme = server.url.as_ref().is_some_and(|url| !is_http(url));
            let has_no_program = server.command.first().is_some_and(String::is_empty);
            let url = || format!("`mcp_servers.{name}.url` must begin with `https://` or `http://`");
            let command = || format!("`mcp_servers.{name}.command` must begin with a program");
            has_other_scheme.then(url).or_else(|| has_no_program.then(command))
        })
    }
}

impl ServerSettings {
    /// Returns whether a server can have this name, so that the full names of its tools are unambiguous.
    pub fn is_name(name: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_framed = name.starts_with('_') || name.ends_with('_');
        (1..=32).contains(&name.len()) && name.bytes().all(fits) && !is_framed && !name.contains("__")
    }
}

impl SearchSettings {
    /// Returns the first fault of these settings, with advice.
    fn problem(&self) -> Option<String> {
        if !self.url.contains("{query}") {
            return Some("`url` must contain {query}".to_owned());
        }
        if !is_http(&self.url) {
            return Some("`url` must begin with `https://` or `http://`".to_owned());
        }
        match (&self.header, &self.header_from) {
            (Some(_), None) => {
                return Some("`header` needs `header_from`, the environment variable with its value".to_owned());
            }
            (None, Some(_)) => return Some("`header_from` needs `header`, the name of the HTTP header".to_owned()),
            _ => {}
        }
        let pointers =
            [("results", &self.results), ("title", &self.title), ("link", &self.link), ("snippet", &self.snippet)];
        let (name, pointer) = pointers.into_iter().find(|(_, pointer)| !is_pointer(pointer))?;
        Some(format!("{pointer:?} in `{name}` is not a JSON Pointer; write it as `/data/results`"))
    }
}

/// Returns whether a text begins with `http://` or `https://`.
fn is_http(url: &str) -> bool {
    ["http", "https"].iter().any(|known| skill::uri::scheme(url).eq_ignore_ascii_case(known))
}

/// Returns whether a path is absolute and has no `..`.
fn is_folder(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

fn is_pointer(text: &str) -> bool {
    let is_escaped = |rest: &str| rest.starts_with(['0', '1']);
    (text.is_empty() || text.starts_with('/')) && text.split('~').skip(1).all(is_escaped)
}

/// Returns whether a text is `example.org`, `*.example.org`, `*` or `[::1]`, optionally with a port.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let is_bracketed = name.starts_with('[') && name.ends_with(']');
    let plain = name.strip_prefix("*.").unwrap_or(if name == "*" { "any" } else { name });
    let is_plain = !plain.is_empty() && !plain.contains(['/', '@', ' ', '*']) && (is_bracketed || !plain.contains(':'));
    is_port && is_plain
}

fn read<T: DeserializeOwned>(name: &str, table: &Table) -> Result<T, ToolSettingsError> {
    let read = table.clone().try_into();
    read.map_err(|error: toml::de::Error| ToolSettingsError {
        table: name.to_owned(),
        message: error.message().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<ToolSettings, ToolSettingsError> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct File {
            tools: Table,
            mcp_servers: BTreeMap<String, Table>,
        }
        let file: File = toml::from_str(text).unwrap();
        ToolSettings::of(&file.tools, &file.mcp_servers)
    }

    #[test]
    fn defaults_are_closed_and_mistakes_refused() {
        let closed = settings("").unwrap();
        assert_eq!(closed, ToolSettings::default());
        assert!(closed.native.hosts.is_empty() && !closed.native.shell && !closed.native.private_addresses);
        let read =
            settings("[mcp_servers.a]\ncommand = ['x']\napproval = 'none'\ntools = { y = 'exec_escalation' }").unwrap();
        assert_eq!(read.servers["a"].tools["y"], Approval::ExecEscalation);
        for (text, table) in [
            ("[tools]\nhost = []", "[tools]"),
            ("[tools]\nshell = 'yes'", "[tools]"),
            ("[tools]\nhosts = ['https://example.org']", "[tools]"),
            ("[tools.search]\nurl = 'https://a.example/'", "[tools.search]"),
            ("[mcp_servers.a]\n", "[mcp_servers.a]"),
            ("[mcp_servers.a]\ncommand = ['x']\nurl = 'http://a.example'", "[mcp_servers.a]"),
            ("[mcp_servers.a__b]\ncommand = ['x']", "[mcp_servers.a__b]"),
            ("[mcp_servers.a_]\ncommand = ['x']", "[mcp_servers.a_]"),
            ("[tools.groups]\na = 'b'", "[tools]"),
            ("[tools]\nfolders = ['tmp']", "[tools]"),
            ("[tools]\nfolders = ['/tmp/..']", "[tools]"),
            ("[tools]\nhosts = ['example.org:abc']", "[tools]"),
            ("[tools]\nhosts = ['example.org:70000']", "[tools]"),
            ("[tools]\nhosts = ['::1']", "[tools]"),
            ("[tools.search]\nurl = 'ftp://a.example/{query}'", "[tools.search]"),
            ("[tools.search]\nurl = 'http://a.example/{query}'\nheader = 'X-Token'", "[tools.search]"),
            ("[tools.search]\nurl = 'http://a.example/{query}'\nheader_from = 'TOKEN'", "[tools.search]"),
            ("[tools.search]\nurl = 'http://a.example/{query}'\nresults = 'results'", "[tools.search]"),
            ("[tools.search]\nurl = 'http://a.example/{query}'\nlink = '/a~2'", "[tools.search]"),
            ("[mcp_servers.a]\ncommand = ['x']\napproval = 'never'", "[mcp_servers.a]"),
        ] {
            assert_eq!(settings(text).unwrap_err().table, table, "{text}");
        }
        let long = "a".repeat(33);
        assert!(settings(&format!("[mcp_servers.{long}]\ncommand = ['x']")).is_err());
        for text in [
            "[tools]\nhosts = ['*', '*:8080', '*.example.org:8443', 'example.org', '[::1]', '[::1]:80', '127.0.0.1:1']",
            "[tools.search]\nurl = 'HTTPS://a.example/{query}'\nresults = ''\nheader = 'X'\nheader_from = 'Y'",
            "[mcp_servers.my_server-1]\ncommand = ['x']",
        ] {
            assert!(settings(text).is_ok(), "{text}");
        }
    }
}
