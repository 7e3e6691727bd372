//! `data/hosts.toml`, as tables.

use super::Trust;

include!(concat!(env!("OUT_DIR"), "/hosts.rs"));
