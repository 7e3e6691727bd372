//! [`PgActivity`]: downloads, stars, reports and the audit log.

use std::{collections::BTreeMap, sync::Arc};

use deadpool_postgres::GenericClient;
use jiff::Timestamp;
use server::store::{
    Activity, AuditLine, Download, Downloader, ReportOfRelease, StoreError, pending_downloads::PendingDownloads,
};
use skill::{Digest, Owner};
use tokio_postgres::Row;
use web::Client;

use crate::{
    audit::note,
    database::{Abort, Database, DatabaseError, row, rows, run, stored_time, time_text},
};

/// Adds downloads. Those without a skill count for the release that first published the content.
const ADD_DOWNLOADS: &str = "
    insert into downloads (skill, version, digest, account, day, count)
    select coalesce(first.skill, d.skill), coalesce(first.version, d.version), d.digest, d.account, d.day::date,
        sum(d.count)::bigint
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
        as d (skill, version, digest, account, day, count)
    left join lateral (
        select s.owner || '/' || s.name as skill, r.version from releases r join skills s on s.id = r.skill
        where d.skill = '' and r.digest = d.digest order by r.published_at, 1, 2 limit 1) first on true
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (skill, version, digest, account, day) do update set count = downloads.count + excluded.count";

/// Sets the downloads of skills that were downloaded since yesterday.
const SUM_DOWNLOADS: &str = "
    update skills s set downloads = total.count
    from (select skill, sum(count)::bigint as count from downloads
          where skill in (select skill from downloads where day >= (now() at time zone 'UTC')::date - 1)
          group by skill) total
    where s.owner = split_part(total.skill, '/', 1) and s.name = split_part(total.skill, '/', 2)
    and s.downloads <> total.count";

/// Columns of a report, in the order of [`report_of`].
const REPORT: &str = "id, skill, version, reason, account, created_at, decision, decided_by, decided_at";

/// Store of downloads, stars, reports and the audit log. Downloads are counted in memory and written in batches; each
/// replica recognises repeated ones by itself.
pub struct PgActivity {
    database: Arc<Database>,
    pending: PendingDownloads,
}

impl PgActivity {
    /// Creates the store on a database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database, pending: PendingDownloads::default() }
    }

    fn add_downloads(&self, downloads: &BTreeMap<Download, u64>) -> Result<(), DatabaseError> {
        let text = |of: fn(&Download) -> String| -> Vec<String> { downloads.keys().map(of).collect() };
        let skills = text(|download| download.skill.clone());
        let versions = text(|download| download.version.clone());
        let digests = text(|download| download.digest.to_string());
        let accounts = text(|download| download.account.clone());
        let days = text(|download| download.day.clone());
        let counts: Vec<i64> = downloads.values().map(|count| i64::try_from(*count).unwrap_or(i64::MAX)).collect();
        self.database.transaction(async |write| -> Result<(), Abort<DatabaseError>> {
            run(write, ADD_DOWNLOADS, &[&skills, &versions, &digests, &accounts, &days, &counts]).await?;
            Ok(())
        })
    }
}

/// Brings the downloads of each skill up to date, by which lists are sorted. The leader does it at an interval: for each
/// batch of each replica, it would write a popular skill again and again.
///
/// # Errors
/// [`DatabaseError`]
pub fn sum_downloads(database: &Database) -> Result<(), DatabaseError> {
    database.transaction(async |write| -> Result<(), Abort<DatabaseError>> {
        run(write, SUM_DOWNLOADS, &[]).await?;
        Ok(())
    })
}

impl Activity for PgActivity {
    fn count(&self, download: Download, client: Client) {
        self.pending.count(download, client);
    }

    fn write_downloads(&self) -> Result<(), StoreError> {
        self.pending.write_by(|pending| Ok(self.add_downloads(pending)?))
    }

    fn by_day(&self, skill: &str, since: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "select to_char(day, 'YYYY-MM-DD'), sum(count)::bigint from downloads
                   where skill = $1 and day >= $2::text::date group by day order by day";
        Ok(self.database.read(async |client| {
            rows(client, sql, &[&skill, &since])
                .await?
                .iter()
                .map(|row| Ok((row.try_get(0)?, count(row, 1)?)))
                .collect()
        })?)
    }

    fn by_version(&self, skill: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql = "select version, sum(count)::bigint from downloads where skill = $1 group by version";
        Ok(self.database.read(async |client| {
            rows(client, sql, &[&skill]).await?.iter().map(|row| Ok((row.try_get(0)?, count(row, 1)?))).collect()
        })?)
    }

    fn downloaders(&self, digest: &Digest) -> Result<Vec<Downloader>, StoreError> {
        self.write_downloads()?;
        let digest = digest.to_string();
        let sql = "select skill, version, account, to_char(day, 'YYYY-MM-DD'), count from downloads where digest = $1
                   order by day desc, account";
        Ok(self.database.read(async |client| {
            let of = |row: &Row| -> Result<Downloader, DatabaseError> {
                let account: String = row.try_get(2)?;
                Ok(Downloader {
                    skill: row.try_get(0)?,
                    version: row.try_get(1)?,
                    account: Some(account).filter(|account| !account.is_empty()),
                    day: row.try_get(3)?,
                    count: count(row, 4)?,
                })
            };
            rows(client, sql, &[&digest]).await?.iter().map(of).collect()
        })?)
    }

