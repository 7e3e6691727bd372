//! [`GitStorage`]: revisions as commits of a bare git repository, one reference a skill.

mod ahead;
mod check;
mod concat;
mod lone;
mod loose;
mod objects;
mod packs;
mod refs;

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use git2::{ObjectType, Odb, OdbLookupFlags, Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};
use jiff::Timestamp;
use skill::{Bundle, Digest, File, Limits, SkillName, SkillPath};

use objects::{Commit, Entry, EntryKind};

use super::{Checked, Damage, HeadChange, Object, Prepared, Storage, StorageError, message::Trailers};
use crate::{
    disk::sync_folder,
    revision::{Action, Content, NewRevision, Revision, RevisionId, Stamp, Upstream},
};

const HEADS: &str = "refs/skills/";
pub(crate) const UNFINISHED: &str = "history.unfinished";

/// References with a file of their own from which on they are packed into one.
const MANY_HEADS: usize = 64;

/// Revisions that are kept in memory: about 2 MB.
const REMEMBERED_REVISIONS: usize = 4096;
const FILE_MODE: i32 = 0o100_644;
const EXECUTABLE_MODE: i32 = 0o100_755;

/// What makes a folder a repository.
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

/// A bare repository in the home, with `refs/skills/<name>` for each skill.
pub(super) struct GitStorage {
    path: PathBuf,
    dir: Dir,
    /// The objects; `None` where the path is not UTF-8.
    odb: Option<Odb<'static>>,
    repository: OnceCell<Repository>,
    packed_heads: RefCell<Option<refs::PackedHeads>>,
    /// The revisions that were read, with their trees: an install asks for the head of each skill more than once.
    read: RefCell<HashMap<RevisionId, (Revision, Oid)>>,
}

impl GitStorage {
    pub fn open(folder: &Path, create: bool) -> Result<Option<Self>, StorageError> {
        let dir = match Dir::open_ambient_dir(folder, ambient_authority()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && create => make_repository(folder)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if PARTS.iter().any(|part| dir.symlink_metadata(part).is_err()) {
            return Err(StorageError::Damaged(format!("{} is no git repository", folder.display())));
        }
        let odb = match folder.join("objects").to_str() {
            Some(objects) => {
                let odb = Odb::new()?;
                odb.add_disk_alternate(objects)?;
                Some(odb)
            }
            None => None,
        };
        Ok(Some(Self {
            path: folder.to_owned(),
            dir,
            odb,
            repository: OnceCell::new(),
            packed_heads: RefCell::default(),
            read: RefCell::default(),
        }))
    }

    /// The repository with its configuration, for what writes packs.
    pub(in crate::storage) fn repository(&self) -> Result<&Repository, StorageError> {
        if let Some(opened) = self.repository.get() {
            return Ok(opened);
        }
        let flags = RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let none: &[&Path] = &[];
        let opened = Repository::open_ext(&self.path, flags, none)?;
        Ok(self.repository.get_or_init(|| opened))
    }

    fn commit(&self, id: &RevisionId) -> Result<Commit, StorageError> {
        let unknown = || StorageError::UnknownRevision(id.to_string());
        self.find_commit(Oid::from_str(id.as_str()).map_err(|_| unknown())?)?.ok_or_else(unknown)
    }

    fn tree_of(&self, id: &RevisionId) -> Result<Oid, StorageError> {
        match self.read.borrow().get(id) {
            Some((_, tree)) => Ok(*tree),
            None => Ok(self.commit(id)?.tree),
        }
    }

    fn read_file(&self, entry: &Entry, executable: bool) -> Result<File, StorageError> {
        Ok(File { bytes: self.needed(entry.id, ObjectType::Blob)?.into(), executable })
    }

    fn read_tree(&self, tree: Oid, prefix: &str, files: &mut Vec<(SkillPath, File)>) -> Result<(), StorageError> {
        for entry in self.entries(tree)? {
            let damaged = |what: &str| StorageError::Damaged(format!("{prefix}: {what}"));
            let name = std::str::from_utf8(&entry.name).map_err(|_| damaged("a name is not UTF-8"))?;
            let path = format!("{prefix}{name}");
            match entry.kind {
                EntryKind::Folder => self.read_tree(entry.id, &format!("{path}/"), files)?,
                EntryKind::File { executable } => {
                    let path = SkillPath::parse(&path).map_err(|error| damaged(&error.to_string()))?;
                    files.push((path, self.read_file(&entry, executable)?));
                }
                EntryKind::Other => return Err(damaged("neither a file nor a folder")),
            }
        }
        Ok(())
    }
}

impl GitStorage {
    /// A release as a revision of its own, without a parent.
    fn upstream(&self, upstream: &Upstream, stamp: &Stamp) -> Result<Prepared, StorageError> {
        let Upstream { files, origin } = upstream;
        let release = NewRevision::new(Content::Cleared(files.clone()), Action::Install, stamp.clone());
        self.prepare(None, &release.with_origin(Some(origin.clone())))
    }
}

impl Storage for GitStorage {
    fn heads(&self) -> Result<Vec<(SkillName, RevisionId)>, StorageError> {
        Ok(self.all_heads()?.into_iter().map(|(name, id)| (name, RevisionId::new(skill::hex(id.as_bytes())))).collect())
    }

