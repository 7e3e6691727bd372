//! [`GitStorage::object`]: what an object holds, in a file of its own or in a pack; and commits and trees
//! taken apart, the way round from how they are written.
//!
//! A repository as libgit2 has it reads every configuration of git that the user has. What a change needs
//! of one is less, so it is opened only for what writes packs.

use git2::{ErrorCode, ObjectType, Odb, Oid};

use super::GitStorage;
use crate::storage::StorageError;

/// Bytes of an id as trees hold it.
const ID_BYTES: usize = 20;

/// A commit taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Commit {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    /// When it was committed, in seconds of Unix time.
    pub seconds: i64,
    pub message: String,
}

/// What a tree has under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Entry {
    pub name: Vec<u8>,
    pub id: Oid,
    pub kind: EntryKind,
}

/// What the mode of an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum EntryKind {
    Folder,
    File {
        executable: bool,
    },
    /// A link, or a commit of another repository.
    Other,
}

impl GitStorage {
    /// The bytes of an object of a kind; `None` when there is none of this id and kind. libgit2 holds what it
    /// reads of packs to its id; of files it is done here for what leads to others.
    ///
    /// # Errors
    /// Its file is cut or holds something else, or the system refused.
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

    /// The same, where it has to be there.
    pub(super) fn needed(&self, id: Oid, kind: ObjectType) -> Result<Vec<u8>, StorageError> {
        let missing = || StorageError::Damaged(format!("the {} {id} is missing", kind.str()));
        self.object(id, kind)?.ok_or_else(missing)
    }

    /// The commit of an id; `None` when there is none.
    pub(in crate::storage) fn find_commit(&self, id: Oid) -> Result<Option<Commit>, StorageError> {
        let Some(bytes) = self.object(id, ObjectType::Commit)? else { return Ok(None) };
        Commit::parse(&bytes).map(Some).ok_or_else(|| StorageError::Damaged(format!("{id} is no commit")))
    }

    /// What a tree has, in its order.
    pub(in crate::storage) fn entries(&self, tree: Oid) -> Result<Vec<Entry>, StorageError> {
        let bytes = self.needed(tree, ObjectType::Tree)?;
        entries(&bytes).ok_or_else(|| StorageError::Damaged(format!("{tree} is no tree")))
    }

    /// Reads in the database of objects. libgit2 opens one by a path that is UTF-8; for others it takes the
    /// whole repository.
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

/// Refuses bytes that are not those of an id.
fn held_to_its_id(id: Oid, kind: ObjectType, bytes: &[u8]) -> Result<(), StorageError> {
    match Oid::hash_object(kind, bytes)? {
        found if found == id => Ok(()),
        found => Err(StorageError::Damaged(format!("the {} {id} holds {found}", kind.str()))),
    }
}

impl Commit {
    /// Reads what git writes of a commit: lines of headers, an empty one, the message.
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

/// Reads what git writes of a tree: mode, name and id, one after the other.
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
    /// As git understands modes, those that old versions wrote among them.
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
    fn a_commit_is_read_with_what_others_add_to_it() {
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
    fn what_is_cut_anywhere_is_no_commit_and_no_tree() {
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
