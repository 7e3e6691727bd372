//! [`move_in`]: an index with its accounts from a data folder into engines.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use client::IndexRemote;
use registry_index::{ArchiveLocation, Entry, Index, shard};
use server::{FolderTables, INDEX, Moved, store::Bytes};
use skill::{Digest, Owner, QualifiedName};
use web::ApiError;

use super::{At, MoveError, lines::Lines, tables};
use crate::{
    database::{DatabaseError, row},
    engines::Engines,
    imported::{record_archives, unrecorded, write_owner, write_skill},
    projection::log,
};

/// Threads that move skills, most of which wait for archives to be on the disk.
const THREADS: usize = 16;

/// Skills that are moved in one transaction.
const SKILLS: usize = 50;

/// Owners whose files are written in one transaction.
const OWNERS: usize = 500;

/// A data folder, read as of one commit.
struct Source<'a> {
    engines: &'a Engines,
    git_dir: PathBuf,
    head: String,
    names: Vec<QualifiedName>,
}

/// Moves an index into engines, or what changed since the last time.
///
/// # Errors
/// [`MoveError`]; the next call continues.
pub fn move_in(engines: &Engines, folder: &Path, at: At<'_>) -> Result<Moved, MoveError> {
    let tables = FolderTables::open(folder)?;
    let git_dir = folder.join(INDEX);
    refuse_own_changes(engines)?;
    let head = Index::open(&git_dir)?.revision()?;
    let index = Index::open_at(&git_dir, &head)?;
    let source = Source { engines, names: index.names()?, git_dir, head };
    source.move_owners(&index)?;
    source.move_skills(at)?;
    let rows = tables::into_database(&engines.database, &tables)?;
    source.move_history()?;
    at("comparing", 0, 1);
    let (releases, digest) = Lines::of_index(&index)?.finish();
    let found = Lines::of_database(&engines.database)?.finish();
    if found != (releases, digest.clone()) {
        return Err(MoveError::Differs { from: releases, to: found.0 });
    }
    let archives = super::archives_in(&engines.database)?;
    Ok(Moved { releases, archives, rows, digest, is_served: tables.is_served() })
}

/// Refuses a database in which something else was published: a move would mix two histories.
fn refuse_own_changes(engines: &Engines) -> Result<(), MoveError> {
    let sql = "select kind || ' ' || subject from events where kind <> 'import' order by id limit 1";
    let found = engines.database.read(async |client| Ok(row(client, sql, &[]).await?))?;
    match found {
        None => Ok(()),
        Some(found) => Err(MoveError::NotEmpty(found.try_get(0).map_err(DatabaseError::from)?)),
    }
}

impl Source<'_> {
    fn move_owners(&self, index: &Index) -> Result<(), MoveError> {
        let owners: BTreeSet<Owner> = index.paths()?.iter().filter_map(|path| owner_at(path)).collect();
        for some in Vec::from_iter(owners).chunks(OWNERS) {
            let mut files = Vec::new();
            for owner in some {
                files.extend(index.file(&shard::owner_file(owner))?.map(|file| (owner, file)));
            }
            self.engines.database.transaction::<_, DatabaseError>(async |write| {
                for (owner, file) in &files {
                    write_owner(write, owner, file).await?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Moves archives and lines, several skills at the same time.
    fn move_skills(&self, at: At<'_>) -> Result<(), MoveError> {
        let chunks: Vec<&[QualifiedName]> = self.names.chunks(SKILLS).collect();
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || -> Result<(), MoveError> {
            let index = Index::open_at(&self.git_dir, &self.head)?;
            while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                    break;
                }
                self.move_chunk(&index, chunk)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        if let Err(error) = work() {
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        }
                    })
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                at("moving", next.load(Ordering::Relaxed).min(chunks.len()) as u64, chunks.len() as u64);
                thread::sleep(std::time::Duration::from_millis(100));
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Moves skills, first the archives that no earlier run stored.
    fn move_chunk(&self, index: &Index, names: &[QualifiedName]) -> Result<(), MoveError> {
        let skills =
            names.iter().map(|name| Ok((name, index.releases(name)?))).collect::<Result<Vec<_>, MoveError>>()?;
        let archives = unrecorded(&self.engines.database, skills.iter().flat_map(|(_, entries)| entries))?;
        let read = archives.iter().map(|entry| Ok((entry.digest, archive_of(index, entry)?)));
        self.engines.objects.put_all(&read.collect::<Result<Vec<_>, MoveError>>()?)?;
        self.engines.database.transaction::<_, ApiError>(async |write| {
            record_archives(write, &archives).await?;
            for (name, entries) in &skills {
                write_skill(write, name, entries).await?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Records the history as one event, and gives it to the git repository that follows the index.
    fn move_history(&self) -> Result<(), MoveError> {
        if let Some((remote, folder)) = self.engines.remote()? {
            drop(self.engines.commits()?);
            IndexRemote::open(&self.git_dir.display().to_string(), &folder)?.fetch()?;
            if !remote.push(&self.head)? {
                return Err(MoveError::OtherHistory(remote.url().to_owned()));
            }
        }
        log::record_import(&self.engines.database, &self.head)?;
        Ok(())
    }
}

/// Reads the archive of a release from the tree of an index.
fn archive_of(index: &Index, entry: &Entry) -> Result<Bytes, MoveError> {
    let missing = || MoveError::NoArchive { release: format!("{} {}", entry.name, entry.version) };
    let ArchiveLocation::Tree(path) = index.config().archive_location(&entry.digest) else { return Err(missing()) };
    let bytes = Bytes::from(index.file(&path)?.ok_or_else(missing)?.bytes);
    if Digest::of_bytes(&bytes) == entry.archive { Ok(bytes) } else { Err(missing()) }
}

/// Parses the owner in the path of an owner's file.
fn owner_at(path: &str) -> Option<Owner> {
    let name = path.strip_prefix(shard::OWNERS)?.strip_prefix('/')?.strip_suffix(".json")?;
    Owner::parse(name).ok()
}
