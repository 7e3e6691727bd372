//! [`CommitSeries`]: commits on top of a known one, made in memory and written as a single pack.

use std::path::Path;

use git2::{ErrorCode, Oid, Repository};

use crate::{
    Stamp, StoreError,
    dead_locks::remove_dead_locks,
    store::{Change, REFERENCE, Snapshot, Store, TreeEdit, in_memory, write_pack},
};

/// New commits of a bare repository that is a copy of an index kept elsewhere.
///
/// A commit is a function of its parent, files, message and stamp, so the same changes give the same commits in every
/// repository. Files are taken as they are: whoever keeps the index has checked them. Only one process at a time may
/// finish a series in a repository.
pub struct CommitSeries {
    repo: Repository,
    tip: Option<Oid>,
    made: Vec<(Oid, Vec<String>)>,
}

impl CommitSeries {
    /// Opens a bare repository for commits on top of one that it has; without a parent, for a first one. The repository
    /// is created if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`], also when the repository does not have the parent.
    pub fn begin(dir: &Path, parent: Option<&str>) -> Result<Self, StoreError> {
        match Repository::open_bare(dir) {
            Err(error) if error.code() == ErrorCode::NotFound => Store::create(dir)?.configure()?,
            opened => drop(opened?),
        }
        let repo = in_memory(dir)?;
        let tip = parent.map(Oid::from_str).transpose()?;
        if let Some(tip) = tip {
            repo.find_commit(tip)?;
        }
        Ok(Self { repo, tip, made: Vec::new() })
    }

    /// Reads a file of the newest commit.
    ///
    /// # Errors
    /// [`StoreError::Git`]
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(tip) = self.tip else { return Ok(None) };
        Ok(Snapshot::of(&self.repo, self.repo.find_commit(tip)?)?.read(path)?)
    }

    /// Returns paths and ids of the files of the newest commit below those folders at the top that `wanted` accepts.
    ///
    /// # Errors
    /// [`StoreError::Git`]
    pub fn files(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, Oid)>, StoreError> {
        let Some(tip) = self.tip else { return Ok(Vec::new()) };
        Ok(Snapshot::of(&self.repo, self.repo.find_commit(tip)?)?.files(wanted)?)
    }

    /// Makes a commit with new contents of some files, `None` for one that is removed if it exists, and returns its id.
    ///
    /// # Errors
    /// [`StoreError::Git`]
    pub fn commit(
        &mut self,
        files: impl IntoIterator<Item = (String, Option<Vec<u8>>)>,
        message: &str,
        stamp: &Stamp,
    ) -> Result<String, StoreError> {
        let mut edits = Vec::new();
        for (path, bytes) in files {
            match bytes {
                Some(bytes) => edits.push(TreeEdit::Put(path, bytes)),
                None if self.read(&path)?.is_some() => edits.push(TreeEdit::Remove(path)),
                None => {}
            }
        }
        let change = Change { edits, message: message.to_owned(), stamp: stamp.to_the_second() };
        let commit = change.write(&self.repo, self.tip)?.id();
        self.made.push((commit, change.paths().map(str::to_owned).collect()));
        self.tip = Some(commit);
        Ok(commit.to_string())
    }

    /// Writes the commits to the disk and moves the branch to the newest one.
    ///
    /// # Errors
    /// [`StoreError::Git`]; the branch is then where it was.
    pub fn finish(self) -> Result<(), StoreError> {
        let Some((newest, _)) = self.made.last() else { return Ok(()) };
        write_pack(&self.repo, self.made.iter().map(|(id, paths)| (*id, paths.iter().map(String::as_str))))?;
        remove_dead_locks(self.repo.path())?;
        self.repo.reference(REFERENCE, *newest, true, "follow")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Index;

    fn stamp() -> Stamp {
        Stamp { by: "ann".to_owned(), at: "2027-01-15T08:00:00Z".parse().unwrap() }
    }

    fn make(dir: &Path, parent: Option<&str>, files: &[(&str, &str)]) -> Vec<String> {
        let mut series = CommitSeries::begin(dir, parent).unwrap();
        let made = files.iter().map(|(path, text)| {
            let text = [series.read(path).unwrap().unwrap_or_default(), text.as_bytes().to_vec()].concat();
            series
                .commit([(path.to_string(), Some(text)), ("none".to_owned(), None)], &format!("{path}\n"), &stamp())
                .unwrap()
        });
        let made = made.collect();
        series.finish().unwrap();
        made
    }

    #[expect(clippy::disallowed_methods, reason = "the test writes what a killed process leaves")]
    #[test]
    fn same_changes_give_same_commits() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (config, files) = (crate::Config::fresh(), [("no/te/notes/ann", "{}\n"), ("no/te/notes/ann", "{}\n")]);
        let all = [&[("config.json", config.as_str())][..], &files].concat();
        let made = make(&one.path().join("git"), None, &all);
        let first = make(&other.path().join("git"), None, &all[..1]);
        std::fs::write(other.path().join("git/refs/heads/main.lock"), "left by a killed process").unwrap();
        let rest = make(&other.path().join("git"), Some(&first[0]), &all[1..]);
        assert_eq!(made, [first, rest].concat());
        let index = Index::open(&one.path().join("git")).unwrap();
        assert_eq!(index.revision().unwrap(), made[2]);
        assert_eq!(index.file("no/te/notes/ann").unwrap().unwrap().bytes, b"{}\n{}\n");
        assert!(CommitSeries::begin(&one.path().join("git"), Some(&"0".repeat(40))).is_err());
    }
}
