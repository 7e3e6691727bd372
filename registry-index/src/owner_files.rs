//! [`OwnerFiles`]: the folder of the owners' files, kept in memory until it changes.
//!
//! An index with 60,000 owners has 2.4 MB of names and ids there. git would unpack, hash and parse them for each owner.

use git2::{Error, ObjectType, Oid, Repository};

const ID_BYTES: usize = 20;

/// The entries of a tree in git's format: mode, space, name, zero byte and id of each.
#[derive(Default)]
pub(crate) struct OwnerFiles {
    tree: Option<Oid>,
    bytes: Vec<u8>,
    /// Positions of the entries, sorted by name.
    starts: Vec<usize>,
}

struct TreeEntry<'a> {
    mode: &'a [u8],
    name: &'a [u8],
    id: &'a [u8],
}

impl OwnerFiles {
    /// Finds a name in a tree, which is read if it is not the one in memory.
    pub fn find(&mut self, repo: &Repository, tree: Oid, name: &str) -> Result<Option<(Oid, ObjectType)>, Error> {
        if self.tree != Some(tree) {
            *self = Self::read(repo, tree)?;
        }
        let by_name = |start: &usize| self.entry(*start).map(|entry| entry.name).cmp(&Some(name.as_bytes()));
        let found = self.starts.binary_search_by(by_name).ok().and_then(|at| self.entry(*self.starts.get(at)?));
        found.map(|entry| Ok((Oid::from_bytes(entry.id)?, entry.kind()))).transpose()
    }

    fn read(repo: &Repository, tree: Oid) -> Result<Self, Error> {
        let bytes = repo.odb()?.read(tree)?.data().to_vec();
        let (mut read, mut start) = (Self { tree: Some(tree), bytes, starts: Vec::new() }, 0);
        let mut starts = Vec::new();
        while start < read.bytes.len() {
            let damaged = || Error::from_str(&format!("the folder {tree} is damaged"));
            let entry = read.entry(start).ok_or_else(damaged)?;
            starts.push(start);
            start += entry.mode.len() + entry.name.len() + 2 + ID_BYTES;
        }
        starts.sort_by_key(|start| read.entry(*start).map(|entry| entry.name));
        read.starts = starts;
        Ok(read)
    }

    fn entry(&self, start: usize) -> Option<TreeEntry<'_>> {
        let rest = self.bytes.get(start..)?;
        let (mode, rest) = rest.split_at_checked(rest.iter().position(|byte| *byte == b' ')?)?;
        let rest = rest.get(1..)?;
        let (name, rest) = rest.split_at_checked(rest.iter().position(|byte| *byte == 0)?)?;
        Some(TreeEntry { mode, name, id: rest.get(1..=ID_BYTES)? })
    }
}

impl TreeEntry<'_> {
    fn kind(&self) -> ObjectType {
        match self.mode {
            b"40000" => ObjectType::Tree,
            b"160000" => ObjectType::Commit,
            _ => ObjectType::Blob,
        }
    }
}

#[cfg(test)]
mod tests {
    use git2::FileMode;

    use super::*;

    #[test]
    fn entries_are_those_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let (blob, empty) = (repo.blob(b"{}").unwrap(), repo.treebuilder(None).unwrap().write().unwrap());
        let mut builder = repo.treebuilder(None).unwrap();
        for name in ["a.json", "a0.json", "b.json", "zoe.json"] {
            builder.insert(name, blob, FileMode::Blob.into()).unwrap();
        }
        builder.insert("run", blob, FileMode::BlobExecutable.into()).unwrap();
        // git sorts a folder as `a/`, after `a.json`.
        builder.insert("a", empty, FileMode::Tree.into()).unwrap();
        let tree = repo.find_tree(builder.write().unwrap()).unwrap();
        let mut files = OwnerFiles::default();
        for entry in &tree {
            let found = files.find(&repo, tree.id(), entry.name().unwrap()).unwrap();
            assert_eq!(found, Some((entry.id(), entry.kind().unwrap())));
        }
        for name in ["", "a.jso", "c.json", "zoe.json0"] {
            assert_eq!(files.find(&repo, tree.id(), name).unwrap(), None, "{name}");
        }
        assert_eq!(files.find(&repo, empty, "a.json").unwrap(), None);
        assert!(files.find(&repo, blob, "a.json").is_err());
    }
}
