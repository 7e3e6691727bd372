//! [`PgPeople`]: accounts, tokens and members of namespaces.

use std::{sync::Arc, time::SystemTime};

use deadpool_postgres::{GenericClient, Transaction};
use jiff::Timestamp;
use server::{
    Scope,
    access::{Caller, Role},
    store::{
        AccountError, Member, NewToken, People, Token,
        secrets::{MintedToken, hash_of},
    },
};
use skill::Owner;
use tokio_postgres::Row;

use crate::{
    audit::note,
    database::{Abort, Database, DatabaseError, row, rows, run, stored_time, time_text},
};

/// Store of accounts, tokens and memberships. Only hashes of tokens are stored.
pub struct PgPeople {
    database: Arc<Database>,
}

impl PgPeople {
    /// Creates the store on a database.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Changes the members of a namespace under its lock, and refuses to leave it without a maintainer. `opens` creates
    /// the lock of a namespace that has none yet.
    fn change_members<T>(
        &self,
        namespace: &Owner,
        opens: bool,
        change: impl AsyncFn(&Transaction<'_>) -> Result<T, Abort<AccountError>>,
    ) -> Result<T, AccountError> {
        self.database.transaction(async |write| {
            if opens {
                let sql = "insert into owners (name) values ($1) on conflict do nothing";
                run(write, sql, &[&namespace.as_str()]).await?;
            }
            row(write, "select 1 from owners where name = $1 for update", &[&namespace.as_str()]).await?;
            let had = maintainers(write, namespace).await?;
            let done = change(write).await?;
            if had > 0 && maintainers(write, namespace).await? == 0 {
                return Err(Abort::Refused(AccountError::LastMaintainer(namespace.clone())));
            }
            Ok(done)
        })
    }
}

impl People for PgPeople {
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
        let (at, expires_at) = (stored_time(now), new.expires_at.map(stored_time));
        self.database.transaction(async |write| -> Result<(), Abort<AccountError>> {
            let sql = "insert into accounts (name, is_admin, created_at) values ($1, $2, $3)
                       on conflict (name) do update set is_admin = accounts.is_admin or excluded.is_admin";
            run(write, sql, &[&token.account, &is_admin, &at]).await?;
            let sql = "insert into tokens (id, hash, account, scope, label, created_at, expires_at)
                       values ($1, $2, $3, $4, $5, $6, $7)";
            let (hash, scope) = (hash.as_slice(), token.scope.as_str());
            run(write, sql, &[&token.id, &hash, &token.account, &scope, &token.label, &at, &expires_at]).await?;
            Ok(note(write, by.as_str(), now, action, &subject, "").await?)
        })?;
        Ok((token, secret))
    }

