//! [`SkillLines`]: the lines of a skill in the index, under the lock of its row.

use std::time::SystemTime;

use deadpool_postgres::{GenericClient, Transaction};
use git2::{ObjectType, Oid};
use registry_index::{Entry, LineError, newest};
use semver::Version;
use skill::QualifiedName;
use tokio_postgres::Error;
use web::ApiError;

use crate::{
    database::{Abort, DatabaseError, row, rows, run, stored_time},
    events::Edit,
    search,
};

/// Result of a step in a transaction.
pub type Step<T> = Result<T, Abort<ApiError>>;

/// The lines of a skill, whose row is locked until the end of the transaction.
pub struct SkillLines {
    id: i64,
    path: String,
    lines: Vec<Line>,
}

/// A line as it is stored.
pub struct Line {
    /// The text, without a line feed.
    text: String,
    /// The release; `None` for a line of a later format.
    entry: Option<Entry>,
}

impl Line {
    fn parse(text: String) -> Result<Self, LineError> {
        match Entry::parse(&text) {
            Ok(entry) => Ok(Self { text, entry: Some(entry) }),
            Err(LineError::UnknownFormat(_)) => Ok(Self { text, entry: None }),
            Err(error) => Err(error),
        }
    }
}

/// Reads the entries of a skill in order of publishing, without those of a later format.
///
/// # Errors
/// The database cannot be read, or a line is damaged.
pub async fn entries(client: &impl GenericClient, name: &QualifiedName) -> Result<Vec<Entry>, Abort<ApiError>> {
    let lines = "select line from releases where skill = (select id from skills where owner = $1 and name = $2)
                 order by position";
    let found = rows(client, lines, &[&name.owner.as_str(), &name.name.as_str()]).await?;
    let texts = found.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    Ok(parsed(texts)?.into_iter().filter_map(|line| line.entry).collect())
}

fn parsed(texts: Vec<String>) -> Result<Vec<Line>, ApiError> {
    let lines = texts.into_iter().map(Line::parse).collect::<Result<_, _>>();
    lines.map_err(|error| ApiError::broken(&error))
}

/// Returns the id that git gives a file.
///
/// # Errors
/// git cannot hash it.
pub fn blob_id(bytes: &[u8]) -> Result<String, DatabaseError> {
    let id = Oid::hash_object(ObjectType::Blob, bytes);
    id.map(|id| id.to_string()).map_err(|error| DatabaseError::Failed(error.to_string()))
}

impl SkillLines {
    /// Locks a skill and reads its lines; `None` if it does not exist.
    pub async fn lock(write: &Transaction<'_>, name: &QualifiedName) -> Step<Option<Self>> {
        let lock = "select id, path from skills where owner = $1 and name = $2 for update";
        let Some(found) = row(write, lock, &[&name.owner.as_str(), &name.name.as_str()]).await? else {
            return Ok(None);
        };
        let (id, path): (i64, String) = (found.try_get(0)?, found.try_get(1)?);
        let lines = rows(write, "select line from releases where skill = $1 order by position", &[&id]).await?;
        let texts = lines.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
        Ok(Some(Self { id, path, lines: parsed(texts)? }))
    }

    /// Creates a skill without lines; `None` if another transaction has just created it.
    pub async fn create(write: &Transaction<'_>, name: &QualifiedName, path: &str) -> Step<Option<Self>> {
        let insert = "insert into skills (owner, name, path) values ($1, $2, $3) on conflict do nothing returning id";
        let created = row(write, insert, &[&name.owner.as_str(), &name.name.as_str(), &path]).await?;
        let skill = |id| Self { id, path: path.to_owned(), lines: Vec::new() };
        Ok(created.map(|row| row.try_get(0)).transpose()?.map(skill))
    }

    /// Returns the whole file of the skill.
    pub fn file(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect::<String>().into_bytes()
    }

    /// Returns a release.
    pub fn find(&self, version: &Version) -> Option<&Entry> {
        self.lines.iter().filter_map(|line| line.entry.as_ref()).find(|entry| entry.version == *version)
    }

