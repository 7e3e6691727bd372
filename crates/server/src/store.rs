//! [`Stores`]: everything that a server keeps, behind traits. Handlers know nothing else of where it is.
//!
//! The traits are synchronous: requests run on threads that may wait. [`embedded`] has them over a git repository and a
//! SQLite file in one folder; `contract` is what every backend has to do.

pub mod embedded;

#[cfg(test)]
mod contract;

use std::{collections::BTreeMap, net::IpAddr, time::Instant};

use axum::body::Bytes;
use jiff::Timestamp;
use registry_index::{Appended, ClearedRelease, Deprecation, Entry, KeyChange, OwnerFile, PublicKey, SignerError};
use skill::{Digest, Owner, QualifiedName, SkillName};
use web::Client;

use crate::{
    access::{Caller, Role},
    accounts::{AccountError, Member, NewToken, Token},
    activity::{AuditLine, Downloader, ReportOfRelease},
    counted::Download,
    database::DatabaseError,
    error::ApiError,
    quarantines::{Barrier, HeldCopy, Quarantined},
    rate::TooMany,
    static_files::StaticFile,
};
pub use crate::{
    blobs::{BlobError, Blobs},
    catalogue::Catalogue,
};

/// The stores of one index.
pub struct Stores {
    /// What was published, and what was decided about it.
    pub releases: Box<dyn Releases>,
    /// Archives.
    pub blobs: Box<dyn Blobs>,
    /// Where skills are found.
    pub catalogue: Box<dyn Catalogue>,
    /// Who may do what.
    pub people: Box<dyn People>,
    /// Browsers that have signed in.
    pub sessions: Box<dyn Sessions>,
    /// What people did.
    pub activity: Box<dyn Activity>,
    /// How often each client may ask.
    pub rates: Box<dyn RateLimiter>,
    /// Files that wait for their release.
    pub uploads: Box<dyn UploadStore>,
}

/// Whether a namespace is in use, and the part of an account in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceState {
    /// Whether it has a member or a release.
    pub is_taken: bool,
    /// The account's role.
    pub role: Option<Role>,
}