    fn heads_found(&self) -> Result<Vec<(SkillName, Option<RevisionId>)>, StorageError> {
        let id = |id: Oid| RevisionId::new(id.to_string());
        Ok(Self::heads_found(self)?.into_iter().map(|(name, found)| (name, found.map(id))).collect())
    }

    fn head(&self, skill: &SkillName) -> Result<Option<Revision>, StorageError> {
        let Some(id) = self.head_id(skill)? else { return Ok(None) };
        self.revision(&id).map(Some).map_err(|error| match error {
            StorageError::UnknownRevision(id) => {
                StorageError::Damaged(format!("the head of {skill} is {id}, which is missing"))
            }
            other => other,
        })
    }

    fn head_id(&self, skill: &SkillName) -> Result<Option<RevisionId>, StorageError> {
        Ok(self.head_of(skill)?.map(|id| RevisionId::new(id.to_string())))
    }

    fn object_of(&self, file: &File) -> Result<Object, StorageError> {
        let id = Oid::hash_object(ObjectType::Blob, &file.bytes)?.to_string();
        Ok(Object { id, kind: ObjectType::Blob.str().to_owned(), bytes: file.bytes.to_vec() })
    }

    fn revision(&self, id: &RevisionId) -> Result<Revision, StorageError> {
        if let Some((revision, _)) = self.read.borrow().get(id) {
            return Ok(revision.clone());
        }
        let commit = self.commit(id)?;
        let revision = read_revision(id, &commit)?;
        let mut read = self.read.borrow_mut();
        if read.len() == REMEMBERED_REVISIONS {
            read.clear();
        }
        read.insert(id.clone(), (revision.clone(), commit.tree));
        Ok(revision)
    }

    fn bundle(&self, id: &RevisionId) -> Result<Bundle, StorageError> {
        let mut files = Vec::new();
        self.read_tree(self.tree_of(id)?, "", &mut files)?;
        Bundle::from_files(files, &Limits::default()).map_err(|error| StorageError::Damaged(error.to_string()))
    }

    fn file(&self, id: &RevisionId, path: &SkillPath) -> Result<Option<File>, StorageError> {
        let mut tree = self.tree_of(id)?;
        let mut segments = path.segments().peekable();
        while let Some(segment) = segments.next() {
            let entries = self.entries(tree)?;
            let found = entries.iter().find(|entry| entry.name == segment.as_bytes());
            match found.map(|entry| (entry, entry.kind, segments.peek())) {
                Some((entry, EntryKind::Folder, Some(_))) => tree = entry.id,
                Some((entry, EntryKind::File { executable }, None)) => {
                    return self.read_file(entry, executable).map(Some);
                }
                _ => break,
            }
        }
        Ok(None)
    }

