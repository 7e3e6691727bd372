//! What is left when a process dies, the power goes or the disk refuses, at every step of a command.
//!
//! The real binary runs under a tracer that stops it at each [`boundary`](boundaries), the system calls
//! that change files. There it is killed, or the call is made to fail, or the place is rebuilt as a power
//! loss could have left it; then the real binary opens what is left, and it is compared with what was
//! reported. Linux on x86-64 only: the tracer reads registers. `SKILLHUB_CRASH=skip` leaves these tests
//! out on a machine that forbids tracing.
//!
//! `cargo test` takes a sample. `SKILLHUB_CRASH_KILLS=all cargo test --test main crash::sweep -- --nocapture`
//! takes every boundary, a number takes so many.

pub mod boundaries;
mod checks;
mod disk;
mod errors;
mod interrupted;
mod observed;
mod place;
mod power;
mod scenario;
mod sweep;
mod tally;
pub mod tracer;
pub mod trial;
