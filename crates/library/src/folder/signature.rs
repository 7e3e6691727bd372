//! [`Signature`]: what the system says of the files of a folder without reading them, to tell that
//! nothing was changed since it was read.

use std::{fmt::Write, time::SystemTime};

use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};
use skill::{Bundle, Digest, Limits, SkillPath};

use super::{Leftovers, Walk, listing, read_dir};

/// Seconds by which a folder's newest file must be older than the look at it. One that was changed in
/// the same moment could be changed again without a sign; this is more than the coarsest clock of a
/// file system.
const SETTLED_SECONDS: i64 = 2;

/// Paths, sizes, times, inodes and modes of a folder's files, as a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The sum, in hexadecimal digits.
    pub sum: String,
    /// Whether the files are old enough for the sum to be kept.
    pub is_settled: bool,
}

/// What [`read_dir`] found, without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// The identity of the files.
    pub digest: Digest,
    /// Their paths.
    pub paths: Vec<SkillPath>,
}

/// The signature of the folder `name`; `None` where it cannot be had, and the folder must be read to
/// say why.
pub(crate) fn signature(root: &Dir, name: &str, limits: &Limits) -> Option<Signature> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let walk = Walk::over(listing::open_child(root, name).ok()?, Leftovers::Skip, limits).ok()?;
    let mut text = String::with_capacity(walk.files.len() * 96);
    let mut newest = i64::MIN;
    for found in &walk.files {
        let stat = listing::stat(&walk.dirs[found.parent], &found.file_name).ok()?;
        newest = newest.max(stat.changed);
        writeln!(text, "{} {}", stat.text, found.path).ok()?;
    }
    let sum = Sha256::digest(text);
    let sum = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let is_settled = newest.saturating_add(SETTLED_SECONDS) <= i64::try_from(now).ok()?;
    Some(Signature { sum, is_settled })
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

    fn of(dir: &Dir) -> Signature {
        signature(dir, "s", &Limits::default()).unwrap()
    }

    #[test]
    fn every_change_of_a_file_shows_and_a_fresh_one_is_not_settled() {
        let temp = tempfile::tempdir().unwrap();
        let dir = folder::open_at(temp.path()).unwrap();
        dir.create_dir_all("s/deep").unwrap();
        dir.write("s/SKILL.md", "one").unwrap();
        dir.write("s/deep/file", "one").unwrap();
        let first = of(&dir);
        assert!(!first.is_settled);
        assert_eq!(of(&dir), first);
        let mut seen = vec![first.sum];
        let mut is_new = |what: &str| {
            let now = of(&dir);
            assert!(!seen.contains(&now.sum), "{what}");
            seen.push(now.sum);
        };
        // The clock of files moves in steps.
        let tick = || std::thread::sleep(Duration::from_millis(20));
        tick();
        let file = dir.open("s/deep/file").unwrap().into_std();
        let modified = file.metadata().unwrap().modified().unwrap();
        dir.write("s/deep/file", "two").unwrap();
        is_new("other bytes of the same length");
        tick();
        dir.write("s/deep/file", "six").unwrap();
        dir.open_with("s/deep/file", cap_std::fs::OpenOptions::new().write(true))
            .unwrap()
            .into_std()
            .set_modified(modified)
            .unwrap();
        is_new("the old time set again");
        dir.write("s/more", "").unwrap();
        is_new("a new file");
        dir.rename("s/more", &dir, "s/other").unwrap();
        is_new("another name");
        dir.remove_file("s/other").unwrap();
        tick();
        dir.write("s/new", "one").unwrap();
        dir.rename("s/new", &dir, "s/SKILL.md").unwrap();
        is_new("another file in its place");
        dir.create_dir("s/.git").unwrap();
        let sum = of(&dir).sum;
        assert!(seen.contains(&sum), "what tools leave does not count");
        dir.symlink_contents("SKILL.md", "s/link").unwrap();
        assert_eq!(signature(&dir, "s", &Limits::default()), None);
    }
}