    fn prepare(&self, before: Option<(&Revision, &Bundle)>, new: &NewRevision) -> Result<Prepared, StorageError> {
        let mut writer = ObjectWriter { storage: self, objects: BTreeMap::new() };
        let bundle = new.content.bundle();
        let tree = writer.tree(&bundle)?;
        let empty = Bundle::default();
        let changed = changed_paths(before.map_or(&empty, |(_, files)| files), &bundle);
        let number = before.map_or(1, |(parent, _)| parent.number + 1);
        let trailers =
            Trailers::of(new, number, new.content.ruleset(), new.content.digest().to_string(), changed.len());
        let parent = before.map(|(parent, _)| &parent.id);
        let message = trailers.write(&changed);
        if Trailers::parse(&message)? != trailers {
            return Err(StorageError::Damaged("a revision would not read back as it was written".to_owned()));
        }
        let upstream = new.upstream.as_deref().map(|upstream| self.upstream(upstream, &new.stamp)).transpose()?;
        let upstream = upstream.map(|prepared| {
            writer.take(prepared.objects);
            prepared.revision.id
        });
        let text = commit_text(tree, parent.into_iter().chain(&upstream), &new.stamp, &message);
        let id = RevisionId::new(writer.add(ObjectType::Commit, text.into_bytes())?.to_string());
        let parts = Parts { id, parent: parent.cloned(), upstream, time: whole_seconds(new.stamp.time)? };
        let tombstone = bundle.is_empty();
        let revision = revision_of(parts, trailers, tombstone)?;
        Ok(Prepared { revision, objects: writer.objects.into_values().collect() })
    }

    fn write_ahead(&self, bundles: &[&Bundle]) -> Result<(), StorageError> {
        self.pack_files(bundles)
    }

    fn write(&self, objects: &[Object], heads: &[HeadChange], again: bool) -> Result<(), StorageError> {
        if again {
            objects.iter().for_each(|object| self.forget_loose(&object.id));
        }
        self.write_loose(objects)?;
        heads.iter().try_for_each(|head| self.move_head(head, false))
    }

    fn check(
        &self,
        from: &RevisionId,
        checked: &mut Checked,
        progress: &mut dyn FnMut(),
    ) -> Result<Vec<Damage>, StorageError> {
        check::check(self, from, checked, progress)
    }

    fn lone_packs(&self) -> Result<Vec<(String, bool)>, StorageError> {
        lone::packs(&self.dir)
    }

    fn index_pack(&self, name: &str) -> Result<(), StorageError> {
        lone::index(self.repository()?, &self.dir, name)
    }

    fn settle(&self, objects: &[Object], heads: &[HeadChange]) -> Result<(), StorageError> {
        self.write_pack(objects)?;
        heads.iter().try_for_each(|head| self.move_head(head, heads.len() < MANY_HEADS))?;
        if self.loose_heads()?.len() < MANY_HEADS || !self.pack_heads()? {
            heads.iter().try_for_each(|head| self.move_head(head, true))?;
        }
        sync_dir(&self.dir, HEADS)?;
        for object in objects {
            self.forget_loose(&object.id);
        }
        // One that comes back with a power loss, empty or cut, would stand before the whole one.
        let folders: BTreeSet<&str> = objects.iter().filter_map(|object| object.id.get(..2)).collect();
        for folder in folders {
            match sync_dir(&self.dir, &format!("objects/{folder}")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        let _many_packs_are_only_slower = self.join_packs();
        Ok(())
    }

    fn compact(&self) -> Result<(), StorageError> {
        self.repack()?;
        self.forget_old_locks()?;
        self.pack_heads().map(drop)
    }
}

/// Makes a bare repository under another name, syncs it and moves it in place, so that one that is
/// there is whole.
fn make_repository(folder: &Path) -> Result<Dir, StorageError> {
    let missing = || StorageError::Damaged(format!("{} is no path for it", folder.display()));
    let (parent, name) = folder.parent().zip(folder.file_name()).ok_or_else(missing)?;
    let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
    let _left_by_a_dead_process = parent.remove_dir_all(UNFINISHED);
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head("main");
    let repository = Repository::init_opts(folder.with_file_name(UNFINISHED), &options)?;
    repository.config()?.set_i32("gc.auto", 0)?;
    drop(repository);
    let new = parent.open_dir(UNFINISHED)?;
    new.create_dir_all(HEADS)?;
    for file in ["HEAD", "config"] {
        new.open(file)?.sync_all()?;
    }
    new.create_dir_all("objects/pack")?;
    for dir in [HEADS, "refs", "objects/pack", "objects", "."] {
        sync_dir(&new, dir)?;
    }
    parent.rename(UNFINISHED, &parent, name)?;
    sync_folder(&parent)?;
    Ok(parent.open_dir(name)?)
}

/// Opens a folder of the repository, making it where there is none.
fn open_or_create(dir: &Dir, path: &str) -> io::Result<Dir> {
    match dir.open_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            dir.create_dir_all(path)?;
            dir.open_dir(path)
        }
        opened => opened,
    }
}

fn sync_dir(dir: &Dir, path: &str) -> io::Result<()> {
    sync_folder(&dir.open_dir(path)?)
}

/// A revision keeps whole seconds, as git does.
fn whole_seconds(time: Timestamp) -> Result<Timestamp, StorageError> {
    Timestamp::from_second(time.as_second()).map_err(|_| StorageError::Damaged("a time is out of range".to_owned()))
}

fn object_type(kind: &str) -> Result<ObjectType, StorageError> {
    ObjectType::from_str(kind).ok_or_else(|| StorageError::Damaged(format!("there is no kind of object {kind:?}")))
}

fn changed_paths(before: &Bundle, after: &Bundle) -> Vec<String> {
    let removed = before.paths().filter(|path| after.get(path).is_none());
    let written = after.files().filter(|(path, file)| before.get(path) != Some(file)).map(|(path, _)| path);
    written.chain(removed).map(ToString::to_string).collect()
}

/// Collects the objects of one revision that the repository lacks.
struct ObjectWriter<'a> {
    storage: &'a GitStorage,
    objects: BTreeMap<Oid, Object>,
}

