//! Search for packs without an index, and rebuilding the index.

use std::{collections::BTreeSet, io};

use cap_std::fs::Dir;
use git2::{Indexer, Repository};

use super::{
    packs::{FOLDER, MODE, is_old},
    sync_dir,
};
use crate::{disk::sync_file, storage::StorageError};

/// Returns the names of packs without an index. The flag is true if a pack is old, so that no process is writing it.
pub(super) fn packs(dir: &Dir) -> Result<Vec<(String, bool)>, StorageError> {
    let (mut packs, mut indexed) = (Vec::new(), BTreeSet::new());
    for entry in dir.read_dir(FOLDER)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        match file.strip_prefix("pack-").and_then(|rest| rest.rsplit_once('.')) {
            Some((_, "idx")) => drop(indexed.insert(file.trim_end_matches(".idx").to_owned())),
            Some((_, "pack")) => packs.push((file.trim_end_matches(".pack").to_owned(), is_old(&entry)?)),
            _ => {}
        }
    }
    packs.retain(|(name, _)| !indexed.contains(name));
    packs.sort();
    Ok(packs)
}

/// Reads a pack and rewrites it with its index, under the name derived from its content.
pub(super) fn index(repository: &Repository, dir: &Dir, name: &str) -> Result<(), StorageError> {
    let folder = repository.path().join(FOLDER);
    let odb = repository.odb()?;
    let mut indexer = Indexer::new(Some(&odb), &folder, MODE, true)?;
    io::copy(&mut dir.open(format!("{FOLDER}/{name}.pack"))?, &mut indexer)?;
    let made = format!("pack-{}", indexer.commit()?);
    for part in ["pack", "idx"] {
        sync_file(dir, &format!("{FOLDER}/{made}.{part}"))?;
    }
    sync_dir(dir, FOLDER)?;
    if made != name {
        dir.remove_file(format!("{FOLDER}/{name}.pack"))?;
    }
    Ok(())
}
