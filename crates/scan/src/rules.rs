//! The rules, compiled from the files in `rules/`. Those that code decides have names.

use crate::{Evidence, Role, Rule, Scope};

include!(concat!(env!("OUT_DIR"), "/rules.rs"));
