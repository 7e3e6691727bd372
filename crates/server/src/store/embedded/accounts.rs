//! [`SqliteAccounts`]: accounts, tokens and members of namespaces.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use skill::Owner;

use crate::{
    access::{Caller, Role, Scope},
    store::{
        AccountError, Member, NewToken, People, Token,
        embedded::{audit::note, database::Database},
        records::to_the_second,
        secrets::{MintedToken, hash_of},
    },
};

/// SQLite store of accounts, tokens and memberships.
#[derive(Debug, Clone)]
pub struct SqliteAccounts {
    database: Arc<Database>,
}

impl SqliteAccounts {
    /// Creates the store on a database.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// The database that holds the accounts.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Authenticates by the sha256 of the token; otherwise as [`People::caller`].
    pub(crate) fn caller_of_hash(&self, hash: &[u8], now: Timestamp) -> Result<Option<Caller>, AccountError> {
        let found = self.database.reader().query_row(
            "select t.account, t.scope, a.is_admin from tokens t join accounts a on a.name = t.account
             where t.hash = ?1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > ?2)",
            params![hash, to_the_second(now)],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)),
        );
        let Some((name, scope, is_admin)) = found.optional()? else { return Ok(None) };
        let (Ok(name), Some(scope)) = (Owner::parse(&name), Scope::parse(&scope)) else { return Ok(None) };
        Ok(Some(Caller::Account { name, scope, is_admin }))
    }

    /// Returns the role of an account in a namespace, or `None` for a non-member.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    pub fn role(&self, namespace: &Owner, account: &Owner) -> Result<Option<Role>, AccountError> {
        let found = self.database.reader().query_row(
            "select role from members where namespace = ?1 and account = ?2",
            [namespace.as_str(), account.as_str()],
            |row| row.get::<_, String>(0),
        );
        Ok(found.optional()?.and_then(|role| Role::parse(&role)))
    }

    fn change_members<T>(
        &self,
        namespace: &Owner,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, AccountError>,
    ) -> Result<T, AccountError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        let had = maintainers(&write, namespace)?;
        let done = change(&write)?;
        if had > 0 && maintainers(&write, namespace)? == 0 {
            return Err(AccountError::LastMaintainer(namespace.clone()));
        }
        write.commit()?;
        Ok(done)
    }
}

impl People for SqliteAccounts {
    fn add_token(
        &self,
        new: &NewToken,
        is_admin: bool,
        by: &Owner,
        now: Timestamp,
    ) -> Result<(Token, String), AccountError> {
        let minted = MintedToken::new(new, now)?;
        let (action, subject) = minted.audited(is_admin);
        let MintedToken { token, secret, hash } = minted;
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        write.execute(
            "insert into accounts (name, is_admin, created_at) values (?1, ?2, ?3)
             on conflict (name) do update set is_admin = max(is_admin, excluded.is_admin)",
            params![token.account, is_admin, token.created_at],
        )?;
        write.execute(
            "insert into tokens (id, hash, account, scope, label, created_at, expires_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![token.id, hash.as_slice(), token.account, token.scope.as_str(), token.label, token.created_at, token.expires_at],
        )?;
        note(&write, Some(by), &token.created_at, action, &subject, "")?;
        write.commit()?;
        Ok((token, secret))
    }

    fn caller(&self, secret: &str, now: Timestamp) -> Result<Option<Caller>, AccountError> {
        self.caller_of_hash(&hash_of(secret), now)
    }

    fn signed_in(&self, name: Owner, now: Timestamp) -> Result<Caller, AccountError> {
        let find = |database: &rusqlite::Connection| {
            let row = "select is_admin from accounts where name = ?1";
            database.query_row(row, [name.as_str()], |row| row.get::<_, bool>(0)).optional()
        };
        let known = find(&self.database.reader())?;
        if known.is_none() {
            let sql = "insert into accounts (name, created_at) values (?1, ?2) on conflict do nothing";
            self.database.writer().execute(sql, params![name.as_str(), to_the_second(now)])?;
        }
        Ok(Caller::Account { name, scope: Scope::Admin, is_admin: known.unwrap_or(false) })
    }

    fn tokens(&self, account: Option<&Owner>) -> Result<Vec<Token>, AccountError> {
        let sql = "select id, account, scope, label, created_at, expires_at, revoked_at from tokens
                   where ?1 is null or account = ?1 order by created_at desc, id";
        Ok(self.database.list(sql, [account.map(Owner::as_str)], token_of)?)
    }

    fn revoke(&self, id: &str, account: Option<&Owner>, now: Timestamp) -> Result<bool, AccountError> {
        let sql =
            "update tokens set revoked_at = ?3 where id = ?1 and (?2 is null or account = ?2) and revoked_at is null";
        let changed =
            self.database.writer().execute(sql, params![id, account.map(Owner::as_str), to_the_second(now)])?;
        Ok(changed > 0)
    }

