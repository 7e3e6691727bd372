//! Pure model of an Agent Skill: a folder with a `SKILL.md`, held in memory.
//!
//! The principal type is [`Bundle`]: a skill's files by [`SkillPath`], within [`Limits`]. Everything else reads a
//! bundle ([`Frontmatter`], [`validate()`], [`Digest`]), derives another one ([`Edit`]), compares two ([`diff`]),
//! merges two ([`merge`]), or converts one to bytes and back ([`archive`]).
//!
//! This crate does not access the disk, the clock, the environment or the network.

pub mod archive;
mod bundle;
mod count;
pub mod diff;
mod digest;
pub mod edit;
pub mod failure;
pub mod frontmatter;
mod json;
mod limits;
pub mod merge;
mod name;
mod next_step;
mod path;
mod problem;
mod rename;
mod shell;
mod shorten;
pub mod template;
pub mod terms;
pub mod uri;
pub mod validate;
#[cfg(debug_assertions)]
pub mod work;

pub use bundle::{Bundle, BundleError, File, check_collisions};
pub use count::counted;
pub use digest::{Digest, DigestError, hex};
pub use edit::Edit;
pub use frontmatter::{Frontmatter, Needs};
pub use json::{json_fault, objects_and_commas, parse_json, read_json};
pub use limits::Limits;
pub use name::{NameError, Owner, OwnerError, QualifiedName, QualifiedNameError, SkillName};
pub use path::{PathError, SkillPath, is_device_name};
pub use problem::{Problem, Severity};
pub use shell::shell_word;
pub use shorten::{ECHO_CHARS, shortened};
pub use validate::{Strictness, validate};
