//! A folder of skills with its history, opened for reading or for one operation ([`Library`]).

mod barred;
mod change_mark;
mod clearing;
mod commit;
mod commit_batch;
mod comparison;
mod decision;
mod displaced;
mod error;
mod folder_edit;
mod gc;
mod hand_edit;
mod history_cache;
mod linking;
mod lock_lines;
mod logs;
mod observed_folder;
mod prescan;
mod proposal_queue;
mod recover;
mod release;
mod relocate;
mod rescan;
mod returned;
mod review_checkpoint;
mod revision_numbers;
mod skill_states;
mod summaries;
mod summary;
mod summary_cache;
mod synced;
mod taken_back;
mod temporary;
#[cfg(test)]
mod tests;
mod threads;
mod trial_links;
mod trials;
pub(crate) mod upkeep;

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

pub use commit::{Checkout, CommitError, Committed};
pub use commit_batch::{Commit, CommitBatch, Plans};
pub use decision::TakenBack;
pub use error::LibraryError;
pub use folder_edit::{FolderEdit, FolderFiles};
pub use gc::{Collected, Sizes};
pub use hand_edit::{FolderState, HandEditFault, HandEditMode, Snapshot, SnapshotError};
pub use recover::Recovery;
pub use relocate::{MovedFolder, RelocateError, Relocation, relocate};
pub use returned::return_reason;
pub use review_checkpoint::Unreviewed;
pub use summaries::{ChangeDetection, SkillSummary};
pub use summary::{FolderStatus, Head, SkillMdSummary};
pub use temporary::TemporaryKind;
pub use trials::{Served, TrialEnd};
use upkeep::keep_copy;

use self::revision_numbers::RevisionNumbers;
use crate::{
    disk::{Durability, ensure_dir, ensure_private_dir, open_dir, open_resolved, sync_folders_above, write_atomically},
    edit_policy::EditPolicy,
    events::{self, Event},
    folder,
    home::Home,
    journal::Journal,
    links::Linker,
    location::Scope,
    lock::{LibraryLock, LockedDir},
    ownership,
    path_access_error::PathAccessError,
    revision::{Revision, RevisionId, RevisionSpec},
    storage::{self, GitStorage, StorageError},
    watcher::Watcher,
};

/// Name of the folder in a library's home that holds its history.
const HISTORY: &str = "history.git";

/// Minimum number of revisions for which caching their details is worthwhile.
const MANY_REVISIONS: usize = 64;

/// Timeout for taking the library's lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Skills on disk with their history.
///
/// The folder contains only skill folders. History, state and events are in the home. Neither needs to exist before
/// the first write.
pub struct Library {
    path: PathBuf,
    scope: Scope,
    own: PathBuf,
    storage_kind: String,
    storage: OnceCell<GitStorage>,
    /// The revision whose files were read last: an operation looks at its base more than once.
    last_read: RefCell<Option<(RevisionId, Bundle)>>,
    /// Cached state, because a batch reads it repeatedly.
    last_state: RefCell<Option<skill_states::LastState>>,
    watcher: Option<Watcher>,
    /// Finds the folders in which new skills are linked.
    linker: Option<Linker>,
    edit_policy: Option<EditPolicy>,
    /// Events that the watcher has not received yet.
    untold: Vec<Event>,
    limits: Limits,
    scanner: Scanner,
}

/// Reason why a text does not identify a revision of a skill.
#[derive(Debug, Error)]
pub enum FindError {
    /// The library never had this skill.
    #[error("the library has no skill {0}")]
    NoSkill(SkillName),
    /// The skill has no such revision.
    #[error("{skill} has no revision {spec}")]
    NoRevision {
        /// Skill in which it was looked up.
        skill: SkillName,
        /// Revision as the user wrote it.
        spec: String,
    },
    /// The skill does not derive from a release, or from one that is not in the history.
    #[error("{0} was not installed from a source")]
    NoRelease(SkillName),
    /// An id prefix that several revisions share.
    #[error("several revisions of {skill} begin with {spec}; give more digits")]
    Ambiguous {
        /// Skill in which it was looked up.
        skill: SkillName,
        /// Prefix that several revisions share.
        spec: String,
    },
    /// The history cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Library {
    /// Opens the library at `path`. Operations that a killed process left partly applied are completed first, unless
    /// another process is committing. The same holds for the links of trials that ended.
    ///
    /// # Errors
    /// Returns [`LibraryError`]. A missing folder is not an error.
    pub fn open(path: &Path, scope: Scope, home: &Home, storage_kind: &str) -> Result<Self, LibraryError> {
        let mut library = Self::inspect(path, scope, home, storage_kind)?;
        ownership::check_library(&library.path, &library.own, home.path())?;
        library.storage()?;
        library.recover_if_idle()?;
        let _left_to_next_command = library.settle_trials(Duration::ZERO);
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

    /// Adds an observer of the proposals that are changed through this value.
    #[must_use]
    pub fn watched_by(self, watcher: Option<Watcher>) -> Self {
        Self { watcher, ..self }
    }

    /// Returns the folder: absolute, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the scope to which its skills belong.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns the folder of its history, state and events.
    pub fn own_path(&self) -> &Path {
        &self.own
    }

    /// Returns the folder of its history.
    pub fn history_path(&self) -> PathBuf {
        self.own.join(HISTORY)
    }

    /// Returns the scanner for its skills.
    pub fn scanner(&self) -> Scanner {
        self.scanner
    }

    /// Returns the size limits for its skills.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the skills whose head is not a tombstone, sorted by name.
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

    /// Returns the newest revision of a skill, which may be a tombstone.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn head(&self, skill: &SkillName) -> Result<Option<Revision>, StorageError> {
        self.storage()?.map_or(Ok(None), |storage| storage.head(skill))
    }

