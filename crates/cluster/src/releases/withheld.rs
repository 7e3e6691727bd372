//! Releases that are not served: quarantines, and copies of their content that await a decision.
//!
//! Everything is read from the database on each request, so that a decision takes effect at once in every replica.

use std::time::SystemTime;

use deadpool_postgres::{GenericClient, Transaction};
use registry_index::Entry;
use server::store::{HeldCopy, Quarantined, WithheldReason, hold_reason};
use skill::Digest;
use tokio_postgres::{Error, Row};

use super::{lines::Step, log::By};
use crate::database::{row, rows, run, stored_time, time_text};

/// Returns the reason why a release is not served; `None` when it is.
pub async fn barrier(client: &impl GenericClient, entry: &Entry) -> Result<Option<WithheldReason>, Error> {
    // In a database that was restored without these tables, the line alone records the decision.
    if let Some(notice) = entry.quarantined() {
        return Ok(Some(WithheldReason::Quarantined(notice.reason)));
    }
    if let Some(notice) = entry.held() {
        return Ok(Some(WithheldReason::Held(notice.reason)));
    }
    let sql = "select (select reason from quarantine where skill = $1 and version = $2),
                      exists (select 1 from copies where skill = $1 and version = $2 and decided_by is not null)";
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    let statement = client.prepare_cached(sql).await?;
    let found = client.query_one(&statement, &[&skill, &version]).await?;
    if let Some(reason) = found.try_get::<_, Option<String>>(0)? {
        return Ok(Some(WithheldReason::Quarantined(reason)));
    }
    if found.try_get(1)? {
        return Ok(None);
    }
    let original = original(client, &entry.digest).await?;
    Ok(original.map(|release| WithheldReason::Held(hold_reason(&release))))
}

/// Returns the release with some content that was put under quarantine first: `owner/name version`.
pub async fn original(client: &impl GenericClient, digest: &Digest) -> Result<Option<String>, Error> {
    let sql = "select skill || ' ' || version from quarantine where digest = $1 order by at, skill, version limit 1";
    row(client, sql, &[&digest.to_string()]).await?.map(|row| row.try_get(0)).transpose()
}

/// Returns whether an archive may be served by its digest: no release with this content is under quarantine, or an admin
/// has let a copy through.
pub async fn is_readable(client: &impl GenericClient, digest: &Digest) -> Result<bool, Error> {
    let sql = "select 1 where not exists (select 1 from quarantine where digest = $1)
               or exists (select 1 from copies where digest = $1 and decided_by is not null)";
    Ok(row(client, sql, &[&digest.to_string()]).await?.is_some())
}

const QUARANTINE: &str = "select skill, version, reason, account, at, was_yanked from quarantine";

/// Returns the quarantine of a release, if it has one.
pub async fn quarantine_of(
    client: &impl GenericClient,
    skill: &str,
    version: &str,
) -> Result<Option<Quarantined>, Error> {
    let sql = format!("{QUARANTINE} where skill = $1 and version = $2");
    row(client, &sql, &[&skill, &version]).await?.as_ref().map(quarantined_of).transpose()
}

/// Returns all releases under quarantine, newest first.
pub async fn quarantined(client: &impl GenericClient) -> Result<Vec<Quarantined>, Error> {
    let found = rows(client, &format!("{QUARANTINE} order by at desc, skill"), &[]).await?;
    found.iter().map(quarantined_of).collect()
}

/// Returns the undecided copies, newest first; with `digest`, only those of this content.
pub async fn held_copies(client: &impl GenericClient, digest: Option<&Digest>) -> Result<Vec<HeldCopy>, Error> {
    let sql = "select skill, version, copy_of, at from copies
               where decided_by is null and ($1::text is null or digest = $1) order by at desc, skill";
    let found = rows(client, sql, &[&digest.map(ToString::to_string)]).await?;
    let copy = |row: &Row| {
        let at = time_text(row.try_get::<_, SystemTime>(3)?);
        Ok(HeldCopy { skill: row.try_get(0)?, version: row.try_get(1)?, copy_of: row.try_get(2)?, at })
    };
    found.iter().map(copy).collect()
}

