//! [`note`]: writes the audit log.

use deadpool_postgres::GenericClient;
use jiff::Timestamp;

use crate::database::{run, stored_time};

/// Records an action on a connection, so that it is part of a transaction. `account` is empty if it is unknown.
///
/// # Errors
/// The error of the engine.
pub async fn note(
    client: &impl GenericClient,
    account: &str,
    at: Timestamp,
    action: &str,
    subject: &str,
    reason: &str,
) -> Result<(), tokio_postgres::Error> {
    let sql = "insert into audit (at, account, action, subject, reason) values ($1, $2, $3, $4, $5)";
    run(client, sql, &[&stored_time(at), &account, &action, &subject, &reason]).await.map(drop)
}
