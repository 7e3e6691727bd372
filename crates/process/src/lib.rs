//! Child processes of skillhub: none of them gets a token ([`child`]), and [`run`] enforces limits on one.

pub mod child;
mod group;
mod run;
mod stream;

#[cfg(unix)]
pub use group::kill_all;
pub use run::{Done, Ended, Order, run, shell};
