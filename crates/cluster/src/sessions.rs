//! [`PgSessions`]: browser sessions, which every replica knows.

use std::sync::Arc;

use jiff::Timestamp;
use server::{
    access::Caller,
    store::{
        AccountError, Sessions,
        secrets::{SESSION_LASTS, SESSIONS_OF_TOKEN, hash_of, session_name},
    },
};

use crate::{
    database::{Abort, Database, row, run, stored_time},
    people::caller_of,
};

/// Store of sessions. Only the hashes of their names are stored.
pub struct PgSessions {
    database: Arc<Database>,
}

impl PgSessions {
    /// Creates the store on a database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl Sessions for PgSessions {
    fn begin(&self, token: &str, now: Timestamp) -> Result<Option<String>, AccountError> {
        let name = session_name()?;
        let (hash, token) = (hash_of(&name), hash_of(token));
        let (hash, token) = (hash.as_slice(), token.as_slice());
        let at = stored_time(now);
        let expires_at = stored_time(now.checked_add(SESSION_LASTS).unwrap_or(Timestamp::MAX));
        let has_begun = self.database.transaction(async |write| -> Result<bool, Abort<AccountError>> {
            run(write, "delete from sessions where expires_at <= $1", &[&at]).await?;
            let sql = "insert into sessions (hash, token, created_at, expires_at)
                       select $1, id, $3, $4 from tokens
                       where hash = $2 and revoked_at is null and (expires_at is null or expires_at > $3)";
            let added = run(write, sql, &[&hash, &token, &at, &expires_at]).await?;
            let sql = "delete from sessions where hash in (
                           select s.hash from sessions s join tokens t on t.id = s.token
                           where t.hash = $1 order by s.created_at desc, s.hash = $2 desc offset $3)";
            run(write, sql, &[&token, &hash, &SESSIONS_OF_TOKEN]).await?;
            Ok(added > 0)
        })?;
        Ok(has_begun.then_some(name))
    }

    fn caller(&self, name: &str, now: Timestamp) -> Result<Option<Caller>, AccountError> {
        let (hash, now) = (hash_of(name), stored_time(now));
        let sql = "select t.account, t.scope, a.is_admin from sessions s
                   join tokens t on t.id = s.token join accounts a on a.name = t.account
                   where s.hash = $1 and s.expires_at > $2
                   and t.revoked_at is null and (t.expires_at is null or t.expires_at > $2)";
        Ok(self.database.read(async |client| {
            let found = row(client, sql, &[&hash.as_slice(), &now]).await?;
            found.map_or(Ok(None), |found| caller_of(&found))
        })?)
    }

    fn end(&self, name: &str) -> Result<(), AccountError> {
        let hash = hash_of(name);
        self.database.transaction(async |write| -> Result<(), Abort<AccountError>> {
            run(write, "delete from sessions where hash = $1", &[&hash.as_slice()]).await?;
            Ok(())
        })
    }
}
