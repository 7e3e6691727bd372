//! Crash tests: process death, power loss and I/O errors at every step of a command.
//!
//! The real binary runs under a tracer that stops it at each [`boundary`](boundaries), the system calls that change
//! files. There the process is killed, or the call fails, or the folder is rebuilt as a power loss could have left it.
//! Then the real binary recovers, and the result is compared with the command's report. Linux on x86-64 only: the
//! tracer reads registers. `SKILLHUB_CRASH=skip` skips these tests on a machine that forbids tracing.
//!
//! `cargo test` takes a sample. `SKILLHUB_CRASH_KILLS=all cargo test --test main crash::sweep -- --nocapture` takes
//! every boundary; a number takes a sample of that size.

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