    /// Adds lines at the end.
    pub async fn append(&mut self, write: &Transaction<'_>, entries: &[&Entry]) -> Result<Vec<Edit>, Error> {
        let mut new = NewReleases::default();
        let lines: Vec<String> = entries.iter().map(|entry| entry.to_line()).collect();
        for (at, (entry, line)) in entries.iter().zip(&lines).enumerate() {
            new.add(self.id, self.lines.len() + at, entry, line);
        }
        new.insert(write).await?;
        let added = entries.iter().zip(&lines);
        self.lines.extend(added.map(|(entry, line)| Line { text: line.clone(), entry: Some((*entry).clone()) }));
        Ok(lines.into_iter().map(|line| Edit::Append { path: self.path.clone(), line }).collect())
    }

    /// Replaces the line of a release; `None` if the skill has no such release.
    pub async fn replace(&mut self, write: &Transaction<'_>, changed: &Entry) -> Result<Option<Edit>, Error> {
        let same = |line: &Line| line.entry.as_ref().is_some_and(|entry| entry.version == changed.version);
        let Some(at) = self.lines.iter().position(same) else { return Ok(None) };
        let (line, position) = (changed.to_line(), number(at));
        let update = "update releases set line = $3, is_withdrawn = $4 where skill = $1 and position = $2";
        run(write, update, &[&self.id, &position, &line, &changed.withdrawn.is_some()]).await?;
        if let Some(kept) = self.lines.get_mut(at) {
            *kept = Line { text: line.clone(), entry: Some(changed.clone()) };
        }
        Ok(Some(Edit::Replace { path: self.path.clone(), at: at + 1, line }))
    }

    /// Updates what is derived from the lines: the id of the file, the newest release and its words and relations.
    pub async fn show(&self, write: &Transaction<'_>) -> Step<()> {
        let entries: Vec<Entry> = self.lines.iter().filter_map(|line| line.entry.clone()).collect();
        let newest = newest(&entries, false);
        search::show(write, self.id, &blob_id(&self.file())?, newest).await?;
        let others: Vec<&str> = newest.into_iter().flat_map(Entry::relations).collect();
        let link = "with gone as (delete from links where skill = $1 and other <> all ($2))
                    insert into links (skill, other) select $1, unnest($2::text[]) on conflict do nothing";
        run(write, link, &[&self.id, &others]).await?;
        Ok(())
    }
}

/// New rows of `releases`, by column.
#[derive(Default)]
pub struct NewReleases<'a> {
    skills: Vec<i64>,
    positions: Vec<i32>,
    versions: Vec<String>,
    keys: Vec<String>,
    digests: Vec<String>,
    times: Vec<SystemTime>,
    lines: Vec<&'a str>,
    withdrawn: Vec<bool>,
}

impl<'a> NewReleases<'a> {
    /// Adds a release, whose line has `at` lines before it in the file of its skill.
    pub fn add(&mut self, skill: i64, at: usize, entry: &Entry, line: &'a str) {
        let unbuilt = Version { build: semver::BuildMetadata::EMPTY, ..entry.version.clone() };
        self.skills.push(skill);
        self.positions.push(number(at));
        self.versions.push(entry.version.to_string());
        self.keys.push(unbuilt.to_string());
        self.digests.push(entry.digest.to_string());
        self.times.push(stored_time(entry.published_at));
        self.lines.push(line);
        self.withdrawn.push(entry.withdrawn.is_some());
    }

    /// Inserts the rows.
    ///
    /// # Errors
    /// The error of the engine.
    pub async fn insert(&self, write: &Transaction<'_>) -> Result<(), Error> {
        let sql =
            "insert into releases (skill, position, version, version_key, digest, published_at, line, is_withdrawn)
            select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::timestamptz[],
                $7::text[], $8::bool[])";
        let Self { skills, positions, versions, keys, digests, times, lines, withdrawn } = self;
        run(write, sql, &[skills, positions, versions, keys, digests, times, lines, withdrawn]).await.map(drop)
    }
}

/// Returns the number of a line, from 1.
fn number(at: usize) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX).saturating_add(1)
}
