//! [`SqliteActivity`]: downloads, stars, reports and the audit log.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use skill::{Digest, Owner};
use web::Client;

use crate::store::{
    Activity, AuditLine, Download, Downloader, ReportOfRelease, StoreError,
    embedded::{audit::note, database::Database},
    pending_downloads::PendingDownloads,
    records::to_the_second,
};

/// SQLite store of downloads, stars, reports and decisions.
#[derive(Debug)]
pub struct SqliteActivity {
    database: Arc<Database>,
    pending: PendingDownloads,
}

impl SqliteActivity {
    /// Creates the store on a database.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        Self { database, pending: PendingDownloads::default() }
    }

    fn add_downloads(&self, downloads: &BTreeMap<Download, u64>) -> Result<(), StoreError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        for (download, count) in downloads {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            let digest = download.digest.to_string();
            let (skill, version) = match download.skill.is_empty() {
                true => first_release(&write, &digest)?.unwrap_or_default(),
                false => (download.skill.clone(), download.version.clone()),
            };
            write.execute(
                "insert into downloads (skill, version, digest, account, day, count) values (?1, ?2, ?3, ?4, ?5, ?6)
                 on conflict do update set count = count + excluded.count",
                params![skill, version, digest, download.account, download.day, count],
            )?;
            write.execute("update skills set downloads = downloads + ?2 where name = ?1", params![skill, count])?;
        }
        Ok(write.commit()?)
    }
}

impl Activity for SqliteActivity {
    fn count(&self, download: Download, client: Client) {
        self.pending.count(download, client);
    }

    fn write_downloads(&self) -> Result<(), StoreError> {
        self.pending.write_by(|pending| self.add_downloads(pending))
    }

    fn by_day(&self, skill: &str, since: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "select day, sum(count) from downloads where skill = ?1 and day >= ?2 group by day order by day";
        Ok(self.database.list(sql, [skill, since], counted)?)
    }

    fn by_version(&self, skill: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let sql = "select version, sum(count) from downloads where skill = ?1 group by version";
        Ok(self.database.list(sql, [skill], counted)?.into_iter().collect())
    }

    fn downloaders(&self, digest: &Digest) -> Result<Vec<Downloader>, StoreError> {
        self.write_downloads()?;
        let sql =
            "select skill, version, account, day, count from downloads where digest = ?1 order by day desc, account";
        Ok(self.database.list(sql, [digest.to_string()], |row| {
            let account: String = row.get(2)?;
            Ok(Downloader {
                skill: row.get(0)?,
                version: row.get(1)?,
                account: Some(account).filter(|account| !account.is_empty()),
                day: row.get(3)?,
                count: row.get::<_, i64>(4)?.unsigned_abs(),
            })
        })?)
    }

    fn set_star(&self, skill: &str, account: &Owner, is_starred: bool) -> Result<u64, StoreError> {
        let writer = self.database.writer();
        let sql = match is_starred {
            true => "insert into stars (skill, account) values (?1, ?2) on conflict do nothing",
            false => "delete from stars where skill = ?1 and account = ?2",
        };
        writer.execute(sql, [skill, account.as_str()])?;
        Ok(stars(&writer, skill)?)
    }

    fn stars(&self, skill: &str) -> Result<u64, StoreError> {
        Ok(stars(&self.database.reader(), skill)?)
    }

    fn report(
        &self,
        skill: &str,
        version: &str,
        reason: &str,
        account: &Owner,
        now: Timestamp,
    ) -> Result<ReportOfRelease, StoreError> {
        let created_at = to_the_second(now);
        let writer = self.database.writer();
        writer.execute(
            "insert into reports (skill, version, reason, account, created_at) values (?1, ?2, ?3, ?4, ?5)",
            [skill, version, reason, account.as_str(), &created_at],
        )?;
        let id = writer.last_insert_rowid();
        Ok(writer.query_row(&format!("{REPORTS} where id = ?1"), [id], report_of)?)
    }

    fn reports(&self, are_open: bool) -> Result<Vec<ReportOfRelease>, StoreError> {
        let which = if are_open { "decision is null order by id" } else { "decision is not null order by id desc" };
        Ok(self.database.list(&format!("{REPORTS} where {which} limit 200"), [], report_of)?)
    }

    fn decide(
        &self,
        id: i64,
        decision: &str,
        account: &Owner,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<ReportOfRelease>, StoreError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        let at = to_the_second(now);
        let sql =
            "update reports set decision = ?2, decided_by = ?3, decided_at = ?4 where id = ?1 and decision is null";
        if write.execute(sql, params![id, decision, account.as_str(), at])? == 0 {
            return Ok(None);
        }
        let report = write.query_row(&format!("{REPORTS} where id = ?1"), [id], report_of)?;
        let subject = format!("{} {}", report.skill, report.version);
        note(&write, Some(account), &at, &format!("report {decision}"), &subject, reason)?;
        write.commit()?;
        Ok(Some(report))
    }

    fn note(
        &self,
        account: Option<&Owner>,
        now: Timestamp,
        action: &str,
        subject: &str,
        reason: &str,
    ) -> Result<(), StoreError> {
        Ok(note(&self.database.writer(), account, &to_the_second(now), action, subject, reason)?)
    }

    fn audit(&self, before: Option<i64>) -> Result<Vec<AuditLine>, StoreError> {
        let sql = "select id, at, account, action, subject, reason from audit where id < ?1 order by id desc limit 200";
        Ok(self.database.list(sql, [before.unwrap_or(i64::MAX)], |row| {
            Ok(AuditLine {
                id: row.get(0)?,
                at: row.get(1)?,
                account: row.get(2)?,
                action: row.get(3)?,
                subject: row.get(4)?,
                reason: row.get(5)?,
            })
        })?)
    }
}

/// Returns name and version of the release that first published some content.
fn first_release(database: &rusqlite::Connection, digest: &str) -> rusqlite::Result<Option<(String, String)>> {
    let mut select = database.prepare_cached(
        "select skill, version from contents where digest = ?1 order by published_at, skill, version limit 1",
    )?;
    select.query_row([digest], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

const REPORTS: &str =
    "select id, skill, version, reason, account, created_at, decision, decided_by, decided_at from reports";

fn stars(database: &rusqlite::Connection, skill: &str) -> rusqlite::Result<u64> {
    let sql = "select count(*) from stars where skill = ?1";
    Ok(database.query_row(sql, [skill], |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Reads a text and the number of downloads for it.
fn counted(row: &Row<'_>) -> rusqlite::Result<(String, u64)> {
    Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
}

fn report_of(row: &Row<'_>) -> rusqlite::Result<ReportOfRelease> {
    Ok(ReportOfRelease {
        id: row.get(0)?,
        skill: row.get(1)?,
        version: row.get(2)?,
        reason: row.get(3)?,
        account: row.get(4)?,
        created_at: row.get(5)?,
        decision: row.get(6)?,
        decided_by: row.get(7)?,
        decided_at: row.get(8)?,
    })
}
