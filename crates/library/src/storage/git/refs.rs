//! Heads: the references of skills, one file each as they move, packed into one by and by.

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

/// The age from which on a lock of the packed references is one that a dead process left.
const OLD_LOCK: Duration = Duration::from_secs(600);

/// The packed heads as they were read last.
pub(super) struct PackedHeads {
    /// Which writing of the file they are from.
    written: Written,
    /// By skill; of several lines the first.
    heads: BTreeMap<SkillName, Oid>,
}

fn readable((name, id): (SkillName, Option<Oid>)) -> Result<(SkillName, Oid), StorageError> {
    match id {
        Some(id) => Ok((name, id)),
        None => Err(StorageError::Damaged(format!("the head of {name} cannot be read"))),
    }
}

impl GitStorage {
    /// A skill's head. Its own file goes before the packed ones, and is read before them.
    pub(super) fn head_of(&self, skill: &SkillName) -> Result<Option<Oid>, StorageError> {
        match read_optional(&self.dir, &format!("{HEADS}{skill}"))? {
            Some(bytes) => readable((skill.clone(), loose_head(&bytes))).map(|(_, id)| Some(id)),
            None => self.packed_head_of(skill),
        }
    }

    /// A head of the packed ones. They are kept until the file is another one, as who goes through many skills asks for
    /// each.
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

    /// All heads, sorted. Files of their own go before the packed ones, and are read before them: what
    /// is packed meanwhile is then found there.
    pub(super) fn all_heads(&self) -> Result<Vec<(SkillName, Oid)>, StorageError> {
        self.found_heads()?.into_iter().map(readable).collect()
    }

    /// As [`GitStorage::all_heads`]; `None` stands for a head that cannot be read.
    pub(super) fn found_heads(&self) -> Result<Vec<(SkillName, Option<Oid>)>, StorageError> {
        let mut heads = self.loose_heads_found()?;
        heads.extend(self.packed()?.lines().filter_map(packed_head).map(|(name, id)| (name, Some(id))));
        // The one that was read first stays first.
        heads.sort_by(|(a, _), (b, _)| a.cmp(b));
        heads.dedup_by(|(later, _), (first, _)| later == first);
        Ok(heads)
    }

    /// A head that cannot be read is damage: a skill must not disappear like that.
    pub(super) fn loose_heads(&self) -> Result<Vec<(SkillName, Oid)>, StorageError> {
        self.loose_heads_found()?.into_iter().map(readable).collect()
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
        String::from_utf8(bytes).map_err(|_| StorageError::Damaged("packed-refs cannot be read".to_owned()))
    }

    /// Writes a reference as git does, beside it and renamed over, so that a reader finds the old or
    /// the new one whatever stood there, and a lock that a killed process left is no obstacle.
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

    /// Moves all heads into one file, durably, and takes their own files away. Says whether it did:
    /// not while a person's git does the same, or where the file holds what only git understands.
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

    /// The heads that had files of their own, now packed.
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

    /// Removes a head's own file under its lock, if it still says what was packed.
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

    /// Removes locks of references that dead processes left; the caller holds the library's lock.
    pub(super) fn forget_old_locks(&self) -> Result<(), StorageError> {
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

/// The lines of packed references by name, each with the line that says what a tag stands for; `None`
/// where references that are not ours stand under another first line than the one we write.
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

/// What the file of a head says; `None` when that is no id.
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
