//! [`check`]: whether rows, archives and the git repository agree; [`adopt`]: releases that a failover lost; [`repair`]:
//! faults whose right state another place proves.

mod repair;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use registry_index::{Entry, Index, OpenError, ReadError, shard};
use server::store::StoreError;
use skill::{
    Digest, QualifiedName,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;
use web::ApiError;

pub use self::repair::{Repaired, repair};
use crate::{
    database::{Abort, Database, DatabaseError, rows},
    engines::{Engines, EnginesError},
    imported::{record_archives, unrecorded, write_owners, write_skill},
    projection::{commits::CommitsError, log},
    releases::{SkillLines, blob_id},
};

/// Archives that are looked for at the same time.
const THREADS: usize = 16;

/// Faults that are described; more are only counted.
const DESCRIBED: usize = 100;

/// Reasons why a check ends early.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum CheckError {
    /// The database cannot be used.
    Database(#[from] DatabaseError),
    /// The engines cannot be used.
    Engines(#[from] EnginesError),
    /// The git repository cannot be used.
    Commits(#[from] CommitsError),
    /// A release of the git repository cannot be taken over.
    #[error("cannot take over {skill}: {reason}")]
    NotAdopted {
        /// Full name of the skill.
        skill: String,
        /// Description of the obstacle.
        reason: String,
    },
}

impl From<ApiError> for CheckError {
    fn from(error: ApiError) -> Self {
        EnginesError::from(error).into()
    }
}

impl From<StoreError> for CheckError {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<OpenError> for CheckError {
    fn from(error: OpenError) -> Self {
        Self::Commits(error.into())
    }
}

impl From<ReadError> for CheckError {
    fn from(error: ReadError) -> Self {
        Self::NotAdopted { skill: "the git repository".to_owned(), reason: error.to_string() }
    }
}

impl Fails for CheckError {
    fn failure(&self) -> Failure {
        match self {
            Self::Database(error) => error.failure(),
            Self::Engines(error) => error.failure(),
            Self::Commits(error) => error.failure(),
            Self::NotAdopted { .. } => Failure::new(FailureKind::Conflict, "not_adopted")
                .hint("compare the two, and withdraw one of them: skillhub serve check"),
        }
    }
}

/// Result of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of releases.
    pub releases: u64,
    /// Number of archives that they need.
    pub archives: u64,
    /// Number of files compared with the git repository; `None` without one.
    pub files: Option<u64>,
    /// Descriptions of what does not agree; the last may stand for more.
    pub faults: Vec<String>,
    more: u64,
}

impl Report {
    fn fault(&mut self, text: String) {
        if self.faults.len() < DESCRIBED { self.faults.push(text) } else { self.more += 1 }
    }
}

/// Compares rows, archives and the git repository. Nothing is changed.
///
/// # Errors
/// [`CheckError`] when one of them cannot be read.
pub fn check(engines: &Engines) -> Result<Report, CheckError> {
    engines.verify()?;
    let mut report = Report::default();
    let files = check_rows(&engines.database, &mut report)?;
    let (needed, missing) = faulty_archives(engines)?;
    report.archives = needed;
    missing.into_iter().for_each(|(digest, fault)| report.fault(format!("archive {digest}: {fault}")));
    check_git(engines, files, &mut report)?;
    if report.more > 0 {
        report.faults.push(format!("and {} more", report.more));
    }
    Ok(report)
}

/// The rows of a skill.
struct SkillRows {
    path: String,
    file_id: String,
    lines: Vec<String>,
    /// The digest of each release; empty without one.
    digests: Vec<String>,
}

/// Visits the rows of all skills, by path.
fn skill_rows(
    database: &Database,
    mut visit: impl FnMut(&SkillRows) -> Result<(), DatabaseError>,
) -> Result<(), DatabaseError> {
    let sql = "select path, file_id, array(select line from releases where skill = id order by position),
            array(select coalesce(digest, '') from releases where skill = id order by position)
        from skills where path > $1 order by path limit 500";
    let mut last = String::new();
    loop {
        let found = database.read(async |client| Ok(rows(client, sql, &[&last]).await?))?;
        for row in &found {
            let (path, file_id, lines, digests) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
            let skill = SkillRows { path, file_id, lines, digests };
            visit(&skill)?;
            last = skill.path;
        }
        if found.is_empty() {
            return Ok(());
        }
    }
}

/// Checks the lines of each skill. Returns the paths of all files with their ids.
fn check_rows(database: &Database, report: &mut Report) -> Result<BTreeMap<String, String>, CheckError> {
    let mut files = BTreeMap::new();
    skill_rows(database, |skill| {
        report.releases += skill.lines.len() as u64;
        if let Some(fault) = fault_of(skill)? {
            report.fault(format!("{}: {fault}", skill.path));
        }
        files.insert(skill.path.clone(), skill.file_id.clone());
        Ok(())
    })?;
    let owners = "select name, file_id from owners where file is not null";
    for row in database.read(async |client| Ok(rows(client, owners, &[]).await?))? {
        let name: String = row.try_get(0).map_err(DatabaseError::from)?;
        files.insert(format!("{}/{name}.json", shard::OWNERS), row.try_get(1).map_err(DatabaseError::from)?);
    }
    Ok(files)
}

/// Returns what is wrong with the rows of a skill.
fn fault_of(skill: &SkillRows) -> Result<Option<String>, DatabaseError> {
    let SkillRows { path, file_id, lines, digests } = skill;
    let file: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    if blob_id(file.as_bytes())? != *file_id {
        return Ok(Some("its lines are not those of its id".to_owned()));
    }
    for (line, digest) in lines.iter().zip(digests) {
        let Ok(entry) = Entry::parse(line) else { continue };
        if shard::skill_file(&entry.name).as_deref() != Some(path) || entry.digest.to_string() != *digest {
            return Ok(Some(format!("the row of {} differs from its line", entry.version)));
        }
    }
    Ok(None)
}

/// Finds archives that releases need and that are not stored. Returns the number of needed ones, and the digests of the
/// others with descriptions.
fn faulty_archives(engines: &Engines) -> Result<(u64, Vec<(String, String)>), CheckError> {
    let sql = "select distinct releases.digest, coalesce(archives.state, 'missing')
        from releases left join archives using (digest)
        where not is_withdrawn and releases.digest is not null";
    let found = engines.database.read(async |client| Ok(rows(client, sql, &[]).await?))?;
    let needed = found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let needed: Vec<(String, String)> =
        needed.collect::<Result<_, tokio_postgres::Error>>().map_err(DatabaseError::from)?;
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((digest, state)) = needed.get(next.fetch_add(1, Ordering::Relaxed)) {
            let is_there = digest.parse::<Digest>().ok().map(|digest| engines.objects.has(&digest));
            let fault = match (state.as_str(), is_there) {
                ("stored", Some(Ok(true))) => continue,
                ("stored", Some(Ok(false))) => "it is not in the object store".to_owned(),
                ("stored", Some(Err(error))) => error.to_string(),
                ("stored", None) => "the digest is damaged".to_owned(),
                (state, _) => format!("its row says {state}"),
            };
            faults.lock().unwrap_or_else(PoisonError::into_inner).push((digest.clone(), fault));
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    Ok((needed.len() as u64, faults.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Compares the files of the rows with those of the git repository, as far as it has followed.
fn check_git(engines: &Engines, mut files: BTreeMap<String, String>, report: &mut Report) -> Result<(), CheckError> {
    let Some((index, head)) = fetched(engines)? else { return Ok(()) };
    let Some(place) = log::position_of(&engines.database, &head)? else {
        report.fault(format!("the git repository is at {head}, which the database does not know: see --adopt"));
        return Ok(());
    };
    for path in log::paths_after(&engines.database, place.seq)? {
        files.remove(&path);
    }
    report.files = Some(files.len() as u64);
    for (path, id) in files {
        if index.file(&path)?.is_none_or(|file| file.id != id) {
            report.fault(format!("{path}: the git repository has another content"));
        }
    }
    Ok(())
}

/// Fetches the git repository, and opens it at its newest commit; `None` without one.
fn fetched(engines: &Engines) -> Result<Option<(Index, String)>, CheckError> {
    let Some((remote, folder)) = engines.remote()? else { return Ok(None) };
    drop(engines.commits()?);
    let Some(head) = remote.head().map_err(CommitsError::from)? else { return Ok(None) };
    remote.fetch().map_err(CommitsError::from)?;
    Ok(Some((Index::open_at(&folder, &head)?, head)))
}

/// Takes over releases that the git repository has and the database lacks, whose archives are stored. Returns their
/// number.
///
/// # Errors
/// [`CheckError::NotAdopted`] when the database has other lines for a skill; the skills before are taken over.
pub fn adopt(engines: &Engines) -> Result<u64, CheckError> {
    engines.verify()?;
    let Some((index, head)) = fetched(engines)? else { return Ok(0) };
    if log::position_of(&engines.database, &head)?.is_some() {
        return Ok(0);
    }
    let changed = log::paths_after(&engines.database, log::cursor(&engines.database)?.seq)?;
    let mut adopted = 0;
    for name in index.names()? {
        let entries = index.releases(&name)?;
        if shard::skill_file(&name).is_some_and(|path| changed.contains(&path)) {
            if has_all(&engines.database, &name, &entries)? {
                continue;
            }
            let reason = "it lacks releases, and was changed since the failover".to_owned();
            return Err(CheckError::NotAdopted { skill: name.to_string(), reason });
        }
        adopted += adopt_skill(engines, &index, &name, &entries)?;
    }
    log::record_import(&engines.database, &head)?;
    Ok(adopted)
}

/// Returns whether the database has all these releases.
fn has_all(database: &Database, name: &QualifiedName, entries: &[Entry]) -> Result<bool, DatabaseError> {
    let sql = "select count(*) from releases join skills on skill = id
        where owner = $1 and name = $2 and version || ' ' || digest = any ($3)";
    let wanted: Vec<String> = entries.iter().map(|entry| format!("{} {}", entry.version, entry.digest)).collect();
    let found = database
        .read(async |client| Ok(rows(client, sql, &[&name.owner.as_str(), &name.name.as_str(), &wanted]).await?))?;
    let count: i64 = found.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(count.unsigned_abs() == entries.len() as u64)
}

fn adopt_skill(engines: &Engines, index: &Index, name: &QualifiedName, entries: &[Entry]) -> Result<u64, CheckError> {
    let refused = |reason: String| CheckError::NotAdopted { skill: name.to_string(), reason };
    let archives = unrecorded(&engines.database, entries)?;
    for entry in &archives {
        if !engines.objects.has(&entry.digest)? {
            return Err(refused(format!("the archive of {} is not stored", entry.version)));
        }
    }
    let owner = index.file(&shard::owner_file(&name.owner))?.map(|file| (name.owner.clone(), file));
    let owner = Vec::from_iter(owner);
    let adopted = engines.database.transaction::<_, ApiError>(async |write| {
        record_archives(write, &archives).await?;
        write_owners(write, &owner).await?;
        let new = write_skill(write, name, entries).await?;
        let skill = SkillLines::lock(write, name).await?;
        let lines = skill.map_or(0, |skill| skill.file().split(|byte| *byte == b'\n').count() - 1);
        if lines != entries.len() {
            let why = "the database has releases that the git repository lacks";
            return Err(Abort::Refused(ApiError::bad_request(why)));
        }
        Ok(new)
    });
    adopted.map_err(|error| refused(EnginesError::from(error).to_string()))
}
