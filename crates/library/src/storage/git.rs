//! [`GitStorage`]: revisions as commits of a bare git repository, one reference a skill.

mod ahead;
mod check;
mod concat;
mod loose;
mod objects;
mod packs;
mod refs;
mod unindexed;
mod writer;

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use git2::{ObjectType, Odb, Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};
use jiff::Timestamp;
use skill::{Bundle, Digest, File, Limits, SkillName, SkillPath};

use objects::{Commit, Entry, EntryKind};
use writer::{ObjectWriter, changed_paths, commit_text};

use super::{Checked, DamagedRevision, HeadChange, Object, Prepared, StorageError, message::Trailers};
use crate::{
    disk::{sync_file, sync_folder},
    revision::{Action, Content, NewRevision, Revision, RevisionId, Stamp, SyncedRevision, Upstream},
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
pub struct GitStorage {
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
            return Err(StorageError::Damaged(format!("{} is not a git repository", folder.display())));
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

impl GitStorage {
    /// The newest revision of every skill that has one, deleted ones included, sorted.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn heads(&self) -> Result<Vec<(SkillName, RevisionId)>, StorageError> {
        Ok(self.all_heads()?.into_iter().map(|(name, id)| (name, RevisionId::new(skill::hex(id.as_bytes())))).collect())
    }

    /// The same; `None` stands for the head of a skill that cannot be read, which ends nothing.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn heads_found(&self) -> Result<Vec<(SkillName, Option<RevisionId>)>, StorageError> {
        let id = |id: Oid| RevisionId::new(id.to_string());
        Ok(self.found_heads()?.into_iter().map(|(name, found)| (name, found.map(id))).collect())
    }

    /// A skill's newest revision.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn head(&self, skill: &SkillName) -> Result<Option<Revision>, StorageError> {
        let Some(id) = self.head_id(skill)? else { return Ok(None) };
        self.revision(&id).map(Some).map_err(|error| match error {
            StorageError::UnknownRevision(id) => {
                StorageError::Damaged(format!("the head of {skill} is {id}, which is missing"))
            }
            other => other,
        })
    }

    /// The id that stands as a skill's newest revision, which may be damaged.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn head_id(&self, skill: &SkillName) -> Result<Option<RevisionId>, StorageError> {
        Ok(self.head_of(skill)?.map(|id| RevisionId::new(id.to_string())))
    }

    /// A file as the object that keeps its content.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn object_of(&self, file: &File) -> Result<Object, StorageError> {
        let id = Oid::hash_object(ObjectType::Blob, &file.bytes)?.to_string();
        Ok(Object { id, kind: ObjectType::Blob.str().to_owned(), bytes: file.bytes.to_vec() })
    }

    /// The revision of an id.
    ///
    /// # Errors
    /// [`StorageError::UnknownRevision`] and others.
    pub fn revision(&self, id: &RevisionId) -> Result<Revision, StorageError> {
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

    /// The files of a revision; empty for a tombstone.
    ///
    /// # Errors
    /// [`StorageError::UnknownRevision`] and others.
    pub fn bundle(&self, id: &RevisionId) -> Result<Bundle, StorageError> {
        let mut files = Vec::new();
        self.read_tree(self.tree_of(id)?, "", &mut files)?;
        Bundle::from_files(files, &Limits::default()).map_err(|error| StorageError::Damaged(error.to_string()))
    }

    /// One file of a revision, without reading the others; `None` where it has none of that path.
    ///
    /// # Errors
    /// [`StorageError::UnknownRevision`] and others.
    pub fn file(&self, id: &RevisionId, path: &SkillPath) -> Result<Option<File>, StorageError> {
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

    /// Turns a revision into objects. `before` is the parent and its files.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn prepare(&self, before: Option<(&Revision, &Bundle)>, new: &NewRevision) -> Result<Prepared, StorageError> {
        let joined = match &new.synced {
            Some(SyncedRevision::Head(id)) => return self.stored(id, new),
            Some(SyncedRevision::Parent(id)) => Some(id.clone()),
            None => None,
        };
        let mut writer = ObjectWriter::new(self);
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
            return Err(StorageError::Damaged("a revision would not read back identically".to_owned()));
        }
        let upstream = new.upstream.as_deref().map(|upstream| self.upstream(upstream, &new.stamp)).transpose()?;
        let upstream = upstream.map(|prepared| {
            writer.take(prepared.objects);
            prepared.revision.id
        });
        let upstream = upstream.or(joined);
        let text = commit_text(tree, parent.into_iter().chain(&upstream), &new.stamp, &message);
        let id = RevisionId::new(writer.add(ObjectType::Commit, text.into_bytes())?.to_string());
        let parts = Parts { id, parent: parent.cloned(), upstream, time: whole_seconds(new.stamp.time)? };
        let tombstone = bundle.is_empty();
        let revision = revision_of(parts, trailers, tombstone)?;
        Ok(Prepared { revision, objects: writer.objects() })
    }

    /// A revision that is stored already, and has the content that was cleared for it.
    fn stored(&self, id: &RevisionId, new: &NewRevision) -> Result<Prepared, StorageError> {
        let revision = self.revision(id)?;
        let is_same = revision.digest == new.content.digest() && self.bundle(id)? == new.content.bundle();
        match is_same && revision.was_cleared() {
            true => Ok(Prepared { revision, objects: Vec::new() }),
            false => Err(StorageError::Damaged(format!("revision {id} has other files than it says"))),
        }
    }

    /// Writes objects as one durable pack, before anything names them.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn keep(&self, objects: &[Object]) -> Result<(), StorageError> {
        self.write_pack(objects)
    }

    /// Writes the files of bundles durably. No commit names them yet, and none need come.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn write_ahead(&self, bundles: &[&Bundle]) -> Result<(), StorageError> {
        self.pack_files(bundles)
    }

    /// Writes objects and moves heads, not synced. `again` replaces what is there already, because
    /// a crash may have left it empty or cut.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn write(&self, objects: &[Object], heads: &[HeadChange], again: bool) -> Result<(), StorageError> {
        if again {
            objects.iter().for_each(|object| self.remove_loose(&object.id));
        }
        self.write_loose(objects)?;
        heads.iter().try_for_each(|head| self.move_head(head, false))
    }

    /// Reads a revision and all before it, down to every object, and says which are damaged. It goes
    /// down to the first, or to one in `checked`. `progress` is called for each revision.
    ///
    /// # Errors
    /// [`StorageError`] of the storage as a whole.
    pub fn check(
        &self,
        from: &RevisionId,
        checked: &mut Checked,
        progress: &mut dyn FnMut(),
    ) -> Result<Vec<DamagedRevision>, StorageError> {
        check::check(self, from, checked, progress)
    }

    /// The names of packs of which the index is missing, so that nothing in them can be read, and whether
    /// each was so for long: a process may be at work in one that is new.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn unindexed_packs(&self) -> Result<Vec<(String, bool)>, StorageError> {
        unindexed::packs(&self.dir)
    }

    /// Makes the index of such a pack again. The caller is the only one who writes.
    ///
    /// # Errors
    /// [`StorageError`]; the pack is not whole, and stays as it is.
    pub fn index_pack(&self, name: &str) -> Result<(), StorageError> {
        unindexed::index(self.repository()?, &self.dir, name)
    }

    /// Makes objects and heads that were written durable.
    ///
    /// # Errors
    /// [`StorageError`]
    pub fn settle(&self, objects: &[Object], heads: &[HeadChange]) -> Result<(), StorageError> {
        self.write_pack(objects)?;
        heads.iter().try_for_each(|head| self.move_head(head, heads.len() < MANY_HEADS))?;
        if self.loose_heads()?.len() < MANY_HEADS || !self.pack_heads()? {
            heads.iter().try_for_each(|head| self.move_head(head, true))?;
        }
        sync_dir(&self.dir, HEADS)?;
        for object in objects {
            self.remove_loose(&object.id);
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

    /// Takes as little room as it can for all that it keeps, and removes what dead processes left. The
    /// caller is the only one who writes.
    ///
    /// # Errors
    /// [`StorageError`]; everything is kept then.
    pub fn compact(&self) -> Result<(), StorageError> {
        self.repack()?;
        self.remove_stale_locks()?;
        self.pack_heads().map(drop)
    }
}

/// Makes a bare repository under another name, syncs it and moves it in place, so that one that is
/// there is whole.
fn make_repository(folder: &Path) -> Result<Dir, StorageError> {
    let missing = || StorageError::Damaged(format!("{} is not a valid path for it", folder.display()));
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
        sync_file(&new, file)?;
    }
    new.create_dir_all("objects/pack")?;
    for dir in [HEADS, "refs", "objects/pack", "objects", "."] {
        sync_dir(&new, dir)?;
    }
    // Windows renames no folder that is open.
    drop(new);
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
    ObjectType::from_str(kind).ok_or_else(|| StorageError::Damaged(format!("unknown kind of object {kind:?}")))
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
    let digest: Digest =
        trailers.digest.parse().map_err(|_| StorageError::Damaged("a digest trailer is invalid".to_owned()))?;
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
