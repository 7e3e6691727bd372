//! The server's stores for several replicas: PostgreSQL is the source of truth, an object store holds the archives,
//! and git is a deterministic projection of both.

pub mod events;
mod objects;

pub use objects::{ObjectLimits, ObjectSettings, Objects, OpenObjectsError};
