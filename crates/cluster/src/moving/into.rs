//! [`move_in`]: an index with its accounts from a data folder into engines.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use client::IndexRemote;
use git2::Oid;
use registry_index::{ArchiveLocation, Entry, Index, IndexFile, shard};
use server::{FolderTables, INDEX, Moved, store::Bytes};
use skill::{Digest, Owner};
use web::ApiError;

use super::{
    At, MoveError,
    lines::compare,
    listed::{SkillFile, archive_files, skill_files},
    tables,
};
use crate::{
    database::{DatabaseError, row},
    engines::Engines,
    imported::{ImportedSkill, file_ids, record_archives, unrecorded, write_owners, write_skills},
    projection::log,
};

/// Threads that move skills. While some wait for archives to be on the disk or for the database, others read.
const THREADS: usize = 16;

/// Skills that are moved in one transaction.
const SKILLS: usize = 500;

/// Owners whose files are written in one transaction.
const OWNERS: usize = 2000;

/// Bytes of archives that a thread stores at once.
const BYTES: usize = 16 << 20;

/// A data folder, read as of one commit.
struct Source<'a> {
    engines: &'a Engines,
    git_dir: PathBuf,
    head: String,
    skills: Vec<SkillFile>,
    archives: HashMap<Digest, Oid>,
}

/// Moves an index into engines, or what changed since the last time.
///
/// # Errors
/// [`MoveError`]; the next call continues.
pub fn move_in(engines: &Engines, folder: &Path, at: At<'_>) -> Result<Moved, MoveError> {
    let tables = FolderTables::open(folder)?;
    let git_dir = folder.join(INDEX);
    engines.claim()?;
    refuse_own_changes(engines)?;
    at("listing", 0, 1);
    let head = Index::open(&git_dir)?.revision()?;
    let index = Index::open_at(&git_dir, &head)?;
    let (skills, archives) = (skill_files(&index)?, archive_files(&index)?);
    let source = Source { engines, git_dir, head, skills, archives };
    source.move_owners(&index)?;
    source.move_skills(at)?;
    let rows = tables::into_database(&engines.database, &tables)?;
    source.move_history()?;
    at("comparing", 0, 1);
    let (releases, digest) = compare(&engines.database, &source.git_dir, &source.head)?;
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
        let files = index.files(|folder| folder == shard::OWNERS)?.into_iter();
        let owners: Vec<(Owner, Oid)> = files.filter_map(|(path, id)| Some((owner_at(&path)?, id))).collect();
        for some in owners.chunks(OWNERS) {
            let file = |(owner, id): &(Owner, Oid)| -> Result<_, MoveError> {
                Ok((owner.clone(), IndexFile { bytes: index.content(*id)?, id: id.to_string() }))
            };
            let files = some.iter().map(file).collect::<Result<Vec<_>, _>>()?;
            let write = &self.engines.database;
            write.transaction::<_, DatabaseError>(async |write| Ok(write_owners(write, &files).await?))?;
        }
        Ok(())
    }

    /// Moves archives and lines, several skills at the same time.
    fn move_skills(&self, at: At<'_>) -> Result<(), MoveError> {
        let chunks: Vec<&[SkillFile]> = self.skills.chunks(SKILLS).collect();
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

    /// Moves the skills that no earlier run moved, first their archives.
    fn move_chunk(&self, index: &Index, files: &[SkillFile]) -> Result<(), MoveError> {
        let database = &self.engines.database;
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let known = file_ids(database, &paths)?;
        let changed = files.iter().filter(|file| known.get(&file.path).is_none_or(|id| *id != file.id.to_string()));
        let read = |file: &SkillFile| -> Result<_, MoveError> {
            let entries = index.releases_at(&file.path, file.id)?;
            Ok(ImportedSkill::new(file.name.clone(), file.path.clone(), entries)?)
        };
        let skills = changed.map(read).collect::<Result<Vec<_>, _>>()?;
        if skills.is_empty() {
            return Ok(());
        }
        let archives = unrecorded(database, skills.iter().flat_map(ImportedSkill::entries))?;
        self.store(index, &archives)?;
        database.transaction::<_, ApiError>(async |write| {
            record_archives(write, &archives).await?;
            write_skills(write, &skills).await
        })?;
        Ok(())
    }

    /// Stores the archives of releases, many with one sync.
    fn store(&self, index: &Index, entries: &[&Entry]) -> Result<(), MoveError> {
        let (mut read, mut bytes) = (Vec::new(), 0);
        for entry in entries {
            let archive = self.archive_of(index, entry)?;
            bytes += archive.len();
            read.push((entry.digest, archive));
            if bytes >= BYTES {
                self.engines.objects.put_all(&std::mem::take(&mut read))?;
                bytes = 0;
            }
        }
        Ok(self.engines.objects.put_all(&read)?)
    }

    /// Reads the archive of a release from the tree of the index.
    fn archive_of(&self, index: &Index, entry: &Entry) -> Result<Bytes, MoveError> {
        let missing = || MoveError::NoArchive { release: format!("{} {}", entry.name, entry.version) };
        let ArchiveLocation::Tree(_) = index.config().archive_location(&entry.digest) else { return Err(missing()) };
        let bytes = Bytes::from(index.content(*self.archives.get(&entry.digest).ok_or_else(missing)?)?);
        if Digest::of_bytes(&bytes) == entry.archive { Ok(bytes) } else { Err(missing()) }
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

/// Parses the owner in the path of an owner's file.
fn owner_at(path: &str) -> Option<Owner> {
    let name = path.strip_prefix(shard::OWNERS)?.strip_prefix('/')?.strip_suffix(".json")?;
    Owner::parse(name).ok()
}
