//! Extraction of files outside of the skill ([`read`]), and of locations that persist beyond a session.

use super::{Collector, Kind, Language, Part, Piece, Spot};

/// Prefixes of paths outside of any project directory.
const OUTSIDE: [&str; 22] = [
    "~/", "$HOME", "${HOME}", "%USERPROFILE%", "%APPDATA%", "%LOCALAPPDATA%", "$env:USERPROFILE", "$env:APPDATA",
    "/etc/", "/usr/", "/var/", "/opt/", "/dev/", "/proc/", "/sys/", "/tmp", "/mnt/", "/home/", "/root", "/Users/",
    "/Library/", "C:\\",
];

/// Devices and programs whose use does not affect the user's data.
const EVERYBODY: [&str; 7] =
    ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd", "/usr/bin/env"];

/// Substrings of locations and commands that take effect again in a later session.
const PERSISTENCE: [&str; 36] = [
    "crontab", "/etc/cron", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".zshenv", "~/.profile", "config.fish",
    "LaunchAgents", "LaunchDaemons", "launchctl load", "systemctl enable", "systemd/system", "systemd/user",
    ".config/autostart", "rc.local", "authorized_keys", ".ssh/config", ".git/hooks", "core.hooksPath",
    "CurrentVersion\\Run", "schtasks", "Start Menu\\Programs\\Startup", "sitecustomize", "PYTHONSTARTUP", "CLAUDE.md",
    "AGENTS.md", "MEMORY.md", "GEMINI.md", ".cursorrules", ".cursor/rules", "copilot-instructions.md",
    ".claude/settings", ".mcp.json", "HEARTBEAT.md",
];

/// Calls that modify the file in their argument.
const CHANGES: [&str; 21] = [
    ".write_text(", ".write_bytes(", "writeFile", "appendFile", "createWriteStream", "shutil.copy", "shutil.move",
    "shutil.rmtree", "rmtree(", "os.remove", "os.unlink", "os.rename", "os.replace", "os.makedirs", "os.mkdir",
    "os.symlink", ".unlink(", ".mkdir(", "Set-Content", "Add-Content", "Out-File",
];

/// Commands that modify every file among their arguments.
const CHANGERS: [&str; 8] = ["rm", "mkdir", "touch", "chmod", "chown", "tee", "truncate", "mv"];

/// Commands that modify the last file among their arguments.
const COPIERS: [&str; 4] = ["cp", "rsync", "ln", "install"];

/// Words in prose that instruct the reader to write.
const WRITING: [&str; 8] = ["append", "write", "save", "add ", "create", "store", "edit", "install"];

/// Number of bytes examined before and after a path to find how it is used.
const AROUND: usize = 400;

/// Maximum distance in bytes of such a word from the path after it.
const NEAR: usize = 60;

/// Records the files outside of the skill, and persistent locations.
pub(super) fn read(piece: &Piece<'_>, found: &mut Collector) {
    let persistent: Vec<&str> = PERSISTENCE.into_iter().filter(|place| piece.names(place)).collect();
    for (at, line) in piece.text.lines().enumerate() {
        if line.starts_with("#!") {
            continue;
        }
        let spot = piece.spot(at);
        for place in persistent.iter().filter(|place| line.contains(**place)) {
            found.add(Kind::Persistence, place.trim_end_matches(" load").trim_end_matches(" enable"), spot);
        }
        each_outside(line, |start, path| {
            let kind = if is_written(line, start, path, piece) { Kind::Write } else { Kind::Read };
            add(found, kind, path, spot);
        });
    }
}

/// Records access to a file. Those in [`EVERYBODY`] and texts that are not plain paths are skipped.
pub(super) fn add(found: &mut Collector, kind: Kind, path: &str, spot: Spot<'_>) {
    let path = path.trim().trim_end_matches(['.', ',', ':', ';', '/', '*']);
    let is_plain = !path.is_empty() && path.len() <= 200 && !path.contains(['\n', '<', '>', '|', '(', ')', '"', '\'']);
    if is_plain
        && path != "/"
        && path.contains(char::is_alphanumeric)
        && !is_of_everybody(path)
        && !path.contains("://")
    {
        found.add_file(kind, path, Some(is_outside(path, spot.path)), spot);
    }
}

fn is_of_everybody(path: &str) -> bool {
    EVERYBODY.iter().any(|known| path.starts_with(known))
}

/// Returns true if a path leads out of the skill, relative to its root or to the directory of the file that names it.
fn is_outside(path: &str, from: &str) -> bool {
    let up =
        path.split(['/', '\\']).take_while(|segment| matches!(*segment, ".." | ".")).filter(|s| *s == "..").count();
    let depth = from.matches('/').count();
    path.starts_with(['/', '~', '%']) || up > depth || OUTSIDE.iter().any(|start| path.starts_with(start))
}

/// Calls `act` with the start and the text of each path in a line that leads out of any project directory.
fn each_outside<'a>(line: &'a str, mut act: impl FnMut(usize, &'a str)) {
    let mut from = 0;
    while let Some(found) = line.get(from..).and_then(|rest| rest.find(['~', '$', '%', '/', 'C', '.'])) {
        let start = from + found;
        let rest = line.get(start..).unwrap_or_default();
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let is_start = before.is_none_or(|c| !c.is_alphanumeric() && !"_./~-}\\:".contains(c));
        let begins = || rest.starts_with("../..") || OUTSIDE.iter().any(|prefix| rest.starts_with(prefix));
        if !is_start || !begins() {
            from = start + rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let is_end =
            |c: char| c.is_whitespace() || "\"'`,;|&<>()[]*".contains(c) || (c == ':' && !rest.starts_with("C:"));
        let end = rest.find(is_end).unwrap_or(rest.len()).max(1);
        act(start, rest.get(..end).unwrap_or_default());
        from = start + end;
    }
}

/// Returns true if a line writes to the path that it contains at byte `start`.
fn is_written(line: &str, start: usize, path: &str, piece: &Piece<'_>) -> bool {
    let (from, end) = (line.ceil_char_boundary(start.saturating_sub(AROUND)), start + path.len());
    let line = line.get(from..line.floor_char_boundary(end + AROUND)).unwrap_or_default();
    let (before, after) = line.split_at_checked(start - from).unwrap_or_default();
    let after = after.get(path.len()..).unwrap_or_default();
    if piece.part == Part::Text {
        let near = before.get(before.ceil_char_boundary(before.len().saturating_sub(NEAR))..);
        let near = near.unwrap_or_default().to_ascii_lowercase();
        return WRITING.iter().any(|word| near.contains(word));
    }
    let bare = before.trim_end_matches([' ', '"', '\'']);
    if bare.ends_with('>') || CHANGES.iter().any(|call| line.contains(call)) {
        return true;
    }
    let mode = after.trim_start_matches(['"', '\'', ')', ' ']);
    if before.contains("open(") && [", \"w", ", 'w", ", \"a", ", 'a"].iter().any(|write| mode.starts_with(write)) {
        return true;
    }
    let is_shell = matches!(piece.language, Language::Shell | Language::Console);
    let command = before.rsplit(['|', ';', '&', '(']).next().unwrap_or_default();
    let mut words =
        command.split_whitespace().skip_while(|word| matches!(*word, "sudo" | "$" | "then" | "do" | "else"));
    let Some(name) = words.next().filter(|_| is_shell) else { return false };
    let is_last = || after.trim_start_matches(['"', '\'', '/', '*', ' ']).is_empty();
    CHANGERS.contains(&name) || (COPIERS.contains(&name) && is_last())
}
