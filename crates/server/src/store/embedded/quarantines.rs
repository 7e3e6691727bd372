//! [`SqliteQuarantines`]: releases that are not served, and copies of their content that await a decision.
//!
//! Everything is read from the database on each request, so that a decision takes effect at once in every process on
//! the data folder. Archives are stored by digest, but decisions are about releases by name: a release with the content
//! of one that is under quarantine or withdrawn is a *copy*. It keeps its line and its archive, and is on hold until an
//! admin decides about it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use skill::{Digest, Owner};

use crate::store::{
    HeldCopy, Quarantined, WithheldReason,
    embedded::{
        audit::note,
        database::{Database, DatabaseError},
    },
    hold_reason,
    records::to_the_second,
};

/// SqliteQuarantines and copies in a database.
#[derive(Debug)]
pub struct SqliteQuarantines {
    database: Arc<Database>,
    changes: AtomicU64,
}

impl SqliteQuarantines {
    /// Creates the store on a database.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        Self { database, changes: AtomicU64::default() }
    }

    /// Returns the number of decisions about releases that this process has recorded.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Puts a release under quarantine and records the decision. Returns `false` if it already is.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn add(&self, release: &Quarantined, digest: &Digest) -> Result<bool, DatabaseError> {
        self.withhold(release, digest, true)
    }

    /// Withholds the content of a release that is being withdrawn. This is the same row as a quarantine, but not a
    /// decision of its own.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn add_withdrawn(&self, release: &Quarantined, digest: &Digest) -> Result<(), DatabaseError> {
        self.withhold(release, digest, false).map(drop)
    }

    fn withhold(&self, release: &Quarantined, digest: &Digest, is_noted: bool) -> Result<bool, DatabaseError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        let Quarantined { skill, version, reason, account, at, was_yanked } = release;
        let added = write.execute(
            "insert into quarantine (skill, version, digest, reason, account, at, was_yanked)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict do nothing",
            params![skill, version, digest.to_string(), reason, account, at, was_yanked],
        )?;
        write.execute("delete from copies where skill = ?1 and version = ?2", [skill, version])?;
        if is_noted && added > 0 {
            let sql = "insert into audit (at, account, action, subject, reason) values (?1, ?2, 'quarantine', ?3, ?4)";
            write.execute(sql, params![at, account, format!("{skill} {version}"), reason])?;
        }
        write.commit()?;
        self.note_change();
        Ok(added > 0)
    }

    /// Ends the quarantine of a release and records the decision. After the last one of its content, the copies are
    /// freed too.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn remove(
        &self,
        skill: &str,
        version: &str,
        account: &Owner,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        write.execute("delete from quarantine where skill = ?1 and version = ?2", [skill, version])?;
        write.execute("delete from copies where digest not in (select digest from quarantine)", [])?;
        note(&write, Some(account), &to_the_second(now), "restore", &format!("{skill} {version}"), reason)?;
        write.commit()?;
        self.note_change();
        Ok(())
    }

    /// Returns the quarantine of a release, if it has one.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn of(&self, skill: &str, version: &str) -> Result<Option<Quarantined>, DatabaseError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached(&format!("{QUARANTINE} where skill = ?1 and version = ?2"))?;
        Ok(select.query_row([skill, version], quarantined_of).optional()?)
    }

    /// Returns the release with some content that was put under quarantine first: `owner/name version`.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn of_content(&self, digest: &Digest) -> Result<Option<String>, DatabaseError> {
        Ok(of_content(&self.database.reader(), digest)?)
    }

    /// Returns the number of releases under quarantine with some content.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn all_of_content(&self, digest: &Digest) -> Result<u64, DatabaseError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached("select count(*) from quarantine where digest = ?1")?;
        Ok(select.query_row([digest.to_string()], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    /// Returns all releases under quarantine, newest first.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn all(&self) -> Result<Vec<Quarantined>, DatabaseError> {
        Ok(self.database.list(&format!("{QUARANTINE} order by at desc, skill"), [], quarantined_of)?)
    }

    /// Returns the reason why a release with this content is not served; `None` when it is.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn barrier(
        &self,
        skill: &str,
        version: &str,
        digest: &Digest,
    ) -> Result<Option<WithheldReason>, DatabaseError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached(
            "select (select reason from quarantine where skill = ?1 and version = ?2),
                    exists (select 1 from copies where skill = ?1 and version = ?2 and decided_by is not null)",
        )?;
        let row = select.query_row([skill, version], |row| Ok((row.get::<_, Option<String>>(0)?, row.get(1)?)));
        let (reason, is_let_through): (_, bool) = row?;
        if let Some(reason) = reason {
            return Ok(Some(WithheldReason::Quarantined(reason)));
        }
        if is_let_through {
            return Ok(None);
        }
        Ok(of_content(&reader, digest)?.map(|release| WithheldReason::Held(hold_reason(&release))))
    }

    /// Returns whether an archive may be served by its digest: no release with this content is under quarantine, or an
    /// admin has let a copy through.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn is_readable(&self, digest: &Digest) -> Result<bool, DatabaseError> {
        let reader = self.database.reader();
        let mut select = reader.prepare_cached(
            "select not exists (select 1 from quarantine where digest = ?1)
                 or exists (select 1 from copies where digest = ?1 and decided_by is not null)",
        )?;
        Ok(select.query_row([digest.to_string()], |row| row.get(0))?)
    }

    /// Puts a copy on hold. A copy that is on hold or was decided about is left unchanged.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn hold(&self, copy: &HeldCopy, digest: &Digest) -> Result<(), DatabaseError> {
        let HeldCopy { skill, version, copy_of, at } = copy;
        self.database.writer().execute(
            "insert into copies (skill, version, digest, copy_of, at) values (?1, ?2, ?3, ?4, ?5) on conflict do nothing",
            params![skill, version, digest.to_string(), copy_of, at],
        )?;
        Ok(())
    }

    /// Returns the undecided copies, newest first; with `digest`, only those of this content.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn held_copies(&self, digest: Option<&Digest>) -> Result<Vec<HeldCopy>, DatabaseError> {
        let sql = "select skill, version, copy_of, at from copies
                   where decided_by is null and (?1 is null or digest = ?1) order by at desc, skill";
        Ok(self.database.list(sql, [digest.map(ToString::to_string)], |row| {
            Ok(HeldCopy { skill: row.get(0)?, version: row.get(1)?, copy_of: row.get(2)?, at: row.get(3)? })
        })?)
    }

    /// Ends the hold of a copy and records the decision.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn release_hold(
        &self,
        skill: &str,
        version: &str,
        account: &Owner,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        let (at, subject) = (to_the_second(now), format!("{skill} {version}"));
        let sql = "update copies set decided_by = ?3, decided_at = ?4 where skill = ?1 and version = ?2";
        write.execute(sql, [skill, version, account.as_str(), &at])?;
        note(&write, Some(account), &at, "release", &subject, reason)?;
        write.commit()?;
        self.note_change();
        Ok(())
    }
}

const QUARANTINE: &str = "select skill, version, reason, account, at, was_yanked from quarantine";

fn of_content(database: &Connection, digest: &Digest) -> rusqlite::Result<Option<String>> {
    let mut select = database.prepare_cached(
        "select skill || ' ' || version from quarantine where digest = ?1 order by at, skill, version limit 1",
    )?;
    select.query_row([digest.to_string()], |row| row.get(0)).optional()
}

fn quarantined_of(row: &Row<'_>) -> rusqlite::Result<Quarantined> {
    Ok(Quarantined {
        skill: row.get(0)?,
        version: row.get(1)?,
        reason: row.get(2)?,
        account: row.get(3)?,
        at: row.get(4)?,
        was_yanked: row.get(5)?,
    })
}
