//! Integration tests with real registries, libraries and repositories in temporary folders.

#[cfg(test)]
mod adopting;
#[cfg(test)]
mod installing;
#[cfg(test)]
mod locking;
#[cfg(test)]
mod publishing;
#[cfg(test)]
mod repositories;
#[cfg(test)]
mod support;
#[cfg(test)]
mod uninstalling;
#[cfg(test)]
#[cfg(debug_assertions)]
mod work;
