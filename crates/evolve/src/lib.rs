//! How revisions of skills do, and what follows from it.
//!
//! ```text
//! outcomes of runs ──► runs ──► stats     what people look at
//!                       └────► eprocess   evidence that may be looked at after every run
//! ```

pub mod eprocess;
pub mod runs;
