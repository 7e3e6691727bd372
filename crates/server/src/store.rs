//! [`Stores`]: everything that a server keeps, behind traits that hide the backend from handlers.
//!
//! The traits are synchronous: requests run on threads that may block. [`embedded`] implements them with a git
//! repository and a SQLite file in one folder; `contract` has the tests that every backend must pass.

pub mod archive_cache;
pub mod catalogue;
mod counted;
pub mod embedded;
pub mod pending_downloads;
pub mod rate;
pub mod records;
pub mod secrets;

#[cfg(any(test, feature = "contract"))]
#[doc(hidden)]
pub mod contract;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    time::{Duration, Instant},
};

pub use axum::body::Bytes;
use jiff::Timestamp;
use registry_index::{Appended, ClearedRelease, Deprecation, Entry, KeyChange, OwnerFile, PublicKey, SignerError};
use skill::{Digest, Owner, QualifiedName, SkillName};
use web::Client;

use crate::{
    access::{Caller, Role},
    error::ApiError,
};
pub use catalogue::Catalogue;
pub use records::{
    AccountError, AuditLine, Download, Downloader, Gauge, HeldCopy, Member, NewToken, Quarantined, ReportOfRelease,
    StaticFile, StoreError, Token, TooMany, Unavailable, WithheldReason, hold_reason, no_restoring, not_withheld,
};

/// The stores of one index.
pub struct Stores {
    /// Published releases and the decisions about them.
    pub releases: Box<dyn Releases>,
    /// Archives of releases, by digest.
    pub blobs: Box<dyn Blobs>,
    /// Search over the newest releases.
    pub catalogue: Box<dyn Catalogue>,
    /// Accounts, tokens and members of namespaces.
    pub people: Box<dyn People>,
    /// Browser sessions of the pages.
    pub sessions: Box<dyn Sessions>,
    /// Downloads, stars, reports and the audit log.
    pub activity: Box<dyn Activity>,
    /// Rate limits per client.
    pub rates: Box<dyn RateLimiter>,
    /// Uploaded files that await their release.
    pub uploads: Box<dyn UploadStore>,
}

/// State of a namespace in relation to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceState {
    /// True if it has a member or a release.
    pub is_taken: bool,
    /// Role of the account in it; `None` for a non-member.
    pub role: Option<Role>,
}