    /// Reads the files of a revision.
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

    /// Returns one file in a revision and in its ancestors, newest first, read lazily. An item is `None` if the
    /// revision does not have the file.
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

    /// Returns a skill's revisions, newest first, at most `limit`.
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
        let numbers = RevisionNumbers::of(own.as_ref(), storage, skill, &head)?;
        let read = |ids: &[_]| revision_numbers::read_many(&self.storage_kind, &self.history_path(), ids);
        history_cache::newest(own.as_ref(), skill, numbers.ids(), limit, read)
    }

    /// Returns a skill's revisions, newest first, read lazily. The last item may be an error.
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

    /// Resolves a revision that a person wrote. `as_written` appears in errors.
    ///
    /// # Errors
    /// Returns [`FindError`] if the revision does not exist or the prefix is ambiguous.
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
        let numbers = RevisionNumbers::of(own.as_ref(), storage, skill, &head)?;
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

    /// Returns the names of the folders in the library, managed or not, sorted. Hidden folders and links are skipped.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn folders(&self) -> Result<Vec<String>, LibraryError> {
        let io = |source| LibraryError::Io { path: self.path.clone(), source };
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        let mut names = folder::folders_in(&root).map_err(io)?;
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        Ok(names)
    }

    /// Takes the library's exclusive lock for a file that other crates write, released on drop. Waits for at most ten
    /// seconds. While it is held, the caller must not use operations of this library that commit or set state, since
    /// they take the lock themselves and would time out.
    ///
    /// # Errors
    /// Another process kept the lock until the timeout, or an I/O error.
    pub fn lock(&self) -> Result<LibraryLock, LibraryError> {
        Ok(LibraryLock::acquire(&self.ensure_own()?, LOCK_WAIT)?)
    }

    /// Takes the lock that serialises writers whose commit lost a race, so that none starves. Released on drop. Waits
    /// for at most ten seconds.
    ///
    /// # Errors
    /// Another process kept the lock until the timeout, or an I/O error.
    pub fn retry_lock(&self) -> Result<LibraryLock, LibraryError> {
        Ok(LibraryLock::acquire_retry_lock(&self.ensure_own()?, LOCK_WAIT)?)
    }

    /// Takes the retry lock of [`Library::retry_lock`] if a writer that lost a race holds it, so that a new writer queues
    /// behind it instead of winning again. Returns `None` if nobody holds it, or after the timeout.
    #[must_use]
    pub fn queue_behind_retries(&self) -> Option<LibraryLock> {
        let own = open_dir(&self.own).ok()??;
        LibraryLock::is_retry_lock_held(&own).then(|| self.retry_lock().ok()).flatten()
    }

    /// Appends an event, usually a refusal or a decision of the gate, to the event log. The watcher gets decisions.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn record(&self, event: &Event) -> Result<(), LibraryError> {
        events::append(&self.ensure_own()?, std::slice::from_ref(event)).map_err(self.own_io())?;
        if let Some(watcher) = self.watcher.as_ref().filter(|_| event.decision.is_some()) {
            watcher.notify(&self.path, std::slice::from_ref(event));
        }
        Ok(())
    }

    /// Reads the event log, oldest first, and counts its unreadable lines.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn events(&self) -> Result<(Vec<Event>, usize), LibraryError> {
        match open_dir(&self.own)? {
            Some(own) => events::read(&own).map_err(self.own_io()),
            None => Ok((Vec::new(), 0)),
        }
    }

    /// Opens the library's folder. Returns `None` if it does not exist. The path was resolved when the library was
    /// opened; a link that replaced a component since is not followed.
    fn root(&self) -> Result<Option<Dir>, PathAccessError> {
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

    /// Opens the library's folder in the home and takes the lock, for at most ten seconds.
    fn locked(&self) -> Result<LockedDir, LibraryError> {
        Ok(LockedDir::acquire(self.ensure_own()?, LOCK_WAIT)?)
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

    fn journal(&self, own: &LockedDir) -> Result<Journal, LibraryError> {
        Journal::open(own).map_err(self.own_io())
    }
}
