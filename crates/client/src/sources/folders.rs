//! [`matching`]: the folders that a source names, also by a pattern such as `node_modules/*/skills`.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};

use crate::{install::InstallError, paths};

/// Maximum number of folders that a pattern may match.
const MOST_FOLDERS: usize = 2000;

/// Folders that a source names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MatchingFolders {
    /// Absolute paths in the order of their names.
    pub paths: Vec<String>,
    /// Folders that were left out, one sentence each.
    pub warnings: Vec<String>,
}

/// Returns whether a location is a pattern of several folders.
pub(super) fn is_pattern(location: &str) -> bool {
    location.contains('*') && !location.contains("://")
}

/// Returns whether a location refers to the current folder of each search.
fn is_relative(location: &str) -> bool {
    !location.starts_with('~') && Path::new(location).is_relative()
}

/// Finds the folders of a location, relative to `cwd`. In a pattern, `*` stands for any characters of one name; hidden
/// folders match only a pattern that begins with a dot. A folder that a link leads out of the pattern's first folder is
/// left out.
///
/// # Errors
/// The first folder cannot be opened, unless the pattern is relative, or too many folders match.
pub(super) fn matching(cwd: &Path, location: &str, user_home: &Path) -> Result<MatchingFolders, InstallError> {
    let whole = cwd.join(paths::expanded(location, Some(user_home)));
    if !is_pattern(location) {
        return Ok(MatchingFolders { paths: vec![whole.display().to_string()], ..MatchingFolders::default() });
    }
    let parts: Vec<String> = whole.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let first = parts.iter().position(|part| part.contains('*')).unwrap_or(parts.len());
    let (top, rest) = parts.split_at(first);
    let top: PathBuf = top.iter().collect();
    let open = |source| InstallError::Open { path: top.clone(), source };
    let root = match Dir::open_ambient_dir(&top, ambient_authority()).and_then(|_| library::resolve(&top)) {
        // Not every project has the folders of a relative pattern.
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_relative(location) => {
            return Ok(MatchingFolders::default());
        }
        root => root.map_err(open)?,
    };
    let mut folders = vec![top.clone()];
    for part in rest {
        folders = below(&folders, part);
        if folders.len() > MOST_FOLDERS {
            return Err(open(io::Error::other(format!("more than {MOST_FOLDERS} folders match {location:?}"))));
        }
    }
    let mut found = MatchingFolders::default();
    for folder in folders {
        let shown = folder.display().to_string();
        match library::resolve(&folder) {
            Ok(real) if real.starts_with(&root) => found.paths.push(shown),
            Ok(_) => found.warnings.push(format!("{shown} was left out: a link leads out of {}", top.display())),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Returns the folders with a name or pattern below other folders, sorted.
fn below(folders: &[PathBuf], part: &str) -> Vec<PathBuf> {
    let is_folder = |path: &PathBuf| Dir::open_ambient_dir(path, ambient_authority()).is_ok();
    let is_plain = Path::new(part).components().all(|part| matches!(part, Component::Normal(_)));
    if !part.contains('*') || !is_plain {
        return folders.iter().map(|folder| folder.join(part)).filter(is_folder).collect();
    }
    let mut found = Vec::new();
    for folder in folders {
        let Ok(dir) = Dir::open_ambient_dir(folder, ambient_authority()) else { continue };
        let Ok(entries) = dir.entries() else { continue };
        for entry in entries.flatten().take(MOST_FOLDERS * 10) {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_hidden = name.starts_with('.') && !part.starts_with('.');
            let path = folder.join(name);
            if !is_hidden && matches(part, name) && is_folder(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns whether a name matches a pattern with `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut middle: Vec<&str> = rest.split('*').collect();
    let end = middle.pop().unwrap_or_default();
    for part in middle {
        let Some(at) = name.find(part) else { return false };
        name = name.get(at + part.len()..).unwrap_or_default();
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use super::*;

    #[test]
    fn star_matches_within_a_name() {
        for (pattern, name, is_match) in [
            ("*", "x", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*bc", "abc", true),
            ("ab*bc", "abc", false),
            ("@*", "x", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn links_out_of_the_pattern_are_left_out() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for folder in ["m/a/skills", "m/b", "m/.pnpm/c/skills", "m/.h/skills", "out/skills"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(top.join("m/.pnpm/c"), top.join("m/c")).unwrap();
        std::os::unix::fs::symlink(top.join("out"), top.join("m/d")).unwrap();
        let found = matching(&top, "m/*/skills", &top).unwrap();
        let names: Vec<String> = ["m/a/skills", "m/c/skills"].map(|name| top.join(name).display().to_string()).into();
        assert_eq!((found.paths, found.warnings.len()), (names, 1));
        assert_eq!(matching(&top, "none/*/skills", &top).unwrap(), MatchingFolders::default());
        assert!(matching(&top, &top.join("none/*/skills").display().to_string(), &top).is_err());
        assert_eq!(matching(&top, "m/../m/*", &top).unwrap().paths.len(), 3, "a, b and c; d leads out");
    }
}
