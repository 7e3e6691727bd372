//! [`sweep`]: removes archives that no release has.
//!
//! An archive goes a day after it was last touched, so that every backup of the database of the last day finds its
//! archives. It is marked first: a publish that meets the mark stores the archive again.

use skill::Digest;
use web::ApiError;

use crate::{
    archives,
    database::{Database, DatabaseError, rows},
    objects::Objects,
};

/// Most archives removed in one pass.
const MOST: i64 = 1000;

/// Marks archives that no release has, a day after they were touched; also returns those that were marked before.
const MARK: &str = "update archives set state = 'removing' where digest in (
        select digest from archives where state = 'removing' or (
            state in ('pending', 'stored') and touched_at < now() - interval '24 hours'
            and not exists (select 1 from releases where releases.digest = archives.digest and not is_withdrawn)
        ) order by touched_at limit $1 for update skip locked
    ) returning digest";

/// Removes archives that no release has.
///
/// # Errors
/// [`ApiError`] with 503 when the database or the object store cannot be reached; the next pass continues.
pub fn sweep(database: &Database, objects: &Objects, go_on: &dyn Fn() -> bool) -> Result<(), ApiError> {
    let marked = database.transaction::<_, DatabaseError>(async |write| Ok(rows(write, MARK, &[&MOST]).await?))?;
    for row in marked.iter().take_while(|_| go_on()) {
        let digest: String = row.try_get(0).map_err(DatabaseError::from)?;
        let parsed: Digest = digest.parse().map_err(|error| ApiError::broken(&error))?;
        archives::remove(database, objects, &parsed)?;
    }
    Ok(())
}
