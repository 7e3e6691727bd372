//! [`Index::pack`]: the small packs that changes leave, and objects with a file each, become larger packs.
//!
//! Every object stays, reachable or not. A file is removed only when a synced pack has its object, so that publishers and
//! readers in other processes go on: who misses an object looks for new packs.

use std::{
    collections::{HashMap, HashSet},
    fs::TryLockError,
    io,
    path::Path,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};
use git2::{ObjectType, Odb, Oid, PackBuilder, Repository};

use crate::{
    Index, StoreError,
    store::{PlanOutcome, Snapshot},
};

const PACKS: &str = "objects/pack";
/// Mode of a pack. On Windows, a read-only file could neither be synced nor removed.
const MODE: u32 = if cfg!(windows) { 0o644 } else { 0o444 };
/// File whose lock has the process that packs.
const LOCK: &str = "pack.lock";
/// Packs at which a change packs before it returns. A server, which packs in the background, mostly has fewer.
const MOST_PACKS: usize = 200;
/// Folder in which a pack is written before it is moved into place. Git needs a separate folder of objects for it.
const UNFINISHED: &str = "pack.unfinished";
/// The files beside a pack, of the same name. The index goes first: without it there is no pack.
const PARTS: [&str; 5] = ["idx", "rev", "bitmap", "mtimes", "pack"];
/// Objects of a pack that may be replaced.
const MOST_OBJECTS: u64 = 100_000;
/// Folders into which paths of an index go, with room for later formats. Objects further down are packed without a name.
const DEEPEST: usize = 8;
/// Bytes of an object's id.
const ID_BYTES: usize = 20;
const INDEX_MAGIC: &[u8; 8] = b"\xfftOc\0\0\0\x02";
const FANOUT_BYTES: usize = 256 * 4;
/// Bytes of a pack's index without objects: magic, fanout and two checksums.
const EMPTY_INDEX: u64 = 8 + 1024 + 40;
/// Bytes of an object in such an index: id, checksum and offset.
const INDEXED_BYTES: u64 = 28;

/// Limits above which an index is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackBounds {
    /// Objects with a file of their own. Pushes leave them.
    pub loose_objects: usize,
    /// Bytes of these files.
    pub loose_bytes: u64,
    /// Packs of at most 100,000 objects. With more, the smallest become one.
    pub packs: usize,
    /// Objects that a pack has at least, to stay as it is, in percent of those of all smaller packs together. The higher,
    /// the fewer packs, each of which has a copy of every folder that its releases changed; and the more often is an object
    /// written again.
    pub growth_percent: u64,
}

impl Default for PackBounds {
    fn default() -> Self {
        Self { loose_objects: 20_000, loose_bytes: 256 << 20, packs: 130, growth_percent: 50 }
    }
}

impl PackBounds {
    /// Bounds for an index that nobody changes just now: few packs, each at least twice as large as the one below it.
    #[must_use]
    pub fn quiet() -> Self {
        Self { packs: 1, growth_percent: 200, ..Self::default() }
    }
}

/// Result of packing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    /// Objects that had a file of their own.
    pub objects: usize,
    /// Packs that were replaced. Who has one open keeps its bytes on the disk.
    pub packs: usize,
}

impl Index {
    /// Changes the index as [`Store::update`](crate::store::Store::update) does. Packs it afterwards, if nobody did for long.
    pub(crate) fn update<T, E: From<StoreError>>(
        &self,
        plan: impl FnMut(&Snapshot<'_>) -> Result<PlanOutcome<T>, E>,
    ) -> Result<T, E> {
        let done = self.store.update(plan)?;
        let packs = || GitDir::open(self.store.repo().path()).and_then(|folder| folder.packs());
        if self.store.is_writable() && packs().is_ok_and(|packs| packs.len() > MOST_PACKS) {
            // The change is done, so an error is left to the next one.
            let _packed = self.pack(&PackBounds::default(), || true);
        }
        Ok(done)
    }

    /// Packs the loose objects once they are past the bounds, and small packs once many are alike. Publishers and readers
    /// need not wait. It ends early, with everything as it was, when `go_on` says no or another process packs.
    ///
    /// # Errors
    /// [`StoreError`] when git or the disk fails; nothing is lost then.
    pub fn pack(&self, bounds: &PackBounds, go_on: impl Fn() -> bool) -> Result<Packed, StoreError> {
        self.store.check_writable()?;
        let repo = self.store.repo();
        let folder = GitDir::open(repo.path())?;
        let Some(_lock) = folder.lock()? else { return Ok(Packed::default()) };
        let (mut loose, bytes) = folder.loose()?;
        if loose.len() <= bounds.loose_objects && bytes <= bounds.loose_bytes {
            loose.clear();
        }
        let mut objects: HashSet<Oid> = loose.iter().copied().collect();
        let mut replaced = folder.crowded(bounds)?;
        replaced.retain(|name| folder.objects_of(name).map(|found| objects.extend(found)).is_some());
        if objects.is_empty() {
            return Ok(Packed::default());
        }
        let mut pack = Naming::new(repo, objects.clone())?.into_pack()?;
        pack.set_progress_callback(|_, _, _| go_on())?;
        let Some(name) = folder.write(&mut pack, &objects, &go_on)? else { return Ok(Packed::default()) };
        folder.place(&name)?;
        folder.remove_loose(&loose)?;
        folder.forget_packs(replaced.iter().map(String::as_str).filter(|old| *old != name))?;
        Ok(Packed { objects: loose.len(), packs: replaced.len() })
    }
}

/// Names objects by their paths, so that the states of one file or folder are stored as what differs.
struct Naming<'repo> {
    repo: &'repo Repository,
    pack: PackBuilder<'repo>,
    left: HashSet<Oid>,
}