/// A change of a release after it was published.
#[derive(Debug, Clone, Copy)]
pub enum Flag<'a> {
    /// Kept out of new installs, with an optional reason.
    Yanked(Option<&'a str>),
    /// Available to new installs again.
    Unyanked,
    /// Still installable, with this advice against it.
    Deprecated(&'a Deprecation),
    /// The advice against it is removed.
    Undeprecated,
    /// Not served until an admin restores it, with a reason; releases with the same content are put on hold.
    Quarantined(&'a str),
    /// Served again after a quarantine or a hold, with a reason.
    Restored(&'a str),
    /// Its archive is removed for good, with a reason; releases with the same content are put on hold.
    Withdrawn(&'a str),
}

/// Published releases. Reads see the last acknowledged state, whichever process wrote it. Each change is atomic, with
/// its line in the audit log.
pub trait Releases: Send + Sync {
    /// Returns the commit whose files are served.
    ///
    /// # Errors
    /// The store cannot be read.
    fn head(&self) -> Result<String, ApiError>;

    /// Returns a count of the decisions about releases known to this process; it changes with each decision.
    fn decisions(&self) -> u64;

    /// Returns whether another process has published something that is newer than the caches here.
    ///
    /// # Errors
    /// The store cannot be read.
    fn is_behind(&self) -> Result<bool, ApiError>;

    /// Evicts cached content that another process has changed.
    ///
    /// # Errors
    /// The store cannot be read.
    fn catch_up(&self) -> Result<(), ApiError>;

    /// Returns a file of the index if it is cached; never blocks on the disk. The inner `None` is a file known to be
    /// missing.
    fn file_at_hand(&self, path: &str) -> Option<Option<StaticFile>>;

    /// Returns a file of the index, reading the disk if it is not cached.
    ///
    /// # Errors
    /// The store cannot be read.
    fn file(&self, path: &str) -> Result<Option<StaticFile>, ApiError>;

    /// Returns all releases of a skill in order of publishing; empty for an unknown skill.
    ///
    /// # Errors
    /// The store cannot be read, or a line is damaged.
    fn of_skill(&self, name: &QualifiedName) -> Result<Vec<Entry>, ApiError>;

    /// Returns the owners who have published a skill of this name, sorted.
    ///
    /// # Errors
    /// The store cannot be read.
    fn owners_of(&self, name: &SkillName) -> Result<Vec<Owner>, ApiError>;

    /// Returns the skills whose names begin like this one.
    ///
    /// # Errors
    /// The store cannot be read.
    fn names_beside(&self, name: &SkillName) -> Result<Vec<QualifiedName>, ApiError>;

    /// Returns the keys of an owner.
    ///
    /// # Errors
    /// The store cannot be read.
    fn owner(&self, owner: &Owner) -> Result<OwnerFile, ApiError>;

    /// Returns the key with which a release is signed, or the reason why its signature is invalid.
    ///
    /// # Errors
    /// The store cannot be read.
    fn signer(&self, entry: &Entry) -> Result<Result<Option<PublicKey>, SignerError>, ApiError>;

    /// Returns the state of a namespace and the role of an account in it.
    ///
    /// # Errors
    /// The store cannot be read.
    fn namespace(&self, owner: &Owner, account: Option<&Owner>) -> Result<NamespaceState, ApiError>;

    /// Publishes a release if `may` still permits it by the state of its namespace for the account, read under the lock
    /// on the namespace. The account that opens a namespace becomes its maintainer. A release with the content of one
    /// under quarantine or withdrawn is put on hold.
    ///
    /// # Errors
    /// The error of `may`, or [`ApiError`] for a release that is refused; nothing has changed then.
    fn publish(
        &self,
        release: &ClearedRelease<'_>,
        account: &Owner,
        may: &dyn Fn(NamespaceState) -> Result<(), ApiError>,
    ) -> Result<Appended, ApiError>;

    /// Sets a flag of a release and returns its updated line.
    ///
    /// # Errors
    /// [`ApiError`] if the release does not exist, or its state does not permit the change.
    fn set_flag(&self, entry: &Entry, flag: Flag<'_>, account: &Owner, now: Timestamp) -> Result<Entry, ApiError>;

    /// Changes a key of an owner. `action` and `key` are for the audit log.
    ///
    /// # Errors
    /// [`ApiError`] when the owner's keys do not allow it.
    fn change_key(
        &self,
        owner: &Owner,
        change: &KeyChange,
        account: &Owner,
        now: Timestamp,
        action: &str,
        key: &str,
    ) -> Result<OwnerFile, ApiError>;

    /// Returns the reason why a release is not served; `None` when it is.
    ///
    /// # Errors
    /// The store cannot be read.
    fn barrier(&self, entry: &Entry) -> Result<Option<WithheldReason>, ApiError>;

    /// Returns whether an archive may be served by its digest.
    ///
    /// # Errors
    /// The store cannot be read.
    fn is_readable(&self, digest: &Digest) -> Result<bool, ApiError>;

    /// Returns the quarantine of a release, if it has one.
    ///
    /// # Errors
    /// The store cannot be read.
    fn quarantine_of(&self, skill: &str, version: &str) -> Result<Option<Quarantined>, ApiError>;

    /// Returns all releases that withhold their content: those under quarantine, and withdrawn ones. Newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn quarantined(&self) -> Result<Vec<Quarantined>, ApiError>;

    /// Returns the undecided copies, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn held_copies(&self) -> Result<Vec<HeldCopy>, ApiError>;

    /// Returns measurements of the stores, for the metrics.
    ///
    /// # Errors
    /// The store cannot be read.
    fn gauges(&self) -> Result<Vec<Gauge>, ApiError> {
        Ok(Vec::new())
    }

    /// Reads from each store, as a readiness probe.
    ///
    /// # Errors
    /// The store cannot be read.
    fn check_readiness(&self) -> Result<(), ApiError>;

    /// Refreshes the catalogue and caches after changes by any process. Called each second.
    ///
    /// # Errors
    /// The store cannot be read or written.
    fn refresh(&self) -> Result<(), ApiError>;

    /// Performs maintenance that keeps the store small, while requests continue. It ends early when `go_on` returns
    /// false.
    ///
    /// # Errors
    /// The store cannot be read or written; it is then unchanged.
    fn tidy(&self, go_on: &dyn Fn() -> bool) -> Result<(), ApiError>;
}

/// A content-addressed store of archives. An archive never changes under its digest; it can only be removed.
pub trait Blobs: Send + Sync {
    /// Returns the archive if it is cached in memory; never blocks on the disk.
    fn cached(&self, digest: &Digest) -> Option<Bytes>;

    /// Returns the archive, reading the disk if it is not cached.
    ///
    /// # Errors
    /// [`StoreError`]
    fn get(&self, digest: &Digest) -> Result<Option<Bytes>, StoreError>;
}

/// Accounts, tokens and members of namespaces.
pub trait People: Send + Sync {
    /// Creates a token and returns its secret, of which only the hash is stored. The audit log names `by` as its maker.
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

    /// Returns the caller authenticated by a token; `None` for a token that is unknown, expired or revoked.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn caller(&self, secret: &str, now: Timestamp) -> Result<Option<Caller>, AccountError>;

    /// Returns an account that a trusted proxy has signed in. It is created if it does not exist.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn signed_in(&self, name: Owner, now: Timestamp) -> Result<Caller, AccountError>;

    /// Returns the tokens of an account, or those of all accounts, newest first.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn tokens(&self, account: Option<&Owner>) -> Result<Vec<Token>, AccountError>;

    /// Revokes a token, only if it is of `account` when that is given. Returns `false` if no valid token matches.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn revoke(&self, id: &str, account: Option<&Owner>, now: Timestamp) -> Result<bool, AccountError>;

    /// Returns the members of a namespace, sorted by name.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn members(&self, namespace: &Owner) -> Result<Vec<Member>, AccountError>;

    /// Makes an account a member, or changes the role of a member.
    ///
    /// # Errors
    /// [`AccountError`] if the account does not exist, or no maintainer would be left.
    fn set_member(&self, namespace: &Owner, account: &Owner, role: Role) -> Result<(), AccountError>;

    /// Ends a membership. Returns `false` if the account is not a member.
    ///
    /// # Errors
    /// [`AccountError`] if no maintainer would be left.
    fn remove_member(&self, namespace: &Owner, account: &Owner) -> Result<bool, AccountError>;
}

/// Browser sessions, each identified by a random value in its cookie.
pub trait Sessions: Send + Sync {
    /// Opens a session for the account of a token and returns its secret name; `None` for a token that is unknown,
    /// expired or revoked.
    ///
    /// # Errors
    /// [`AccountError`]
    fn begin(&self, token: &str, now: Timestamp) -> Result<Option<String>, AccountError>;

    /// Returns the caller of a session; `None` if the session or its token is unknown or no longer valid.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn caller(&self, name: &str, now: Timestamp) -> Result<Option<Caller>, AccountError>;

    /// Ends a session; an unknown one is ignored.
    ///
    /// # Errors
    /// [`AccountError::Store`]
    fn end(&self, name: &str) -> Result<(), AccountError>;
}

/// Downloads, stars, reports and the audit log.
pub trait Activity: Send + Sync {
    /// Counts a download, once for each address, account, content and day. [`Activity::write_downloads`] writes it
    /// later, in a batch.
    fn count(&self, download: Download, client: Client);

    /// Writes the downloads that were counted since the last call.
    ///
    /// # Errors
    /// [`StoreError`]; the counts are kept for the next call.
    fn write_downloads(&self) -> Result<(), StoreError>;

    /// Returns the downloads of a skill by day (UTC) since a day, oldest first.
    ///
    /// # Errors
    /// [`StoreError`]
    fn by_day(&self, skill: &str, since: &str) -> Result<Vec<(String, u64)>, StoreError>;

    /// Returns the downloads of each version of a skill.
    ///
    /// # Errors
    /// [`StoreError`]
    fn by_version(&self, skill: &str) -> Result<BTreeMap<String, u64>, StoreError>;

    /// Returns the downloads of some content by account and day, newest first.
    ///
    /// # Errors
    /// [`StoreError`]
    fn downloaders(&self, digest: &Digest) -> Result<Vec<Downloader>, StoreError>;

    /// Adds or removes an account's star on a skill and returns the number of its stars.
    ///
    /// # Errors
    /// [`StoreError`]
    fn set_star(&self, skill: &str, account: &Owner, is_starred: bool) -> Result<u64, StoreError>;

    /// Returns the number of stars of a skill.
    ///
    /// # Errors
    /// [`StoreError`]
    fn stars(&self, skill: &str) -> Result<u64, StoreError>;

    /// Records a report about a release.
    ///
    /// # Errors
    /// [`StoreError`]
    fn report(
        &self,
        skill: &str,
        version: &str,
        reason: &str,
        account: &Owner,
        now: Timestamp,
    ) -> Result<ReportOfRelease, StoreError>;

    /// Returns open reports, oldest first, or decided ones, newest first; at most 200.
    ///
    /// # Errors
    /// [`StoreError`]
    fn reports(&self, are_open: bool) -> Result<Vec<ReportOfRelease>, StoreError>;

    /// Decides an open report; `None` if no open report has this number.
    ///
    /// # Errors
    /// [`StoreError`]
    fn decide(
        &self,
        id: i64,
        decision: &str,
        account: &Owner,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<ReportOfRelease>, StoreError>;

    /// Records an action in the audit log. `account` is `None` for an unknown client.
    ///
    /// # Errors
    /// [`StoreError`]
    fn note(
        &self,
        account: Option<&Owner>,
        now: Timestamp,
        action: &str,
        subject: &str,
        reason: &str,
    ) -> Result<(), StoreError>;

    /// Returns the lines of the audit log, newest first and at most 200; with `before`, only older ones.
    ///
    /// # Errors
    /// [`StoreError`]
    fn audit(&self, before: Option<i64>) -> Result<Vec<AuditLine>, StoreError>;
}

/// A kind of request with a separate rate limit, so that one kind cannot use up another's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// A change, a search or another expensive request.
    Costly,
    /// An attempt to sign in on the pages.
    SignIn,
    /// A failed sign-in that is audited.
    AuditedFailure,
}

/// Rate limits per client.
pub trait RateLimiter: Send + Sync {
    /// Counts a request of a client.
    ///
    /// # Errors
    /// `TooMany` if the client has exceeded its rate.
    fn admit(&self, kind: Limited, client: IpAddr, now: Instant) -> Result<(), TooMany>;
}

/// How long uploaded files wait for their release.
pub const UPLOAD_TIME: Duration = Duration::from_secs(15 * 60);

/// Most bytes of files that wait for one account: two skills of the largest size.
pub const UPLOAD_ACCOUNT_BYTES: usize = 32 << 20;

/// Most bytes of files that wait for all accounts together.
pub const UPLOAD_BYTES: usize = 128 << 20;

/// Files uploaded one by one, until the release that they belong to is published.
pub trait UploadStore: Send + Sync {
    /// Stores a file for an account and returns its digest. Beyond the limits, the oldest files are dropped.
    ///
    /// # Errors
    /// [`StoreError`]
    fn put(&self, account: &Owner, bytes: Bytes, now: Instant) -> Result<Digest, StoreError>;

    /// Returns a file that this account uploaded.
    ///
    /// # Errors
    /// [`StoreError`]
    fn get(&self, account: &Owner, digest: &Digest) -> Result<Option<Bytes>, StoreError>;

    /// Drops files of an account. Those that cannot be dropped now expire later.
    fn evict(&self, account: &Owner, digests: &[Digest]);
}
