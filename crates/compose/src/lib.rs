//! Skills that compile to tools.

mod host;

pub use host::{Approval, Bounds, ToolFault, ToolHost, ToolSpec};
