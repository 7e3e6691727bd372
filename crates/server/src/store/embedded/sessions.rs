//! [`SqliteSessions`]: browser sessions of the marketplace, each identified by a random value in its cookie.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::params;

use crate::{
    access::Caller,
    store::{
        AccountError, People as _, Sessions,
        embedded::{accounts::SqliteAccounts, database::Database},
        records::to_the_second,
        secrets::{SESSION_LASTS, SESSIONS_OF_TOKEN, hash_of, session_name},
    },
};

/// Sessions in a database. Only the sha256 of their names is stored.
#[derive(Debug, Clone)]
pub struct SqliteSessions {
    database: Arc<Database>,
}

impl SqliteSessions {
    /// Creates the store on a database.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl Sessions for SqliteSessions {
    fn begin(&self, token: &str, now: Timestamp) -> Result<Option<String>, AccountError> {
        let accounts = SqliteAccounts::new(Arc::clone(&self.database));
        if accounts.caller(token, now)?.is_none() {
            return Ok(None);
        }
        let name = session_name()?;
        let expires_at = now.checked_add(SESSION_LASTS).unwrap_or(Timestamp::MAX);
        let (at, token) = (to_the_second(now), hash_of(token));
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        write.execute("delete from sessions where expires_at <= ?1", [&at])?;
        write.execute(
            "insert into sessions (hash, token, created_at, expires_at)
             select ?1, id, ?3, ?4 from tokens where hash = ?2",
            params![hash_of(&name), token, at, to_the_second(expires_at)],
        )?;
        write.execute(
            "delete from sessions where hash in (
                select s.hash from sessions s join tokens t on t.id = s.token
                where t.hash = ?1 order by s.created_at desc, s.hash = ?2 desc limit -1 offset ?3)",
            params![token, hash_of(&name), SESSIONS_OF_TOKEN],
        )?;
        write.commit()?;
        Ok(Some(name))
    }

    fn caller(&self, name: &str, now: Timestamp) -> Result<Option<Caller>, AccountError> {
        let sql = "select t.hash from sessions s join tokens t on t.id = s.token
                   where s.hash = ?1 and s.expires_at > ?2";
        let found = {
            let reader = self.database.reader();
            let mut select = reader.prepare_cached(sql)?;
            let mut rows = select.query(params![hash_of(name), to_the_second(now)])?;
            match rows.next()? {
                Some(row) => Some(row.get::<_, [u8; 32]>(0)?),
                None => None,
            }
        };
        let Some(hash) = found else { return Ok(None) };
        SqliteAccounts::new(Arc::clone(&self.database)).caller_of_hash(&hash, now)
    }

    fn end(&self, name: &str) -> Result<(), AccountError> {
        self.database.writer().execute("delete from sessions where hash = ?1", params![hash_of(name)])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use skill::Owner;

    use super::*;
    use crate::{Scope, store::NewToken};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn sign_ins() -> (tempfile::TempDir, SqliteSessions, SqliteAccounts, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let database = Arc::new(Database::open(&folder.path().join("db")).unwrap());
        let accounts = SqliteAccounts::new(Arc::clone(&database));
        let account = Owner::parse("ann").unwrap();
        let new =
            NewToken { account: account.clone(), scope: Scope::Read, label: String::new(), expires_at: Some(at(1000)) };
        let (token, secret) = accounts.add_token(&new, false, &account, at(0)).unwrap();
        (folder, SqliteSessions::new(database), accounts, token.id, secret)
    }

    #[test]
    fn session_ends_at_sign_out() {
        let (_folder, sign_ins, _, _, token) = sign_ins();
        assert_eq!(sign_ins.begin("skh_unknown", at(0)).unwrap(), None);
        let (one, other) =
            (sign_ins.begin(&token, at(0)).unwrap().unwrap(), sign_ins.begin(&token, at(0)).unwrap().unwrap());
        assert!(one != other && !one.contains(&token[4..]));
        assert!(sign_ins.caller(&one, at(1)).unwrap().is_some());
        assert_eq!(sign_ins.caller(&token, at(1)).unwrap(), None, "the token is not a session");
        sign_ins.end(&one).unwrap();
        assert_eq!(sign_ins.caller(&one, at(1)).unwrap(), None);
        assert!(sign_ins.caller(&other, at(1)).unwrap().is_some());
    }

    #[test]
    fn session_ends_with_its_token() {
        let (_folder, sign_ins, accounts, id, token) = sign_ins();
        let session = sign_ins.begin(&token, at(0)).unwrap().unwrap();
        assert!(sign_ins.caller(&session, at(999)).unwrap().is_some());
        assert_eq!(sign_ins.caller(&session, at(1000)).unwrap(), None);
        accounts.revoke(&id, None, at(1)).unwrap();
        assert_eq!(sign_ins.caller(&session, at(2)).unwrap(), None);
    }

    #[test]
    fn session_ends_at_its_date() {
        let (_folder, sign_ins, accounts, _, _) = sign_ins();
        let account = Owner::parse("bob").unwrap();
        let new = NewToken { account: account.clone(), scope: Scope::Read, label: String::new(), expires_at: None };
        let (_, token) = accounts.add_token(&new, false, &account, at(0)).unwrap();
        let session = sign_ins.begin(&token, at(0)).unwrap().unwrap();
        assert!(sign_ins.caller(&session, at(SESSION_LASTS.as_secs() - 1)).unwrap().is_some());
        assert_eq!(sign_ins.caller(&session, at(SESSION_LASTS.as_secs())).unwrap(), None);
    }

    #[test]
    fn sessions_of_one_token_are_bounded() {
        let (_folder, sign_ins, _, _, token) = sign_ins();
        let first = sign_ins.begin(&token, at(0)).unwrap().unwrap();
        let later: Vec<_> =
            (1..=SESSIONS_OF_TOKEN).map(|second| sign_ins.begin(&token, at(second)).unwrap().unwrap()).collect();
        assert_eq!(sign_ins.caller(&first, at(100)).unwrap(), None);
        assert!(later.iter().all(|name| sign_ins.caller(name, at(100)).unwrap().is_some()));
    }
}
