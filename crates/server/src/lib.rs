//! skillhub as a marketplace over HTTP: one index with accounts, search, counts and decisions beside it.
//!
//! The principal type is [`Hub`], which a data folder becomes; [`serve`] puts it behind HTTP. The index stays a plain git
//! repository: what can be searched is a view of it that is made again whenever the two differ, so the repository may
//! be changed by others at the same time. Accounts, tokens, counts and decisions are in a SQLite file beside it.
//!
//! - [`access`] decides who may do what, and nothing else does.
//! - Whatever a client sends is unpacked, validated and cleared here ([`publish`]).
//! - Handlers ask the two narrow traits, [`catalogue::Catalogue`] and [`blobs::Blobs`], and never a store itself.

pub mod access;
mod accounts;
mod activity;
mod api;
pub mod blobs;
mod blocking;
pub mod catalogue;
mod connections;
mod contents;
mod counted;
mod data_dir;
mod database;
mod decisions;
mod descriptors;
mod error;
mod foreign;
pub mod gateway;
mod guard;
mod hub;
mod index_pool;
mod lanes;
mod migrations;
mod mirrored;
mod openings;
mod operations;
mod pages;
mod proxies;
pub mod publish;
mod quarantines;
mod rate;
mod route_names;
mod serve;
mod settings;
mod sign_ins;
mod sparse;
mod static_files;

pub use access::{Scope, Visibility};
pub use accounts::{AccountError, Accounts, NewToken, Token};
pub use error::ApiError;
pub use hub::{DATABASE, DataError, Hub, INDEX};
pub use mirrored::{MirrorError, mirror};
pub use pages::shown_bytes;
pub use proxies::{AddressBlock, AddressBlockError, TrustedProxies};
pub use serve::{ServeError, app, serve};
pub use settings::{ServerLimits, Settings};
