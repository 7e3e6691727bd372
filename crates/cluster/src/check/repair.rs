//! [`repair`]: corrects faults where another place proves what is right.
//!
//! A missing archive is taken from a place whose bytes have the hash in its line. The file of a skill is proved by its git
//! id: two of the lines, the id in the row, and the git repository agree. Everything else is left as it is.

use std::collections::BTreeSet;

use registry_index::{Entry, Index, shard};
use server::store::Bytes;
use skill::Digest;
use tokio_postgres::Row;
use web::ApiError;

use super::{CheckError, fault_of, faulty_archives, fetched, skill_rows};
use crate::{
    database::{Abort, Database, DatabaseError, row, rows, run},
    engines::Engines,
    imported::record_archives,
    objects::{Objects, tree_path},
    projection::log,
    releases::{NewReleases, SkillLines, Step, blob_id},
};

/// Numbers of what was repaired.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Repaired {
    /// Archives that are stored again, or whose rows were corrected.
    pub archives: u64,
    /// Skills whose rows were corrected.
    pub skills: u64,
}

/// Places that may have what is missing.
struct Sources<'a> {
    index: Option<Index>,
    /// Files that the git repository does not have as they are now; `None` if it is not at a commit of this database.
    behind: Option<BTreeSet<String>>,
    other: Option<&'a Objects>,
}

/// Corrects rows and stores missing archives, as far as the git repository or `other`, a store with copies of archives, has
/// them. [`check`](super::check) finds what is left.
///
/// # Errors
/// [`CheckError`] when the database, the object store or the git repository cannot be used.
pub fn repair(engines: &Engines, other: Option<&Objects>) -> Result<Repaired, CheckError> {
    engines.verify()?;
    let (mut sources, mut repaired) = (Sources { index: None, behind: None, other }, Repaired::default());
    if let Some((index, head)) = fetched(engines)? {
        let place = log::position_of(&engines.database, &head)?;
        sources.behind = place.map(|place| log::paths_after(&engines.database, place.seq)).transpose()?;
        sources.index = Some(index);
    }
    let mut faulty = Vec::new();
    skill_rows(&engines.database, |skill| {
        if fault_of(skill)?.is_some() {
            faulty.push(skill.path.clone());
        }
        Ok(())
    })?;
    for path in faulty {
        repaired.skills += u64::from(repair_skill(&engines.database, &path, sources.file(&path)?.as_deref())?);
    }
    for (digest, _) in faulty_archives(engines)?.1 {
        let Ok(parsed) = digest.parse() else { continue };
        repaired.archives += u64::from(repair_archive(engines, &parsed, &sources)?);
    }
    Ok(repaired)
}

impl Sources<'_> {
    /// Returns the file of a skill from the git repository, if that has followed all changes of it.
    fn file(&self, path: &str) -> Result<Option<Vec<u8>>, CheckError> {
        let (Some(index), Some(behind)) = (&self.index, &self.behind) else { return Ok(None) };
        if behind.contains(path) { Ok(None) } else { Ok(index.file(path)?.map(|file| file.bytes)) }
    }

    /// Returns the archive of a release with the right bytes. A git repository that began as a data folder has those of its
    /// time.
    fn archive(&self, entry: &Entry) -> Result<Option<Bytes>, CheckError> {
        let path = tree_path(&entry.digest);
        let in_git = self.index.as_ref().map(|index| index.file(&path)).transpose()?.flatten();
        if let Some(file) = in_git.filter(|file| Digest::of_bytes(&file.bytes) == entry.archive) {
            return Ok(Some(file.bytes.into()));
        }
        match self.other {
            Some(other) if other.has(&entry.digest)? => Ok(other.get(&entry.digest, &entry.archive).ok()),
            _ => Ok(None),
        }
    }
}

