//! [`Workplace`]: what the command line, the MCP server and the gateway do alike.
//!
//! A host says in a [`Setup`] where and as whom one works: flags, the environment and the terminal are read there. The
//! [`Workplace`] that is made of it finds libraries, settings, policy and registries, knows what agents and their hosts see,
//! and does what all hosts offer. Each operation gives a value or a document, or a [`Refusal`]; the host shows them.

mod catalogue;
mod enable;
mod install;
mod notify;
mod record;
mod refusal;
mod search;
mod setup;
mod sight;
mod tools;
mod uploads;
mod views;
mod visible;
mod workplace;

pub use catalogue::{builtin, skill_name};
pub use install::{Waiting, document_of, whole_document};
pub use record::Recorded;
pub use refusal::{Question, Refusal};
pub use search::search_document;
pub use setup::{Note, Setup, Variables};
pub use sight::{FolderSight, qualified};
pub use tools::stop_tools;
pub use uploads::Upload;
pub use views::{AgentsPicture, Difference, Lacking, Remedy, move_aside};
pub use visible::{push_shown, visible};
pub use workplace::{Open, SERVER_TOKEN_VARIABLE, SKILLS_FOLDER, TOKEN_VARIABLE, Used, Workplace};
