//! Tests of several modules over real engines.

pub mod buckets;
mod contract;
mod mounts;
mod moving;
pub mod postgres;
pub mod projection;
mod releases;
mod repairs;
mod schema;
mod stores;
