//! Programs that skillhub starts: none gets a token ([`child`]), and [`run`] holds one to its bounds.

pub mod child;
mod group;
mod run;
mod stream;

#[cfg(unix)]
pub use group::kill_all;
pub use run::{Done, Ended, Order, run, shell};
