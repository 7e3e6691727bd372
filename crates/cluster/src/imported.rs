//! Lines, owners' files and archives that come from another place than a publisher: a move, or the git repository.

mod new_skills;

use std::collections::{BTreeMap, HashMap};

use deadpool_postgres::Transaction;
use registry_index::{Entry, IndexFile, shard};
use skill::{Owner, QualifiedName};

pub use self::new_skills::{ImportedSkill, write_skills};
use crate::{
    database::{Abort, Database, DatabaseError, rows, run},
    releases::{SkillLines, Step, blob_id},
};

/// Writes the lines of a skill that are new or have other flags. Returns the number of new ones.
pub async fn write_skill(write: &Transaction<'_>, name: &QualifiedName, entries: &[Entry]) -> Step<u64> {
    let Some(path) = shard::skill_file(name) else { return Ok(0) };
    let mut skill = match SkillLines::lock(write, name).await? {
        Some(known) => known,
        None => {
            let created = SkillLines::create(write, name, &path).await?;
            created.ok_or_else(|| Abort::Database(DatabaseError::Busy(format!("{name} was just created"))))?
        }
    };
    let file: String = entries.iter().flat_map(|entry| [entry.to_line(), "\n".to_owned()]).collect();
    if blob_id(&skill.file())? == blob_id(file.as_bytes())? {
        return Ok(0);
    }
    let mut new = Vec::new();
    for entry in entries {
        match skill.find(&entry.version) {
            None => new.push(entry),
            Some(known) if known != entry => drop(skill.replace(write, entry).await?),
            Some(_) => {}
        }
    }
    skill.append(write, &new).await?;
    skill.show(write).await?;
    Ok(new.len() as u64)
}

/// Writes the files of owners.
///
/// # Errors
/// [`DatabaseError`]
pub async fn write_owners(write: &Transaction<'_>, files: &[(Owner, IndexFile)]) -> Result<(), DatabaseError> {
    let names: Vec<&str> = files.iter().map(|(owner, _)| owner.as_str()).collect();
    let texts: Vec<_> = files.iter().map(|(_, file)| String::from_utf8_lossy(&file.bytes)).collect();
    let ids: Vec<&str> = files.iter().map(|(_, file)| file.id.as_str()).collect();
    let sql = "insert into owners (name, file, file_id) select * from unnest($1::text[], $2::text[], $3::text[])
        on conflict (name) do update set file = excluded.file, file_id = excluded.file_id
        where owners.file_id is distinct from excluded.file_id";
    run(write, sql, &[&names, &texts, &ids]).await?;
    Ok(())
}

/// Records that the archives of releases are stored.
///
/// # Errors
/// [`DatabaseError`]
pub async fn record_archives(write: &Transaction<'_>, entries: &[&Entry]) -> Result<(), DatabaseError> {
    let sql = "insert into archives (digest, sha256, size, state)
        select *, 'stored' from unnest($1::text[], $2::text[], $3::bigint[])
        on conflict (digest) do update set sha256 = excluded.sha256, size = excluded.size, state = 'stored'";
    let digests: Vec<_> = entries.iter().map(|entry| entry.digest.to_string()).collect();
    let hashes: Vec<_> = entries.iter().map(|entry| entry.archive.to_string()).collect();
    let sizes: Vec<_> = entries.iter().map(|entry| i64::try_from(entry.size).unwrap_or(i64::MAX)).collect();
    run(write, sql, &[&digests, &hashes, &sizes]).await?;
    Ok(())
}

/// Returns the releases whose archives no row calls stored: one for each archive, and none that is withdrawn.
///
/// # Errors
/// [`DatabaseError`]
pub fn unrecorded<'a>(
    database: &Database,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Vec<&'a Entry>, DatabaseError> {
    let served = entries.into_iter().filter(|entry| entry.withdrawn.is_none());
    let mut missing: BTreeMap<String, &Entry> = served.map(|entry| (entry.digest.to_string(), entry)).collect();
    let digests: Vec<&String> = missing.keys().collect();
    let sql = "select digest from archives where digest = any ($1) and state = 'stored'";
    let known = database.read(async |client| Ok(rows(client, sql, &[&digests]).await?))?;
    for row in known {
        missing.remove(row.try_get::<_, &str>(0)?);
    }
    Ok(missing.into_values().collect())
}

/// Returns the ids of files of skills by their paths, for those that the database has.
///
/// # Errors
/// [`DatabaseError`]
pub fn file_ids(database: &Database, paths: &[&str]) -> Result<HashMap<String, String>, DatabaseError> {
    let sql = "select path, file_id from skills where path = any ($1)";
    let found = database.read(async |client| Ok(rows(client, sql, &[&paths]).await?))?;
    found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}
