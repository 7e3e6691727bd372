//! Privileges that a person should review before they are used ([`note`] and [`of_calls`]): administrator's rights,
//! installation of packages, and deletion of files outside of the skill and the project.

use super::{Collector, Kind, Piece, Spot, lines::Lines};

/// Programs that run others with an administrator's rights.
const ADMINISTRATORS: [&str; 5] = ["sudo", "doas", "su", "pkexec", "runas"];

/// Package managers with their install subcommands.
const INSTALLERS: [(&str, &[&str]); 28] = [
    ("apk", &["add"]),
    ("apt", &["install"]),
    ("apt-get", &["install"]),
    ("brew", &["install"]),
    ("bun", &["add", "install", "i"]),
    ("bundle", &["install", "add"]),
    ("cargo", &["install"]),
    ("choco", &["install"]),
    ("composer", &["install", "require"]),
    ("conda", &["install"]),
    ("deno", &["install"]),
    ("dnf", &["install"]),
    ("gem", &["install"]),
    ("go", &["install"]),
    ("mamba", &["install"]),
    ("npm", &["install", "i", "add", "ci"]),
    ("pacman", &["-S", "-Sy", "-Syu"]),
    ("pip", &["install"]),
    ("pip3", &["install"]),
    ("pipx", &["install"]),
    ("pnpm", &["add", "install", "i"]),
    ("poetry", &["add", "install"]),
    ("snap", &["install"]),
    ("uv", &["add", "install", "sync"]),
    ("winget", &["install"]),
    ("yarn", &["add", "install"]),
    ("yum", &["install"]),
    ("zypper", &["install"]),
];

/// Number of leading arguments in which the install subcommand is searched.
const VERBS: usize = 6;

/// Programs that delete the files among their arguments.
const DELETERS: [&str; 5] = ["rm", "rmdir", "unlink", "shred", "trash"];

/// Calls that delete the file in their first argument.
const DELETES: [&str; 12] = [
    "rmtree(", "os.remove(", "os.unlink(", "os.rmdir(", "os.removedirs(", "rmSync(", "unlinkSync(", "rmdirSync(",
    "fs.rm(", "fs.unlink(", "rimraf(", "rm_rf(",
];

/// Methods that delete the path on which they are called.
const DELETES_ITSELF: [&str; 2] = [".unlink(", ".rmdir("];

/// Expressions for the home directory in code.
const HOMES: [&str; 6] =
    ["expanduser(", "Path.home()", "homedir()", "environ[\"HOME\"]", "environ['HOME']", "env.HOME"];

/// Directories in which everybody may delete their own files.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/"];

/// Records the privilege that a command needs, if any.
pub(super) fn note<'a>(name: &'a str, rest: impl Iterator<Item = &'a str>, spot: Spot<'_>, found: &mut Collector) {
    let words: Vec<&str> = std::iter::once(name).chain(rest).collect();
    if let Some(privilege) = of_command(&words) {
        found.add(Kind::Privilege, &privilege, spot);
    }
}

/// Returns the privilege that a command needs, given its words.
fn of_command(words: &[&str]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    let name = name.rsplit('/').next().unwrap_or(name);
    if ADMINISTRATORS.contains(&name) {
        return Some(format!("an administrator's rights by {name}"));
    }
    if name.starts_with("python") && rest.first() == Some(&"-m") {
        return of_command(rest.get(1..)?);
    }
    if let Some((_, verbs)) = INSTALLERS.iter().find(|(installer, _)| *installer == name) {
        let installs = rest.iter().take(VERBS).any(|word| verbs.contains(word));
        return installs.then(|| format!("installing packages by {name}"));
    }
    let deletes =
        DELETERS.contains(&name) || name == "find" && rest.iter().any(|word| matches!(*word, "-delete" | "rm"));
    let outside = rest.iter().find(|word| !word.starts_with('-') && is_outside(word)).filter(|_| deletes)?;
    Some(format!("deleting {outside}"))
}

/// Records the calls that delete files outside of the skill.
pub(super) fn of_calls(piece: &Piece<'_>, lines: &Lines<'_>, found: &mut Collector) {
    for needle in DELETES {
        lines.each(needle, |rest, spot| {
            let argument = rest.lines().next().and_then(|line| line.split(')').next()).unwrap_or_default();
            if let Some(place) = place_in(argument, rest.lines().next().unwrap_or_default()) {
                found.add(Kind::Privilege, &format!("deleting {place}"), spot);
            }
        });
    }
    for (at, line) in piece.text.lines().enumerate() {
        let before = DELETES_ITSELF.iter().find_map(|needle| line.split_once(needle)).map(|(before, _)| before);
        if let Some(place) = before.filter(|before| !before.contains("os.")).and_then(|before| place_in(before, before))
        {
            found.add(Kind::Privilege, &format!("deleting {place}"), piece.spot(at));
        }
    }
}

/// Returns the outside path in an argument, or a phrase for the home directory if the line refers to it.
fn place_in<'a>(argument: &'a str, line: &str) -> Option<&'a str> {
    let literal = argument.split(['"', '\'', '`']).skip(1).step_by(2).find(|text| is_outside(text));
    literal.or_else(|| HOMES.iter().any(|home| line.contains(home)).then_some("in the home folder"))
}

fn is_outside(path: &str) -> bool {
    let leads_out = path.starts_with(['/', '~', '%']) || path.starts_with("..") || path.starts_with("$HOME");
    let is_windows = path.get(1..3).is_some_and(|after| after == ":\\");
    (leads_out || is_windows || path.starts_with("${HOME}")) && !TEMPORARY.iter().any(|folder| path.starts_with(folder))
}
