//! What an agent sees of skills: which there are, what it is told of them, and what it reads.
//!
//! The principal type is [`Catalogue`], the skills of all [`Places`] by precedence. [`Settings`] say which
//! of them an agent may see ([`Permissions`]), [`Views::effective`] determines what one agent sees of one skill,
//! [`prompt`](prompt()) tells a model what there is, [`open`]
//! gives one skill's instructions, [`search()`] finds some, and [`ToolPolicy`] says which tools the skills in
//! use leave. [`Live`] keeps a catalogue for a server that answers many requests.
//!
//! Every text for a model is made here, and nothing that a skill says leaves its place in it. What is for
//! terminals is not.

mod builtin;
mod catalogue;
pub mod decisions;
mod effective;
mod error;
mod fit;
mod given;
mod host;
mod listed;
mod live;
mod permission;
mod places;
mod prompt;
mod read;
mod safe_text;
mod search;
mod session;
mod settings;
mod sight;
mod storage;
mod tool_policy;
mod words;

pub use builtin::Builtin;
pub use catalogue::Catalogue;
pub use effective::{AgentView, Reads, Views};
pub use error::{AgentError, ask_hint};
pub use fit::{Fit, Fitted};
pub use given::Given;
pub use host::{Host, Surroundings};
pub use listed::Listed;
pub use live::{Live, RECHECK_MILLIS};
pub use permission::{Decision, Permission, Permissions, Subject, matches};
pub use places::{Places, group_of};
pub use prompt::{FORMS, Form, Look, evolution_advice, prompt};
pub use read::{
    FILES_LISTED, FileText, Instructions, OUTPUT_BYTES, Which, declared, open, open_in_run, read_file, read_file_in_run,
};
pub use safe_text::{begins_frame, escape, is_misleading, told};
pub use search::{Hit, search};
pub use session::Session;
pub use settings::{Settings, SettingsError, Tables};
pub use sight::Sight;
pub use tool_policy::{AllowedTool, Declared, ToolPolicy};
