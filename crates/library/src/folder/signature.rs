//! [`Signature`]: what the system says of a folder's files without reading them, to tell that nothing
//! was changed since they were read.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::SystemTime,
};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, Limits, SkillPath};

use super::{Leftovers, Walk, listing, read_dir};

/// Seconds by which a folder's newest time must lie back when it is looked at. What was changed in the
/// same moment could be changed again without a sign; this is more than the coarsest clock of a file
/// system.
const SETTLED_SECONDS: i64 = 2;

/// The paths of a folder's files and folders, and a sum of their sizes, times, inodes and modes. A file
/// that comes, goes or gets another name changes the time of the folder that it is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signature {
    sum: u64,
    /// One a line.
    paths: String,
}

/// What [`read_dir`] found, without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// The identity of the files.
    pub digest: Digest,
    /// Their paths.
    pub paths: Vec<SkillPath>,
}

impl Signature {
    /// That of the folder `name`; `None` where it is too young to be trusted later, and where it cannot
    /// be had.
    pub fn of(root: &Dir, name: &str, limits: &Limits) -> Option<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        let (signature, newest) = Self::taken(root, name, limits)?;
        let is_settled = newest.saturating_add(SETTLED_SECONDS) <= i64::try_from(now).ok()?;
        is_settled.then_some(signature)
    }

    /// That of a folder of any age, and the second of its newest time.
    fn taken(root: &Dir, name: &str, limits: &Limits) -> Option<(Self, i64)> {
        let walk = Walk::over(listing::open_child(root, name).ok()?, Leftovers::Skip, limits).ok()?;
        let folders = walk.prefixes.iter().map(|prefix| prefix.trim_end_matches('/').to_owned());
        let paths: Vec<String> = folders.chain(walk.files.iter().map(|found| found.path.to_string())).collect();
        let paths = paths.join("\n");
        let (sum, newest) = look(root, name, &paths)?;
        Some((Self { sum, paths }, newest))
    }

    /// Whether the folder still has it.
    pub fn is_of(&self, root: &Dir, name: &str) -> bool {
        look(root, name, &self.paths).is_some_and(|(sum, _)| sum == self.sum)
    }
}

/// The sum over paths in the folder `name`, and the second of their newest time.
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

/// The content of the folder `name`; `None` where it cannot be read as a skill.
pub(crate) fn content(root: &Dir, name: &str, limits: &Limits) -> Option<Content> {
    let found: Bundle = read_dir(listing::open_child(root, name).ok()?, Leftovers::Skip, limits).ok()?;
    Some(Content { digest: found.digest(), paths: found.paths().cloned().collect() })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::folder;

    #[test]
    fn every_change_of_a_file_shows_and_a_fresh_one_is_not_settled() {
        let temp = tempfile::tempdir().unwrap();
        let dir = folder::open_at(temp.path()).unwrap();
        dir.create_dir_all("s/deep/empty").unwrap();
        dir.write("s/SKILL.md", "one").unwrap();
        dir.write("s/deep/file", "one").unwrap();
        let of = || Signature::of(&dir, "s", &Limits::default());
        assert_eq!(of(), None);
        // The clock of files moves in steps.
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
