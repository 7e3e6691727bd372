//! [`move_out`]: an index with its accounts from engines into a data folder.
//!
//! The folder gets the history of the git repository that follows the index, then commits with what that lacks: lines and
//! owners' files, the archives, and last a `config.json` that finds them in the tree.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::mpsc::{SyncSender, sync_channel},
    thread,
};

use client::IndexRemote;
use git2::{ObjectType, Oid, Repository};
use jiff::Timestamp;
use registry_index::{CommitSeries, Config, Index, Stamp, StoreError, shard};
use server::{FolderTables, INDEX, Moved};
use skill::Digest;

use super::{At, MoveError, lines::compare, tables};
use crate::{
    database::{DatabaseError, rows},
    engines::Engines,
    objects::tree_path,
};

/// Most files and bytes in one commit.
const FILES: usize = 1000;
const BYTES: usize = 32 << 20;

/// Owners, skills and archives that are read at a time.
const ROWS: i64 = 1000;

/// Archives that are read at the same time.
const THREADS: usize = 8;

/// Files of the tree by path, with the ids of their contents.
type Known = HashMap<String, Oid>;

/// An archive to be read: its path in the tree, its digest and its hash.
type Wanted = (String, Digest, Digest);

/// Archives that are read, with the number of those that the tree has already.
struct ReadArchives {
    known: u64,
    files: Vec<(String, Vec<u8>)>,
}

/// The git repository of a data folder, and the commit that is written next.
struct Target {
    git_dir: PathBuf,
    series: CommitSeries,
    files: Vec<(String, Option<Vec<u8>>)>,
    bytes: usize,
    tip: Option<String>,
    stamp: Stamp,
}

/// Moves an index into a data folder, or what changed since the last time.
///
/// # Errors
/// [`MoveError`]; the next call continues.
pub fn move_out(engines: &Engines, folder: &Path, at: At<'_>) -> Result<Moved, MoveError> {
    engines.verify()?;
    let tables = FolderTables::open(folder)?;
    if tables.is_served() {
        return Err(MoveError::Served(folder.to_owned()));
    }
    let git_dir = folder.join(INDEX);
    let tip = history(engines, &git_dir)?;
    let stamp = Stamp { by: "skillhub".to_owned(), at: Timestamp::now() };
    let series = CommitSeries::begin(&git_dir, tip.as_deref())?;
    let mut target = Target { git_dir, series, files: Vec::new(), bytes: 0, tip, stamp };
    target.take_owners(engines)?;
    target.take_lines(engines, at)?;
    let archives = target.take_archives(engines, at)?;
    let known = target.known(str::is_empty)?;
    target.take(&known, shard::CONFIG.to_owned(), Config::fresh().into_bytes())?;
    target.flush()?;
    let rows = tables::into_folder(&engines.database, &tables)?;
    at("comparing", 0, 1);
    let tip = Index::open(&target.git_dir)?.revision()?;
    let (releases, digest) = compare(&engines.database, &target.git_dir, &tip)?;
    Ok(Moved { releases, archives, rows, digest, is_served: false })
}

/// Returns the commit to continue from: that of an earlier run, or of the git repository that follows the index.
fn history(engines: &Engines, git_dir: &Path) -> Result<Option<String>, MoveError> {
    drop(CommitSeries::begin(git_dir, None)?);
    let head = match engines.remote()? {
        None => None,
        Some((remote, _)) => {
            let head = remote.head()?;
            if head.is_some() {
                IndexRemote::open(remote.url(), git_dir)?.fetch()?;
            }
            head
        }
    };
    let Ok(index) = Index::open(git_dir) else {
        // An earlier run that was interrupted has written no `config.json` yet.
        let branch = Repository::open_bare(git_dir).map_err(StoreError::from)?.refname_to_id("refs/heads/main");
        return Ok(head.or(branch.ok().map(|tip| tip.to_string())));
    };
    match &head {
        Some(head) if !index.has_grown_from(head)? => Err(MoveError::OtherHistory(git_dir.display().to_string())),
        _ => Ok(Some(index.revision()?)),
    }
}

impl Target {
    fn take_owners(&mut self, engines: &Engines) -> Result<(), MoveError> {
        let sql = "select name, file from owners where file is not null and name > $1 order by name limit $2";
        let (known, mut last) = (self.known(|folder| folder == shard::OWNERS)?, String::new());
        loop {
            let found = engines.database.read(async |client| Ok(rows(client, sql, &[&last, &ROWS]).await?))?;
            for row in &found {
                let (name, file) = pair(row)?;
                self.take(&known, format!("{}/{name}.json", shard::OWNERS), file.into_bytes())?;
                last = name;
            }
            if found.is_empty() {
                return Ok(());
            }
        }
    }

