//! skillhub as a marketplace over HTTP: one index with accounts, search, counts and decisions beside it.
//!
//! The principal type is [`Hub`], opened from a data folder; [`serve`] exposes it over HTTP. The index stays a plain
//! git repository, which other processes may change at the same time. The search catalogue is a projection of it and is
//! refreshed whenever the two differ. Accounts, tokens, counts and decisions are in a SQLite file beside it.
//!
//! - [`access`] makes every authorisation decision.
//! - [`publish`] unpacks, validates and scans all uploaded content.
//! - Handlers use the traits of [`store`], never a concrete store.

pub mod access;
mod accounts;
mod activity;
mod api;
mod audit;
pub mod blobs;
pub mod catalogue;
mod contents;
mod counted;
mod data_dir;
mod database;
mod decisions;
mod error;
#[cfg(test)]
mod fixtures;
mod foreign;
mod guard;
mod hub;
mod index_pool;
mod lanes;
mod metrics;
mod mirrored;
mod openings;
mod operations;
mod pages;
pub mod publish;
mod quarantines;
mod rate;
mod recent;
mod route_names;
mod serve;
mod settings;
mod sign_ins;
mod sparse;
mod static_files;
pub mod store;

pub use access::{Scope, Visibility};
pub use accounts::{AccountError, Accounts, NewToken, Token};
pub use data_dir::{DATABASE, DataError};
pub use hub::{Hub, INDEX};
pub use mirrored::{MirrorError, mirror};
pub use serve::{app, serve};
pub use settings::Settings;
