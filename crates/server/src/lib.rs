//! skillhub as a marketplace over HTTP: one index with accounts, search, counts and decisions beside it.
//!
//! The principal type is [`Hub`], which a data folder becomes; [`serve`] puts it behind HTTP. The index stays a plain git
//! repository: what can be searched is a view of it that is made again whenever the two differ, so the repository may
//! be changed by others at the same time. Accounts, tokens, counts and decisions are in a SQLite file beside it.
//!
//! - [`access`] decides who may do what, and nothing else does.
//! - Whatever a client sends is unpacked, validated and cleared here ([`publish`]).
//! - Handlers ask the traits of [`store`], and never a store itself.

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
