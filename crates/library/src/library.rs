//! [`Library`]: a folder of skills with its history, opened for reading or for one operation.

mod barred;
mod commit;
mod comparison;
mod decided;
mod displaced;
mod error;
mod folder_edit;
mod foreseen;
mod gc;
mod glance;
mod hand_edit;
mod judged_anew;
mod linking;
mod lock_lines;
mod logs;
mod mark;
mod numbers;
mod recover;
mod relocate;
mod remembered;
mod returned;
mod rows;
mod sight;
mod summary;
mod taken_back;
mod temporary;
#[cfg(test)]
mod tests;
mod threads;
mod trials;
mod upkeep;
mod work;

use std::{
    cell::{OnceCell, RefCell},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use cap_std::fs::Dir;
use scan::Scanner;
use skill::{Bundle, File, Limits, SkillName, SkillPath};
use thiserror::Error;

pub use commit::{Checkout, Commit, CommitError, Committed};
pub use error::LibraryError;
pub use folder_edit::{FolderEdit, FolderFiles};
pub use gc::{Collected, Sizes};
pub use glance::{Closeness, Glance};
pub use hand_edit::{FolderState, HandEditFault, Snapshot, SnapshotError, TakeOver};
pub use recover::Recovery;
pub use relocate::{RelocateError, Relocation, relocate};
pub use returned::return_reason;
pub use summary::{Front, Head, Standing};
pub use taken_back::TakenBack;
pub use temporary::TemporaryKind;
pub use trials::{Ended, Served};
pub(crate) use upkeep::aside_name;
use upkeep::keep_copy;
pub use upkeep::{
    EventsMend, HeadFault, HistoryFault, JournalMend, JournalState, LibraryNote, Lost, Places, StateMend,
    look_at_places, make_private,
};
pub use work::Plans;

use self::numbers::Numbers;
use crate::{
    disk::{Durability, ensure_dir, ensure_private_dir, open_dir, open_resolved, sync_folders_above, write_atomically},
    edit_policy::EditPolicy,
    events::{self, Event},
    folder,
    home::Home,
    journal::Journal,
    links::Linker,
    location::Scope,
    lock::LibraryLock,
    ownership,
    place_error::PlaceError,
    revision::{Revision, RevisionId, RevisionSpec},
    storage::{self, GitStorage, StorageError},
    watcher::Watcher,
};

/// The folder inside a library's home that holds its history.
const HISTORY: &str = "history.git";

/// Revisions from which on it pays to keep what they say in a file of its own.
const MANY_REVISIONS: usize = 250;

/// How long an operation waits for the library's lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Skills on disk with their history.
///
/// The folder holds skill folders and nothing of ours; history, state and events are in the home.
/// Neither need exist before the first write.
pub struct Library {
    path: PathBuf,
    scope: Scope,
    own: PathBuf,
    storage_kind: String,
    storage: OnceCell<GitStorage>,
    /// The revision whose files were read last: an operation looks at its base more than once.
    last_read: RefCell<Option<(RevisionId, Bundle)>>,
    /// A batch asks for the state again and again.
    last_state: RefCell<Option<decided::LastState>>,
    watcher: Option<Watcher>,
    /// Finds the folders in which new skills are linked.
    linker: Option<Linker>,
    edit_policy: Option<EditPolicy>,
    /// What the watcher is still to be told.
    untold: Vec<Event>,
    limits: Limits,
    scanner: Scanner,
}

/// Why a text does not name a revision of a skill.
#[derive(Debug, Error)]
pub enum FindError {
    /// The library never had such a skill.
    #[error("the library has no skill {0}")]
    NoSkill(SkillName),
    /// The skill has no such revision.
    #[error("{skill} has no revision {spec}")]
    NoRevision {
        /// The skill.
        skill: SkillName,
        /// The revision as asked for.
        spec: String,
    },
    /// It derives from no release, or from one that the history does not have.
    #[error("{0} was not installed from anywhere")]
    NoRelease(SkillName),
    /// The first digits of several revisions.
    #[error("{spec} is the beginning of several revisions of {skill}; give more digits")]
    Ambiguous {
        /// The skill.
        skill: SkillName,
        /// The digits.
        spec: String,
    },
    /// The history.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Library {
    /// Opens the library at `path`. Operations that a killed process left half applied are applied
    /// first, unless another process is at work.
    ///
    /// # Errors
    /// [`LibraryError`]; a folder that is not there yet is none.
    pub fn open(path: &Path, scope: Scope, home: &Home, storage_kind: &str) -> Result<Self, LibraryError> {
        let mut library = Self::inspect(path, scope, home, storage_kind)?;
        ownership::check_library(&library.path, &library.own, home.path())?;
        library.storage()?;
        library.recover_if_idle()?;
        Ok(library)
    }

    fn at(path: PathBuf, scope: Scope, own: PathBuf, storage_kind: &str) -> Self {
        let (storage_kind, storage) = (storage_kind.to_owned(), OnceCell::new());
        let (last_read, last_state, watcher, linker, edit_policy, untold, limits, scanner) = Default::default();
        Self {
            path,
            scope,
            own,
            storage_kind,
            storage,
            last_read,
            last_state,
            watcher,
            linker,
            edit_policy,
            untold,
            limits,
            scanner,
        }
    }

    /// The folder, absolute, links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose skills these are.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Where its history, state and events are.
    #[must_use]
    pub fn own_path(&self) -> &Path {
        &self.own
    }

    /// Where its history is.
    #[must_use]
    pub fn history_path(&self) -> PathBuf {
        self.own.join(HISTORY)
    }

    /// What scans its skills.
    #[must_use]
    pub fn scanner(&self) -> Scanner {
        self.scanner
    }

    /// The bounds that its skills are held to.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The skills that exist at their head, sorted.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn skills(&self) -> Result<Vec<(SkillName, Revision)>, StorageError> {
        let Some(storage) = self.storage()? else { return Ok(Vec::new()) };
        let mut skills = Vec::new();
        for (name, id) in storage.heads()? {
            let head = storage.revision(&id)?;
            if !head.tombstone {
                skills.push((name, head));
            }
        }
        Ok(skills)
    }

    /// The newest revision of a skill, which may be a tombstone.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn head(&self, skill: &SkillName) -> Result<Option<Revision>, StorageError> {
        self.storage()?.map_or(Ok(None), |storage| storage.head(skill))
    }

    /// The files of a revision.
    ///
    /// # Errors
    /// The history cannot be read, or has no such revision.
    pub fn bundle(&self, id: &RevisionId) -> Result<Bundle, StorageError> {
        if let Some((_, files)) = self.last_read.borrow().as_ref().filter(|(read, _)| read == id) {
            return Ok(files.clone());
        }
        let storage = self.storage()?.ok_or_else(|| StorageError::UnknownRevision(id.to_string()))?;
        let files = storage.bundle(id)?;
        *self.last_read.borrow_mut() = Some((id.clone(), files.clone()));
        Ok(files)
    }

    /// A release that a skill was installed from or took in, by its digest, if the history has it: a revision
    /// with its files, or one beside the history. The newest are looked at first.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn release(&self, skill: &SkillName, digest: &str) -> Result<Option<(Revision, Bundle)>, StorageError> {
        let Some(storage) = self.storage()? else { return Ok(None) };
        let is_it = |revision: &Revision| {
            revision.digest.to_string() == digest && revision.was_cleared() && !revision.tombstone
        };
        for revision in self.walk(skill) {
            let revision = revision?;
            let upstream = revision.upstream.as_ref().map(|id| storage.revision(id)).transpose()?;
            if let Some(found) = [Some(revision), upstream].into_iter().flatten().find(is_it) {
                let files = storage.bundle(&found.id)?;
                return Ok(Some((found, files)));
            }
        }
        Ok(None)
    }

    /// What one file was in a revision and in those before it, newest first, each read when asked for;
    /// `None` where a revision does not have it.
    pub fn file_history(
        &self,
        from: &RevisionId,
        path: &SkillPath,
    ) -> impl Iterator<Item = Result<Option<File>, StorageError>> {
        let mut next = Some(from.clone());
        std::iter::from_fn(move || {
            let id = next.take()?;
            let read = || -> Result<_, StorageError> {
                let Some(storage) = self.storage()? else { return Ok((None, None)) };
                Ok((storage.revision(&id)?.parent, storage.file(&id, path)?))
            };
            Some(read().map(|(parent, file)| {
                next = parent;
                file
            }))
        })
    }

    /// A skill's revisions, newest first, at most `limit`.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn revisions(&self, skill: &SkillName, limit: usize) -> Result<Vec<Revision>, StorageError> {
        let Some(storage) = self.storage()? else { return Ok(Vec::new()) };
        let Some(head) = storage.head(skill)? else { return Ok(Vec::new()) };
        if usize::try_from(head.number).is_ok_and(|number| number.min(limit) < MANY_REVISIONS) {
            return self.walk(skill).take(limit).collect();
        }
        let own = open_dir(&self.own).ok().flatten();
        let numbers = Numbers::of(own.as_ref(), storage, skill, &head)?;
        let read = |ids: &[_]| numbers::read_many(&self.storage_kind, &self.history_path(), ids);
        rows::newest(own.as_ref(), skill, numbers.ids(), limit, read)
    }

    /// A skill's revisions, newest first, each read when asked for; the last may be an error.
    pub fn walk(&self, skill: &SkillName) -> impl Iterator<Item = Result<Revision, StorageError>> {
        let mut next = self.head(skill).transpose();
        std::iter::from_fn(move || {
            let revision = next.take()?;
            if let (Ok(Revision { parent: Some(parent), .. }), Ok(Some(storage))) = (&revision, self.storage()) {
                next = Some(storage.revision(parent));
            }
            Some(revision)
        })
    }

    /// The revision that a person means.
    ///
    /// # Errors
    /// [`FindError`]
    pub fn find(&self, skill: &SkillName, spec: &RevisionSpec, as_written: &str) -> Result<Revision, FindError> {
        let unknown = || FindError::NoSkill(skill.clone());
        let storage = self.storage()?.ok_or_else(unknown)?;
        let head = storage.head(skill)?.ok_or_else(unknown)?;
        let missing = || FindError::NoRevision { skill: skill.clone(), spec: as_written.to_owned() };
        let number = match spec {
            RevisionSpec::Head(steps) => Some(head.number.checked_sub(*steps).ok_or_else(missing)?),
            RevisionSpec::Number(number) => Some(*number),
            RevisionSpec::Prefix(_) => None,
        };
        if number == Some(head.number) {
            return Ok(head);
        }
        let own = open_dir(&self.own).ok().flatten();
        let numbers = Numbers::of(own.as_ref(), storage, skill, &head)?;
        let id = match (number, spec) {
            (None, RevisionSpec::Prefix(digits)) => {
                let mut found = numbers.starting_with(digits);
                let first = found.next();
                if found.next().is_some() {
                    return Err(FindError::Ambiguous { skill: skill.clone(), spec: as_written.to_owned() });
                }
                first
            }
            _ => numbers.at(number.unwrap_or_default()),
        };
        Ok(storage.revision(&id.ok_or_else(missing)?)?)
    }

    /// The names of the folders that stand in the library, managed or not, sorted; hidden ones and
    /// links are left out.
    ///
    /// # Errors
    /// The system refused.
    pub fn folders(&self) -> Result<Vec<String>, LibraryError> {
        let io = |source| LibraryError::Io { path: self.path.clone(), source };
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        let mut names = folder::folders_in(&root).map_err(io)?;
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        Ok(names)
    }

    /// The right to change what belongs to this library, until dropped. Waits for at most ten seconds;
    /// nothing of this library that commits or sets state may be called meanwhile.
    ///
    /// # Errors
    /// Another process holds it, or the system refused.
    pub fn lock(&self) -> Result<LibraryLock, LibraryError> {
        Ok(LibraryLock::acquire(&self.ensure_own()?, LOCK_WAIT)?)
    }

    /// The turn of one whose commit was overtaken, until dropped: those who were overtaken try one
    /// after the other, so that nobody is overtaken for ever. Waits for at most ten seconds.
    ///
    /// # Errors
    /// Another process holds it, or the system refused.
    pub fn turn(&self) -> Result<LibraryLock, LibraryError> {
        Ok(LibraryLock::acquire_turn(&self.ensure_own()?, LOCK_WAIT)?)
    }

    /// The turn, when somebody who was overtaken has it: whoever comes new waits behind, instead of
    /// overtaking once more. `None` when nobody has it, or too many wait.
    #[must_use]
    pub fn turn_behind(&self) -> Option<LibraryLock> {
        let own = open_dir(&self.own).ok()??;
        LibraryLock::is_turn_held(&own).then(|| self.turn().ok()).flatten()
    }

    /// Notes a refusal in the event log.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn record(&self, event: &Event) -> Result<(), LibraryError> {
        events::append(&self.ensure_own()?, std::slice::from_ref(event)).map_err(self.own_io())
    }

    /// Everything that was done or refused, oldest first, and how many lines could not be read.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn events(&self) -> Result<(Vec<Event>, usize), LibraryError> {
        match open_dir(&self.own)? {
            Some(own) => events::read(&own).map_err(self.own_io()),
            None => Ok((Vec::new(), 0)),
        }
    }

    /// The open folder; `None` while there is none. Its path was resolved when the library was opened, and
    /// a link that was put there since is not followed.
    fn root(&self) -> Result<Option<Dir>, PlaceError> {
        open_resolved(&self.path)
    }

    pub(crate) fn ensure_own(&self) -> Result<Dir, LibraryError> {
        let own = match open_dir(&self.own)? {
            Some(own) => own,
            None => {
                self.own.ancestors().nth(2).map(ensure_private_dir).transpose()?;
                ensure_dir(&self.own)?
            }
        };
        if own.symlink_metadata("library.toml").is_err() {
            let above = self.own.parent().map_or(Ok(()), sync_folders_above);
            above.map_err(self.own_io())?;
            let text = format!("format = 1\npath = {:?}\n", self.path.display().to_string());
            write_atomically(&own, "library.toml", text.as_bytes(), Durability::Durable).map_err(self.own_io())?;
        }
        Ok(own)
    }

    pub(crate) fn own_io(&self) -> impl Fn(io::Error) -> LibraryError {
        let path = self.own.clone();
        move |source| LibraryError::Io { path: path.clone(), source }
    }

    /// The history; `None` while nobody has made one.
    fn storage(&self) -> Result<Option<&GitStorage>, StorageError> {
        self.storage_or(false)
    }

    /// The history for writing, created when there is none; the caller holds the lock.
    fn writable_storage(&self) -> Result<&GitStorage, LibraryError> {
        let missing = || StorageError::Damaged("it could not be created".to_owned());
        Ok(self.storage_or(true)?.ok_or_else(missing)?)
    }

    fn storage_or(&self, create: bool) -> Result<Option<&GitStorage>, StorageError> {
        if self.storage.get().is_none()
            && let Some(opened) = storage::open(&self.storage_kind, &self.own.join(HISTORY), create)?
        {
            return Ok(Some(self.storage.get_or_init(|| opened)));
        }
        Ok(self.storage.get())
    }

    fn journal(&self, own: &Dir) -> Result<Journal, LibraryError> {
        Journal::open(own).map_err(self.own_io())
    }
}
