//! Needs of skills that this machine does not meet. Nothing is installed, and no variable's value is read further.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use mcp::hosts::Host;
use skill::{Limits, Needs, SkillName, frontmatter};

use crate::{commands::mcp::install, context::Context};

/// Returns the needs that a skill states in its `SKILL.md`. A text that cannot be read, which other checks report, has
/// none.
pub fn stated(skill_md: &str) -> Needs {
    let reading = frontmatter::read(skill_md, &Limits::default());
    reading.map(|reading| reading.frontmatter.needs()).unwrap_or_default()
}

/// Returns the skills whose needs this machine does not meet, with those needs.
pub fn missing(context: &Context, skills: impl Iterator<Item = (SkillName, Needs)>) -> Vec<(SkillName, Needs)> {
    let mut servers = None;
    let mut unmet = Vec::new();
    for (name, needs) in skills.filter(|(_, needs)| !needs.is_empty()) {
        let known = servers.get_or_insert_with(|| configured_servers(context));
        let has_variable = |name: &str| std::env::var_os(name).is_some();
        unmet.push((name, needs.missing(is_on_path, |name| known.contains(name), has_variable)));
    }
    unmet.retain(|(_, needs)| !needs.is_empty());
    unmet
}

/// Describes the unmet needs of a skill, with the next step.
pub fn describe(skill: &SkillName, needs: &Needs) -> String {
    format!("{skill} needs {}, which this machine does not have; skillhub does not install them", needs.described())
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = [program.to_owned(), format!("{program}{}", std::env::consts::EXE_SUFFIX)];
    std::env::split_paths(&path).any(|folder| names.iter().any(|name| is_program(&folder.join(name))))
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// Returns the names of the MCP servers in skillhub's configuration and in those of the known hosts. A file that cannot
/// be read has none.
fn configured_servers(context: &Context) -> BTreeSet<String> {
    let root = context.project_root();
    let mut servers: BTreeSet<String> = context.config.mcp_servers.keys().cloned().collect();
    for host in Host::all() {
        let of_project = root.as_deref().and_then(|root| host.project_files(root).ok()).unwrap_or_default();
        let files: Vec<PathBuf> = [install::user_files(context, host), of_project].concat();
        let texts = files.iter().filter(|file| file.is_file()).filter_map(|file| install::current_text(file).ok()?);
        servers.extend(texts.flat_map(|text| host.servers(&text)));
    }
    servers
}
