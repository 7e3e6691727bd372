//! [`TARGETS`]: what the fuzzer calls, each a plain function from bytes that panics on a finding.
//!
//! `fuzz/run` builds them with libFuzzer. The integration tests compile these files as well and play
//! the committed inputs through them.

pub mod archive;
pub mod floods;
pub mod frontmatter;
pub mod merge;
mod place;
pub mod plans;
pub mod request;
pub mod scanner;
pub mod tools;

/// A function that panics when the bytes lead to a finding.
pub type Target = fn(&[u8]);

/// Each target's name, which is also that of its folder in `corpus`, and its function.
pub const TARGETS: [(&str, Target); 8] = [
    ("archive", archive::run),
    ("floods", floods::run),
    ("frontmatter", frontmatter::run),
    ("request", request::run),
    ("merge", merge::run),
    ("plans", plans::run),
    ("scanner", scanner::run),
    ("tools", tools::run),
];
