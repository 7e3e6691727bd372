//! An index as other programs meet it: real git repositories in temporary folders, read by the system's git too.

#![expect(clippy::unwrap_used, reason = "the functions in `support` fail the test that calls them")]
#![expect(clippy::disallowed_methods, reason = "the tests damage folders in ways that the crate itself cannot")]

mod damage;
mod deciding;
mod opening;
mod packing;
mod publishing;
mod reading;
mod support;
