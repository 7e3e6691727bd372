//! The objects and the commit of one revision, before they are written ([`ObjectWriter`]).

use std::collections::BTreeMap;

use git2::{ObjectType, OdbLookupFlags, Oid};
use skill::{Bundle, File};

use super::{EXECUTABLE_MODE, FILE_MODE, GitStorage};
use crate::{
    revision::{RevisionId, Stamp},
    storage::{Object, StorageError},
};

/// The paths of files that were written or removed, the written ones first.
pub(super) fn changed_paths(before: &Bundle, after: &Bundle) -> Vec<String> {
    let removed = before.paths().filter(|path| after.get(path).is_none());
    let written = after.files().filter(|(path, file)| before.get(path) != Some(file)).map(|(path, _)| path);
    written.chain(removed).map(ToString::to_string).collect()
}

/// Collects the objects of one revision that the repository lacks.
pub(super) struct ObjectWriter<'a> {
    storage: &'a GitStorage,
    objects: BTreeMap<Oid, Object>,
}

impl<'a> ObjectWriter<'a> {
    pub fn new(storage: &'a GitStorage) -> Self {
        Self { storage, objects: BTreeMap::new() }
    }

    pub fn objects(self) -> Vec<Object> {
        self.objects.into_values().collect()
    }

    pub fn add(&mut self, kind: ObjectType, bytes: Vec<u8>) -> Result<Oid, StorageError> {
        let id = Oid::hash_object(kind, &bytes)?;
        // One that another process packed a moment ago may be written once more.
        if !self.storage.with_odb(|odb| Ok(odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)))? {
            self.objects.insert(id, Object { id: id.to_string(), kind: kind.str().to_owned(), bytes });
        }
        Ok(id)
    }

    /// Takes over objects that were made for the same revision.
    pub fn take(&mut self, objects: Vec<Object>) {
        let by_id = |object: Object| Some((Oid::from_str(&object.id).ok()?, object));
        self.objects.extend(objects.into_iter().filter_map(by_id));
    }

    pub fn tree(&mut self, bundle: &Bundle) -> Result<Oid, StorageError> {
        let files: Vec<(Vec<&str>, &File)> =
            bundle.files().map(|(path, file)| (path.segments().collect(), file)).collect();
        let files: Vec<(&[&str], &File)> = files.iter().map(|(path, file)| (path.as_slice(), *file)).collect();
        self.folder(&files)
    }

    /// Adds the tree of files that share a folder; each comes with the rest of its path.
    fn folder(&mut self, files: &[(&[&str], &File)]) -> Result<Oid, StorageError> {
        let mut children: BTreeMap<&str, Vec<(&[&str], &File)>> = BTreeMap::new();
        for (path, file) in files {
            if let [first, rest @ ..] = path {
                children.entry(first).or_default().push((rest, file));
            }
        }
        let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, below) in children {
            let (mode, id, key) = match below.as_slice() {
                [([], file)] => {
                    let mode = if file.executable { EXECUTABLE_MODE } else { FILE_MODE };
                    (mode, self.add(ObjectType::Blob, file.bytes.to_vec())?, name.as_bytes().to_vec())
                }
                below => (0o40_000, self.folder(below)?, [name.as_bytes(), b"/"].concat()),
            };
            let entry = [format!("{mode:o} {name}\0").as_bytes(), id.as_bytes()].concat();
            entries.push((key, entry));
        }
        entries.sort();
        self.add(ObjectType::Tree, entries.into_iter().flat_map(|(_, entry)| entry).collect())
    }
}

/// The text of a commit object.
pub(super) fn commit_text<'a>(
    tree: Oid,
    parents: impl Iterator<Item = &'a RevisionId>,
    stamp: &Stamp,
    message: &str,
) -> String {
    let parents: String = parents.map(|id| format!("parent {id}\n")).collect();
    let name: String = stamp.actor.to_string().chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let who = format!("{name} <{}@skillhub.invalid> {} +0000", stamp.actor.kind.as_str(), stamp.time.as_second());
    format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}")
}