/// A change of a release after it was published.
#[derive(Debug, Clone, Copy)]
pub enum Flag<'a> {
    /// It is kept out of new installs, for a reason if one is given.
    Yanked(Option<&'a str>),
    /// It is let back into new installs.
    Unyanked,
    /// It still installs, with the advice.
    Deprecated(&'a Deprecation),
    /// The advice is taken back.
    Undeprecated,
    /// It is not handed out until an admin has looked at it; releases with the same content are put on hold.
    Quarantined(&'a str),
    /// It is handed out again, after a quarantine or a hold.
    Restored(&'a str),
    /// Its archive is gone for good.
    Withdrawn(&'a str),
}

/// Published releases. What is read is what was last acknowledged, whichever process did it. Each change is all or
/// nothing, with its line in the audit log.
pub trait Releases: Send + Sync {
    /// The commit whose files are read.
    ///
    /// # Errors
    /// The store cannot be read.
    fn head(&self) -> Result<String, ApiError>;

    /// The number of decisions about releases that this process knows of; it changes with each.
    fn decisions(&self) -> u64;

    /// Whether another process has published what is not in memory here.
    ///
    /// # Errors
    /// The store cannot be read.
    fn is_behind(&self) -> Result<bool, ApiError>;

    /// Forgets what is in memory and was changed by another process.
    ///
    /// # Errors
    /// The store cannot be read.
    fn catch_up(&self) -> Result<(), ApiError>;

    /// A file of the index, if it is in memory: takes no time.
    fn file_at_hand(&self, path: &str) -> Option<Option<StaticFile>>;

    /// A file of the index; may read the disk.
    ///
    /// # Errors
    /// The store cannot be read.
    fn file(&self, path: &str) -> Result<Option<StaticFile>, ApiError>;

    /// All releases of a skill in order of publishing; none for an unknown one.
    ///
    /// # Errors
    /// The store cannot be read, or a line is damaged.
    fn of_skill(&self, name: &QualifiedName) -> Result<Vec<Entry>, ApiError>;

    /// The owners who have published a skill of this name, sorted.
    ///
    /// # Errors
    /// The store cannot be read.
    fn owners_of(&self, name: &SkillName) -> Result<Vec<Owner>, ApiError>;

    /// The skills whose names begin as this one does.
    ///
    /// # Errors
    /// The store cannot be read.
    fn names_beside(&self, name: &SkillName) -> Result<Vec<QualifiedName>, ApiError>;

    /// The keys of an owner.
    ///
    /// # Errors
    /// The store cannot be read.
    fn owner(&self, owner: &Owner) -> Result<OwnerFile, ApiError>;

    /// The key with which a release is signed, or why its signature is not good.
    ///
    /// # Errors
    /// The store cannot be read.
    fn signer(&self, entry: &Entry) -> Result<Result<Option<PublicKey>, SignerError>, ApiError>;

    /// Whether a namespace is in use, and what an account is in it.
    ///
    /// # Errors
    /// The store cannot be read.
    fn namespace(&self, owner: &Owner, account: Option<&Owner>) -> Result<NamespaceState, ApiError>;

    /// Publishes a release, if `may` has nothing against it once nobody else can change its namespace. The account that opens
    /// a namespace becomes its maintainer. A release with the content of one under quarantine is put on hold.
    ///
    /// # Errors
    /// That of `may`, or [`ApiError`] for a release that cannot be taken; nothing has changed then.
    fn publish(
        &self,
        release: &ClearedRelease<'_>,
        account: &Owner,
        may: &dyn Fn() -> Result<(), ApiError>,
    ) -> Result<Appended, ApiError>;

    /// Changes a release, and returns its line as it is now.
    ///
    /// # Errors
    /// [`ApiError`] for a release that is not there, or is not as the change needs it.
    fn set_flag(&self, entry: &Entry, flag: Flag<'_>, account: &Owner, now: Timestamp) -> Result<Entry, ApiError>;

    /// Changes a key of an owner; `action` and `key` are for the audit log.
    ///
    /// # Errors
    /// [`ApiError`] when the owner's keys do not allow it.
    fn change_key(
        &self,
        owner: &Owner,
        change: &KeyChange,
        account: &Owner,
        now: Timestamp,
        audit: (&str, &str),
    ) -> Result<OwnerFile, ApiError>;

    /// The reason for which a release is not handed out; `None` when it is.
    ///
    /// # Errors
    /// The store cannot be read.
    fn barrier(&self, entry: &Entry) -> Result<Option<Barrier>, ApiError>;

    /// Whether an archive may be handed out by its digest.
    ///
    /// # Errors
    /// The store cannot be read.
    fn is_readable(&self, digest: &Digest) -> Result<bool, ApiError>;

    /// The quarantine of a release.
    ///
    /// # Errors
    /// The store cannot be read.
    fn quarantine_of(&self, skill: &str, version: &str) -> Result<Option<Quarantined>, ApiError>;

    /// All releases under quarantine, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn quarantined(&self) -> Result<Vec<Quarantined>, ApiError>;

    /// The copies that wait for a decision, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn held_copies(&self) -> Result<Vec<HeldCopy>, ApiError>;

    /// Reads a little, for those who watch the server.
    ///
    /// # Errors
    /// The store cannot be read.
    fn check_readiness(&self) -> Result<(), ApiError>;

    /// Brings what shows the releases up to date with them, whoever changed them. Called each second.
    ///
    /// # Errors
    /// The store cannot be read or written.
    fn refresh(&self) -> Result<(), ApiError>;

    /// Does what is due now and then to keep the store small; requests go on meanwhile. It ends early when `go_on` says no.
    ///
    /// # Errors
    /// The store cannot be read or written; it is as it was.
    fn tidy(&self, go_on: &dyn Fn() -> bool) -> Result<(), ApiError>;
}

/// Accounts, tokens and members of namespaces.
pub trait People: Send + Sync {
    /// Makes a token and returns its secret; only the hash is kept. The audit log names `by` as its maker.
    ///
    /// # Errors
    /// [`AccountError`]
    fn add_token(
        &self,
        new: &NewToken,
        is_admin: bool,
        by: &Owner,
        now: Timestamp,
    ) -> Result<(Token, String), AccountError>;

    /// Who acts by a token; `None` for one that is unknown, over or revoked.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn caller(&self, secret: &str, now: Timestamp) -> Result<Option<Caller>, AccountError>;

    /// An account that a trusted proxy has signed in; it is made where there is none.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn signed_in(&self, name: Owner, now: Timestamp) -> Result<Caller, AccountError>;

    /// The tokens of an account, of all accounts without one, newest first.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn tokens(&self, account: Option<&Owner>) -> Result<Vec<Token>, AccountError>;

    /// Revokes a token, of this account only where one is given. `false` when there is none that could be.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn revoke(&self, id: &str, account: Option<&Owner>, now: Timestamp) -> Result<bool, AccountError>;

    /// The members of a namespace, by name.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn members(&self, namespace: &Owner) -> Result<Vec<Member>, AccountError>;

    /// Makes an account a member.
    ///
    /// # Errors
    /// [`AccountError`] when there is no such account, or no maintainer would be left.
    fn set_member(&self, namespace: &Owner, account: &Owner, role: Role) -> Result<(), AccountError>;

    /// Ends a membership. `false` when there was none.
    ///
    /// # Errors
    /// [`AccountError`] when no maintainer would be left.
    fn remove_member(&self, namespace: &Owner, account: &Owner) -> Result<bool, AccountError>;
}

/// Browsers that have signed in, each known by a random value in its cookie.
pub trait Sessions: Send + Sync {
    /// Opens a session for the account of a token and returns its name; `None` for a token that is unknown, expired or
    /// revoked.
    ///
    /// # Errors
    /// [`AccountError`]
    fn begin(&self, token: &str, now: Timestamp) -> Result<Option<String>, AccountError>;

    /// The account that acts by a session; `None` for one that is unknown or over, or whose token is.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn caller(&self, name: &str, now: Timestamp) -> Result<Option<Caller>, AccountError>;

    /// Ends a session.
    ///
    /// # Errors
    /// [`AccountError::Database`]
    fn end(&self, name: &str) -> Result<(), AccountError>;
}

/// Downloads, stars, reports and the audit log.
pub trait Activity: Send + Sync {
    /// Counts a download, once for each address, account, content and day. It is written with others, by
    /// [`Activity::write_downloads`].
    fn count(&self, download: Download, client: Client);

    /// Writes the downloads that were counted since the last time.
    ///
    /// # Errors
    /// [`DatabaseError`]; they are counted again the next time.
    fn write_downloads(&self) -> Result<(), DatabaseError>;

    /// Downloads of a skill by day, UTC, the oldest first.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn by_day(&self, skill: &str, since: &str) -> Result<Vec<(String, u64)>, DatabaseError>;

    /// Downloads of each version of a skill.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn by_version(&self, skill: &str) -> Result<BTreeMap<String, u64>, DatabaseError>;

    /// Who downloaded some content, newest first.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn downloaders(&self, digest: &Digest) -> Result<Vec<Downloader>, DatabaseError>;

    /// Stars a skill for an account, or takes the star back; gives the number of stars.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn set_star(&self, skill: &str, account: &Owner, is_starred: bool) -> Result<u64, DatabaseError>;

    /// The number of stars of a skill.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn stars(&self, skill: &str) -> Result<u64, DatabaseError>;

    /// Notes what somebody tells of a release.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn report(
        &self,
        release: (&str, &str),
        reason: &str,
        account: &Owner,
        now: Timestamp,
    ) -> Result<ReportOfRelease, DatabaseError>;

    /// Reports, the oldest open ones first, or those that were decided, newest first; at most 200.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn reports(&self, are_open: bool) -> Result<Vec<ReportOfRelease>, DatabaseError>;

    /// Decides an open report; `None` when there is none of this number that is open.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn decide(
        &self,
        id: i64,
        decision: &str,
        by: (&Owner, &str),
        now: Timestamp,
    ) -> Result<Option<ReportOfRelease>, DatabaseError>;

    /// Keeps a decision.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn note(&self, by: (&Owner, Timestamp), action: &str, subject: &str, reason: &str) -> Result<(), DatabaseError>;

    /// Records something that nobody known did.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn note_unknown(&self, now: Timestamp, action: &str, subject: &str, reason: &str) -> Result<(), DatabaseError>;

    /// Decisions, newest first, from before one of them where its number is given; at most 200.
    ///
    /// # Errors
    /// [`DatabaseError`]
    fn audit(&self, before: Option<i64>) -> Result<Vec<AuditLine>, DatabaseError>;
}

/// A kind of request that is limited apart from the others, so that one cannot use up another's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// A change or a search.
    Costly,
    /// An attempt to sign in on the pages.
    SignIn,
    /// A failed sign-in that is audited.
    AuditedFailure,
}

/// How often each client may ask.
pub trait RateLimiter: Send + Sync {
    /// Counts a request.
    ///
    /// # Errors
    /// [`TooMany`]
    fn admit(&self, kind: Limited, client: IpAddr, now: Instant) -> Result<(), TooMany>;
}

/// Files that were sent one by one, until the release is published that they belong to.
pub trait UploadStore: Send + Sync {
    /// Keeps a file for an account; of more than may wait, the oldest go. Gives its digest.
    fn put(&self, account: &Owner, bytes: Bytes, now: Instant) -> Digest;

    /// A file that an account sent.
    fn get(&self, account: &Owner, digest: &Digest) -> Option<Bytes>;

    /// Lets files of an account go.
    fn forget(&self, account: &Owner, digests: &[Digest]);
}
