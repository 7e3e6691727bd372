//! [`Commits`]: the projection of the log to a git repository.
//!
//! Each numbered event becomes one commit on top of the one before. The commits are made in a bare repository on this
//! machine, which is only a cache, pushed without force, and then recorded as the position. A leader that begins finds its
//! place by the newest commit of the remote. If that commit is of no event, the remote is ahead of the database: a
//! failover has lost events, and nothing is pushed until an operator has decided.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use client::{IndexRemote, RegistryError};
use registry_index::{CommitSeries, Index, OpenError, PackBounds, StoreError};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use super::{
    leader::Leader,
    log::{self, IMPORT, LoggedEvent, Position},
};
use crate::{
    database::{Database, DatabaseError},
    events::NoSuchLine,
};

/// Most events in one push. An owner's file costs a tree as large as the number of owners, so it weighs more.
const MOST_WEIGHT: usize = 500;
const WEIGHT_OF_OWNER: usize = 20;

/// Passes after which the repository on this machine is packed.
const PACKED_EACH: u32 = 60;

/// Reasons why the git repository does not follow the log.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum CommitsError {
    /// The database cannot be read or changed.
    Database(#[from] DatabaseError),
    /// The remote cannot be reached, or refuses.
    Remote(#[from] RegistryError),
    /// The repository on this machine cannot be used.
    Store(#[from] StoreError),
    /// The repository on this machine cannot be opened as an index.
    Open(#[from] OpenError),
    /// A row of the log does not fit the files before it.
    #[error("event {seq}: {source}")]
    Event {
        /// Number of the event.
        seq: i64,
        /// Description of the mismatch.
        source: NoSuchLine,
    },
    /// An event became another commit than before.
    #[error("event {seq} was commit {before} and is now {now}: the log or the repository was changed")]
    Differs {
        /// Number of the event.
        seq: i64,
        /// The recorded commit.
        before: String,
        /// The commit made now.
        now: String,
    },
    /// The remote has commits of no event.
    #[error("the git repository {remote} is ahead of the database at {commit}; run: skillhub serve check")]
    Ahead {
        /// URL or folder of the remote.
        remote: String,
        /// Newest commit of the remote.
        commit: String,
    },
    /// Another process has pushed since.
    #[error("another process has pushed to {0}")]
    Overtaken(String),
}

impl Fails for CommitsError {
    fn failure(&self) -> Failure {
        match self {
            Self::Database(error) => error.failure(),
            Self::Remote(error) => error.failure(),
            Self::Store(error) => error.failure(),
            Self::Open(error) => error.failure(),
            Self::Event { .. } | Self::Differs { .. } | Self::Ahead { .. } => {
                Failure::new(FailureKind::Integrity, "other_history")
                    .hint("compare them: skillhub serve check --config FILE")
            }
            Self::Overtaken(_) => Failure::new(FailureKind::Conflict, "overtaken"),
        }
    }
}

/// The git repository on this machine, and the one that it is pushed to.
pub struct Commits {
    folder: PathBuf,
    remote: IndexRemote,
    config: String,
    /// The place up to which everything is pushed; `None` until it is found.
    pushed: Option<Position>,
    passes: u32,
}

impl Commits {
    /// Prepares the projection. `config` is the text of `config.json`.
    ///
    /// # Errors
    /// [`CommitsError`] for a folder or a remote that cannot be used; nothing is reached yet.
    pub fn open(folder: &Path, remote: &str, config: String) -> Result<Self, CommitsError> {
        drop(CommitSeries::begin(folder, None)?);
        let remote = IndexRemote::open(remote, folder)?;
        Ok(Self { folder: folder.to_owned(), remote, config, pushed: None, passes: 0 })
    }

    /// Numbers the visible events, then makes and pushes commits until the remote has all of them, or `go_on` returns
    /// false.
    ///
    /// # Errors
    /// [`CommitsError`]; the next call finds its place again.
    pub fn follow(
        &mut self,
        database: &Database,
        leader: &Leader,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), CommitsError> {
        let mut at = match self.pushed.take() {
            Some(at) => at,
            None => {
                let at = self.find_place(database)?;
                log::ensure_config(database, &self.config)?;
                at
            }
        };
        // Only now: events of after a failover come after commits that are taken over from the remote.
        leader.number(database)?;
        while go_on() {
            let events = log::after(database, at.seq, MOST_WEIGHT as i64)?;
            let Some(last) = self.commit(database, &at, &events)? else { break };
            if let Some(commit) = &last.commit {
                self.push(commit)?;
                leader.advance(database, log::GIT, last.seq, commit)?;
            }
            at = last;
        }
        self.pushed = Some(at);
        Ok(())
    }

    /// Finds the place from which to continue, by the newest commit of the remote.
    fn find_place(&self, database: &Database) -> Result<Position, CommitsError> {
        let Some(head) = self.remote.head()? else { return self.place_in_folder(database) };
        if !self.has(&head) {
            self.remote.fetch()?;
        }
        if let Some(place) = log::position_of(database, &head)? {
            return Ok(place);
        }
        // The leader before pushed it and did not come to record it: the same events become the same commits.
        let mut at = log::cursor(database)?;
        loop {
            let events = log::after(database, at.seq, MOST_WEIGHT as i64)?;
            let Some(last) = self.commit(database, &at, &events)? else {
                return Err(CommitsError::Ahead { remote: self.remote.url().to_owned(), commit: head });
            };
            if let Some(place) = log::position_of(database, &head)? {
                return Ok(place);
            }
            at = last;
        }
    }

    /// Finds the place for a remote without commits: the newest one that this machine has, or the start. The rest is
    /// made again.
    fn place_in_folder(&self, database: &Database) -> Result<Position, CommitsError> {
        let known = log::last_known(database)?;
        let Some(commit) = known.commit.as_ref().filter(|commit| self.has(commit)) else {
            return Ok(Position::default());
        };
        self.push(commit)?;
        Ok(known)
    }

    fn has(&self, commit: &str) -> bool {
        CommitSeries::begin(&self.folder, Some(commit)).is_ok()
    }

    /// Makes the commits of the first of these events, and records them. Returns the place after them; `None` if there
    /// are no events.
    fn commit(
        &self,
        database: &Database,
        at: &Position,
        events: &[LoggedEvent],
    ) -> Result<Option<Position>, CommitsError> {
        let (mut place, mut weight, mut made) = (at.clone(), 0, Vec::new());
        let mut series = CommitSeries::begin(&self.folder, at.commit.as_deref())?;
        for event in events {
            let commit = match (event.kind.as_str(), &event.commit) {
                (IMPORT, Some(commit)) => {
                    series.finish()?;
                    series = CommitSeries::begin(&self.folder, Some(commit))?;
                    commit.clone()
                }
                _ => commit_of(&mut series, event)?,
            };
            made.push((event.seq, commit.clone()));
            place = Position { seq: event.seq, commit: Some(commit) };
            weight += weight_of(event);
            if weight >= MOST_WEIGHT {
                break;
            }
        }
        series.finish()?;
        if made.is_empty() {
            return Ok(None);
        }
        log::record(database, &made)?;
        Ok(Some(place))
    }

    fn push(&self, commit: &str) -> Result<(), CommitsError> {
        if self.remote.push(commit)? { Ok(()) } else { Err(CommitsError::Overtaken(self.remote.url().to_owned())) }
    }

    /// Joins the packs of the repository on this machine once in a while.
    ///
    /// # Errors
    /// [`CommitsError`]; the repository is unchanged then.
    pub fn pack(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), CommitsError> {
        self.passes += 1;
        if self.passes < PACKED_EACH || self.pushed.as_ref().is_none_or(|at| at.commit.is_none()) {
            return Ok(());
        }
        self.passes = 0;
        Index::open(&self.folder)?.pack(&PackBounds::default(), go_on)?;
        Ok(())
    }
}

/// Makes the commit of an event, and compares it with the one that is recorded.
fn commit_of(series: &mut CommitSeries, event: &LoggedEvent) -> Result<String, CommitsError> {
    let mut files: BTreeMap<&str, Option<Vec<u8>>> = BTreeMap::new();
    for edit in &event.change.edits {
        let old = match files.remove(edit.path()) {
            Some(changed) => changed,
            None => series.read(edit.path())?,
        };
        let new = edit.apply(old.as_deref()).map_err(|source| CommitsError::Event { seq: event.seq, source })?;
        files.insert(edit.path(), new);
    }
    let files = files.into_iter().map(|(path, bytes)| (path.to_owned(), bytes));
    let now = series.commit(files, &event.change.message, &event.stamp)?;
    match &event.commit {
        Some(before) if *before != now => Err(CommitsError::Differs { seq: event.seq, before: before.clone(), now }),
        _ => Ok(now),
    }
}

fn weight_of(event: &LoggedEvent) -> usize {
    let is_owner = |path: &str| path.starts_with(registry_index::shard::OWNERS);
    if event.change.edits.iter().any(|edit| is_owner(edit.path())) { WEIGHT_OF_OWNER } else { 1 }
}
