//! [`By`]: the author of a change, and the records that a change leaves in its transaction.

use deadpool_postgres::Transaction;
use jiff::Timestamp;
use registry_index::Stamp;
use skill::Owner;
use tokio_postgres::Error;

use super::lines::Step;
use crate::{
    audit::note,
    database::{run, stored_time},
    events::{Change, Edit},
};

/// Account and time of a change.
pub struct By<'a> {
    /// The account.
    pub account: &'a Owner,
    /// The same, as the index records it.
    pub stamp: Stamp,
}

impl<'a> By<'a> {
    /// Creates the author of a change at a time.
    pub fn new(account: &'a Owner, at: Timestamp) -> Self {
        Self { account, stamp: Stamp { by: account.to_string(), at }.to_the_second() }
    }

    /// Records an action in the audit log.
    pub async fn note(&self, write: &Transaction<'_>, action: &str, subject: &str, reason: &str) -> Result<(), Error> {
        note(write, self.account.as_str(), self.stamp.at, action, subject, reason).await
    }

    /// Records a change of the index, from which the leader makes a commit. Without edits there is none.
    pub async fn log(&self, write: &Transaction<'_>, subject: &str, message: String, edits: Vec<Edit>) -> Step<()> {
        if edits.is_empty() {
            return Ok(());
        }
        let change = Change { message, edits };
        let kind = change.message.split_whitespace().next().filter(|word| !word.contains('/')).unwrap_or("publish");
        let body = change.body();
        let sql = "insert into events (kind, subject, body, account, at) values ($1, $2, $3, $4, $5)";
        let at = stored_time(self.stamp.at);
        run(write, sql, &[&kind, &subject, &body, &self.account.as_str(), &at]).await?;
        Ok(())
    }
}
