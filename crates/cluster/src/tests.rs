//! Tests of several modules over real engines.

pub mod buckets;
mod contract;
pub mod postgres;
mod releases;
mod schema;
mod stores;
