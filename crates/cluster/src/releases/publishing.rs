//! [`publish`]: publishing a release.
//!
//! The archive is stored first. Then one transaction checks everything again under locks, and makes the release visible
//! with all that follows from it: its line, search words, members, audit and event. A crash in between leaves only an
//! archive that no release names.

use deadpool_postgres::{GenericClient, Transaction};
use registry_index::{Appended, ClearedRelease, Entry, Planned, plan, shard};
use server::{
    access::Role,
    store::{NamespaceState, StoreError, Unavailable},
};
use skill::Owner;
use web::ApiError;

use super::{
    PgReleases,
    flags::hold_copy,
    lines::{SkillLines, Step, blob_id, entries},
    log::By,
};
use crate::{
    archives,
    database::{Abort, DatabaseError, row, run},
    events::Edit,
};

/// Attempts when other publishers change the namespace, the skill or the archive meanwhile.
const ROUNDS: usize = 6;

/// Check of the caller by the state of the namespace.
pub type May<'a> = &'a dyn Fn(NamespaceState) -> Result<(), ApiError>;

/// Result of one transaction.
enum Attempt {
    /// The release is there.
    Done(Box<Appended>),
    /// The namespace has to be locked for a change of its own.
    NeedsNamespace,
    /// The archive was removed meanwhile.
    NeedsArchive,
    /// Another publisher has just created the skill.
    Again,
}

/// Publishes a release.
///
/// # Errors
/// The error of `may`, or [`ApiError`] for a release that is refused or a store that cannot be reached.
pub fn publish(
    stores: &PgReleases,
    release: &ClearedRelease<'_>,
    account: &Owner,
    may: May<'_>,
) -> Result<Appended, ApiError> {
    // Without locks, so that a refused or repeated release stores nothing.
    let mut changes_namespace = match stores.read(async |client| previewed(client, release, account, may).await)? {
        Preview::Unchanged(entry) => return Ok(Appended::Unchanged(*entry)),
        Preview::New { changes_namespace } => changes_namespace,
    };
    for _ in 0..ROUNDS {
        archives::store(&stores.database, &stores.objects, release)?;
        let attempt = stores
            .database
            .transaction(async |write| attempted(write, release, account, may, changes_namespace).await)
            .or_else(|error| published_after_all(stores, release, error))?;
        match attempt {
            Attempt::Done(appended) => return Ok(*appended),
            Attempt::NeedsNamespace => changes_namespace = true,
            Attempt::NeedsArchive | Attempt::Again => {}
        }
    }
    Err(StoreError(Box::new(Unavailable("other publishers were faster each time".to_owned()))).into())
}

/// After a lost answer to a commit, finds out whether the release is there.
fn published_after_all(
    stores: &PgReleases,
    release: &ClearedRelease<'_>,
    error: ApiError,
) -> Result<Attempt, ApiError> {
    if error.retry_after.is_none() {
        return Err(error);
    }
    let entry = release.entry();
    let Ok(found) = stores.read(async |client| entries(client, &entry.name).await) else { return Err(error) };
    let same = found.into_iter().find(|found| found.version == entry.version && found.digest == entry.digest);
    same.map(|found| Attempt::Done(Box::new(Appended::Published(found)))).ok_or(error)
}

/// Effect of a release, read without locks.
enum Preview {
    Unchanged(Box<Entry>),
    New { changes_namespace: bool },
}

async fn previewed(
    client: &impl GenericClient,
    release: &ClearedRelease<'_>,
    account: &Owner,
    may: May<'_>,
) -> Step<Preview> {
    let owner = &release.entry().name.owner;
    let owner_file = row(client, "select file from owners where name = $1", &[&owner.as_str()]).await?;
    let owner_file: Option<String> = owner_file.map(|row| row.try_get(0)).transpose()?.flatten();
    let lines = "select string_agg(line || E'\\n', '' order by position) from releases
                 where skill = (select id from skills where path = $1)";
    let lines: Option<String> =
        row(client, lines, &[&release.path()]).await?.map(|row| row.try_get(0)).transpose()?.flatten();
    // After the lines: an account that finds the release there also finds the namespace taken.
    let (state, has_members) = namespace(client, owner, Some(account)).await?;
    may(state)?;
    Ok(match planned(lines.as_deref().map(str::as_bytes), owner_file.as_deref(), release)? {
        Planned::Unchanged(entry) => Preview::Unchanged(entry),
        Planned::Append { owner_file, .. } => Preview::New { changes_namespace: owner_file.is_some() || !has_members },
    })
}

fn planned(lines: Option<&[u8]>, owner_file: Option<&str>, release: &ClearedRelease<'_>) -> Result<Planned, ApiError> {
    plan(lines, owner_file.map(str::as_bytes), release).map_err(|error| ApiError::of(&error))
}