    /// Takes the files of skills by path, so that a commit changes few folders.
    fn take_lines(&mut self, engines: &Engines, at: At<'_>) -> Result<(), MoveError> {
        let sql = "select path, (select coalesce(string_agg(line || E'\\n', '' order by position), '') from releases
            where skill = id) from skills where path > $1 order by path limit $2";
        let (known, mut last, mut done) = (self.known(shard::is_shard)?, String::new(), 0);
        loop {
            let found = engines.database.read(async |client| Ok(rows(client, sql, &[&last, &ROWS]).await?))?;
            for row in &found {
                let (path, file) = pair(row)?;
                self.take(&known, path.clone(), file.into_bytes())?;
                last = path;
            }
            done += found.len() as u64;
            at("lines", done, 0);
            if found.is_empty() {
                return Ok(());
            }
        }
    }

    /// Takes archives by digest, while other threads read the next ones. Returns their number.
    fn take_archives(&mut self, engines: &Engines, at: At<'_>) -> Result<u64, MoveError> {
        let known = self.known(|folder| folder == shard::BUNDLES)?;
        thread::scope(|scope| {
            let (send, archives) = sync_channel(1);
            let reader = scope.spawn(move || read_archives(engines, &known, &send));
            let mut count = 0;
            for read in archives {
                count += read.known + read.files.len() as u64;
                for (path, bytes) in read.files {
                    self.add(path, bytes)?;
                }
                at("archives", count, 0);
            }
            reader.join().unwrap_or_else(|_| Err(MoveError::Lines("the archives cannot be read".to_owned())))?;
            Ok(count)
        })
    }

    /// Lists the files of the tree below those folders at the top that `wanted` accepts.
    fn known(&mut self, wanted: impl Fn(&str) -> bool) -> Result<Known, MoveError> {
        self.flush()?;
        Ok(self.series.files(wanted)?.into_iter().collect())
    }

    /// Takes a file into the next commit, unless the tree has it.
    fn take(&mut self, known: &Known, path: String, bytes: Vec<u8>) -> Result<(), MoveError> {
        let id = Oid::hash_object(ObjectType::Blob, &bytes).map_err(StoreError::from)?;
        if known.get(&path) == Some(&id) { Ok(()) } else { self.add(path, bytes) }
    }

    /// Takes a file into the next commit.
    fn add(&mut self, path: String, bytes: Vec<u8>) -> Result<(), MoveError> {
        self.bytes += bytes.len();
        self.files.push((path, Some(bytes)));
        if self.files.len() >= FILES || self.bytes >= BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the next commit to the disk.
    fn flush(&mut self) -> Result<(), MoveError> {
        if self.files.is_empty() {
            return Ok(());
        }
        let message = format!("take over {}\n", skill::counted(self.files.len(), "file"));
        self.bytes = 0;
        let tip = self.series.commit(std::mem::take(&mut self.files), &message, &self.stamp)?;
        let next = CommitSeries::begin(&self.git_dir, self.tip.as_deref())?;
        std::mem::replace(&mut self.series, next).finish()?;
        self.series = CommitSeries::begin(&self.git_dir, Some(&tip))?;
        self.tip = Some(tip);
        Ok(())
    }
}

/// Reads the archives of all releases by digest, except those that the tree has, and sends them in parts.
fn read_archives(engines: &Engines, known: &Known, send: &SyncSender<ReadArchives>) -> Result<(), MoveError> {
    let sql = "select digest, sha256, size from archives where state = 'stored' and digest > $1 and exists (
            select 1 from releases where releases.digest = archives.digest and not is_withdrawn
        ) order by digest limit $2";
    let mut last = String::new();
    loop {
        let found = engines.database.read(async |client| Ok(rows(client, sql, &[&last, &ROWS]).await?))?;
        let (mut part, mut bytes, mut there) = (Vec::new(), 0, 0);
        for row in &found {
            let (digest, sha256) = pair(row)?;
            let damaged = || DatabaseError::Failed(format!("the row of the archive {digest} is damaged"));
            let (parsed, archive): (Digest, Digest) =
                (digest.parse().map_err(|_| damaged())?, sha256.parse().map_err(|_| damaged())?);
            last = digest;
            let path = tree_path(&parsed);
            if known.contains_key(&path) {
                there += 1;
                continue;
            }
            part.push((path, parsed, archive));
            bytes += usize::try_from(row.try_get::<_, i64>(2).map_err(DatabaseError::from)?).unwrap_or(BYTES);
            if bytes >= BYTES {
                let files = read_all(engines, &std::mem::take(&mut part))?;
                bytes = 0;
                if send.send(ReadArchives { known: 0, files }).is_err() {
                    return Ok(());
                }
            }
        }
        let is_last = send.send(ReadArchives { known: there, files: read_all(engines, &part)? }).is_err();
        if is_last || found.is_empty() {
            return Ok(());
        }
    }
}

/// Reads archives, several at the same time, and returns them with their paths in the same order.
fn read_all(engines: &Engines, wanted: &[Wanted]) -> Result<Vec<(String, Vec<u8>)>, MoveError> {
    let read = |(path, digest, archive): &Wanted| -> Result<_, MoveError> {
        Ok((path.clone(), engines.objects.get(digest, archive)?.to_vec()))
    };
    let parts = wanted.chunks(wanted.len().div_ceil(THREADS).max(1));
    let parts: Vec<Result<Vec<_>, MoveError>> = thread::scope(|scope| {
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(read).collect())).collect();
        let failed = || Err(MoveError::Lines("the archives cannot be read".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| failed())).collect()
    });
    Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Returns the first two texts of a row.
fn pair(row: &tokio_postgres::Row) -> Result<(String, String), DatabaseError> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}
