//! [`note`]: writes the audit log.

use skill::Owner;

/// Records a decision on a connection, so that it is part of a transaction.
pub fn note(
    database: &rusqlite::Connection,
    account: &Owner,
    at: &str,
    action: &str,
    subject: &str,
    reason: &str,
) -> rusqlite::Result<()> {
    let sql = "insert into audit (at, account, action, subject, reason) values (?1, ?2, ?3, ?4, ?5)";
    database.execute(sql, [at, account.as_str(), action, subject, reason]).map(drop)
}
