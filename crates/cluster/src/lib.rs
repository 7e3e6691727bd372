//! The server's stores for several replicas: PostgreSQL is the source of truth, an object store holds the archives,
//! and git is a deterministic projection of both.
//!
//! - [`database`] has the connections, and [`schema`] its tables.
//! - The stores are synchronous, as the server's traits are; [`background`] lets them wait for the network.

pub mod background;
pub mod database;
pub mod events;
mod objects;
pub mod schema;
#[cfg(test)]
mod tests;

pub use objects::{ObjectLimits, ObjectSettings, Objects, OpenObjectsError};
