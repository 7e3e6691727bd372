//! Tests of several modules over real engines.

pub mod buckets;
pub mod postgres;
mod stores;
