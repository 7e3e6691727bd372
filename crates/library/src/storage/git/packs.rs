//! Packs: written by checkpoints, joined when there are many small ones, and rewritten as one by garbage collection.
//!
//! A pack exists once its index does. The packs that it replaces are removed only after it is synced and verified, so
//! that a kill at any moment leaves every object somewhere. A process that has an old pack open can still read it,
//! and one that misses an old pack searches again.

use std::{
    collections::{BTreeSet, HashSet},
    io::{self, Write},
    time::Duration,
};

use cap_std::fs::{Dir, OpenOptions};
use git2::{Odb, Oid, PackBuilder};

use super::{
    EntryKind, GitStorage,
    concat::{Pack, concat, entries},
    loose, object_type, sync_dir,
};
use crate::{
    checkout::temporary_name,
    disk::{remove_if_present, sync_file},
    storage::{Object, StorageError},
};

pub(super) const FOLDER: &str = "objects/pack";

/// Mode of a pack. On Windows, a read-only file could neither be synced nor removed.
pub(super) const MODE: u32 = if cfg!(windows) { 0o644 } else { 0o444 };

/// Folder in which the pack of all objects is written before it is moved. git requires an object folder of its own.
const UNFINISHED: &str = "gc.unfinished";

/// Number of packs above which the small ones are joined.
const MANY_PACKS: usize = 8;

/// Total size limit of packs to join, in bytes. Larger packs are left to garbage collection.
const CONCAT_BYTES: u64 = 64 << 20;

/// Age from which a temporary file no longer belongs to a running process.
const OLD: Duration = Duration::from_secs(600);

/// Suffixes of a pack's files. The index is removed first, because a pack without it is ignored.
const PARTS: [&str; 5] = ["idx", "rev", "bitmap", "mtimes", "pack"];

/// A pack that may be replaced.
struct Small {
    name: String,
    bytes: u64,
}

impl GitStorage {
    /// Writes objects as one durable pack. Damaged or missing loose objects are rewritten first.
    pub(super) fn write_pack(&self, objects: &[Object]) -> Result<(), StorageError> {
        if objects.is_empty() {
            return Ok(());
        }
        let odb = self.repository()?.odb()?;
        let mut pack = self.repository()?.packbuilder()?;
        for object in objects {
            let id = Oid::from_str(&object.id)?;
            if self.loose(id).is_err() {
                self.remove_loose(&object.id);
            }
            if !odb.exists(id) {
                odb.write(object_type(&object.kind)?, &object.bytes)?;
            }
            pack.insert_object(id, None)?;
        }
        let name = self.stage(&mut pack)?;
        self.place_staged(&name)
    }

    /// Writes a pack to [`UNFINISHED`] and returns its name.
    fn stage(&self, pack: &mut PackBuilder<'_>) -> Result<String, StorageError> {
        self.dir.create_dir_all(format!("{UNFINISHED}/pack"))?;
        pack.write(&self.path.join(UNFINISHED).join("pack"), MODE)?;
        Ok(format!("pack-{}", pack.name()?.unwrap_or_default()))
    }

    /// Moves a staged pack to its final folder, synced, so that it is complete even after a power loss.
    fn place_staged(&self, name: &str) -> Result<(), StorageError> {
        let staged = self.dir.open_dir(UNFINISHED)?.open_dir("pack")?;
        let folder = self.dir.open_dir(FOLDER)?;
        for part in ["pack", "idx"] {
            let file = format!("{name}.{part}");
            sync_file(&staged, &file)?;
            staged.rename(&file, &folder, &file)?;
            sync_dir(&self.dir, FOLDER)?;
        }
        // Windows removes no folder that is open.
        drop(staged);
        Ok(self.dir.remove_dir_all(UNFINISHED)?)
    }