/// Publishes in one transaction, unless something is missing.
async fn attempted(
    write: &Transaction<'_>,
    release: &ClearedRelease<'_>,
    account: &Owner,
    may: May<'_>,
    changes_namespace: bool,
) -> Step<Attempt> {
    let (entry, stamp) = (release.entry(), &release.release().stamp);
    let (owner, by) = (&entry.name.owner, By::new(account, stamp.at));
    let known = match changes_namespace {
        true => lock_namespace(write, owner).await?,
        false => share_namespace(write, owner).await?,
    };
    let (state, has_members) = namespace(write, owner, Some(account)).await?;
    may(state)?;
    if !archives::mark_stored(write, &entry.digest).await? {
        return Ok(Attempt::NeedsArchive);
    }
    let skill = SkillLines::lock(write, &entry.name).await?;
    let lines = skill.as_ref().map(SkillLines::file);
    let owner_file = match planned(lines.as_deref(), known.as_deref(), release)? {
        Planned::Unchanged(entry) => return Ok(Attempt::Done(Box::new(Appended::Unchanged(*entry)))),
        Planned::Append { owner_file, .. } => owner_file,
    };
    if !changes_namespace && (owner_file.is_some() || !has_members) {
        return Ok(Attempt::NeedsNamespace);
    }
    let created = match skill {
        Some(skill) => Some(skill),
        None => SkillLines::create(write, &entry.name, release.path()).await?,
    };
    let Some(mut skill) = created else { return Ok(Attempt::Again) };
    let mut edits = skill.append(write, &[entry]).await?;
    if let Some(text) = owner_file {
        edits.push(write_owner(write, owner, text).await?);
    }
    let subject = format!("{} {}", entry.name, entry.version);
    by.log(write, &subject, release.message(), edits).await?;
    hold_copy(write, &mut skill, entry, &by).await?;
    skill.show(write).await?;
    if !has_members {
        let sql = "insert into members (namespace, account, role) values ($1, $2, $3)";
        run(write, sql, &[&owner.as_str(), &account.as_str(), &Role::Maintainer.as_str()]).await?;
    }
    by.note(write, "publish", &subject, "").await?;
    Ok(Attempt::Done(Box::new(Appended::Published(entry.clone()))))
}

/// Locks a namespace for a change of its members, keys or first release, and returns the owner's file.
///
/// # Errors
/// The error of the engine.
pub async fn lock_namespace(write: &Transaction<'_>, owner: &Owner) -> Result<Option<String>, tokio_postgres::Error> {
    run(write, "insert into owners (name) values ($1) on conflict do nothing", &[&owner.as_str()]).await?;
    let locked = row(write, "select file from owners where name = $1 for update", &[&owner.as_str()]).await?;
    Ok(locked.map(|row| row.try_get(0)).transpose()?.flatten())
}

/// Keeps a namespace as it is until the end of the transaction, and returns the owner's file.
async fn share_namespace(write: &Transaction<'_>, owner: &Owner) -> Result<Option<String>, tokio_postgres::Error> {
    let shared = row(write, "select file from owners where name = $1 for share", &[&owner.as_str()]).await?;
    Ok(shared.map(|row| row.try_get(0)).transpose()?.flatten())
}

/// Writes the file of an owner, whose namespace is locked.
///
/// # Errors
/// The error of the engine.
pub async fn write_owner(write: &Transaction<'_>, owner: &Owner, text: String) -> Result<Edit, DatabaseError> {
    let id = blob_id(text.as_bytes())?;
    run(write, "update owners set file = $2, file_id = $3 where name = $1", &[&owner.as_str(), &text, &id]).await?;
    Ok(Edit::Write { path: shard::owner_file(owner), text })
}

/// Returns the state of a namespace for an account, and whether it has members.
///
/// # Errors
/// The error of the engine.
pub async fn namespace(
    client: &impl GenericClient,
    owner: &Owner,
    account: Option<&Owner>,
) -> Result<(NamespaceState, bool), Abort<ApiError>> {
    let sql = "select (select role from members where namespace = $1 and account = $2),
                      exists (select 1 from members where namespace = $1),
                      exists (select 1 from owners where name = $1 and file is not null)";
    let statement = client.prepare_cached(sql).await?;
    let found = client.query_one(&statement, &[&owner.as_str(), &account.map(Owner::as_str)]).await?;
    let role: Option<String> = found.try_get(0)?;
    let (has_members, has_file): (bool, bool) = (found.try_get(1)?, found.try_get(2)?);
    let role = role.and_then(|role| Role::parse(&role));
    Ok((NamespaceState { is_taken: has_members || has_file, role }, has_members))
}
