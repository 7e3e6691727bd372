//! Child processes of skillhub: none of them gets a token ([`child`]). [`run`] enforces limits on one, and a
//! [`Group`] ends one that the caller talks to. [`start_detached`] starts one that outlives this process.

pub mod child;
mod detached;
mod group;
mod run;
mod stream;

pub use detached::start_detached;
#[cfg(unix)]
pub use group::kill_all;
pub use group::{Group, Membership};
pub use run::{BoundedCommand, ExitReason, ProcessOutput, run, shell};