    /// Joins the small packs into one if there are many packs.
    pub(super) fn join_packs(&self) -> Result<(), StorageError> {
        let mut packs = self.packs()?;
        if packs.len() <= MANY_PACKS {
            return Ok(());
        }
        packs.sort_by_key(|pack| pack.bytes);
        let mut bytes = 0;
        packs.retain(|pack| {
            bytes += pack.bytes;
            bytes <= CONCAT_BYTES
        });
        if packs.len() < 2 {
            return Ok(());
        }
        let folder = self.dir.open_dir(FOLDER)?;
        let read = |pack: &Small| -> io::Result<Pack> {
            let part = |part: &str| folder.read(format!("{}.{part}", pack.name));
            Ok(Pack { pack: part("pack")?, index: part("idx")? })
        };
        let parts: Vec<Pack> = packs.iter().map(read).collect::<Result<_, _>>()?;
        let made = match concat(&parts) {
            Some(joined) => place(&folder, &joined)?,
            None => self.rebuild(&parts)?,
        };
        self.forget_packs(&packs, &made)
    }

    /// Builds one pack of several that share objects.
    fn rebuild(&self, parts: &[Pack]) -> Result<String, StorageError> {
        let mut builder = self.repository()?.packbuilder()?;
        for part in parts {
            let damaged = || StorageError::Damaged(format!("the index of pack {}", part.name()));
            for entry in entries(&part.index).ok_or_else(damaged)? {
                builder.insert_object(Oid::from_bytes(&entry.id)?, None)?;
            }
        }
        let name = self.stage(&mut builder)?;
        self.place_staged(&name)?;
        Ok(name)
    }

    /// Builds one pack of all objects, with deltas between the revisions of a file. Then verifies that it is
    /// complete, and removes the packs and loose files that it replaces.
    pub(super) fn repack(&self) -> Result<(), StorageError> {
        self.forget_unfinished()?;
        let replaced = self.packs()?;
        let odb = self.repository()?.odb()?;
        let mut ids = Vec::new();
        odb.foreach(|id| {
            ids.push(*id);
            true
        })?;
        if ids.is_empty() {
            return Ok(());
        }
        ids.iter().try_for_each(|id| self.loose(*id).map(drop))?;
        let name = self.build(&ids)?;
        self.place_staged(&name)?;
        self.forget_packs(&replaced, &name)?;
        self.forget_all_loose(&ids.into_iter().collect())
    }

    /// Writes the pack of these objects to [`UNFINISHED`] and verifies each of them there.
    fn build(&self, ids: &[Oid]) -> Result<String, StorageError> {
        let mut builder = self.repository()?.packbuilder()?;
        let mut seen = HashSet::new();
        for (skill, head) in self.all_heads()? {
            self.insert_history(&mut builder, skill.as_str(), head, &mut seen)?;
        }
        for id in ids {
            builder.insert_object(*id, None)?;
        }
        let name = self.stage(&mut builder)?;
        let unfinished = self.path.join(UNFINISHED);
        let written = Odb::new()?;
        let path = unfinished.to_str().ok_or_else(|| StorageError::Damaged("its path is not UTF-8".to_owned()))?;
        written.add_disk_alternate(path)?;
        for id in ids {
            written.read(*id)?;
        }
        Ok(name)
    }

    /// Adds the objects of a history with skill and path as names, so that the versions of a file are adjacent and
    /// become deltas.
    fn insert_history(
        &self,
        builder: &mut PackBuilder<'_>,
        skill: &str,
        head: Oid,
        seen: &mut HashSet<Oid>,
    ) -> Result<(), StorageError> {
        let mut next = Some(head);
        while let Some(id) = next.take().filter(|id| seen.insert(*id)) {
            let missing = || StorageError::Damaged(format!("the commit {id} is missing"));
            let commit = self.find_commit(id)?.ok_or_else(missing)?;
            builder.insert_object(id, None)?;
            self.insert_tree(builder, skill, commit.tree, seen)?;
            next = commit.parents.first().copied();
        }
        Ok(())
    }

