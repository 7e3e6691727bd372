//! View of agents on skills: which exist, how they are listed for a model, and which content is read.
//!
//! The principal type is [`Catalogue`], the skills of all [`SkillLocations`] by precedence. [`Settings`] and [`Permissions`]
//! determine which of them an agent may see, [`Views::effective`] determines an agent's view of one skill,
//! [`prompt`](prompt()) lists skills for a model, [`open`] returns the instructions of one skill, [`search()`] finds
//! skills, and [`ToolPolicy`] determines the tools that the skills in use allow. [`CatalogueCache`] caches a catalogue for a
//! server that answers many requests.
//!
//! Every text for a model is built here, and no content of a skill can break out of its element. Texts for terminals
//! are built elsewhere.

mod builtin;
mod catalogue;
mod catalogue_cache;
pub mod decisions;
mod effective;
mod error;
mod fit;
mod host;
mod listed_skill;
mod listing;
mod near;
mod permission;
mod prompt;
mod read;
mod safe_text;
mod search;
mod session;
mod settings;
mod skill_content;
mod skill_locations;
mod storage;
mod tool_policy;
mod visibility;

pub use builtin::Builtin;
pub use catalogue::{Catalogue, GivenFolder, Shadowed};
pub use catalogue_cache::{CatalogueCache, RECHECK_MILLIS};
pub use effective::{AgentView, Reads, Views};
pub use error::{AgentError, ask_hint};
pub use fit::{Fit, Fitted};
pub use host::{Host, HostEnvironment};
pub use listed_skill::ListedSkill;
pub use listing::{BudgetUnit, HostListing, ListedAs, ListingBudget, ListingEntry, ListingText};
pub use near::near;
pub use permission::{Permission, PermissionDecision, Permissions, Subject, matches};
pub use prompt::{FORMS, Form, ListOptions, evolution_advice, prompt};
pub use read::{
    FILES_LISTED, FileText, Instructions, OUTPUT_BYTES, SkillSelector, declared, open, open_in_run, read_file,
    read_file_in_run,
};
pub use safe_text::{begins_frame, escape, is_misleading, single_line};
pub use search::{Hit, search};
pub use session::Session;
pub use settings::{Settings, SettingsError, Tables};
pub use skill_content::SkillContent;
pub use skill_locations::{SkillLocations, group_of, groups_in};
pub use tool_policy::{AllowedTool, Declared, ToolPolicy};
pub use visibility::Visibility;