    fn set_star(&self, skill: &str, account: &Owner, is_starred: bool) -> Result<u64, StoreError> {
        let change = match is_starred {
            true => "insert into stars (skill, account) values ($1, $2) on conflict do nothing",
            false => "delete from stars where skill = $1 and account = $2",
        };
        let sum = "update skills set stars = (select count(*) from stars where skill = $1)
                   where owner = split_part($1, '/', 1) and name = split_part($1, '/', 2)";
        let changed = self.database.transaction(async |write| -> Result<u64, Abort<DatabaseError>> {
            // The lock on the skill keeps two counts apart.
            let lock = "select 1 from skills where owner = split_part($1, '/', 1) and name = split_part($1, '/', 2)
                        for no key update";
            row(write, lock, &[&skill]).await?;
            if run(write, change, &[&skill, &account.as_str()]).await? > 0 {
                run(write, sum, &[&skill]).await?;
            }
            Ok(stars(write, skill).await?)
        });
        Ok(changed?)
    }

    fn stars(&self, skill: &str) -> Result<u64, StoreError> {
        Ok(self.database.read(async |client| stars(client, skill).await)?)
    }

    fn report(
        &self,
        skill: &str,
        version: &str,
        reason: &str,
        account: &Owner,
        now: Timestamp,
    ) -> Result<ReportOfRelease, StoreError> {
        let sql = format!(
            "insert into reports (skill, version, reason, account, created_at) values ($1, $2, $3, $4, $5)
             returning {REPORT}"
        );
        let added = self.database.transaction(async |write| -> Result<ReportOfRelease, Abort<DatabaseError>> {
            let added = row(write, &sql, &[&skill, &version, &reason, &account.as_str(), &stored_time(now)]).await?;
            let added = added.ok_or_else(|| DatabaseError::Failed("it did not store the report".to_owned()))?;
            Ok(report_of(&added)?)
        });
        Ok(added?)
    }

    fn reports(&self, are_open: bool) -> Result<Vec<ReportOfRelease>, StoreError> {
        let which = if are_open { "decision is null order by id" } else { "decision is not null order by id desc" };
        let sql = format!("select {REPORT} from reports where {which} limit 200");
        Ok(self.database.read(async |client| rows(client, &sql, &[]).await?.iter().map(report_of).collect())?)
    }

    fn decide(
        &self,
        id: i64,
        decision: &str,
        account: &Owner,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<ReportOfRelease>, StoreError> {
        let sql = format!(
            "update reports set decision = $2, decided_by = $3, decided_at = $4
             where id = $1 and decision is null returning {REPORT}"
        );
        let decided = self.database.transaction(async |write| -> Result<_, Abort<DatabaseError>> {
            let decided = row(write, &sql, &[&id, &decision, &account.as_str(), &stored_time(now)]).await?;
            let Some(decided) = decided else { return Ok(None) };
            let report = report_of(&decided)?;
            let subject = format!("{} {}", report.skill, report.version);
            note(write, account.as_str(), now, &format!("report {decision}"), &subject, reason).await?;
            Ok(Some(report))
        });
        Ok(decided?)
    }

    fn note(
        &self,
        account: Option<&Owner>,
        now: Timestamp,
        action: &str,
        subject: &str,
        reason: &str,
    ) -> Result<(), StoreError> {
        let account = account.map_or("", Owner::as_str);
        let noted = self.database.transaction(async |write| -> Result<(), Abort<DatabaseError>> {
            Ok(note(write, account, now, action, subject, reason).await?)
        });
        Ok(noted?)
    }

    fn audit(&self, before: Option<i64>) -> Result<Vec<AuditLine>, StoreError> {
        let sql = "select id, at, account, action, subject, reason from audit where id < $1 order by id desc limit 200";
        let of = |row: &Row| -> Result<AuditLine, DatabaseError> {
            Ok(AuditLine {
                id: row.try_get(0)?,
                at: time_text(row.try_get(1)?),
                account: row.try_get(2)?,
                action: row.try_get(3)?,
                subject: row.try_get(4)?,
                reason: row.try_get(5)?,
            })
        };
        Ok(self
            .database
            .read(async |client| rows(client, sql, &[&before.unwrap_or(i64::MAX)]).await?.iter().map(of).collect())?)
    }
}

/// Returns the number of accounts that starred a skill.
async fn stars(client: &impl GenericClient, skill: &str) -> Result<u64, DatabaseError> {
    let found = row(client, "select count(*) from stars where skill = $1", &[&skill]).await?;
    found.map_or(Ok(0), |found| count(&found, 0))
}

fn count(row: &Row, at: usize) -> Result<u64, DatabaseError> {
    Ok(row.try_get::<_, i64>(at)?.unsigned_abs())
}

fn report_of(row: &Row) -> Result<ReportOfRelease, DatabaseError> {
    Ok(ReportOfRelease {
        id: row.try_get(0)?,
        skill: row.try_get(1)?,
        version: row.try_get(2)?,
        reason: row.try_get(3)?,
        account: row.try_get(4)?,
        created_at: time_text(row.try_get(5)?),
        decision: row.try_get(6)?,
        decided_by: row.try_get(7)?,
        decided_at: row.try_get::<_, Option<_>>(8)?.map(time_text),
    })
}
