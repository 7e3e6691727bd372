//! Serves one library over HTTP ([`Gateway`]), for its operator or for a host that manages skills like DeerFlow.
//!
//! | path | purpose |
//! |---|---|
//! | `GET /api/skills` | all skills that agents of the library could see, including disabled ones |
//! | `GET`, `PUT /api/skills/{name}` | one skill; `{"enabled": false}` hides it from agents |
//! | `POST /api/skills/install` | install the `.skill` archive in the body; `systems/deerflow.rs` takes forms too |
//! | `POST /api/skills/reload` | scan all folders again |
//! | `GET /api/skills/custom` | the skills that can be changed, which are the library's own |
//! | `GET`, `PUT`, `DELETE /api/skills/custom/{name}` | read, replace by `{"content": …}`, delete |
//! | `GET …/custom/{name}/history`, `…/diff` | revisions, and the difference between two |
//! | `POST …/custom/{name}/rollback` | restore an earlier revision |
//! | `GET /api/proposals`, `/api/proposals/{id}` | pending proposals |
//! | `POST /api/proposals/{id}/accept`, `/reject` | decide, with a reviewer's token |
//! | `GET /api/prompt/{form}` | the list of skills for a prompt |
//! | `POST /api/skills.codegen`, `/api/skills.codegen.remove` | compile `{"names": [...]}`, or remove the tools |
//! | `GET /api/skills.codegen.status` | the compiled tools |
//! | all others | the library's pages, for people (`pages.rs`) |
//!
//! The gateway itself changes nothing. Each request opens the [`ops::Workspace`] and goes through `skill_manage`, like
//! the command line and the MCP server. So all three share their lock, history, policy and events.
//!
//! The connection determines the actor: a caller with the gateway's token is the agent `gateway`, or `pages` in a
//! browser. Only a reviewer's token in addition proves a person.

mod codegen;
mod custom;
mod decisions;
mod gateway;
mod guard;
mod http_auth;
mod pages;
mod proposals;
mod serve;
mod sessions;
mod skills;
mod systems;

pub use gateway::Gateway;
pub use http_auth::HttpAuth;
pub use serve::serve;
