//! [`sweep`]: removes archives that no release has.
//!
//! An archive goes a day after it was last touched, so that every backup of the database of the last day finds its
//! archives. It is marked first, and removed in a second transaction that holds its row: a publish that meets the mark
//! waits, and stores the archive again.

use server::store::StoreError;
use skill::Digest;

use super::leader::Leader;
use crate::{
    database::{Database, DatabaseError, rows},
    objects::Objects,
};

/// Most archives removed in one pass.
const MOST: i64 = 1000;

/// Marks archives that no release has, a day after they were touched; also returns those that an earlier pass marked.
const MARK: &str = "update archives set state = 'removing' where digest in (
        select digest from archives where state = 'removing' or (
            state in ('pending', 'stored') and touched_at < now() - interval '24 hours'
            and not exists (select 1 from releases where releases.digest = archives.digest and not is_withdrawn)
        ) order by touched_at limit $1 for update skip locked
    ) returning digest";

/// Removes archives that no release has.
///
/// # Errors
/// [`StoreError`] when the database or the object store cannot be reached; the next pass continues.
pub fn sweep(
    database: &Database,
    leader: &Leader,
    archives: &Objects,
    go_on: &dyn Fn() -> bool,
) -> Result<(), StoreError> {
    let marked = database.transaction::<_, DatabaseError>(async |write| Ok(rows(write, MARK, &[&MOST]).await?))?;
    for row in &marked {
        if !go_on() {
            break;
        }
        remove(database, leader, archives, row.try_get(0).map_err(DatabaseError::from)?)?;
    }
    Ok(())
}

/// Removes a marked archive, unless a publish has taken it since. After a failure the session is dropped, and with it the
/// transaction.
fn remove(database: &Database, leader: &Leader, archives: &Objects, digest: &str) -> Result<(), StoreError> {
    let parsed: Digest = digest.parse().map_err(|error| StoreError(Box::new(error)))?;
    leader.run(database, "begin", &[])?;
    let lock = "select 1 from archives where digest = $1 and state = 'removing' for update";
    if leader.run(database, lock, &[&digest])? == 1 {
        archives.remove(&parsed)?;
        leader.run(database, "delete from archives where digest = $1", &[&digest])?;
    }
    leader.run(database, "commit", &[])?;
    Ok(())
}
