//! [`PgReleases`]: the releases in PostgreSQL, which is the source of truth.
//!
//! Every replica reads the same rows, so that a change is visible everywhere in the next request. Locks are taken in this
//! order: namespace (`owners`), content (`archives`), skills.

mod flags;
mod lines;
mod log;
mod publishing;
mod withheld;

pub use self::lines::{NewReleases, SkillLines, Step, blob_id};

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use deadpool_postgres::Client;
use jiff::Timestamp;
use registry_index::{Appended, ClearedRelease, Entry, KeyChange, OwnerFile, PublicKey, SignerError, shard};
use server::store::{Flag, Gauge, HeldCopy, NamespaceState, Quarantined, Releases, StaticFile, WithheldReason};
use skill::{Digest, Owner, QualifiedName, SkillName};
use web::ApiError;

use self::{lines::entries, log::By, publishing::lock_namespace};
use crate::{
    archives,
    database::{Abort, Database, DatabaseError, row, rows},
    objects::Objects,
    projection::Projection,
};

/// Releases in PostgreSQL, with their archives in an object store.
pub struct PgReleases {
    database: Arc<Database>,
    objects: Arc<Objects>,
    /// The file `config.json` of the index.
    config: StaticFile,
    decisions: AtomicU64,
    /// The background work, if this replica takes part in it.
    projection: Option<Projection>,
}

impl PgReleases {
    /// Creates the store. `config` is the text of `config.json`.
    ///
    /// # Errors
    /// [`DatabaseError::Failed`] if git cannot hash the text.
    pub fn new(database: Arc<Database>, objects: Arc<Objects>, config: String) -> Result<Self, DatabaseError> {
        let config = static_file(blob_id(config.as_bytes())?, config);
        Ok(Self { database, objects, config, decisions: AtomicU64::default(), projection: None })
    }

    /// Takes part in the background work.
    #[must_use]
    pub fn working(self, projection: Projection) -> Self {
        Self { projection: Some(projection), ..self }
    }

    /// Reads with steps that may also find damaged content.
    fn read<T>(&self, work: impl AsyncFn(&Client) -> Step<T>) -> Result<T, ApiError> {
        let read = self.database.read(async |client| match work(client).await {
            Ok(done) => Ok(Ok(done)),
            Err(Abort::Refused(error)) => Ok(Err(error)),
            Err(Abort::Database(error)) => Err(error),
        });
        read?
    }
}

impl Releases for PgReleases {
    fn head(&self) -> Result<String, ApiError> {
        // Events become visible in another order than that of their numbers, so the last ones are counted too.
        let sql = "select coalesce(max(id), 0) || '.' || count(*) from events
                   where id > (select coalesce(max(id), 0) - 4096 from events)";
        let head = self
            .database
            .read(async |client| Ok(row(client, sql, &[]).await?.map(|row| row.try_get(0)).transpose()?));
        Ok(head?.unwrap_or_default())
    }

    fn decisions(&self) -> u64 {
        self.decisions.load(Ordering::Acquire)
    }

    fn is_behind(&self) -> Result<bool, ApiError> {
        // Nothing that changes is cached.
        Ok(false)
    }

    fn catch_up(&self) -> Result<(), ApiError> {
        Ok(())
    }

    fn file_at_hand(&self, _path: &str) -> Option<Option<StaticFile>> {
        None
    }

    fn file(&self, path: &str) -> Result<Option<StaticFile>, ApiError> {
        if path == shard::CONFIG {
            return Ok(Some(self.config.clone()));
        }
        let owner = path.strip_prefix("owners/").and_then(|file| file.strip_suffix(".json"));
        let (sql, key) = match owner.filter(|name| Owner::parse(name).is_ok()) {
            Some(owner) => ("select file_id, file from owners where name = $1 and file is not null", owner),
            None if shard::skill_at(path).is_none() => return Ok(None),
            None => (
                "select file_id, string_agg(line || E'\\n', '' order by position)
                 from skills join releases on skill = id where path = $1 group by id",
                path,
            ),
        };
        let found = self.database.read(async |client| {
            let Some(found) = row(client, sql, &[&key]).await? else { return Ok(None) };
            Ok(Some(static_file(found.try_get(0)?, found.try_get(1)?)))
        });
        Ok(found?)
    }

    fn of_skill(&self, name: &QualifiedName) -> Result<Vec<Entry>, ApiError> {
        self.read(async |client| entries(client, name).await)
    }

    fn owners_of(&self, name: &SkillName) -> Result<Vec<Owner>, ApiError> {
        let sql = "select owner from skills where name = $1 order by owner";
        let found = self.database.read(async |client| texts(&rows(client, sql, &[&name.as_str()]).await?))?;
        Ok(found.iter().filter_map(|owner| Owner::parse(owner).ok()).collect())
    }

    fn names_beside(&self, name: &SkillName) -> Result<Vec<QualifiedName>, ApiError> {
        let folder = shard::name_folder(name);
        let Some((parent, _)) = folder.as_deref().and_then(|folder| folder.rsplit_once('/')) else {
            return Ok(Vec::new());
        };
        // The character after the slash is the zero.
        let (from, to) = (format!("{parent}/"), format!("{parent}0"));
        let sql = "select path from skills where path > $1 and path < $2";
        let found = self.database.read(async |client| texts(&rows(client, sql, &[&from, &to]).await?))?;
        Ok(found.iter().filter_map(|path| shard::skill_at(path)).collect())
    }

