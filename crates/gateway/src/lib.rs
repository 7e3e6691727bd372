//! [`Gateway`]: one library over HTTP, for its operator or for a host that manages skills the way DeerFlow does.
//!
//! | path | does |
//! |---|---|
//! | `GET /api/skills` | every skill that agents of the library could see, switched off ones as well |
//! | `GET`, `PUT /api/skills/{name}` | one; `{"enabled": false}` hides it from agents |
//! | `POST /api/skills/install` | the body is a `.skill` archive; `systems/deerflow.rs` reads forms and paths as well |
//! | `POST /api/skills/reload` | look at all folders again |
//! | `GET /api/skills/custom` | those that can be changed: the library's own |
//! | `GET`, `PUT`, `DELETE /api/skills/custom/{name}` | its text; `{"content": …}` replaces it; a last revision without files |
//! | `GET …/custom/{name}/history`, `…/diff` | revisions, and what differs between two |
//! | `POST …/custom/{name}/rollback` | an earlier revision again |
//! | `GET /api/proposals`, `/api/proposals/{id}` | what waits for a decision |
//! | `POST /api/proposals/{id}/accept`, `/reject` | the decision, with a reviewer's token |
//! | `POST /api/skills.codegen`, `/api/skills.codegen.remove` | compile skills to tools; take these away: `{"names": [...]}` |
//! | `GET /api/skills.codegen.status` | the compiled ones |
//! | all others | the library's pages, for people (`pages.rs`) |
//!
//! It changes nothing itself: each request opens the [`Workplace`] and goes through `skill_manage`, as the command line and
//! the MCP server do, and so shares their lock, history, policy and events. Who acts comes from the connection: whoever has
//! the gateway's token is the agent `gateway`, or `pages` in a browser, and a person only with a reviewer's token beside it.

mod codegen;
mod custom;
mod decisions;
mod gate;
mod gateway;
mod guard;
mod pages;
mod proposals;
mod serve;
mod sessions;
mod skills;
mod systems;
mod workplace;

pub use gate::Gate;
pub use gateway::Gateway;
pub use serve::serve;
pub use workplace::{Open, Readers, Upload, Workplace};
