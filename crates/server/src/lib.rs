//! skillhub as a marketplace over HTTP: one index with accounts, search, counts and decisions beside it.
//!
//! The principal type is [`Hub`], opened from a data folder; [`serve`] exposes it over HTTP. The index stays a plain
//! git repository, which other processes may change at the same time. The search catalogue is a projection of it and is
//! refreshed whenever the two differ. Accounts, tokens, counts and decisions are in a SQLite file beside it.
//!
//! - [`access`] makes every authorisation decision.
//! - [`publish`] unpacks, validates and scans all uploaded content.
//! - Handlers use the traits of [`store`], never a concrete store.
//!
//! # A release, step by step
//!
//! `skillhub publish ./pdf-forms --registry http://127.0.0.1:8700` sends `PUT /v1/skills/acme/pdf-forms/1.0.0`.
//!
//! 1. `guard.rs` identifies the client behind trusted proxies, and checks host, length, site and rate. `api.rs` makes a
//!    `Caller` of the token.
//! 2. [`publish`] asks `Hub::check_namespace`, unpacks, validates, scans and packs again.
//! 3. `Releases::publish` of the stores appends, one writer at a time. `registry_index::plan` makes the entry and the
//!    owner's file, and one git commit adds them with the archive, as in every registry.
//! 4. `bring_up_to_date` (`store/embedded.rs`) compares the index with the commit that the catalogue shows, and updates
//!    the skills whose files changed. It also runs every second, so that changes by other processes appear.
//! 5. The first release of a namespace makes its publisher a member. Index and database cannot change in one
//!    transaction, so the intent is recorded before the release and finished after it (`store/embedded/openings.rs`);
//!    the next start settles it after a crash.
//!
//! `serve mirror` writes the same index beside the server: `client::fetch_verified` fetches and judges a release of another
//! registry, and `mirror` appends it unless the namespace has members. Several indexes are several [`Hub`]s with an app
//! each; the requested host name chooses one.
//!
//! Archives are in the tree of the index. Entry and archive are one commit, so neither exists without the other, and a
//! clone of the repository is a whole registry. `IndexBlobs` and `StaticFiles` cache what is requested; every commit
//! evicts what differs in it, whichever process made it.
//!
//! # Stores
//!
//! Handlers know [`Stores`](store::Stores) alone: releases, blobs, catalogue, people, sessions, activity, rate limits
//! and uploads. Each method that changes something is atomic, together with its line in the audit log.
//! `store/embedded.rs` implements them with a git repository and a SQLite file; `store/contract.rs` tests every backend
//! by its macro. One process at a time holds the lock of the data folder (`data_dir.rs`), and the schema grows by SQL
//! files (`store/embedded/database/migrations.rs`).
//!
//! # Adding a backend
//!
//! Everything of the embedded backend is below `store/embedded/`: `database` (SQLite) and `index_pool` (git), and one
//! file for each store or part of one. All backends share the values in `store/records.rs` and
//! `store/catalogue.rs`, and `StoreError`. To add a backend, for example in `store/NAME.rs`:
//!
//! 1. Implement the traits `Releases`, `Blobs`, `Catalogue`, `People`, `Sessions`, `Activity`, `RateLimiter` and
//!    `UploadStore`. Their documentation says what is atomic. They are synchronous: callers run them on threads that
//!    may block, except `file_at_hand` and `cached`, which must not touch the disk or the network. Use
//!    `registry_index::plan` for the lines of a release, so that every backend writes the same index.
//! 2. Write a function that opens all of them as [`Stores`](store::Stores), like `embedded::stores`. It also settles
//!    what a crash left between two stores (`openings` and `decisions` do so for the embedded one).
//! 3. Call `contract_tests!` in a test module, with a function that makes an empty `contract::Backend` for each test.
//!    The tests open several instances of it at once, as several processes would.
//! 4. Give them to [`Hub::over`]. `cluster`, the crate above this one, does all of this for PostgreSQL and an object store.
//!    Only `mirrored.rs` (`serve mirror`) and `data_dir.rs` (files and lock) are for the embedded stores alone.
//!
//! Handlers, pages and the API need no change.
//!
//! # Large indexes
//!
//! Each change is one pack of about ten objects, which is synced before the branch moves to its commit. After 60 changes, or
//! a minute, `Index::pack` joins packs of about the same size once they are more than 16, sorted by path so that the
//! states of a folder are stored as deltas. It also packs loose objects, which pushes leave, from 20,000 objects or
//! 256 MiB on. Nothing is dropped, reachable or not.
//!
//! The catalogue is built in one transaction, one skill at a time, with its indexes dropped before and created
//! afterwards. `Index::visit_skills` opens the repository anew for each part, because libgit2 caches what it reads.

pub mod access;
mod api;
mod contents;
mod data_dir;
mod decisions;
mod error;
#[cfg(test)]
mod fixtures;
mod folder_tables;
mod foreign;
mod guard;
mod hub;
mod metrics;
mod mirrored;
mod operations;
mod pages;
pub mod publish;
mod recent;
mod route_names;
mod serve;
mod settings;
mod sparse;
pub mod store;
mod work_limiter;

pub use access::{Scope, Visibility};
pub use data_dir::{DATABASE, DataError, INDEX};
pub use folder_tables::{AddRow, FolderTables, JsonRow, Moved, TABLES};
pub use hub::Hub;
pub use mirrored::{MirrorError, mirror};
pub use serve::{app, serve};
pub use settings::Settings;
pub use store::{AccountError, NewToken, Token};