    fn owner(&self, owner: &Owner) -> Result<OwnerFile, ApiError> {
        let sql = "select file from owners where name = $1 and file is not null";
        let found = self.database.read(async |client| texts(&rows(client, sql, &[&owner.as_str()]).await?))?;
        owner_file(owner, found.first().map(String::as_str))
    }

    fn signer(&self, entry: &Entry) -> Result<Result<Option<PublicKey>, SignerError>, ApiError> {
        if entry.signature.is_none() { Ok(Ok(None)) } else { Ok(self.owner(&entry.name.owner)?.signer(entry)) }
    }

    fn namespace(&self, owner: &Owner, account: Option<&Owner>) -> Result<NamespaceState, ApiError> {
        self.read(async |client| Ok(publishing::namespace(client, owner, account).await?.0))
    }

    fn publish(
        &self,
        release: &ClearedRelease<'_>,
        account: &Owner,
        may: &dyn Fn(NamespaceState) -> Result<(), ApiError>,
    ) -> Result<Appended, ApiError> {
        publishing::publish(self, release, account, may)
    }

    fn set_flag(&self, entry: &Entry, flag: Flag<'_>, account: &Owner, now: Timestamp) -> Result<Entry, ApiError> {
        let by = By::new(account, now);
        let decided = self.database.transaction(async |write| flags::decide(write, entry, flag, &by).await)?;
        self.decisions.fetch_add(1, Ordering::AcqRel);
        if matches!(flag, Flag::Withdrawn(_)) {
            // It is no longer served. What the object store refuses now, the leader removes later.
            let _: Result<(), ApiError> = archives::remove(&self.database, &self.objects, &entry.digest);
        }
        Ok(decided)
    }

    fn change_key(
        &self,
        owner: &Owner,
        change: &KeyChange,
        account: &Owner,
        now: Timestamp,
        action: &str,
        key: &str,
    ) -> Result<OwnerFile, ApiError> {
        let by = By::new(account, now);
        self.database.transaction(async |write| {
            let known = lock_namespace(write, owner).await?;
            let mut file = owner_file(owner, known.as_deref())?;
            let message = file.change(owner, change, by.stamp.at).map_err(|error| ApiError::of(&error))?;
            if let Some(message) = message {
                let edit = publishing::write_owner(write, owner, file.to_text()).await?;
                by.log(write, owner.as_str(), message, vec![edit]).await?;
            }
            by.note(write, action, &format!("{key} of {owner}"), "").await?;
            Ok(file)
        })
    }

    fn barrier(&self, entry: &Entry) -> Result<Option<WithheldReason>, ApiError> {
        Ok(self.database.read(async |client| Ok(withheld::barrier(client, entry).await?))?)
    }

    fn is_readable(&self, digest: &Digest) -> Result<bool, ApiError> {
        Ok(self.database.read(async |client| Ok(withheld::is_readable(client, digest).await?))?)
    }

    fn quarantine_of(&self, skill: &str, version: &str) -> Result<Option<Quarantined>, ApiError> {
        Ok(self.database.read(async |client| Ok(withheld::quarantine_of(client, skill, version).await?))?)
    }

    fn quarantined(&self) -> Result<Vec<Quarantined>, ApiError> {
        Ok(self.database.read(async |client| Ok(withheld::quarantined(client).await?))?)
    }

    fn held_copies(&self) -> Result<Vec<HeldCopy>, ApiError> {
        Ok(self.database.read(async |client| Ok(withheld::held_copies(client, None).await?))?)
    }

    fn check_readiness(&self) -> Result<(), ApiError> {
        self.database.read(async |client| Ok(row(client, "select 1", &[]).await?))?;
        Ok(self.objects.check_mounted()?)
    }

    fn refresh(&self) -> Result<(), ApiError> {
        // Nothing that changes is cached.
        Ok(())
    }

    fn gauges(&self) -> Result<Vec<Gauge>, ApiError> {
        self.projection.as_ref().map_or_else(|| Ok(Vec::new()), Projection::gauges)
    }

    fn tidy(&self, go_on: &dyn Fn() -> bool) -> Result<(), ApiError> {
        self.projection.as_ref().map_or(Ok(()), |projection| projection.pass(go_on))
    }
}

fn static_file(id: String, text: String) -> StaticFile {
    StaticFile { bytes: text.into(), etag: format!("\"{id}\"") }
}

/// Parses the file of an owner, who has no keys without one.
fn owner_file(owner: &Owner, text: Option<&str>) -> Result<OwnerFile, ApiError> {
    let parsed = text.map_or_else(|| Ok(OwnerFile::new(owner)), |text| OwnerFile::parse(text.as_bytes()));
    parsed.map_err(|reason| ApiError::of(&SignerError::OwnerFile { path: shard::owner_file(owner), reason }))
}

/// Returns the texts in the first column.
fn texts(rows: &[tokio_postgres::Row]) -> Result<Vec<String>, DatabaseError> {
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}
