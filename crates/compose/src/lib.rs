//! Skills that compile to tools: a skill that declares `tool_schema` becomes a tool that an agent calls like any
//! other.
//!
//! [`Compiler`] parses the declarations of skills ([`Declaration`], whose texts are [`template`]s) and checks them
//! against the tools of a [`ToolHost`]. The result is a [`ComposedTool`], or [`Problem`]s with line and column.
//! [`Executor`] runs a composed tool step by step and returns a [`Trace`]. Compiling and running only depend on
//! skills, tools and time; all effects on the world are behind [`ToolHost`].
//!
//! # From a skill to a run
//!
//! `skillhub tools compile site-monitor`, then `skillhub tools call site-monitor --input
//! '{"sites":["https://a.example"]}'`
//!
//! 1. [`ToolManager`] takes the skills that agents see from the catalogue and the compiled tools from
//!    `composed_tools.json` ([`Store`]). A skill is not read again if its digest and the tools that it calls are
//!    unchanged.
//! 2. [`Compiler`] compiles the others, each after the skills whose tools it calls, so that cycles are found and the
//!    result does not depend on an order. `declaration.rs` parses steps and templates. `schema.rs` checks the JSON
//!    Schemas: nothing is fetched, nothing is recursive, and patterns do not backtrack. `check.rs` follows each
//!    reference through the schemas (`shape.rs`) and compares the input of a step with its tool. Each fault is a
//!    [`Problem`] with a JSON Pointer; [`Positions`] finds its line and column.
//! 3. Results are stored as [`ComposedTool`]s. `ToolManager::follow`, before every later use, compiles changed skills
//!    again and withdraws the tools of skills that are gone.
//! 4. [`Executor::run`] first asks whether the caller may use every tool below ([`Access`]: permissions, and the skills
//!    that the agent sees), and whether a person agreed to the strictest level, both by the tools in their current
//!    form. A person's consent holds for the document of [`Executor::consent`] only. Then the steps run: a `Scope`
//!    resolves references, and [`ToolHost::call`] acts on the world within [`Bounds`]. A nested composed tool shares
//!    the budget of calls, bytes and time. The [`Trace`] has every attempt.
//! 5. The hosts are [`Native`] (one folder through capabilities, listed hosts at verified addresses, a command only
//!    where that is enabled) and, behind the same trait, the tools that `mcp` reaches. Settings come from the user's
//!    configuration alone.

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
mod position;
mod problem;
pub mod reference;
pub mod schema;
pub mod scope;
mod settings;
mod shape;
mod store;
mod suggestions;
mod systems;
pub mod template;
mod tool;
mod trace;
mod workshop;

pub use access::Access;
pub use agent::PermissionDecision;
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
pub use store::{Store, StoreError, TRACES_KEPT, ToolEntry, summary};
pub use systems::own_name;
pub use tool::ComposedTool;
pub use trace::{Attempt, CallTrace, Failure, Status, StepTrace, Trace, class_of, known_code, trace_id};
pub use workshop::{Compiled, OWN_TOOLS, ToolManager, WorkshopError};
