//! [`Disk`]: a model of the durable part of a folder while a process works on it.
//!
//! A file's bytes are durable as of its last sync, a folder's names as of the folder's. Everything else is pending: a
//! power loss may keep it, lose it, or keep some of it. Real file systems lose less, because they write names in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use testkit::Random;

use super::{
    boundaries::{Boundary, Effect},
    tracer::{Order, Watcher},
};

/// Block size of the disk.
const BLOCK_BYTES: usize = 4096;
const ROOT: Id = 0;

/// Identifies a file, folder or link independently of its name.
type Id = usize;
/// A folder and a name in it.
type Name = (Id, String);

/// A node of the file system, independent of its names.
#[derive(Debug, Clone)]
enum Node {
    Folder,
    Link(PathBuf),
    /// `durable` is the synced content. `last` is the content when the name was removed.
    File {
        durable: Option<Content>,
        last: Option<Content>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    bytes: Vec<u8>,
    mode: u32,
}

/// A change of names that is not durable yet, one step each.
#[derive(Debug, Clone)]
enum Change {
    Put(Name, Id),
    Take(Name, Id),
    /// Moves the first node from the first name to the second, and the other one, if any, back.
    Move(Name, Name, Id, Option<Id>),
}

impl Change {
    fn names(&self) -> Vec<&Name> {
        match self {
            Self::Put(name, _) | Self::Take(name, _) => vec![name],
            Self::Move(from, to, ..) => vec![from, to],
        }
    }

    fn apply(&self, names: &mut BTreeMap<Name, Id>) {
        match self {
            Self::Put(name, id) => drop(names.insert(name.clone(), *id)),
            Self::Take(name, id) => {
                if names.get(name) == Some(id) {
                    names.remove(name);
                }
            }
            Self::Move(from, to, id, back) => {
                match back {
                    Some(other) => drop(names.insert(from.clone(), *other)),
                    None if names.get(from) == Some(id) => drop(names.remove(from)),
                    None => {}
                }
                names.insert(to.clone(), *id);
            }
        }
    }
}

/// The files below a folder, in their current and their durable state.
pub struct Disk {
    root: PathBuf,
    nodes: Vec<Node>,
    now: BTreeMap<Name, Id>,
    durable: BTreeMap<Name, Id>,
    pending: Vec<Change>,
    kill_after: usize,
}

impl Watcher for Disk {
    fn before(&mut self, boundary: &Boundary) -> Order {
        match &boundary.effect {
            Effect::Remove(path) | Effect::Rename { to: path, exchange: false, .. } => self.note_last(path),
            _ => {}
        }
        if boundary.number == self.kill_after { Order::GoThenKill } else { Order::Go }
    }

    fn done(&mut self, boundary: &Boundary) {
        self.follow(&boundary.effect);
    }
}

impl Disk {
    /// A fully durable folder, and the boundary after which the power fails.
    pub fn of(root: &Path, kill_after: usize) -> Self {
        let mut disk = Self {
            root: root.to_owned(),
            nodes: vec![Node::Folder],
            now: BTreeMap::new(),
            durable: BTreeMap::new(),
            pending: Vec::new(),
            kill_after,
        };
        disk.read(root, ROOT).unwrap();
        disk.durable = disk.now.clone();
        disk
    }

