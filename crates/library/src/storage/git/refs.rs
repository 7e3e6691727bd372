//! Heads: the references of skills. Each is a file when it moves, and is later packed into one file.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use cap_std::fs::OpenOptions;
use git2::Oid;
use skill::SkillName;

use super::{GitStorage, HEADS, open_or_create, sync_dir};
use crate::{
    disk::{Written, read_optional, written},
    storage::{HeadChange, StorageError},
};

const PACKED: &str = "packed-refs";
const LOCK: &str = "packed-refs.lock";
const FIRST_LINE: &str = "# pack-refs with: peeled fully-peeled sorted ";

/// Age from which a lock of the packed references was left by a dead process.
const OLD_LOCK: Duration = Duration::from_secs(600);

/// Cache of the packed heads.
pub(super) struct PackedHeads {
    /// Fingerprint of the last write of the file.
    written: Written,
    /// Heads by skill. The first of several lines for a skill counts.
    heads: BTreeMap<SkillName, Oid>,
}

fn readable(name: SkillName, id: Option<Oid>) -> Result<(SkillName, Oid), StorageError> {
    match id {
        Some(id) => Ok((name, id)),
        None => Err(StorageError::Damaged(format!("cannot read the head of {name}"))),
    }
}

impl GitStorage {
    /// Reads a skill's head. A loose reference takes precedence over a packed one and is read first.
    pub(super) fn head_of(&self, skill: &SkillName) -> Result<Option<Oid>, StorageError> {
        match read_optional(&self.dir, &format!("{HEADS}{skill}"))? {
            Some(bytes) => readable(skill.clone(), loose_head(&bytes)).map(|(_, id)| Some(id)),
            None => self.packed_head_of(skill),
        }
    }

    /// Reads a packed head. The parsed file is cached until it changes, because batches look up many skills.
    fn packed_head_of(&self, skill: &SkillName) -> Result<Option<Oid>, StorageError> {
        let written = written(&self.dir, PACKED);
        let mut kept = self.packed_heads.borrow_mut();
        if written.is_none() || kept.as_ref().is_none_or(|kept| Some(kept.written) != written) {
            let text = self.packed()?;
            let mut heads = text.lines().filter_map(packed_head);
            let Some(written) = written else {
                return Ok(heads.find(|(name, _)| name == skill).map(|(_, id)| id));
            };
            let heads = heads.rev();
            *kept = Some(PackedHeads { written, heads: heads.collect() });
        }
        Ok(kept.as_ref().and_then(|kept| kept.heads.get(skill).copied()))
    }

    /// Reads all heads, sorted. Loose references take precedence over packed ones and are read first, so that a
    /// reference packed concurrently is still found.
    pub(super) fn all_heads(&self) -> Result<Vec<(SkillName, Oid)>, StorageError> {
        self.found_heads()?.into_iter().map(|(name, id)| readable(name, id)).collect()
    }

    /// As [`GitStorage::all_heads`]; `None` stands for a head that cannot be read.
    pub(super) fn found_heads(&self) -> Result<Vec<(SkillName, Option<Oid>)>, StorageError> {
        let mut heads = self.loose_heads_found()?;
        heads.extend(self.packed()?.lines().filter_map(packed_head).map(|(name, id)| (name, Some(id))));
        // The sort is stable, so the loose reference stays first.
        heads.sort_by(|(a, _), (b, _)| a.cmp(b));
        heads.dedup_by(|(later, _), (first, _)| later == first);
        Ok(heads)
    }

    /// Reads the loose heads. An unreadable head is an error, so that a skill never disappears silently.
    pub(super) fn loose_heads(&self) -> Result<Vec<(SkillName, Oid)>, StorageError> {
        self.loose_heads_found()?.into_iter().map(|(name, id)| readable(name, id)).collect()
    }

    fn loose_heads_found(&self) -> Result<Vec<(SkillName, Option<Oid>)>, StorageError> {
        let folder = match self.dir.open_dir(HEADS) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut heads = Vec::new();
        for entry in folder.read_dir(".")? {
            let file = entry?.file_name();
            let Some(name) = file.to_str().and_then(|file| SkillName::parse(file).ok()) else { continue };
            let Some(bytes) = read_optional(&folder, name.as_str())? else { continue };
            heads.push((name, loose_head(&bytes)));
        }
        Ok(heads)
    }

    fn packed(&self) -> Result<String, StorageError> {
        let bytes = read_optional(&self.dir, PACKED)?.unwrap_or_default();
        String::from_utf8(bytes).map_err(|_| StorageError::Damaged("cannot read packed-refs".to_owned()))
    }

    /// Writes a reference like git does: to a temporary file that is renamed. A reader finds the old or the new one.
    /// A lock left by a killed process does not prevent the write.
    pub(super) fn move_head(&self, head: &HeadChange, durable: bool) -> Result<(), StorageError> {
        let heads = open_or_create(&self.dir, HEADS)?;
        let lock = format!("{}.lock", head.skill);
        let write = || -> io::Result<()> {
            let mut file = heads.create(&lock)?;
            file.write_all(format!("{}\n", head.new).as_bytes())?;
            if durable {
                file.sync_all()?;
            }
            heads.rename(&lock, &heads, &head.skill)
        };
        let written = write();
        if written.is_err() {
            let _best_effort = heads.remove_file(&lock);
        }
        Ok(written?)
    }

