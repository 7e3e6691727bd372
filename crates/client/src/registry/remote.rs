//! [`Remote`]: a git registry, read and changed through its [`Mirror`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use git2::Oid;
use library::Home;
use registry_index::{Index, OpenError, shard};

use super::{
    RegistryError,
    last_seen::{Growth, LastSeen},
    mirror::Mirror,
};
use crate::{
    git::{ProgramError, is_lost_race, pause},
    spec::GitSpec,
};

/// Maximum number of attempts to push a change on top of concurrent changes.
pub(super) const ATTEMPTS: u32 = 60;

/// Branch tips seen by this command, by registry URL, so that every registry is fetched only once.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads(Arc<Mutex<BTreeMap<String, String>>>);

/// A registry accessed through git.
#[derive(Debug)]
pub(super) struct Remote {
    url: String,
    mirror: Mirror,
    home: Home,
    heads: Heads,
    accepts_rewrite: bool,
}

/// Outcome of a push.
enum Pushed {
    /// The branch is at the pushed commit.
    Landed,
    /// Others pushed first.
    Lost,
}

impl Heads {
    fn get(&self, url: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }

    fn set(&self, url: &str, commit: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(url.to_owned(), commit.to_owned());
    }
}

impl Remote {
    pub fn new(spec: &GitSpec, home: &Home, heads: &Heads, accepts_rewrite: bool) -> Self {
        let (home, heads) = (home.clone(), heads.clone());
        Self { url: spec.url(), mirror: Mirror::of(spec, &home), home, heads, accepts_rewrite }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the index at the commit that this command saw first.
    pub fn index(&self) -> Result<Index, RegistryError> {
        match self.heads.get(&self.url) {
            Some(commit) => self.open(&commit),
            None => self.newest(),
        }
    }

    /// Fetches the branch and returns the newest index.
    pub fn newest(&self) -> Result<Index, RegistryError> {
        let commit = self.refresh()?.to_string();
        // The folder of archives is small and likely to be needed, so it is prefetched.
        self.mirror.fetch_missing(parse(&commit), &[shard::CONFIG, shard::BUNDLES].map(str::to_owned))?;
        let index = self.open(&commit)?;
        self.heads.set(&self.url, &commit);
        Ok(index)
    }

    /// Fetches files and folders of the index into the mirror.
    pub fn fetch_missing(&self, index: &Index, paths: &[String]) -> Result<(), RegistryError> {
        self.mirror.fetch_missing(parse(&index.revision()?), paths)
    }

    /// Fetches the entries of all skills.
    pub fn fetch_entries(&self, index: &Index) -> Result<(), RegistryError> {
        self.mirror.fetch_all(parse(&index.revision()?), shard::is_shard)
    }

    /// Changes the index and pushes the result. `change` drafts a commit on the given index. If others pushed first, it
    /// runs again on their commit. `paths` are the files that it reads or writes.
    pub fn change<T, E: From<RegistryError>>(
        &self,
        index: &mut Index,
        paths: &[String],
        change: impl Fn(&Index) -> Result<T, E>,
    ) -> Result<T, E> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                pause(attempt);
                *index = self.newest()?;
            }
            self.fetch_missing(index, paths)?;
            let base = index.revision().map_err(RegistryError::from)?;
            let done = change(index)?;
            let Some(draft) = index.take_draft() else { return Ok(done) };
            if let Pushed::Landed = self.push(&draft, &base)? {
                *index = self.open(&draft)?;
                self.heads.set(&self.url, &draft);
                return Ok(done);
            }
        }
        Err(RegistryError::Busy { url: self.url.clone(), attempts: ATTEMPTS }.into())
    }

    /// Fetches the branch. Fails if it does not contain the commit seen last.
    fn refresh(&self) -> Result<Oid, RegistryError> {
        let locked = self.mirror.lock(&self.home)?;
        let seen = LastSeen::read(&self.home)?;
        let commit = self.mirror.refresh(&locked, seen.of(&self.url))?;
        let growth = |seen: &str| {
            Ok(match () {
                () if self.mirror.descends(commit, seen)? => Growth::Grown,
                () if self.mirror.descends(parse(seen), &commit.to_string())? => Growth::Older,
                () => Growth::Other,
            })
        };
        seen.check(&self.home, &self.url, &commit.to_string(), self.accepts_rewrite, growth)?;
        self.mirror.accept(&locked, commit)?;
        Ok(commit)
    }

    fn push(&self, draft: &str, base: &str) -> Result<Pushed, RegistryError> {
        let failed = {
            let locked = self.mirror.lock(&self.home)?;
            match self.mirror.push(&locked, draft) {
                Ok(()) => {
                    self.mirror.accept(&locked, parse(draft))?;
                    let seen = LastSeen::read(&self.home)?;
                    seen.check(&self.home, &self.url, draft, true, |_| Ok(Growth::Grown))?;
                    return Ok(Pushed::Landed);
                }
                Err(error) => error,
            }
        };
        let ProgramError::Failed { message } = failed else {
            return Err(RegistryError::Unreached { url: self.url.clone(), source: failed });
        };
        let now = self.refresh()?.to_string();
        if now == draft {
            return Ok(Pushed::Landed);
        }
        if now != base || is_lost_race(&message) {
            return Ok(Pushed::Lost);
        }
        Err(RegistryError::NotTaken { url: self.url.clone(), message })
    }

    fn open(&self, commit: &str) -> Result<Index, RegistryError> {
        Index::open_at(self.mirror.path(), commit).map_err(|OpenError::NotARegistry { reason, .. }| {
            RegistryError::NotARegistry { url: self.url.clone(), reason }
        })
    }
}

/// Parses a commit id of 40 hexadecimal digits. Any other text results in the zero id, which no commit has.
fn parse(commit: &str) -> Oid {
    Oid::from_str(commit).unwrap_or(Oid::ZERO_SHA1)
}
