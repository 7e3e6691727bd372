//! The index of a registry: a git repository that lists the releases of all skills and contains their archives.
//!
//! The principal type is [`Index`]: a folder with such a repository, opened for reading and, if it is bare, for
//! publishing. An index has one file for each skill ([`shard`]) with one JSON line for each release ([`Entry`]), and
//! one `.skill` archive for each distinct content. `FORMAT.md` next to this crate is the complete specification for
//! other programs.
//!
//! - Every change is one commit: the archive and its entry appear together. The branch is moved by compare-and-swap.
//! - Only a [`scan::Cleared`] bundle can be appended.
//! - Entries are never removed. Only three flags of an entry can change: `yanked`, `withdrawn` and `status`.
//!
//! Sizes are in bytes, times are UTC with a precision of seconds.

mod as_text;
mod changelog;
mod changes;
mod config;
mod content;
mod dead_locks;
mod entry;
mod failures;
mod fault;
mod flags;
mod folder;
mod history;
mod index;
mod lines;
mod mirror;
mod owner;
mod owner_files;
mod packing;
mod publish;
mod requirement;
mod seeds;
mod series;
pub mod shard;
mod signature;
mod stamp;
mod status;
mod store;
mod verify;
mod versions;

pub use changelog::{CHANGELOG_CHARS, ChangelogError, checked_changelog};
pub use config::{ArchiveLocation, Config, ConfigError};
pub use content::{FetchError, LineDiffers};
pub use dead_locks::remove_dead_locks;
pub use entry::{Entry, EvalCounts, Fields, ForkedFrom, LineError, OutcomeCounts, Withdrawal};
pub use fault::{Fault, FaultKind};
pub use flags::{FlagChange, FlagError, hold_message};
pub use index::{Index, IndexFile, InitError, OpenError, ReadError, Readable};
pub use mirror::MirrorError;
pub use owner::{KeyChange, KeyChangeError, OwnerFile, OwnerFileError, OwnerKey, SignerError};
pub use packing::{PackBounds, Packed};
pub use publish::{AppendError, Appended, ClearedRelease, NewRelease, Planned, plan};
pub use requirement::{Requirement, RequirementError};
pub use seeds::{SeedError, builtin_names, builtins, seed, seeds};
pub use series::CommitSeries;
pub use signature::{
    KeyError, PublicKey, SecretKey, SignatureError, key_statement, namespace_of, signed_with, statement,
};
pub use stamp::Stamp;
pub use status::{Deprecation, Notice};
pub use store::StoreError;
pub use versions::{Bump, ReleaseSelector, ReleaseSelectorError, newest, next_version, select};
