//! The server's stores for several replicas: PostgreSQL is the source of truth, an object store holds the archives,
//! and git is a deterministic projection of both.
//!
//! - [`database`] has the connections, and [`schema`] its tables.
//! - [`Engines`] opens both and gives the server its stores; every replica has its own.
//! - A publish stores the archive, then changes all rows in one transaction ([`releases`]), with a row in the log
//!   ([`events`]). The replica that leads makes git commits of the log and removes unneeded archives (`projection`).
//! - [`claim`] recognises a folder of archives that is not mounted.
//! - [`moving`] and [`check`] are for operators.
//! - The stores are synchronous, as the server's traits are; [`background`] lets them wait for the network.

pub mod activity;
pub mod archives;
mod audit;
pub mod background;
mod blobs;
pub mod check;
pub mod claim;
pub mod database;
mod engines;
pub mod events;
mod imported;
pub mod moving;
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
pub use engines::{EngineSettings, Engines, EnginesError};
pub use objects::{ObjectLimits, ObjectSettings, Objects, OpenObjectsError};
pub use people::PgPeople;
pub use rates::PgRates;
pub use search::{PgCatalogue, SearchWords, Shown};
pub use sessions::PgSessions;
pub use uploads::PgUploads;