impl ObjectWriter<'_> {
    fn add(&mut self, kind: ObjectType, bytes: Vec<u8>) -> Result<Oid, StorageError> {
        let id = Oid::hash_object(kind, &bytes)?;
        // One that another process packed a moment ago may be written once more.
        if !self.storage.with_odb(|odb| Ok(odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)))? {
            self.objects.insert(id, Object { id: id.to_string(), kind: kind.str().to_owned(), bytes });
        }
        Ok(id)
    }

    /// Takes over objects that were made for the same revision.
    fn take(&mut self, objects: Vec<Object>) {
        let by_id = |object: Object| Some((Oid::from_str(&object.id).ok()?, object));
        self.objects.extend(objects.into_iter().filter_map(by_id));
    }

    fn tree(&mut self, bundle: &Bundle) -> Result<Oid, StorageError> {
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

fn commit_text<'a>(tree: Oid, parents: impl Iterator<Item = &'a RevisionId>, stamp: &Stamp, message: &str) -> String {
    let parents: String = parents.map(|id| format!("parent {id}\n")).collect();
    let name: String = stamp.actor.to_string().chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let who = format!("{name} <{}@skillhub.invalid> {} +0000", stamp.actor.kind.as_str(), stamp.time.as_second());
    format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}")
}

struct Parts {
    id: RevisionId,
    parent: Option<RevisionId>,
    upstream: Option<RevisionId>,
    time: Timestamp,
}

fn read_revision(id: &RevisionId, commit: &Commit) -> Result<Revision, StorageError> {
    let damaged = |what: &str| StorageError::Damaged(format!("revision {id}: {what}"));
    let trailers = Trailers::parse(&commit.message)?;
    let time = Timestamp::from_second(commit.seconds).map_err(|_| damaged("its time is out of range"))?;
    let parent = |at| commit.parents.get(at).map(|id: &Oid| RevisionId::new(id.to_string()));
    let parts = Parts { id: id.clone(), parent: parent(0), upstream: parent(1), time };
    let tombstone = commit.tree == Oid::hash_object(ObjectType::Tree, &[])?;
    revision_of(parts, trailers, tombstone)
}

fn revision_of(parts: Parts, trailers: Trailers, tombstone: bool) -> Result<Revision, StorageError> {
    let digest: Digest = trailers.digest.parse().map_err(|_| StorageError::Damaged("a digest trailer".to_owned()))?;
    let stamp = Stamp {
        actor: trailers.actor,
        time: parts.time,
        reason: trailers.reason,
        run: trailers.run,
        thread: trailers.thread,
    };
    Ok(Revision {
        id: parts.id,
        number: trailers.number,
        parent: parts.parent,
        action: trailers.action,
        stamp,
        origin: trailers.origin,
        verdict: trailers.verdict,
        ruleset: trailers.ruleset,
        digest,
        files_changed: trailers.files,
        tombstone,
        absorbed_into: trailers.absorbed_into,
        acceptance: trailers.acceptance,
        upstream: parts.upstream,
    })
}