    /// Moves all heads into one file, durably, and removes their loose files. Returns false without changes if git is
    /// doing the same concurrently, or if the file has content that only git understands.
    pub(super) fn pack_heads(&self) -> Result<bool, StorageError> {
        let Some(lock) = self.lock_packed()? else { return Ok(false) };
        let packed = self.write_packed(lock);
        match packed {
            Ok(Some(heads)) => {
                for (name, id) in heads {
                    self.forget_loose_head(&name, id)?;
                }
                sync_dir(&self.dir, HEADS)?;
                Ok(true)
            }
            other => {
                let _best_effort = self.dir.remove_file(LOCK);
                other.map(|_| false)
            }
        }
    }

    fn lock_packed(&self) -> Result<Option<cap_std::fs::File>, StorageError> {
        let age = self.dir.metadata(LOCK).and_then(|lock| lock.modified()).map(|made| made.into_std().elapsed());
        if age.is_ok_and(|age| age.is_ok_and(|age| age > OLD_LOCK)) {
            let _someone_else_did = self.dir.remove_file(LOCK);
        }
        match self.dir.open_with(LOCK, OpenOptions::new().write(true).create_new(true)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the packed file and returns the heads that were loose, or `None` if it cannot be rewritten.
    fn write_packed(&self, mut file: cap_std::fs::File) -> Result<Option<Vec<(SkillName, Oid)>>, StorageError> {
        let loose = self.loose_heads()?;
        let Some(mut lines) = lines_by_name(&self.packed()?) else { return Ok(None) };
        for (name, id) in &loose {
            lines.insert(format!("{HEADS}{name}"), format!("{id} {HEADS}{name}\n"));
        }
        let text: String = lines.into_values().collect();
        file.write_all(format!("{FIRST_LINE}\n{text}").as_bytes())?;
        file.sync_all()?;
        self.dir.rename(LOCK, &self.dir, PACKED)?;
        sync_dir(&self.dir, ".")?;
        Ok(Some(loose))
    }

    /// Removes the loose file of a head under its lock, unless it moved since it was packed.
    fn forget_loose_head(&self, name: &SkillName, id: Oid) -> Result<(), StorageError> {
        let path = format!("{HEADS}{name}");
        let lock = format!("{path}.lock");
        match self.dir.open_with(&lock, OpenOptions::new().write(true).create_new(true)) {
            Ok(_locked) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let now = read_optional(&self.dir, &path);
        if now.is_ok_and(|now| now.is_some_and(|now| now == format!("{id}\n").as_bytes())) {
            self.dir.remove_file(&path)?;
        }
        Ok(self.dir.remove_file(&lock)?)
    }

    /// Removes locks of references left by dead processes. The caller holds the library's lock.
    pub(super) fn remove_stale_locks(&self) -> Result<(), StorageError> {
        let Ok(folder) = self.dir.open_dir(HEADS) else { return Ok(()) };
        for entry in folder.read_dir(".")? {
            let entry = entry?;
            let made = entry.metadata().and_then(|lock| lock.modified()).map(cap_std::time::SystemTime::into_std);
            let is_old = made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > OLD_LOCK));
            if is_old && entry.file_name().to_str().is_some_and(|name| name.ends_with(".lock")) {
                folder.remove_file(entry.file_name())?;
            }
        }
        Ok(())
    }
}

/// Groups the lines of packed references by name, each with the peeled id of a tag. Returns `None` if a file with
/// another first line than ours has references outside of ours.
fn lines_by_name(packed: &str) -> Option<BTreeMap<String, String>> {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut last = None;
    let is_known = packed.lines().next().is_none_or(|first| first.trim_end() == FIRST_LINE.trim_end());
    for line in packed.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with('^') {
            lines.get_mut(last.as_ref()?)?.push_str(&format!("{line}\n"));
            continue;
        }
        let (_, name) = line.split_once(' ')?;
        if !is_known && !name.starts_with(HEADS) {
            return None;
        }
        lines.insert(name.to_owned(), format!("{line}\n"));
        last = Some(name.to_owned());
    }
    Some(lines)
}

/// Parses the file of a loose head; `None` if it is not an id.
fn loose_head(bytes: &[u8]) -> Option<Oid> {
    parse_id(std::str::from_utf8(bytes).ok()?.trim_end())
}

fn packed_head(line: &str) -> Option<(SkillName, Oid)> {
    let (id, name) = line.split_once(' ')?;
    Some((SkillName::parse(name.strip_prefix(HEADS)?).ok()?, parse_id(id)?))
}

fn parse_id(text: &str) -> Option<Oid> {
    Oid::from_str(text).ok().filter(|_| text.len() == 40)
}
