//! [`move_out`]: an index with its accounts from engines into a data folder.
//!
//! The folder gets the history of the git repository that follows the index, then commits with what that lacks: lines and
//! owners' files, the archives, and last a `config.json` that finds them in the tree.

use std::path::{Path, PathBuf};

use client::IndexRemote;
use jiff::Timestamp;
use registry_index::{ArchiveLocation, CommitSeries, Config, Index, Stamp, shard};
use server::{FolderTables, INDEX, Moved};
use skill::Digest;

use super::{
    At, MoveError,
    lines::{Lines, visit},
    tables,
};
use crate::{
    database::{DatabaseError, rows},
    engines::Engines,
};

/// Most files and bytes in one commit.
const FILES: usize = 1000;
const BYTES: usize = 32 << 20;

/// Owners and archives that are read at a time.
const ROWS: i64 = 1000;

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
    target.take(shard::CONFIG.to_owned(), Config::fresh().into_bytes())?;
    target.flush()?;
    let rows = tables::into_folder(&engines.database, &tables)?;
    at("comparing", 0, 1);
    let (releases, digest) = Lines::of_database(&engines.database)?.finish();
    let found = Lines::of_index(&Index::open(&target.git_dir)?)?.finish();
    if found != (releases, digest.clone()) {
        return Err(MoveError::Differs { from: releases, to: found.0 });
    }
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
    let Ok(index) = Index::open(git_dir) else { return Ok(head) };
    match &head {
        Some(head) if !index.has_grown_from(head)? => Err(MoveError::OtherHistory(git_dir.display().to_string())),
        _ => Ok(Some(index.revision()?)),
    }
}

impl Target {
    fn take_owners(&mut self, engines: &Engines) -> Result<(), MoveError> {
        let sql = "select name, file from owners where file is not null and name > $1 order by name limit $2";
        let mut last = String::new();
        loop {
            let found = engines.database.read(async |client| Ok(rows(client, sql, &[&last, &ROWS]).await?))?;
            for row in &found {
                let (name, file) = pair(row)?;
                self.take(format!("{}/{name}.json", shard::OWNERS), file.into_bytes())?;
                last = name;
            }
            if found.is_empty() {
                return Ok(());
            }
        }
    }

    fn take_lines(&mut self, engines: &Engines, at: At<'_>) -> Result<(), MoveError> {
        let mut done = 0;
        visit::<MoveError>(&engines.database, |name, lines| {
            done += 1;
            at("lines", done, 0);
            let Some(path) = shard::skill_file(name) else { return Ok(()) };
            self.take(path, lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>().into_bytes())
        })
    }

    fn take_archives(&mut self, engines: &Engines, at: At<'_>) -> Result<u64, MoveError> {
        let config = Config::parse(Config::fresh().as_bytes()).map_err(|error| MoveError::Config(error.to_string()))?;
        let sql = "select digest, sha256 from archives where state = 'stored' and digest > $1 and exists (
                select 1 from releases where releases.digest = archives.digest and not is_withdrawn
            ) order by digest limit $2";
        let (mut last, mut count) = (String::new(), 0);
        loop {
            let found = engines.database.read(async |client| Ok(rows(client, sql, &[&last, &ROWS]).await?))?;
            for row in &found {
                let (digest, sha256) = pair(row)?;
                let damaged = || DatabaseError::Failed(format!("the row of the archive {digest} is damaged"));
                let parsed: Digest = digest.parse().map_err(|_| damaged())?;
                let ArchiveLocation::Tree(path) = config.archive_location(&parsed) else { continue };
                if self.series.read(&path)?.is_none() {
                    let bytes = engines.objects.get(&parsed, &sha256.parse().map_err(|_| damaged())?)?;
                    self.take(path, bytes.to_vec())?;
                }
                count += 1;
                at("archives", count, 0);
                last = digest;
            }
            if found.is_empty() {
                return Ok(count);
            }
        }
    }

    /// Takes a file into the next commit, unless the tree has it.
    fn take(&mut self, path: String, bytes: Vec<u8>) -> Result<(), MoveError> {
        if self.series.read(&path)?.as_deref() == Some(&bytes[..]) {
            return Ok(());
        }
        self.bytes += bytes.len();
        self.files.push((path, Some(bytes)));
        match self.files.len() >= FILES || self.bytes >= BYTES {
            true => self.flush(),
            false => Ok(()),
        }
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

/// Returns the two texts of a row.
fn pair(row: &tokio_postgres::Row) -> Result<(String, String), DatabaseError> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}
