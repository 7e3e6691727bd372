//! Skills that compile to tools: a skill that declares `tool_schema` becomes a tool that an agent calls like any
//! other.
//!
//! [`Compiler`] parses the declarations of skills ([`Declaration`], whose texts are [`template`]s) and checks them
//! against the tools of a [`ToolHost`]. The result is a [`ComposedTool`], or [`Problem`]s with line and column.
//! [`Executor`] runs a composed tool step by step and returns a [`Trace`]. Compiling and running only depend on
//! skills, tools and time; all effects on the world are behind [`ToolHost`].

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
