//! Loose objects: one file per object of a revision, written by a commit until a checkpoint packs them.
//!
//! The journal has the same bytes, so nothing is synced here. A file is renamed into place once it is complete, so
//! that a killed process leaves no truncated object. Its leftovers are removed by garbage collection. The content
//! is stored without compression: a checkpoint soon packs it, and setting up a compressor for each object costs more
//! than it saves.

use std::io::{self, Read, Write};

use cap_std::fs::{Dir, File, OpenOptions};
use flate2::read::ZlibDecoder;
use git2::Oid;
use sha1::{Digest as _, Sha1};

use skill::Limits;

use super::{GitStorage, object_type, open_or_create};
use crate::{
    checkout::temporary_name,
    storage::{Object, StorageError},
};

const FOLDER: &str = "objects";

/// Maximum length of an object's header in bytes: a type and a number.
const HEADER_BYTES: u64 = 32;

/// Maximum length of a stored block in bytes (RFC 1951, 3.2.4).
const BLOCK_BYTES: usize = u16::MAX as usize;

/// Prefix of the names of temporary files, also of those written by git.
pub(super) const UNFINISHED: &str = "tmp_obj";

impl GitStorage {
    /// Writes objects, replacing existing files, after checking that each matches its id.
    pub(super) fn write_loose(&self, objects: &[Object]) -> Result<(), StorageError> {
        if objects.is_empty() {
            return Ok(());
        }
        let folder = self.dir.open_dir(FOLDER)?;
        objects.iter().try_for_each(|object| write(&folder, object)).map_err(|error| self.named(error))
    }

    /// Adds the path to an I/O error.
    fn named(&self, error: StorageError) -> StorageError {
        match error {
            StorageError::Io(error) => {
                let place = self.path.join(FOLDER);
                StorageError::Io(io::Error::new(error.kind(), format!("{}: {error}", place.display())))
            }
            other => other,
        }
    }

    /// Reads the header and content of a loose object. Returns `None` if the object is not loose.
    ///
    /// # Errors
    /// The file is truncated or not an object. libgit2 would loop forever on a truncated file, so call this before
    /// libgit2 reads anything that may be loose.
    pub(super) fn loose(&self, id: Oid) -> Result<Option<(String, Vec<u8>)>, StorageError> {
        match self.loose_file(id) {
            Ok(file) => {
                let cut = || StorageError::Damaged(format!("the object {id} is empty or truncated"));
                inflate(file).map(Some).ok_or_else(cut)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the file of a loose object.
    pub(in crate::storage) fn loose_file(&self, id: Oid) -> io::Result<File> {
        let hex = id.to_string();
        let (folder, rest) = hex.split_at(2);
        self.dir.open(format!("{FOLDER}/{folder}/{rest}"))
    }

    pub(super) fn remove_loose(&self, id: &str) {
        if let (Some(folder), Some(rest)) = (id.get(..2), id.get(2..)) {
            let _absent = self.dir.remove_file(format!("{FOLDER}/{folder}/{rest}"));
        }
    }
}

/// Inflates an object's file to its header and content, if the length matches the header.
pub(in crate::storage) fn inflate(file: File) -> Option<(String, Vec<u8>)> {
    let limit = Limits::default().skill_bytes + HEADER_BYTES;
    let mut bytes = Vec::new();
    ZlibDecoder::new(file).take(limit + 1).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let content = bytes.split_off(end + 1);
    bytes.pop();
    let head = String::from_utf8(bytes).ok()?;
    let is_whole = head.rsplit_once(' ').is_some_and(|(_, length)| length.parse() == Ok(content.len()));
    is_whole.then_some((head, content))
}

fn write(objects: &Dir, object: &Object) -> Result<(), StorageError> {
    let head = format!("{} {}\0", object_type(&object.kind)?.str(), object.bytes.len());
    let id = skill::hex(&Sha1::new().chain_update(&head).chain_update(&object.bytes).finalize());
    if id != object.id {
        return Err(StorageError::Damaged(format!("object {} does not have that id", object.id)));
    }
    let (folder, rest) = id.split_at(2);
    let folder = open_or_create(objects, folder)?;
    let unfinished = format!("{UNFINISHED}{}", temporary_name());
    let written = create(&folder, &unfinished)
        .and_then(|mut file| file.write_all(&stored(&[head.as_bytes(), &object.bytes].concat())))
        .and_then(|()| folder.rename(&unfinished, &folder, rest));
    if written.is_err() {
        let _best_effort = folder.remove_file(&unfinished);
    }
    Ok(written?)
}

/// Builds a zlib stream with uncompressed blocks (RFC 1950; RFC 1951, 3.2.4).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(bytes.len() + bytes.len() / BLOCK_BYTES * 5 + 16);
    stream.extend([0x78, 0x01]);
    let mut blocks = bytes.chunks(BLOCK_BYTES).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler2::adler32_slice(bytes).to_be_bytes());
    stream
}

/// Creates a read-only file, as git does for objects.
fn create(folder: &Dir, file: &str) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o444);
    folder.open_with(file, &options)
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;

    use super::*;

    #[test]
    fn git_reads_our_loose_objects() {
        let temp = tempfile::tempdir().unwrap();
        let storage = GitStorage::open(&temp.path().join("history.git"), true).unwrap().unwrap();
        let of = |kind: ObjectType, bytes: &[u8]| Object {
            id: Oid::hash_object(kind, bytes).unwrap().to_string(),
            kind: kind.str().to_owned(),
            bytes: bytes.to_vec(),
        };
        let long: Vec<u8> = (0..100_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let objects = [
            of(ObjectType::Blob, b""),
            of(ObjectType::Blob, &b"a line\n".repeat(10_000)),
            of(ObjectType::Blob, &long),
            of(ObjectType::Tree, b""),
        ];
        let read = |object: &Object| {
            let odb = storage.repository().unwrap().odb().unwrap();
            odb.refresh().unwrap();
            odb.read(Oid::from_str(&object.id).unwrap()).map(|found| found.data().to_vec())
        };
        storage.write_loose(&objects).unwrap();
        for object in &objects {
            assert_eq!(read(object).unwrap(), object.bytes);
            let file = format!("objects/{}/{}", &object.id[..2], &object.id[2..]);
            storage.dir.remove_file(&file).unwrap();
            storage.dir.write(&file, "").unwrap();
            storage.write_loose(std::slice::from_ref(object)).unwrap();
            assert_eq!(read(object).unwrap(), object.bytes, "an empty file was in its place");
        }
        let other = Object { bytes: b"another text".to_vec(), ..objects[1].clone() };
        assert!(matches!(storage.write_loose(&[other]), Err(StorageError::Damaged(_))));
        assert_eq!(read(&objects[1]).unwrap(), objects[1].bytes);
        let names = storage.dir.open_dir(FOLDER).unwrap().entries().unwrap().flat_map(|folder| {
            let folder = folder.unwrap().open_dir().unwrap();
            folder.entries().unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        });
        assert!(names.into_iter().all(|name| !name.starts_with(UNFINISHED)), "nothing unfinished stays");
    }
}
