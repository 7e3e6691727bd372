//! [`Leader`]: the one replica that numbers events and does the background work.

use deadpool_postgres::ClientWrapper;
use tokio_postgres::types::ToSql;

use crate::database::{Database, DatabaseError};

/// Key of the advisory lock that the leader's session holds: `leader` in ASCII.
const LOCK: i64 = 0x6c65_6164_6572;

/// Events that are numbered at a time.
const MOST_NUMBERED: i64 = 10_000;

/// Numbers visible events. An event of a transaction that commits later gets a later number, so there are no gaps.
const NUMBER: &str = "with next as (
        select id, row_number() over (order by id) + (select coalesce(max(seq), 0) from events) as seq
        from (select id from events where seq is null order by id limit $1) as visible
    )
    update events set seq = next.seq from next where events.id = next.id";

/// A session that holds the lock, or tries to get it. The lock ends with the session, so whatever is done over it is done
/// as the leader.
pub struct Leader {
    session: ClientWrapper,
    leads: bool,
}

impl Leader {
    /// Opens a session without the lock.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn candidate(database: &Database) -> Result<Self, DatabaseError> {
        Ok(Self { session: database.session()?, leads: false })
    }

    /// Returns whether this replica leads, after an attempt to become the leader.
    ///
    /// # Errors
    /// [`DatabaseError`]; the session is then of no use.
    pub fn leads(&mut self, database: &Database) -> Result<bool, DatabaseError> {
        if !self.leads {
            let row = database.wait(self.session.query_one("select pg_try_advisory_lock($1)", &[&LOCK]))?;
            self.leads = row.try_get(0)?;
        }
        Ok(self.leads)
    }

    /// Returns whether this replica got the lock, without asking the database.
    pub const fn has_lock(&self) -> bool {
        self.leads
    }

    /// Returns whether the session still answers, and with it the lock is kept.
    pub fn is_alive(&self, database: &Database) -> bool {
        self.run(database, "select 1", &[]).is_ok()
    }

    /// Numbers the events that are visible now.
    ///
    /// # Errors
    /// [`DatabaseError`]; this replica is then no longer the leader.
    pub fn number(&self, database: &Database) -> Result<(), DatabaseError> {
        while self.run(database, NUMBER, &[&MOST_NUMBERED])? == MOST_NUMBERED.unsigned_abs() {}
        Ok(())
    }

    /// Records how far a projection has come. It never goes back.
    ///
    /// # Errors
    /// As for [`Leader::number`].
    pub fn advance(&self, database: &Database, name: &str, seq: i64, commit: &str) -> Result<(), DatabaseError> {
        let sql = "insert into projections (name, seq, commit_id) values ($1, $2, $3)
            on conflict (name) do update set seq = excluded.seq, commit_id = excluded.commit_id
            where projections.seq < excluded.seq";
        self.run(database, sql, &[&name, &seq, &commit]).map(drop)
    }

    /// Runs a statement over the session, and returns the number of its rows.
    ///
    /// # Errors
    /// As for [`Leader::number`].
    pub fn run(&self, database: &Database, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64, DatabaseError> {
        Ok(database.wait(self.session.execute(sql, values))?)
    }
}
