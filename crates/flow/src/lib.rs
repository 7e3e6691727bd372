//! Data flow: what a script reads, and where that goes.
//!
//! Scripts, and blocks of code in texts, are parsed when they hold words of both ends of a flow ([`Ends`]), and lowered
//! to one form for all languages ([`Program`]). There the question is which values may reach which calls, over
//! variables, functions and files, without regard to order ([`Analysis`]). What flows where is a fact ([`Flow`]); what
//! it means is for whoever asks.
//!
//! [`detours::copy`] writes a script as it would read without detours, and [`Format`] reads the commands in files of
//! configuration as a script.
//!
//! Nothing here touches a disk, a clock, the environment or the network.

mod commands;
mod decode;
pub mod detours;
mod gate;
mod holders;
mod language;
mod lexical_words;
mod literals;
mod marks;
mod names;
mod parse;
mod paths;
mod program;
mod shell_words;
mod taint;
mod words;

pub use commands::Format;
pub use decode::{LENIENT, unhex};
pub use gate::Ends;
pub use holders::{held, holds};
pub use language::Language;
pub use literals::Literals;
pub use names::is_secret_name;
pub use paths::{Steering, is_secret, steers};
pub use program::Program;
pub use taint::{Analysis, CLONED, End, Flow, Hosts, Kind, PACKED, Taint, names_secret};
