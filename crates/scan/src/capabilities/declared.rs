//! [`Undeclared`]: capabilities that scripts and code need, but neither `allowed-tools` nor `SKILL.md` mentions.

use serde::Serialize;

use crate::hosts::{is_near, is_sample, is_told};

use super::{COMPUTED, Capabilities, Part, Place, Use, WHOLE_ENVIRONMENT};

/// Maximum number of undeclared capabilities in a summary.
const LISTED: usize = 40;

/// Substrings that mark a variable's name as that of a secret.
const SECRET: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];

/// Directories for temporary files.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A capability that the skill needs without declaring it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undeclared {
    /// `command`, `host`, `file`, `variable` or `persistence`.
    pub kind: &'static str,
    /// Name of the command, host, file, variable or persistent location.
    pub what: String,
    /// The declaration that is missing, as a message for people.
    pub why: &'static str,
    /// First location that needs it.
    #[serde(flatten)]
    pub place: Place,
}

/// Compares a skill's capabilities with its declarations. The result is cut to [`LISTED`] entries.
pub(super) fn compare(capabilities: &Capabilities, skill_md: &str) -> Vec<Undeclared> {
    let mut undeclared = Vec::new();
    if let Some(tools) = &capabilities.allowed_tools {
        let tools: Vec<Tool<'_>> = tools.iter().map(|tool| Tool::of(tool)).collect();
        against_tools(capabilities, &tools, &mut undeclared);
    }
    against_text(capabilities, &skill_md.to_lowercase(), &mut undeclared);
    undeclared.truncate(LISTED);
    undeclared
}

/// An entry of `allowed-tools`, such as `Bash(git:*)`.
struct Tool<'a> {
    name: String,
    /// Restriction in its parentheses, such as `git:*`.
    only: Option<&'a str>,
}

impl<'a> Tool<'a> {
    fn of(text: &'a str) -> Self {
        let (name, only) = match text.split_once('(') {
            Some((name, only)) => (name, Some(only.trim_end_matches(')'))),
            None => (text, None),
        };
        Self { name: name.trim().to_lowercase(), only }
    }

    fn is_one_of(&self, words: &[&str]) -> bool {
        self.name == "*" || words.iter().any(|word| self.name.contains(word))
    }

    fn runs(&self) -> bool {
        self.is_one_of(&["bash", "shell", "terminal", "exec", "command", "powershell"])
    }

    /// Returns true if the tool may run a command: it is unrestricted, or restricted to this command's first word.
    fn lets(&self, command: &str) -> bool {
        let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        match self.only.map(str::trim) {
            None | Some("" | "*" | ":*") => true,
            Some(only) => {
                let first = only.split([' ', ':', '*', ',']).next().unwrap_or_default();
                only.starts_with('*') || first == command || base(first) == base(command)
            }
        }
    }
}

fn against_tools(capabilities: &Capabilities, tools: &[Tool<'_>], undeclared: &mut Vec<Undeclared>) {
    let shells: Vec<&Tool<'_>> = tools.iter().filter(|tool| tool.runs()).collect();
    let in_code = |list: &'static str, uses: &[Use], why: &'static str, undeclared: &mut Vec<Undeclared>| {
        let needed = uses.iter().filter(|used| used.part >= Part::Code);
        undeclared.extend(needed.filter_map(|used| entry(list, used, why)));
    };
    let commands = &capabilities.commands;
    if shells.is_empty() {
        in_code("command", commands, "allowed-tools has no tool that runs commands", undeclared);
        if !tools.iter().any(|tool| tool.is_one_of(&["web", "fetch", "http", "browser", "mcp"])) {
            in_code("host", &capabilities.hosts, "allowed-tools has no tool for the network", undeclared);
        }
        if !tools.iter().any(|tool| tool.is_one_of(&["write", "edit", "create", "file"])) {
            in_code("file", &capabilities.writes, "allowed-tools has no tool that writes", undeclared);
        }
        return;
    }
    let others = commands.iter().filter(|used| used.part >= Part::Code);
    let others = others.filter(|used| !shells.iter().any(|shell| shell.lets(&used.what)));
    undeclared.extend(others.filter_map(|used| entry("command", used, "allowed-tools does not permit it")));
}

/// Adds capabilities of scripts that `SKILL.md` does not mention. `text` is its contents in lower case.
fn against_text(capabilities: &Capabilities, text: &str, undeclared: &mut Vec<Undeclared>) {
    const WHY: &str = "SKILL.md does not mention it";
    let mut add = |kind, uses: &[Use], is_told: &dyn Fn(&str) -> bool| {
        let untold = uses.iter().filter(|used| used.part == Part::Script && !is_told(&used.what));
        undeclared.extend(untold.filter_map(|used| entry(kind, used, WHY)));
    };
    add("host", &capabilities.hosts, &|host| is_nobody(host) || is_told(text, host));
    let is_secret = |name: &str| name == WHOLE_ENVIRONMENT || SECRET.iter().any(|part| name.contains(part));
    add("variable", &capabilities.environment, &|name| !is_secret(name) || text.contains(&name.to_lowercase()));
    add("file", &capabilities.writes, &|path| !leads_out(path) || text.contains(&path.to_lowercase()));
    add("persistence", &capabilities.persistence, &|place| text.contains(&place.to_lowercase()));
}

fn leads_out(path: &str) -> bool {
    path.starts_with(['/', '~', '$', '%']) && !SCRATCH.iter().any(|scratch| path.starts_with(scratch))
}

/// Returns true if a host is local, a sample or an XML namespace.
fn is_nobody(host: &str) -> bool {
    is_near(host) || is_sample(host) || host == "www.w3.org"
}

fn entry(kind: &'static str, used: &Use, why: &'static str) -> Option<Undeclared> {
    let place = used.places.first().filter(|_| used.what != COMPUTED)?;
    Some(Undeclared { kind, what: used.what.clone(), why, place: place.clone() })
}
