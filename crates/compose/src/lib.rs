//! Skills that compile to tools: a skill that declares `tool_schema` becomes a tool that an agent calls like any other.
//!
//! [`Compiler`] reads what skills declare ([`Declaration`], whose texts are [`template`]s) and checks all of it against the tools of a [`ToolHost`]; what
//! fits is a [`ComposedTool`], what does not is told as [`Problem`]s with line and column. [`Executor`] runs a composed tool step by step and gives a
//! [`Trace`]. Compiling and running know of skills, tools and time alone; where tools act on the world is behind [`ToolHost`].

mod access;
mod check;
mod compile;
mod condition;
mod declaration;
mod execute;
mod host;
mod hosts;
mod names;
mod native;
mod near;
mod position;
mod problem;
pub mod reference;
pub mod schema;
pub mod scope;
mod settings;
mod shape;
mod store;
mod systems;
pub mod template;
mod tool;
mod trace;
mod workshop;

pub use access::Access;
pub use agent::Decision;
pub use compile::{Compiler, Outcome, ReadText, Source};
pub use condition::Condition;
pub use declaration::{Declaration, Filling, OnError, Step};
pub use execute::{Executor, RunLimits};
pub use host::{Approval, Bounds, ToolFault, ToolHost, ToolSpec};
pub use hosts::Hosts;
pub use names::{alias, tool_name};
pub use native::{Native, Resolve, page_text};
pub use position::{Position, Positions};
pub use problem::Problem;
pub use settings::{NativeSettings, SearchSettings, ServerSettings, ToolSettings, ToolSettingsError};
pub use store::{Entry, Store, StoreError, TRACES_KEPT, summary};
pub use systems::own_name;
pub use tool::ComposedTool;
pub use trace::{Attempt, CallTrace, Failure, Status, StepTrace, Trace, class_of, known_code, trace_id};
pub use workshop::{Compiled, OWN_TOOLS, Workshop, WorkshopError};
