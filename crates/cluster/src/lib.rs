//! The server's stores for several replicas: PostgreSQL is the source of truth, an object store holds the archives,
//! and git is a deterministic projection of both.
//!
//! - [`database`] has the connections, and [`schema`] its tables.
//! - The stores are synchronous, as the server's traits are; [`background`] lets them wait for the network.

pub mod activity;
pub mod archives;
mod audit;
pub mod background;
mod blobs;
pub mod database;
pub mod events;
mod objects;
mod people;
mod projection;
mod rates;
pub mod releases;
pub mod schema;
mod search;
mod sessions;
#[cfg(test)]
mod tests;
mod uploads;

pub use activity::PgActivity;
pub use audit::note;
pub use blobs::StoredBlobs;
pub use objects::{ObjectLimits, ObjectSettings, Objects, OpenObjectsError};
pub use people::PgPeople;
pub use rates::PgRates;
pub use search::{PgCatalogue, SearchWords};
pub use sessions::PgSessions;
pub use uploads::PgUploads;