    fn members(&self, namespace: &Owner) -> Result<Vec<Member>, AccountError> {
        let sql = "select account, role from members where namespace = ?1 order by account";
        let members = self.database.list(sql, [namespace.as_str()], |row| {
            let (account, role): (_, String) = (row.get(0)?, row.get(1)?);
            Ok(Role::parse(&role).map(|role| Member { account, role }))
        })?;
        Ok(members.into_iter().flatten().collect())
    }

    fn set_member(&self, namespace: &Owner, account: &Owner, role: Role) -> Result<(), AccountError> {
        self.change_members(namespace, |write| {
            let known = "select 1 from accounts where name = ?1";
            if write.query_row(known, [account.as_str()], |_| Ok(())).optional()?.is_none() {
                return Err(AccountError::NoAccount(account.clone()));
            }
            let sql = "insert into members (namespace, account, role) values (?1, ?2, ?3)
                       on conflict do update set role = excluded.role";
            write.execute(sql, [namespace.as_str(), account.as_str(), role.as_str()])?;
            Ok(())
        })
    }

    fn remove_member(&self, namespace: &Owner, account: &Owner) -> Result<bool, AccountError> {
        self.change_members(namespace, |write| {
            let sql = "delete from members where namespace = ?1 and account = ?2";
            Ok(write.execute(sql, [namespace.as_str(), account.as_str()])? > 0)
        })
    }
}

fn maintainers(database: &rusqlite::Connection, namespace: &Owner) -> rusqlite::Result<i64> {
    let sql = "select count(*) from members where namespace = ?1 and role = 'maintainer'";
    database.query_row(sql, [namespace.as_str()], |row| row.get(0))
}

fn token_of(row: &Row<'_>) -> rusqlite::Result<Token> {
    Ok(Token {
        id: row.get(0)?,
        account: row.get(1)?,
        scope: Scope::parse(&row.get::<_, String>(2)?).unwrap_or(Scope::Read),
        label: row.get(3)?,
        created_at: row.get(4)?,
        expires_at: row.get(5)?,
        revoked_at: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> (tempfile::TempDir, SqliteAccounts) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("db")).unwrap();
        (folder, SqliteAccounts::new(Arc::new(database)))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn owner(name: &str) -> Owner {
        Owner::parse(name).unwrap()
    }

    #[test]
    fn token_is_valid_until_end_and_never_stored() {
        let (folder, accounts) = accounts();
        let new =
            |expires_at| NewToken { account: owner("ann"), scope: Scope::Publish, label: "ci".into(), expires_at };
        let (token, secret) = accounts.add_token(&new(Some(at(10))), false, &owner("root"), at(0)).unwrap();
        let caller = Caller::Account { name: owner("ann"), scope: Scope::Publish, is_admin: false };
        assert_eq!(accounts.caller(&secret, at(9)).unwrap(), Some(caller.clone()));
        assert_eq!(accounts.caller(&secret, at(10)).unwrap(), None);
        assert_eq!(accounts.caller(&secret[..40], at(1)).unwrap(), None);
        assert!(!accounts.revoke(&token.id, Some(&owner("bob")), at(2)).unwrap());
        assert!(accounts.revoke(&token.id, Some(&owner("ann")), at(2)).unwrap());
        assert_eq!(accounts.caller(&secret, at(3)).unwrap(), None);
        let dir = library::ensure_dir(folder.path()).unwrap();
        for file in dir.entries().unwrap() {
            let bytes = dir.read(file.unwrap().file_name()).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }

    #[test]
    fn a_namespace_keeps_one_maintainer() {
        let (_folder, accounts) = accounts();
        for name in ["ann", "bob"] {
            let new = NewToken { account: owner(name), scope: Scope::Read, label: String::new(), expires_at: None };
            accounts.add_token(&new, false, &owner("root"), at(0)).unwrap();
        }
        let acme = owner("acme");
        accounts.set_member(&acme, &owner("ann"), Role::Maintainer).unwrap();
        accounts.set_member(&acme, &owner("bob"), Role::Publisher).unwrap();
        assert!(matches!(accounts.remove_member(&acme, &owner("ann")), Err(AccountError::LastMaintainer(_))));
        assert!(accounts.set_member(&acme, &owner("ann"), Role::Publisher).is_err());
        assert!(matches!(accounts.set_member(&acme, &owner("eve"), Role::Publisher), Err(AccountError::NoAccount(_))));
        assert_eq!(accounts.role(&acme, &owner("ann")).unwrap(), Some(Role::Maintainer));
        assert!(
            accounts.remove_member(&acme, &owner("bob")).unwrap()
                && !accounts.remove_member(&acme, &owner("bob")).unwrap()
        );
    }
}
