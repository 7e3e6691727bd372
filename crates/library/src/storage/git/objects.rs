//! Reading of loose and packed objects ([`GitStorage::object`]), and parsing of commits and trees.
//!
//! Opening a repository with libgit2 reads all of the user's git configuration. Reading objects does not need it, so
//! the repository is only opened for writing packs.

use git2::{ErrorCode, ObjectType, Odb, Oid};

use super::GitStorage;
use crate::storage::StorageError;

/// Length of an id in a tree, in bytes.
const ID_BYTES: usize = 20;

/// A parsed commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Commit {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    /// Commit time in seconds since the Unix epoch.
    pub seconds: i64,
    pub message: String,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Entry {
    pub name: Vec<u8>,
    pub id: Oid,
    pub kind: EntryKind,
}

/// Type of a tree entry, from its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum EntryKind {
    Folder,
    File {
        executable: bool,
    },
    /// A symbolic link, or a commit of another repository.
    Other,
}

impl GitStorage {
    /// Reads an object of a type. Returns `None` if the object is missing or of another type. libgit2 verifies the
    /// ids of packed objects. Loose objects are verified here, except for blobs.
    ///
    /// # Errors
    /// The file is truncated or does not match the id, or an I/O error.
    pub(in crate::storage) fn object(&self, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, StorageError> {
        if let Some((head, content)) = self.loose(id)? {
            if head.split(' ').next() != Some(kind.str()) {
                return Ok(None);
            }
            if kind != ObjectType::Blob {
                held_to_its_id(id, kind, &content)?;
            }
            return Ok(Some(content));
        }
        self.with_odb(|odb| match odb.read(id) {
            Ok(object) if object.kind() == kind => Ok(Some(object.data().to_vec())),
            Ok(_) => Ok(None),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        })
    }

    /// Reads an object like [`GitStorage::object`]. A missing object is an error.
    pub(super) fn needed(&self, id: Oid, kind: ObjectType) -> Result<Vec<u8>, StorageError> {
        let missing = || StorageError::Damaged(format!("the {} {id} is missing", kind.str()));
        self.object(id, kind)?.ok_or_else(missing)
    }

    /// Reads a commit; `None` if it is missing.
    pub(in crate::storage) fn find_commit(&self, id: Oid) -> Result<Option<Commit>, StorageError> {
        let Some(bytes) = self.object(id, ObjectType::Commit)? else { return Ok(None) };
        Commit::parse(&bytes).map(Some).ok_or_else(|| StorageError::Damaged(format!("{id} is not a commit")))
    }

    /// Reads the entries of a tree, in its order.
    pub(in crate::storage) fn entries(&self, tree: Oid) -> Result<Vec<Entry>, StorageError> {
        let bytes = self.needed(tree, ObjectType::Tree)?;
        entries(&bytes).ok_or_else(|| StorageError::Damaged(format!("{tree} is not a tree")))
    }

    /// Opens the object database for reading. libgit2 only opens it directly by a UTF-8 path; otherwise the whole
    /// repository is opened.
    pub(in crate::storage) fn with_odb<T>(
        &self,
        read: impl FnOnce(&Odb<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match &self.odb {
            Some(odb) => read(odb),
            None => read(&self.repository()?.odb()?),
        }
    }
}

/// Checks that bytes match an id.
fn held_to_its_id(id: Oid, kind: ObjectType, bytes: &[u8]) -> Result<(), StorageError> {
    match Oid::hash_object(kind, bytes)? {
        found if found == id => Ok(()),
        found => Err(StorageError::Damaged(format!("the {} {id} has the content of {found}", kind.str()))),
    }
}

impl Commit {
    /// Parses the content of a commit: header lines, an empty line, and the message.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let head = String::from_utf8_lossy(bytes.get(..end)?);
        let message = std::str::from_utf8(bytes.get(end + 2..)?).ok()?;
        let mut tree = None;
        let mut parents = Vec::new();
        let mut seconds = None;
        for line in head.lines() {
            match line.split_once(' ')? {
                ("tree", id) => tree = tree.or(Oid::from_str(id).ok()),
                ("parent", id) => parents.push(Oid::from_str(id).ok()?),
                ("committer", who) => seconds = seconds.or(who.rsplit(' ').nth(1)?.parse().ok()),
                _ => {}
            }
        }
        let message = message.trim_start_matches('\n').to_owned();
        Some(Self { tree: tree?, parents, seconds: seconds?, message })
    }
}

/// Parses the content of a tree: a sequence of mode, name and id.
fn entries(mut bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (head, rest) = (bytes.get(..end)?, bytes.get(end + 1..)?);
        let (id, after) = rest.split_at_checked(ID_BYTES)?;
        let space = head.iter().position(|byte| *byte == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(head.get(..space)?).ok()?, 8).ok()?;
        let name = head.get(space + 1..)?.to_vec();
        entries.push(Entry { name, id: Oid::from_bytes(id).ok()?, kind: EntryKind::of(mode) });
        bytes = after;
    }
    Some(entries)
}

impl EntryKind {
    /// Interprets a mode like git does, including modes written by old versions.
    fn of(mode: u32) -> Self {
        match mode >> 12 {
            0o04 => Self::Folder,
            0o10 => Self::File { executable: mode & 0o100 != 0 },
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn commit_with_foreign_headers_is_read() {
        let one = "1".repeat(40);
        let text = format!(
            "tree {TREE}\nparent {one}\nparent {TREE}\nauthor a <a@b> 1 +0000\ncommitter a b <a@b> 1700000000 +0130\n\
             gpgsig -----BEGIN\n\x20\n tree of lies\n\n\nsubject\n\nbody\n"
        );
        let commit = Commit::parse(text.as_bytes()).unwrap();
        assert_eq!(commit.parents, [Oid::from_str(&one).unwrap(), Oid::from_str(TREE).unwrap()]);
        assert_eq!((commit.tree.to_string().as_str(), commit.seconds), (TREE, 1_700_000_000));
        assert_eq!(commit.message, "subject\n\nbody\n");
    }

    #[test]
    fn cut_commits_and_trees_are_refused() {
        let text = format!("tree {TREE}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm");
        for end in 0..text.len() - 1 {
            assert_eq!(Commit::parse(&text.as_bytes()[..end]).map(|commit| commit.message).unwrap_or_default(), "");
        }
        let entry = [b"100755 a b\0".as_slice(), &[7; ID_BYTES]].concat();
        let both = [entry.as_slice(), b"40000 f\0", &[8; ID_BYTES]].concat();
        let found = entries(&both).unwrap();
        assert_eq!(
            (found[0].name.as_slice(), found[0].kind),
            (b"a b".as_slice(), EntryKind::File { executable: true })
        );
        assert_eq!((found[1].id, found[1].kind), (Oid::from_bytes(&[8; ID_BYTES]).unwrap(), EntryKind::Folder));
        for end in (1..both.len()).filter(|end| *end != entry.len()) {
            assert_eq!(entries(&both[..end]), None, "{end}");
        }
        assert_eq!(EntryKind::of(0o100_664), EntryKind::File { executable: false });
        assert_eq!((EntryKind::of(0o120_000), EntryKind::of(0o160_000)), (EntryKind::Other, EntryKind::Other));
    }
}