impl<'repo> Naming<'repo> {
    fn new(repo: &'repo Repository, objects: HashSet<Oid>) -> Result<Self, git2::Error> {
        Ok(Self { repo, pack: repo.packbuilder()?, left: objects })
    }

    /// All objects: those of commits by their paths, the others without a name. Each commit comes before its parent: the
    /// states of a folder differ least from those of the commits beside them.
    fn into_pack(mut self) -> Result<PackBuilder<'repo>, git2::Error> {
        let mut parents = self.parents()?;
        let above: HashSet<Oid> = parents.values().flatten().copied().collect();
        let (inner, newest): (Vec<Oid>, Vec<Oid>) = parents.keys().partition(|id| above.contains(*id));
        for start in newest.into_iter().chain(inner) {
            let mut next = Some(start);
            while let Some((id, parent)) = next.and_then(|id| parents.remove_entry(&id)) {
                self.insert(id, None)?;
                self.insert_tree("", self.repo.find_commit(id)?.tree_id(), 0)?;
                next = parent;
            }
        }
        for id in std::mem::take(&mut self.left) {
            self.pack.insert_object(id, None)?;
        }
        Ok(self.pack)
    }

    /// The commits, each with its first parent.
    fn parents(&self) -> Result<HashMap<Oid, Option<Oid>>, git2::Error> {
        let odb = self.repo.odb()?;
        let mut parents = HashMap::new();
        for id in &self.left {
            if odb.read_header(*id)?.1 == ObjectType::Commit {
                parents.insert(*id, self.repo.find_commit(*id)?.parent_ids().next());
            }
        }
        Ok(parents)
    }

    /// Inserts an object once. `false` for one that is in already, or is not to be packed.
    fn insert(&mut self, id: Oid, path: Option<&str>) -> Result<bool, git2::Error> {
        let is_new = self.left.remove(&id);
        if is_new {
            self.pack.insert_object(id, path)?;
        }
        Ok(is_new)
    }

    fn insert_tree(&mut self, path: &str, id: Oid, depth: usize) -> Result<(), git2::Error> {
        if depth > DEEPEST || !self.insert(id, Some(path))? {
            return Ok(());
        }
        for entry in &self.repo.find_tree(id)? {
            if !self.left.contains(&entry.id()) {
                continue;
            }
            let path = format!("{path}/{}", String::from_utf8_lossy(entry.name_bytes()));
            match entry.kind() {
                Some(ObjectType::Tree) => self.insert_tree(&path, entry.id(), depth + 1)?,
                _ => self.insert(entry.id(), Some(&path)).map(drop)?,
            }
        }
        Ok(())
    }
}

/// The folder of a bare repository.
struct GitDir<'a> {
    dir: Dir,
    path: &'a Path,
}

impl<'a> GitDir<'a> {
    fn open(path: &'a Path) -> io::Result<Self> {
        Ok(Self { dir: Dir::open_ambient_dir(path, ambient_authority())?, path })
    }

    /// The objects that have a file of their own, and the bytes of these files.
    fn loose(&self) -> io::Result<(Vec<Oid>, u64)> {
        let (objects, mut found, mut bytes) = (self.dir.open_dir("objects")?, Vec::new(), 0);
        for folder in objects.entries()? {
            let folder = folder?.file_name();
            let Some(start) = folder.to_str().filter(|name| name.len() == 2) else { continue };
            for file in objects.open_dir(start)?.entries()? {
                let file = file?;
                let hex = format!("{start}{}", file.file_name().to_string_lossy());
                let Some(id) = Oid::from_str(&hex).ok().filter(|_| hex.len() == 2 * ID_BYTES) else { continue };
                bytes += file.metadata()?.len();
                found.push(id);
            }
        }
        Ok((found, bytes))
    }

