//! The single integration test binary: everything that is tested from outside a crate.
//!
//! Each topic is a module here, so that the tests link once. `#[cfg(test)]` marks the helpers of a module as test code
//! for clippy.

#[cfg(test)]
mod cli;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod crash;
#[cfg(test)]
mod crowd;
#[cfg(test)]
#[path = "../fuzz/src/lib.rs"]
mod fuzz;
#[cfg(test)]
mod fuzzed;
#[cfg(test)]
#[cfg(unix)]
mod guides;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod http;
#[cfg(test)]
mod mcp;
#[cfg(test)]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sequences;
#[cfg(test)]
mod support;
#[cfg(test)]
mod systems;
#[cfg(test)]
mod tidy;