    fn read(&mut self, folder: &Path, id: Id) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let node = if kind.is_dir() {
                Node::Folder
            } else if kind.is_symlink() {
                Node::Link(fs::read_link(&path)?)
            } else {
                Node::File { durable: content(&path), last: None }
            };
            let child = self.add(node);
            self.now.insert((id, entry.file_name().into_string().unwrap()), child);
            if kind.is_dir() {
                self.read(&path, child)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Returns the parent folder of a path, and its name there.
    fn name(&self, path: &Path) -> Option<Name> {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((self.find(path.parent()?)?, name))
    }

    fn find(&self, path: &Path) -> Option<Id> {
        let mut id = ROOT;
        for part in path.strip_prefix(&self.root).ok()? {
            id = *self.now.get(&(id, part.to_str()?.to_owned()))?;
        }
        Some(id)
    }

    /// Saves the content of a file before its name is removed.
    fn note_last(&mut self, path: &Path) {
        if let Some(id) = self.find(path)
            && let Some(Node::File { last, .. }) = self.nodes.get_mut(id)
        {
            *last = content(path);
        }
    }

    fn follow(&mut self, effect: &Effect) {
        match effect {
            Effect::Create { file, .. } if self.find(file).is_none() => {
                self.put(file, Node::File { durable: None, last: None });
            }
            Effect::MakeFolder(path) => self.put(path, Node::Folder),
            Effect::Symlink { target, path } => self.put(path, Node::Link(target.clone())),
            Effect::Link { from, to } => {
                let (id, name) = (self.find(from).unwrap(), self.name(to).unwrap());
                self.change(Change::Put(name, id));
            }
            Effect::Remove(path) => {
                let (id, name) = (self.find(path).unwrap(), self.name(path).unwrap());
                self.change(Change::Take(name, id));
            }
            Effect::Rename { from, to, exchange } => {
                let back = if *exchange { self.find(to) } else { None };
                let (id, from, to) = (self.find(from).unwrap(), self.name(from).unwrap(), self.name(to).unwrap());
                self.change(Change::Move(from, to, id, back));
            }
            Effect::Sync(path) => self.sync(path),
            Effect::Create { .. } | Effect::Print | Effect::Write(..) | Effect::Resize(_) | Effect::Mode(_) => {}
        }
    }

    fn put(&mut self, path: &Path, node: Node) {
        let (name, id) = (self.name(path).unwrap(), self.add(node));
        self.change(Change::Put(name, id));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.pending.push(change);
    }

    fn sync(&mut self, path: &Path) {
        let Some(id) = self.find(path) else { return };
        match &mut self.nodes[id] {
            Node::File { durable, .. } => *durable = content(path),
            Node::Folder => self.sync_folder(id),
            Node::Link(_) => {}
        }
    }

    /// Makes the names of a folder durable, with everything that happened earlier to the other names of its moves.
    fn sync_folder(&mut self, folder: Id) {
        let mut names = BTreeSet::new();
        let mut synced = vec![false; self.pending.len()];
        for (at, change) in self.pending.iter().enumerate().rev() {
            let of_change = change.names();
            if of_change.iter().any(|name| name.0 == folder || names.contains(*name)) {
                synced[at] = true;
                names.extend(of_change.into_iter().cloned());
            }
        }
        let mut synced = synced.into_iter();
        for change in std::mem::take(&mut self.pending) {
            if synced.next() == Some(true) {
                change.apply(&mut self.durable);
            } else {
                self.pending.push(change);
            }
        }
    }

    /// Returns the number of pending directory changes.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Applies a possible outcome of a power loss to the folder.
    pub fn lose_power(&mut self, random: &mut Random) {
        self.assert_is_real();
        let current = self.contents_now();
        let mut names = self.durable.clone();
        let all = random.below(4);
        let kept = random.below(self.pending.len() + 1);
        for (at, change) in self.pending.iter().enumerate() {
            let is_kept = match all {
                0 => at < kept,
                1 => true,
                _ => random.below(2) == 0,
            };
            // A folder is never removed while an entry survives in it.
            let is_full = matches!(change, Change::Take(_, id) if below(&names, *id).next().is_some());
            if is_kept && !is_full {
                change.apply(&mut names);
            }
        }
        let contents =
            (0..self.nodes.len()).map(|id| self.content_left(id, current.get(&id), random)).collect::<Vec<_>>();
        for entry in fs::read_dir(&self.root).unwrap() {
            let path = entry.unwrap().path();
            fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)).unwrap();
        }
        self.write(&self.root.clone(), ROOT, &names, &contents, &mut BTreeSet::new()).unwrap();
    }

