//! [`store`], [`remove`]: the archives in the object store, and the rows that say which of them count.
//!
//! An archive is there before a release names it, and no release names it any more before it is removed. Both lock its
//! row, so that a publisher who needs an archive that is being removed writes it again.

use deadpool_postgres::Transaction;
use registry_index::{AppendError, ClearedRelease, shard};
use server::store::Bytes;
use skill::Digest;
use tokio::task::block_in_place;
use web::ApiError;

use crate::{
    database::{Abort, Database, DatabaseError, row, run},
    objects::Objects,
};

const TOUCH: &str = "insert into archives (digest, sha256, size, state) values ($1, $2, $3, 'pending')
    on conflict (digest) do update set touched_at = now(),
        sha256 = case archives.state when 'stored' then archives.sha256 else excluded.sha256 end,
        size = case archives.state when 'stored' then archives.size else excluded.size end,
        state = case archives.state when 'stored' then 'stored' else 'pending' end
    returning state, sha256";

/// Lets a transaction be acknowledged before it is on the disk. The transaction of the release, which comes after it in
/// PostgreSQL's log, is not acknowledged before both are. If the server dies in between, an object without a row is left,
/// which the next publish of the same content uses.
const NOT_YET_DURABLE: &str = "set local synchronous_commit = off";

/// Stores the archive of a release, unless it is stored already. The transaction of the release has to record it with
/// `mark_stored`.
///
/// # Errors
/// [`ApiError`] with 503 when a store cannot be reached, or for an archive of the same content with other bytes.
pub fn store(database: &Database, objects: &Objects, release: &ClearedRelease<'_>) -> Result<(), ApiError> {
    let (entry, digest) = (release.entry(), release.entry().digest.to_string());
    let (sha256, size) = (entry.archive.to_string(), i64::try_from(entry.size).unwrap_or(i64::MAX));
    let (state, known): (String, String) = database.transaction::<_, DatabaseError>(async |write| {
        write.batch_execute(NOT_YET_DURABLE).await?;
        let statement = write.prepare_cached(TOUCH).await?;
        let row = write.query_one(&statement, &[&digest, &sha256, &size]).await?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    })?;
    if state == "stored" {
        let path = || format!("{}/{}", shard::BUNDLES, entry.digest.hex());
        return if known == sha256 { Ok(()) } else { Err(ApiError::of(&AppendError::Damaged { path: path() })) };
    }
    Ok(objects.put(&entry.digest, &Bytes::copy_from_slice(release.archive()))?)
}

/// Records that an archive is stored, and keeps it from being removed until the end of the transaction. Returns false if
/// its removal has begun since [`store`].
pub(crate) async fn mark_stored(write: &Transaction<'_>, digest: &Digest) -> Result<bool, tokio_postgres::Error> {
    let sql =
        "update archives set state = 'stored', touched_at = now() where digest = $1 and state in ('pending', 'stored')";
    Ok(run(write, sql, &[&digest.to_string()]).await? > 0)
}

/// Locks the content of a release: until the end of the transaction, no release with it is published or decided about.
pub(crate) async fn lock_content(write: &Transaction<'_>, digest: &Digest) -> Result<(), tokio_postgres::Error> {
    row(write, "select 1 from archives where digest = $1 for update", &[&digest.to_string()]).await.map(drop)
}

/// Marks an archive for removal if no release needs it any more, and returns whether that is so.
pub(crate) async fn release_content(write: &Transaction<'_>, digest: &Digest) -> Result<bool, tokio_postgres::Error> {
    let sql = "update archives set state = 'removing', touched_at = now() where digest = $1 and state <> 'removed'
               and not exists (select 1 from releases where digest = $1 and not is_withdrawn)";
    Ok(run(write, sql, &[&digest.to_string()]).await? > 0)
}

/// Removes an archive that is marked for removal; any other is left alone.
///
/// # Errors
/// [`ApiError`] with 503 when a store cannot be reached; the archive stays marked.
pub fn remove(database: &Database, objects: &Objects, digest: &Digest) -> Result<(), ApiError> {
    let text = digest.to_string();
    database.transaction(async |write| {
        let marked = "select 1 from archives where digest = $1 and state = 'removing' for update";
        if row(write, marked, &[&text]).await?.is_none() {
            return Ok(());
        }
        // Under the lock, so that nobody stores it again meanwhile.
        block_in_place(|| objects.remove(digest)).map_err(|error| Abort::Refused(ApiError::from(error)))?;
        let sql = "update archives set state = 'removed', touched_at = now() where digest = $1";
        run(write, sql, &[&text]).await?;
        Ok(())
    })
}