    fn caller(&self, secret: &str, now: Timestamp) -> Result<Option<Caller>, AccountError> {
        let (hash, now) = (hash_of(secret), stored_time(now));
        let sql = "select t.account, t.scope, a.is_admin from tokens t join accounts a on a.name = t.account
                   where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > $2)";
        Ok(self.database.read(async |client| {
            let found = row(client, sql, &[&hash.as_slice(), &now]).await?;
            found.map_or(Ok(None), |found| caller_of(&found))
        })?)
    }

    fn signed_in(&self, name: Owner, now: Timestamp) -> Result<Caller, AccountError> {
        let sql = "select is_admin from accounts where name = $1";
        let known: Option<bool> = self.database.read(async |client| {
            let found = row(client, sql, &[&name.as_str()]).await?;
            Ok(found.map(|found| found.try_get(0)).transpose()?)
        })?;
        if known.is_none() {
            let sql = "insert into accounts (name, created_at) values ($1, $2) on conflict do nothing";
            self.database.transaction(async |write| -> Result<(), Abort<AccountError>> {
                run(write, sql, &[&name.as_str(), &stored_time(now)]).await?;
                Ok(())
            })?;
        }
        Ok(Caller::Account { name, scope: Scope::Admin, is_admin: known.unwrap_or(false) })
    }

    fn tokens(&self, account: Option<&Owner>) -> Result<Vec<Token>, AccountError> {
        let sql = "select id, account, scope, label, created_at, expires_at, revoked_at from tokens
                   where $1::text is null or account = $1 order by created_at desc, id";
        Ok(self.database.read(async |client| {
            let found = rows(client, sql, &[&account.map(Owner::as_str)]).await?;
            found.iter().map(token_of).collect()
        })?)
    }

    fn revoke(&self, id: &str, account: Option<&Owner>, now: Timestamp) -> Result<bool, AccountError> {
        // The engine refuses this character in every text.
        if id.contains('\0') {
            return Ok(false);
        }
        let sql = "update tokens set revoked_at = $3
                   where id = $1 and ($2::text is null or account = $2) and revoked_at is null";
        let changed = self.database.transaction(async |write| -> Result<u64, Abort<AccountError>> {
            Ok(run(write, sql, &[&id, &account.map(Owner::as_str), &stored_time(now)]).await?)
        })?;
        Ok(changed > 0)
    }

    fn members(&self, namespace: &Owner) -> Result<Vec<Member>, AccountError> {
        let sql = "select account, role from members where namespace = $1 order by account";
        Ok(self.database.read(async |client| {
            let mut members = Vec::new();
            for found in rows(client, sql, &[&namespace.as_str()]).await? {
                let (account, role): (String, String) = (found.try_get(0)?, found.try_get(1)?);
                members.extend(Role::parse(&role).map(|role| Member { account, role }));
            }
            Ok(members)
        })?)
    }

    fn set_member(&self, namespace: &Owner, account: &Owner, role: Role) -> Result<(), AccountError> {
        self.change_members(namespace, true, async |write| {
            let known = row(write, "select 1 from accounts where name = $1", &[&account.as_str()]).await?;
            if known.is_none() {
                return Err(Abort::Refused(AccountError::NoAccount(account.clone())));
            }
            let sql = "insert into members (namespace, account, role) values ($1, $2, $3)
                       on conflict (namespace, account) do update set role = excluded.role";
            run(write, sql, &[&namespace.as_str(), &account.as_str(), &role.as_str()]).await?;
            Ok(())
        })
    }

    fn remove_member(&self, namespace: &Owner, account: &Owner) -> Result<bool, AccountError> {
        self.change_members(namespace, false, async |write| {
            let sql = "delete from members where namespace = $1 and account = $2";
            Ok(run(write, sql, &[&namespace.as_str(), &account.as_str()]).await? > 0)
        })
    }
}

async fn maintainers(client: &impl GenericClient, namespace: &Owner) -> Result<usize, tokio_postgres::Error> {
    let sql = "select 1 from members where namespace = $1 and role = 'maintainer' limit 2";
    Ok(rows(client, sql, &[&namespace.as_str()]).await?.len())
}

/// Returns the caller in a row of account, scope and `is_admin`; `None` for values that this build does not know.
///
/// # Errors
/// The row has other columns.
pub fn caller_of(found: &Row) -> Result<Option<Caller>, DatabaseError> {
    let (name, scope): (&str, &str) = (found.try_get(0)?, found.try_get(1)?);
    let is_admin = found.try_get(2)?;
    let (Ok(name), Some(scope)) = (Owner::parse(name), Scope::parse(scope)) else { return Ok(None) };
    Ok(Some(Caller::Account { name, scope, is_admin }))
}

fn token_of(found: &Row) -> Result<Token, DatabaseError> {
    let time = |at: usize| -> Result<Option<String>, DatabaseError> {
        Ok(found.try_get::<_, Option<SystemTime>>(at)?.map(time_text))
    };
    Ok(Token {
        id: found.try_get(0)?,
        account: found.try_get(1)?,
        scope: Scope::parse(found.try_get(2)?).unwrap_or(Scope::Read),
        label: found.try_get(3)?,
        created_at: time(4)?.unwrap_or_default(),
        expires_at: time(5)?,
        revoked_at: time(6)?,
    })
}