    /// Returns the bytes of each named file, as a process would read them.
    fn contents_now(&self) -> BTreeMap<Id, Content> {
        let mut contents = BTreeMap::new();
        let mut folders = vec![(ROOT, self.root.clone())];
        while let Some((folder, path)) = folders.pop() {
            for ((_, name), id) in below(&self.now, folder) {
                match self.nodes[*id] {
                    Node::Folder => folders.push((*id, path.join(name))),
                    Node::Link(_) => {}
                    Node::File { .. } => drop(content(&path.join(name)).map(|content| contents.insert(*id, content))),
                }
            }
        }
        contents
    }

    /// Chooses the surviving content of a file: the synced content, the last one, or a mixture.
    fn content_left(&self, id: Id, current: Option<&Content>, random: &mut Random) -> Option<Content> {
        let Node::File { durable, last } = &self.nodes[id] else { return None };
        let nothing = Content { bytes: Vec::new(), mode: 0o644 };
        let old = durable.clone().unwrap_or(nothing);
        let new = current.or(last.as_ref()).cloned().unwrap_or_else(|| old.clone());
        let mode = if random.below(2) == 0 { old.mode } else { new.mode };
        // If a synced file only grew, its synced bytes survive.
        let safe = if new.bytes.starts_with(&old.bytes) { old.bytes.len() } else { 0 };
        let mut bytes = match random.below(5) {
            0 => old.bytes.clone(),
            1 => new.bytes[..safe].to_vec(),
            _ => new.bytes.clone(),
        };
        match random.below(3) {
            0 if bytes.len() > safe => bytes.truncate(safe + random.below(bytes.len() - safe)),
            1 if bytes.len() > safe => {
                let from = (safe + random.below(bytes.len() - safe)) / BLOCK_BYTES * BLOCK_BYTES;
                let to = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(from + BLOCK_BYTES) };
                bytes[from.max(safe)..to].fill(0);
            }
            _ => {}
        }
        if old == new { Some(old) } else { Some(Content { bytes, mode }) }
    }

    fn write(
        &self,
        path: &Path,
        folder: Id,
        names: &BTreeMap<Name, Id>,
        contents: &[Option<Content>],
        above: &mut BTreeSet<Id>,
    ) -> io::Result<()> {
        // A lost move that would put a folder below itself makes it unreachable.
        if !above.insert(folder) {
            return Ok(());
        }
        for ((_, name), id) in below(names, folder) {
            let path = path.join(name);
            match &self.nodes[*id] {
                Node::Link(target) => symlink(target, path)?,
                Node::Folder => {
                    fs::create_dir(&path)?;
                    self.write(&path, *id, names, contents, above)?;
                }
                Node::File { .. } => {
                    let Some(content) = &contents[*id] else { continue };
                    fs::write(&path, &content.bytes)?;
                    fs::set_permissions(&path, fs::Permissions::from_mode(content.mode))?;
                }
            }
        }
        above.remove(&folder);
        Ok(())
    }

    /// Asserts that the tracked names are those that a walk finds.
    fn assert_is_real(&self) {
        let mut known = BTreeSet::new();
        let mut folders = vec![(ROOT, self.root.clone())];
        while let Some((folder, path)) = folders.pop() {
            for ((_, name), id) in below(&self.now, folder) {
                known.insert(path.join(name));
                folders.extend(matches!(self.nodes[*id], Node::Folder).then(|| (*id, path.join(name))));
            }
        }
        let found = crate::support::tree(&self.root).into_keys().map(|path| self.root.join(path)).collect();
        assert_eq!(known, found, "every change of a name was followed");
    }
}

/// Returns the names in a folder.
fn below(names: &BTreeMap<Name, Id>, folder: Id) -> impl Iterator<Item = (&Name, &Id)> {
    names.range((folder, String::new())..(folder + 1, String::new()))
}

fn content(path: &Path) -> Option<Content> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    Some(Content { bytes: fs::read(path).ok()?, mode })
}