    fn insert_tree(
        &self,
        builder: &mut PackBuilder<'_>,
        path: &str,
        id: Oid,
        seen: &mut HashSet<Oid>,
    ) -> Result<(), StorageError> {
        if !seen.insert(id) {
            return Ok(());
        }
        builder.insert_object(id, Some(path))?;
        for entry in self.entries(id)? {
            let path = format!("{path}/{}", String::from_utf8_lossy(&entry.name));
            match entry.kind {
                EntryKind::Folder => self.insert_tree(builder, &path, entry.id, seen)?,
                EntryKind::File { .. } if seen.insert(entry.id) => builder.insert_object(entry.id, Some(&path))?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the packs that are not marked to be kept.
    fn packs(&self) -> Result<Vec<Small>, StorageError> {
        let mut packs = Vec::new();
        for entry in self.dir.read_dir(FOLDER)? {
            let entry = entry?;
            let file = entry.file_name();
            let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".pack")) else { continue };
            let has = |part: &str| self.dir.exists(format!("{FOLDER}/{name}.{part}"));
            if has("idx") && !has("keep") && !has("promisor") {
                packs.push(Small { name: name.to_owned(), bytes: entry.metadata()?.len() });
            }
        }
        Ok(packs)
    }

    fn forget_packs(&self, packs: &[Small], but: &str) -> Result<(), StorageError> {
        let folder = self.dir.open_dir(FOLDER)?;
        let replaced = packs.iter().filter(|pack| pack.name != but);
        let files: Vec<String> = replaced.flat_map(|pack| PARTS.map(|part| format!("{}.{part}", pack.name))).collect();
        if !files.is_empty() {
            // The multi-pack index lists packs that are about to be removed. git rebuilds it.
            let _absent = folder.remove_file("multi-pack-index");
        }
        for file in files {
            remove_if_present(&folder, &file)?;
        }
        Ok(())
    }

    /// Removes loose files of packed objects, and folders that become empty.
    fn forget_all_loose(&self, packed: &BTreeSet<Oid>) -> Result<(), StorageError> {
        let objects = self.dir.open_dir("objects")?;
        for folder in objects.entries()? {
            let folder = folder?.file_name();
            let Some(start) = folder.to_str().filter(|name| name.len() == 2) else { continue };
            for file in objects.open_dir(start)?.entries()? {
                let file = file?.file_name();
                let id = file.to_str().and_then(|rest| Oid::from_str(&format!("{start}{rest}")).ok());
                if id.is_some_and(|id| packed.contains(&id)) {
                    objects.remove_file(format!("{start}/{}", file.to_string_lossy()))?;
                }
            }
            let _not_empty = objects.remove_dir(start);
        }
        Ok(())
    }

    /// Removes leftovers of packs and objects. A pack without an index is kept: it may have lost the
    /// index and contain the only copy of its objects.
    fn forget_unfinished(&self) -> Result<(), StorageError> {
        let _absent = self.dir.remove_dir_all(UNFINISHED);
        let is_known = |part: &str| PARTS.contains(&part) || matches!(part, "keep" | "promisor");
        for entry in self.dir.read_dir(FOLDER)? {
            let entry = entry?;
            let file = entry.file_name();
            let file = file.to_string_lossy();
            let (name, part) = file.rsplit_once('.').unwrap_or((&file, ""));
            let is_ours = name.starts_with("pack-") && is_known(part) || file.starts_with("multi-pack-index");
            if !is_ours && is_old(&entry)? {
                self.dir.remove_file(format!("{FOLDER}/{file}"))?;
            }
        }
        let objects = self.dir.open_dir("objects")?;
        for folder in objects.entries()? {
            let Some(start) = folder?.file_name().to_str().filter(|name| name.len() == 2).map(str::to_owned) else {
                continue;
            };
            let folder = objects.open_dir(start)?;
            for entry in folder.entries()? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(loose::UNFINISHED) && is_old(&entry)? {
                    folder.remove_file(entry.file_name())?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn is_old(entry: &cap_std::fs::DirEntry) -> io::Result<bool> {
    Ok(entry.metadata()?.modified()?.into_std().elapsed().is_ok_and(|age| age > OLD))
}

/// Writes a pack durably into git's folder, the index last. Returns its name.
pub(super) fn place(folder: &Dir, pack: &Pack) -> Result<String, StorageError> {
    let name = format!("pack-{}", pack.name());
    for (part, bytes) in [("pack", &pack.pack), ("idx", &pack.index)] {
        let unfinished = format!("tmp_{name}.{part}{}", temporary_name());
        let mut file = folder.open_with(&unfinished, OpenOptions::new().write(true).create_new(true))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        folder.rename(&unfinished, folder, format!("{name}.{part}"))?;
    }
    sync_dir(folder, ".")?;
    Ok(name)
}
