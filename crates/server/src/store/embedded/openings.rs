//! Openings: a namespace gets its first member together with its first release, crash-safe.
//!
//! The index and the database cannot change in one transaction. [`SqliteAccounts::begin_opening`] records the intent first,
//! then the release is appended, then [`SqliteAccounts::finish_opening`] turns the intent into a membership. A crash leaves
//! the intent behind; it is settled later, according to the index (`store/embedded.rs`).

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use skill::Owner;

use crate::{
    access::Role,
    store::{AccountError, embedded::accounts::SqliteAccounts, records::to_the_second},
};

impl SqliteAccounts {
    /// Records that an account opens a namespace with its next release. Returns `false` if the namespace has members.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    pub fn begin_opening(&self, namespace: &Owner, account: &Owner, now: Timestamp) -> Result<bool, AccountError> {
        let sql = "insert into openings (namespace, account, at)
                   select ?1, ?2, ?3 where not exists (select 1 from members where namespace = ?1)
                   on conflict (namespace) do update set account = excluded.account, at = excluded.at";
        let values = params![namespace.as_str(), account.as_str(), to_the_second(now)];
        Ok(self.database().writer().execute(sql, values)? > 0)
    }

    /// Makes the account that opened a namespace its maintainer, unless the namespace has members by now. It is not synced:
    /// the intent is, and it is settled again.
    ///
    /// # Errors
    /// [`AccountError::Store`]; the opening is then still recorded.
    pub fn finish_opening(&self, namespace: &Owner) -> Result<(), AccountError> {
        self.database().change_unsynced(|writer| {
            let write = writer.transaction()?;
            write.execute(
                "insert into members (namespace, account, role)
                 select namespace, account, ?2 from openings
                 where namespace = ?1 and not exists (select 1 from members where namespace = ?1)",
                [namespace.as_str(), Role::Maintainer.as_str()],
            )?;
            write.execute("delete from openings where namespace = ?1", [namespace.as_str()])?;
            Ok(write.commit()?)
        })
    }

    /// Removes the intent for a namespace whose release was refused.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    pub fn cancel_opening(&self, namespace: &Owner) -> Result<(), AccountError> {
        self.database().writer().execute("delete from openings where namespace = ?1", [namespace.as_str()])?;
        Ok(())
    }

    /// Returns whether the opening of a namespace is unfinished.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    pub fn is_opening(&self, namespace: &Owner) -> Result<bool, AccountError> {
        let sql = "select 1 from openings where namespace = ?1";
        let reader = self.database().reader();
        Ok(reader.query_row(sql, [namespace.as_str()], |_| Ok(())).optional()?.is_some())
    }

    /// Returns the namespaces with an unfinished opening.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    pub fn openings(&self) -> Result<Vec<Owner>, AccountError> {
        let sql = "select namespace from openings order by namespace";
        let names = self.database().list(sql, [], |row| row.get::<_, String>(0))?;
        Ok(names.iter().filter_map(|name| Owner::parse(name).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DATABASE, Hub,
        fixtures::{account, hub, owner, submission},
        publish::publish,
        store::embedded::database::Database,
    };

    fn accounts(hub: &Hub) -> SqliteAccounts {
        SqliteAccounts::new(Database::open(&hub.settings.data.join(DATABASE)).unwrap().into())
    }

    /// Recreates the state after a crash between the release and the membership.
    fn interrupt(hub: &Hub, name: &str) {
        let accounts = accounts(hub);
        accounts.database().writer().execute("delete from members where namespace = ?1", [name]).unwrap();
        assert!(accounts.begin_opening(&owner(name), &owner(name), Timestamp::now()).unwrap());
    }

    #[test]
    fn interrupted_opening_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let first = hub(folder.path());
        let ann = account(&first, "ann");
        publish(&first, &ann, &submission("ann/notes", "Takes notes.")).unwrap();
        interrupt(&first, "ann");
        first.check_namespace(&ann, &owner("ann"), false).unwrap();
        assert_eq!(accounts(&first).role(&owner("ann"), &owner("ann")).unwrap(), Some(Role::Maintainer));

        interrupt(&first, "ann");
        drop(first);
        let again = hub(folder.path());
        assert_eq!(accounts(&again).role(&owner("ann"), &owner("ann")).unwrap(), Some(Role::Maintainer));
        assert_eq!(accounts(&again).openings().unwrap(), []);
    }

    #[test]
    fn opening_without_a_release_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let first = hub(folder.path());
        account(&first, "ann");
        interrupt(&first, "ann");
        drop(first);
        let again = hub(folder.path());
        assert_eq!(accounts(&again).role(&owner("ann"), &owner("ann")).unwrap(), None);
        assert_eq!(accounts(&again).openings().unwrap(), []);
    }

    #[test]
    fn refused_release_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let hub = hub(folder.path());
        let ann = account(&hub, "ann");
        let mut unsigned = submission("ann/notes", "Takes notes.");
        unsigned.signature = Some("not a signature".to_owned());
        assert!(publish(&hub, &ann, &unsigned).is_err());
        assert_eq!(accounts(&hub).openings().unwrap(), []);
        assert_eq!(hub.stores.people.members(&owner("ann")).unwrap(), []);
    }
}
