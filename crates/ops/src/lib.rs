//! Operations shared by the command line, the MCP server and the gateway.
//!
//! A host describes, in a [`Setup`], the working folder and the actor. Flags, environment and terminal are read by the
//! host only. The [`Workspace`] opened from it locates libraries, settings, policy and registries, determines the
//! visibility of skills to agents and their hosts, and provides the operations. Each operation returns a value or a
//! document, or a [`Refusal`], which the host displays.

mod catalogue;
mod change;
mod config_file;
mod decide;
mod enable;
mod inbox;
mod install;
mod listing;
pub mod next_step;
mod notify;
mod record;
mod refusal;
#[cfg(test)]
mod schemas;
mod search;
mod setup;
mod status;
mod tools;
mod uploads;
mod views;
mod visibility;
mod visible;
mod workspace;

pub use catalogue::{builtin, skill_name};
pub use change::exact_name;
pub use config_file::{ConfigFault, ConfigFile, ConfigKind, SettingInForce, SettingOrigin};
pub use decide::{Decision, InboxItem, ShownItem};
pub use inbox::{Alarms, Inbox, InboxSkill, PlacedSkill, REASONS};
pub use install::{InstallCallbacks, StepFormat, document_of, whole_document};
pub use record::Recorded;
pub use refusal::{Question, Refusal, error_document};
pub use search::SearchDocument;
pub use setup::{Note, Setup, Variables};
pub use tools::stop_tools;
pub use uploads::Upload;
pub use views::{AgentViews, Difference, MissingLink, MissingSkills, Remedy, move_aside};
pub use visibility::{FolderVisibility, admit};
pub use visible::{push_shown, visible};
pub use workspace::{OpenWorkspace, SERVER_TOKEN_VARIABLE, SKILLS_FOLDER, TOKEN_VARIABLE, Used, Workspace};
