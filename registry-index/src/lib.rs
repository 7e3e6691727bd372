//! The index of a registry: a git repository that says which releases of which skills exist, and
//! holds their archives.
//!
//! The principal type is [`Index`]: a folder with such a repository, opened for reading and, when it
//! is bare, for publishing. An index holds one file a skill ([`shard`]) with one JSON line a release
//! ([`Entry`]), and one `.skill` archive for each distinct content. The whole contract, as another
//! program has to know it, is `FORMAT.md` beside this crate.
//!
//! - Every change is one commit: the archive and the line that names it appear together, and the
//!   branch is moved only if nobody else has moved it in between.
//! - Only a [`scan::Cleared`] bundle can be appended.
//! - Lines are never taken back; three flags of a line can change, `yanked`, `withdrawn` and `status`.
//!
//! Sizes are in bytes, times are UTC to the second.

mod as_text;
mod config;
mod content;
mod entry;
mod failures;
mod flags;
mod folder;
mod history;
mod index;
mod lines;
mod mirror;
mod owner;
mod publish;
mod requirement;
mod seeds;
pub mod shard;
mod signature;
mod status;
mod store;
mod verify;
mod versions;

pub use config::{BundlePlace, Config, ConfigError};
pub use content::{FetchError, LineDiffers};
pub use entry::{Entry, EvalCounts, Fields, ForkedFrom, LineError, OutcomeCounts, Withdrawal};
pub use flags::FlagError;
pub use index::{Index, IndexFile, InitError, OpenError, ReadError, Readable};
pub use mirror::MirrorError;
pub use owner::{KeyChange, KeyChangeError, OwnerFile, OwnerFileError, OwnerKey, SignerError};
pub use publish::{AppendError, Appended, NewRelease, Stamp};
pub use requirement::{Requirement, RequirementError};
pub use seeds::{SeedError, builtin_names, builtins, seed, seeds};
pub use signature::{
    KeyError, PublicKey, SecretKey, SignatureError, key_statement, namespace_of, signed_with, statement,
};
pub use status::{Deprecation, Notice};
pub use store::StoreError;
pub use verify::{Fault, FaultKind};
pub use versions::{Wanted, WantedError, newest, next_patch, select};
