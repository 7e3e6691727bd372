//! Tests of several modules over real engines.

pub mod postgres;