/// Writes the rows of a skill anew from its proven file, and returns whether it has one.
fn repair_skill(database: &Database, path: &str, in_git: Option<&[u8]>) -> Result<bool, CheckError> {
    let Some(name) = shard::skill_at(path) else { return Ok(false) };
    let repaired = database.transaction::<_, ApiError>(async |write| {
        let lock = "select id, file_id from skills where path = $1 for update";
        let Some(found) = row(write, lock, &[&path]).await? else { return Ok(false) };
        let (id, file_id): (i64, String) = (found.try_get(0)?, found.try_get(1)?);
        let lines = rows(write, "select line from releases where skill = $1 order by position", &[&id]).await?;
        let Some(file) = proven(&texts(&lines)?, &file_id, in_git)? else { return Ok(false) };
        let parsed = file.lines().map(Entry::parse).collect::<Result<Vec<_>, _>>();
        let Some(entries) = parsed.ok().filter(|all| all.iter().all(|entry| entry.name == name)) else {
            return Ok(false);
        };
        // Nothing is dropped that the file does not have.
        if lines.len() > entries.len() {
            return Ok(false);
        }
        run(write, "delete from releases where skill = $1", &[&id]).await?;
        let mut new = NewReleases::default();
        for (at, (entry, line)) in entries.iter().zip(file.lines()).enumerate() {
            new.add(id, at, entry, line);
        }
        new.insert(write).await?;
        shown(write, &name).await?;
        Ok(true)
    });
    Ok(repaired?)
}

/// Updates what is derived from the lines of a skill.
async fn shown(write: &deadpool_postgres::Transaction<'_>, name: &skill::QualifiedName) -> Step<()> {
    let skill = SkillLines::lock(write, name).await?;
    let skill = skill.ok_or_else(|| Abort::Database(DatabaseError::Busy(format!("{name} was removed"))))?;
    skill.show(write).await
}

/// Returns the file of a skill that is proved by its id: of the lines, the row and the git repository, two agree.
fn proven(lines: &[String], file_id: &str, in_git: Option<&[u8]>) -> Result<Option<String>, DatabaseError> {
    let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    let id = blob_id(text.as_bytes())?;
    if id == file_id {
        return Ok(Some(text));
    }
    let Some(in_git) = in_git.and_then(|bytes| std::str::from_utf8(bytes).ok()) else { return Ok(None) };
    let git_id = blob_id(in_git.as_bytes())?;
    Ok((git_id == file_id || git_id == id).then(|| in_git.to_owned()))
}

/// Stores the archive of a release again, and returns whether a place has it.
fn repair_archive(engines: &Engines, digest: &Digest, sources: &Sources<'_>) -> Result<bool, CheckError> {
    let Some(entry) = needed(&engines.database, digest)? else { return Ok(false) };
    let is_there = engines.objects.has(digest)? && engines.objects.get(digest, &entry.archive).is_ok();
    let found = if is_there { None } else { sources.archive(&entry)? };
    if !is_there && found.is_none() {
        return Ok(false);
    }
    let text = digest.to_string();
    let recorded = engines.database.transaction::<_, DatabaseError>(async |write| {
        // Before the archive is stored, because the leader removes one that is marked for removal.
        row(write, "select 1 from archives where digest = $1 for update", &[&text]).await?;
        let needed = "select 1 from releases where digest = $1 and not is_withdrawn limit 1";
        if row(write, needed, &[&text]).await?.is_none() {
            return Ok(false);
        }
        record_archives(write, &[&entry]).await?;
        Ok(true)
    })?;
    if let Some(bytes) = found.filter(|_| recorded) {
        engines.objects.put(digest, &bytes)?;
    }
    Ok(recorded)
}

/// Returns a release that needs an archive.
fn needed(database: &Database, digest: &Digest) -> Result<Option<Entry>, DatabaseError> {
    let sql = "select line from releases where digest = $1 and not is_withdrawn order by skill, position";
    let found = database.read(async |client| Ok(rows(client, sql, &[&digest.to_string()]).await?))?;
    let entries = texts(&found)?.into_iter().filter_map(|line| Entry::parse(&line).ok());
    Ok(entries.into_iter().find(|entry| entry.digest == *digest))
}

fn texts(rows: &[Row]) -> Result<Vec<String>, tokio_postgres::Error> {
    rows.iter().map(|row| row.try_get(0)).collect()
}
