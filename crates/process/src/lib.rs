//! Child processes of skillhub: none of them gets a token ([`child`]). [`run`] enforces limits on one, and a
//! [`Group`] ends one that the caller talks to.

pub mod child;
mod group;
mod run;
mod stream;

#[cfg(unix)]
pub use group::kill_all;
pub use group::{Group, Membership};
pub use run::{BoundedCommand, ExitReason, ProcessOutput, run, shell};
