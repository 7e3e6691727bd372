//! [`GROUPS`]: every command in the group under which the help and the README list it.

/// Commands for one purpose.
pub struct Group {
    /// The heading.
    pub title: &'static str,
    /// Commands on the first help screen.
    pub first: &'static [&'static str],
    /// Commands that only `help --all` lists.
    pub more: &'static [&'static str],
}

/// All visible commands, in the order of the help.
pub const GROUPS: [Group; 6] = [
    Group {
        title: "Start here",
        first: &["setup", "tour", "list", "status", "doctor"],
        more: &["where", "config", "completions", "help"],
    },
    Group {
        title: "Get skills",
        first: &["search", "info", "install", "update", "uninstall", "adopt"],
        more: &["source", "outdated", "verify", "import"],
    },
    Group {
        title: "Watch them change",
        first: &["review", "log", "history", "diff", "undo", "rollback", "stats"],
        more: &[
            "show", "blame", "lineage", "pin", "unpin", "waive", "policy", "reviewer", "record", "evolve", "curate",
        ],
    },
    Group {
        title: "Write and publish",
        first: &["new", "validate", "scan", "commit", "publish"],
        more: &["pack", "unpack", "eval", "yank", "key", "login", "logout"],
    },
    Group {
        title: "For agents",
        first: &["mcp", "read", "manage", "debug"],
        more: &["prompt", "enable", "disable", "tools"],
    },
    Group { title: "Run it", first: &["serve"], more: &["sync", "index", "gc"] },
];

/// Words that people type for a command that has another name and another spelling.
const MEANINGS: [(&str, &str); 23] = [
    ("accept", "review"),
    ("approve", "review"),
    ("archive", "curate"),
    ("audit", "scan"),
    ("browse", "search"),
    ("cat", "show"),
    ("changes", "review"),
    ("check", "validate"),
    ("clean", "gc"),
    ("create", "new"),
    ("delete", "uninstall"),
    ("edit", "manage"),
    ("fix", "doctor"),
    ("hide", "disable"),
    ("lint", "validate"),
    ("outcomes", "stats"),
    ("revert", "rollback"),
    ("restore", "rollback"),
    ("test", "eval"),
    ("trial", "evolve"),
    ("trust", "waive"),
    ("who", "blame"),
    ("why", "debug"),
];

/// The command that does what a word means.
pub fn command_for(word: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(typed, _)| *typed == word).map(|(_, command)| *command)
}
