//! Built-in rules, compiled from the files in `rules/`. Rules that are implemented in code have named constants.

use crate::{Case, Evidence, Role, Rule, Scope};

include!(concat!(env!("OUT_DIR"), "/rules.rs"));
