//! Lookup tables generated from `data/hosts.toml` by the build script.

use super::Trust;

include!(concat!(env!("OUT_DIR"), "/hosts.rs"));
