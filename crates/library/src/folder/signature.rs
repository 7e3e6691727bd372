//! File metadata of a folder, used to detect that nothing was changed since its files were read ([`Signature`]).

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::SystemTime,
};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, Limits, SkillPath};

use super::{ToolFiles, Walk, listing, read_dir};

/// Minimum age, in seconds, of a folder's newest timestamp. A change within the timestamp granularity would go
/// unnoticed; this exceeds the coarsest granularity of a file system.
const SETTLED_SECONDS: i64 = 2;

/// The paths of a folder's files and subfolders, and a hash of their sizes, times, inodes and modes. Adding, removing
/// or renaming a file changes the time of its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signature {
    sum: u64,
    /// One path per line. The folder itself is an empty line.
    paths: String,
}

/// Result of [`read_dir`] without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// Digest over all files.
    pub digest: Digest,
    /// Paths of the files, sorted.
    pub paths: Vec<SkillPath>,
}

impl Signature {
    /// Takes the signature of the folder `name`. Returns `None` if the folder is too new to be trusted later, or if
    /// its metadata cannot be read.
    pub fn of(root: &Dir, name: &str, limits: &Limits) -> Option<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        let (signature, newest) = Self::taken(root, name, limits)?;
        let is_settled = newest.saturating_add(SETTLED_SECONDS) <= i64::try_from(now).ok()?;
        is_settled.then_some(signature)
    }

    /// Takes the signature of a folder of any age, with its newest timestamp in seconds.
    fn taken(root: &Dir, name: &str, limits: &Limits) -> Option<(Self, i64)> {
        let walk = Walk::over(listing::open_child(root, name).ok()?, ToolFiles::Skip, limits).ok()?;
        let folders = walk.prefixes.iter().map(|prefix| prefix.trim_end_matches('/').to_owned());
        let paths: Vec<String> = folders.chain(walk.files.iter().map(|found| found.path.to_string())).collect();
        let paths = paths.join("\n");
        let (sum, newest) = look(root, name, &paths)?;
        Some((Self { sum, paths }, newest))
    }

    /// Returns whether the folder still has this signature.
    pub fn is_of(&self, root: &Dir, name: &str) -> bool {
        look(root, name, &self.paths).is_some_and(|(sum, _)| sum == self.sum)
    }
}

/// Hashes the metadata of paths in the folder `name`, and returns their newest timestamp in seconds.
fn look(root: &Dir, name: &str, paths: &str) -> Option<(u64, i64)> {
    let mut hasher = DefaultHasher::new();
    let mut newest = i64::MIN;
    let mut whole = String::new();
    for path in paths.split('\n') {
        whole.clear();
        whole.push_str(name);
        if !path.is_empty() {
            whole.push('/');
            whole.push_str(path);
        }
        path.hash(&mut hasher);
        newest = newest.max(listing::add_stat(root, &whole, &mut hasher).ok()?);
    }
    Some((hasher.finish(), newest))
}

/// Reads the content of the folder `name`. Returns `None` if it cannot be read as a skill.
pub(crate) fn content(root: &Dir, name: &str, limits: &Limits) -> Option<Content> {
    let found: Bundle = read_dir(listing::open_child(root, name).ok()?, ToolFiles::Skip, limits).ok()?;
    Some(Content { digest: found.digest(), paths: found.paths().cloned().collect() })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::folder;

    /// `Signature::of` returns `None` right after a change, as the folder has not settled.
    #[test]
    fn every_change_alters_the_signature() {
        let temp = tempfile::tempdir().unwrap();
        let dir = folder::open_at(temp.path()).unwrap();
        dir.create_dir_all("s/deep/empty").unwrap();
        dir.write("s/SKILL.md", "one").unwrap();
        dir.write("s/deep/file", "one").unwrap();
        let of = || Signature::of(&dir, "s", &Limits::default());
        assert_eq!(of(), None);
        // File timestamps advance in steps.
        let tick = || std::thread::sleep(Duration::from_millis(20));
        let taken = || Signature::taken(&dir, "s", &Limits::default()).map(|(signature, _)| signature);
        let overwrite = |path: &str, text: &str| {
            let file = dir.open(path).unwrap().into_std();
            let modified = file.metadata().unwrap().modified().unwrap();
            dir.write(path, text).unwrap();
            let options = cap_std::fs::OpenOptions::new().write(true).clone();
            dir.open_with(path, &options).unwrap().into_std().set_modified(modified).unwrap();
        };
        let replace = |path: &str| {
            dir.write("other", "one").unwrap();
            dir.rename("other", &dir, path).unwrap();
        };
        let changes: [(&str, &dyn Fn()); 7] = [
            ("other bytes of the same length at the same time", &|| overwrite("s/deep/file", "two")),
            ("a new file", &|| dir.write("s/more", "").unwrap()),
            ("a file in an empty folder", &|| dir.write("s/deep/empty/x", "").unwrap()),
            ("another name", &|| dir.rename("s/more", &dir, "s/other").unwrap()),
            ("a file less", &|| dir.remove_file("s/other").unwrap()),
            ("another file in its place", &|| replace("s/SKILL.md")),
            ("a link in its place", &|| {
                dir.rename("s/deep", &dir, "deep").unwrap();
                dir.symlink_contents("../deep", "s/deep").unwrap();
            }),
        ];
        for (what, change) in changes {
            tick();
            let before = taken().unwrap();
            assert!(before.is_of(&dir, "s"), "{what}");
            change();
            assert!(!before.is_of(&dir, "s"), "{what}");
            assert_eq!(of(), None, "{what}");
        }
        assert_eq!(taken(), None, "a link has none");
    }
}