/// Puts a release under quarantine and records the decision, unless it is already.
pub async fn add_quarantine(write: &Transaction<'_>, entry: &Entry, reason: &str, by: &By<'_>) -> Step<()> {
    if withhold(write, entry, reason, by).await? {
        by.note(write, "quarantine", &format!("{} {}", entry.name, entry.version), reason).await?;
    }
    Ok(())
}

/// Withholds the content of a release, without a record of its own. Returns `false` if it already is.
pub async fn withhold(write: &Transaction<'_>, entry: &Entry, reason: &str, by: &By<'_>) -> Result<bool, Error> {
    let sql = "insert into quarantine (skill, version, digest, reason, account, at, was_yanked)
               values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing";
    let (skill, version, digest) = (entry.name.to_string(), entry.version.to_string(), entry.digest.to_string());
    let (account, at) = (by.account.as_str(), stored_time(by.stamp.at));
    let added = run(write, sql, &[&skill, &version, &digest, &reason, &account, &at, &entry.yanked]).await?;
    remove_copy(write, entry).await?;
    Ok(added > 0)
}

/// Ends the quarantine of a release. After the last one of its content, the copies are forgotten too.
pub async fn end_quarantine(write: &Transaction<'_>, entry: &Entry) -> Result<(), Error> {
    let (skill, version, digest) = (entry.name.to_string(), entry.version.to_string(), entry.digest.to_string());
    run(write, "delete from quarantine where skill = $1 and version = $2", &[&skill, &version]).await?;
    let sql = "delete from copies where digest = $1 and not exists (select 1 from quarantine where digest = $1)";
    run(write, sql, &[&digest]).await.map(drop)
}

/// Returns whether a release is the only one under quarantine with its content.
pub async fn is_last(write: &Transaction<'_>, digest: &Digest) -> Result<bool, Error> {
    let sql = "select 1 from (select 1 from quarantine where digest = $1 limit 2) as found having count(*) <= 1";
    Ok(row(write, sql, &[&digest.to_string()]).await?.is_some())
}

/// Puts a copy on hold. A copy that is on hold or was decided about is left unchanged.
pub async fn add_copy(write: &Transaction<'_>, entry: &Entry, copy_of: &str, by: &By<'_>) -> Result<(), Error> {
    let sql = "insert into copies (skill, version, digest, copy_of, at) values ($1, $2, $3, $4, $5)
               on conflict do nothing";
    let (skill, version, digest) = (entry.name.to_string(), entry.version.to_string(), entry.digest.to_string());
    run(write, sql, &[&skill, &version, &digest, &copy_of, &stored_time(by.stamp.at)]).await.map(drop)
}

/// Records that an admin let a copy through.
pub async fn let_through(write: &Transaction<'_>, entry: &Entry, by: &By<'_>) -> Result<(), Error> {
    let sql = "update copies set decided_by = $3, decided_at = $4 where skill = $1 and version = $2";
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    run(write, sql, &[&skill, &version, &by.account.as_str(), &stored_time(by.stamp.at)]).await.map(drop)
}

/// Removes a copy from the queue.
async fn remove_copy(write: &Transaction<'_>, entry: &Entry) -> Result<(), Error> {
    let sql = "delete from copies where skill = $1 and version = $2";
    run(write, sql, &[&entry.name.to_string(), &entry.version.to_string()]).await.map(drop)
}

fn quarantined_of(row: &Row) -> Result<Quarantined, Error> {
    Ok(Quarantined {
        skill: row.try_get(0)?,
        version: row.try_get(1)?,
        reason: row.try_get(2)?,
        account: row.try_get(3)?,
        at: time_text(row.try_get(4)?),
        was_yanked: row.try_get(5)?,
    })
}