    /// Locks the folder for packing; `None` while another process packs. The lock ends with the file or the process.
    fn lock(&self) -> io::Result<Option<std::fs::File>> {
        let file = self.dir.create(LOCK)?.into_std();
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The names of all packs.
    fn packs(&self) -> io::Result<Vec<String>> {
        let files = self.dir.open_dir(PACKS)?.entries()?.map(|entry| Ok(entry?.file_name()));
        let names = files.collect::<io::Result<Vec<_>>>()?;
        Ok(names.iter().filter_map(|file| Some(file.to_str()?.strip_suffix(".pack")?.to_owned())).collect())
    }

    /// The smallest packs, so many that each other one is large enough to stay; none while there are at most a number.
    /// Packs that somebody asked git to keep are not counted.
    fn crowded(&self, bounds: &PackBounds) -> io::Result<Vec<String>> {
        let folder = self.dir.open_dir(PACKS)?;
        let mut packs = Vec::new();
        for name in self.packs()? {
            let has = |part: &str| folder.exists(format!("{name}.{part}"));
            if !has("idx") || has("keep") || has("promisor") {
                continue;
            }
            let bytes = folder.metadata(format!("{name}.idx"))?.len();
            let objects = bytes.saturating_sub(EMPTY_INDEX) / INDEXED_BYTES;
            if objects <= MOST_OBJECTS {
                packs.push((objects, name));
            }
        }
        if packs.len() <= bounds.packs {
            return Ok(Vec::new());
        }
        packs.sort_unstable();
        packs.truncate(smallest(packs.iter().map(|(objects, _)| *objects), bounds.growth_percent));
        Ok(packs.into_iter().map(|(_, name)| name).collect())
    }

    /// The objects of a pack; `None` when its index has another format or cannot be read.
    fn objects_of(&self, pack: &str) -> Option<Vec<Oid>> {
        let index = self.dir.read(format!("{PACKS}/{pack}.idx")).ok()?;
        let (fanout, rest) = index.strip_prefix(INDEX_MAGIC)?.split_at_checked(FANOUT_BYTES)?;
        let count = u32::from_be_bytes(*fanout.last_chunk()?) as usize;
        let ids = rest.get(..count.checked_mul(ID_BYTES)?)?;
        ids.as_chunks::<ID_BYTES>().0.iter().map(|id| Oid::from_bytes(id).ok()).collect()
    }

    /// Writes a pack beside the others and looks whether it has all objects; gives its name. `None` when it was to end.
    fn write(
        &self,
        pack: &mut PackBuilder<'_>,
        objects: &HashSet<Oid>,
        go_on: impl Fn() -> bool,
    ) -> Result<Option<String>, StoreError> {
        let _of_a_process_that_was_killed = self.dir.remove_dir_all(UNFINISHED);
        self.dir.create_dir_all(format!("{UNFINISHED}/pack"))?;
        let unfinished = self.path.join(UNFINISHED);
        match pack.write(&unfinished.join("pack"), MODE) {
            Err(_) if !go_on() => return Ok(None),
            written => written?,
        }
        let written = Odb::new()?;
        let path = unfinished.to_str().ok_or_else(|| git2::Error::from_str("the path of the index is not UTF-8"))?;
        written.add_disk_alternate(path)?;
        if let Some(missing) = objects.iter().find(|id| !written.exists(**id)) {
            return Err(git2::Error::from_str(&format!("the new pack lacks the object {missing}")).into());
        }
        Ok(Some(format!("pack-{}", pack.name()?.unwrap_or_default())))
    }

    /// Gives a pack that was written its place. It is whole there, also after a power loss.
    fn place(&self, name: &str) -> io::Result<()> {
        let (written, packs) = (self.dir.open_dir(UNFINISHED)?.open_dir("pack")?, self.dir.open_dir(PACKS)?);
        for part in ["pack", "idx"] {
            let file = format!("{name}.{part}");
            // Windows syncs only files that are open for writing, and no folders.
            written.open_with(&file, OpenOptions::new().read(true).write(cfg!(windows)))?.sync_all()?;
            written.rename(&file, &packs, &file)?;
            if cfg!(not(windows)) {
                packs.open(".")?.sync_all()?;
            }
        }
        // Windows removes no folder that is open.
        drop(written);
        self.dir.remove_dir_all(UNFINISHED)
    }

    /// Removes files of objects. Their folders stay: a publisher may be about to write there.
    fn remove_loose(&self, objects: &[Oid]) -> io::Result<()> {
        let folder = self.dir.open_dir("objects")?;
        objects.iter().try_for_each(|id| {
            let hex = id.to_string();
            let (start, rest) = hex.split_at(2);
            remove(&folder, &format!("{start}/{rest}"))
        })
    }

    fn forget_packs<'b>(&self, mut names: impl Iterator<Item = &'b str>) -> io::Result<()> {
        let folder = self.dir.open_dir(PACKS)?;
        // A list of all packs would name some that are gone; git makes it again.
        remove(&folder, "multi-pack-index")?;
        names.try_for_each(|name| PARTS.iter().try_for_each(|part| remove(&folder, &format!("{name}.{part}"))))
    }
}

/// Number of packs, from the smallest, that are to become one.
fn smallest(sizes: impl Iterator<Item = u64>, growth_percent: u64) -> usize {
    let (mut all, mut joined) = (0, 0);
    for (at, objects) in sizes.enumerate() {
        if objects * 100 < growth_percent * all {
            joined = at + 1;
        }
        all += objects;
    }
    joined
}

fn remove(folder: &Dir, file: &str) -> io::Result<()> {
    match folder.remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
