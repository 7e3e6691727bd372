//! Data flow analysis of scripts: the data that a script reads, and the sinks that it reaches.
//!
//! Scripts and code blocks are parsed if they contain literals for both ends of a flow ([`Ends`]). They are lowered to
//! one representation for all languages ([`Program`]). A flow-insensitive analysis over variables, functions and files
//! determines which values may reach which calls ([`Analysis`]). The result is a list of facts ([`Flow`]); the caller
//! decides what they mean.
//!
//! [`detours::copy`] deobfuscates a script, and [`Format`] extracts the commands of configuration files as a script.
//!
//! Nothing here accesses the file system, the clock, the environment or the network.

mod commands;
mod decode;
pub mod detours;
mod holders;
mod language;
mod literals;
mod names;
mod parse;
mod paths;
mod prefilter;
mod program;
mod taint;
mod words;

pub use commands::Format;
pub use decode::{LENIENT, unhex};
pub use holders::{held, holds};
pub use language::Language;
pub use literals::Literals;
pub use names::is_secret_name;
pub use paths::{Steering, is_secret, steers};
pub use prefilter::Ends;
pub use program::Program;
pub use taint::{Analysis, CLONED, End, Flow, Hosts, Kind, PACKED, Position, Taint, names_secret};
