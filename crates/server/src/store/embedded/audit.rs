//! [`note`]: writes the audit log.

use skill::Owner;

/// Records an action on a connection, so that it is part of a transaction. `account` is `None` for an unknown client.
pub fn note(
    database: &rusqlite::Connection,
    account: Option<&Owner>,
    at: &str,
    action: &str,
    subject: &str,
    reason: &str,
) -> rusqlite::Result<()> {
    let sql = "insert into audit (at, account, action, subject, reason) values (?1, ?2, ?3, ?4, ?5)";
    database.execute(sql, [at, account.map_or("", Owner::as_str), action, subject, reason]).map(drop)
}
