//! The server from outside: the real program, with real and hostile clients.

mod attacks;
mod authorisation;
mod backup;
mod counting;
mod crashes;
mod data_folder;
mod deerflow;
pub mod gateway;
mod hints;
mod inbox_pages;
mod index_files;
mod indexes;
mod journey;
mod keys;
pub mod library_pages;
mod load;
mod mirroring;
mod moderation;
mod proxies;
mod sessions;
mod sources;

use serde_json::Value;

use crate::support::{Sandbox, Server};

/// Returns the archive of a harmless skill.
fn archive(sandbox: &Sandbox, name: &str, what: &str) -> Vec<u8> {
    sandbox.skill(name, &format!("Does {what}. Use in tests."), &[("references/more.md", "# More\n\nRead on.\n")]);
    let file = sandbox.path(&format!("tmp/{name}.skill"));
    sandbox.done(&["pack", name, "-o", file.to_str().unwrap()]);
    std::fs::read(file).unwrap()
}

/// Publishes it with an admin's token.
#[track_caller]
fn publish(server: &Server, sandbox: &Sandbox, skill: &str, version: &str, what: &str) -> Value {
    let name = skill.rsplit('/').next().unwrap();
    let bytes = archive(sandbox, name, what);
    let path = format!("/v1/skills/{skill}/{version}");
    server.ask("PUT", &path, Some(&server.admin), &bytes).done()
}
