//! The crate from outside: real registries, libraries and repositories in temporary folders.

#[cfg(test)]
#[path = "client/adopting.rs"]
mod adopting;
#[cfg(test)]
#[path = "client/installing.rs"]
mod installing;
#[cfg(test)]
#[path = "client/locking.rs"]
mod locking;
#[cfg(test)]
#[path = "client/publishing.rs"]
mod publishing;
#[cfg(test)]
#[path = "client/repositories.rs"]
mod repositories;
#[cfg(test)]
#[path = "client/support.rs"]
mod support;
#[cfg(test)]
#[path = "client/uninstalling.rs"]
mod uninstalling;
