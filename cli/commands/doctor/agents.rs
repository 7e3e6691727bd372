//! Comparison of the content that agents' hosts read with the content that `read` serves.

use std::path::Path;

use agent::Catalogue;
use library::AgentDir;
use ops::AgentViews;
use skill::SkillName;

use super::Findings;
use crate::{
    context::Context,
    exit::{CliError, failed},
};

/// Checks the folders that hosts read. An agent that lacks skills is reported with the command that links them.
pub fn check(context: &Context, findings: &mut Findings) -> Result<(), CliError> {
    let catalogue = Catalogue::inspect(&context.places(false)).map_err(failed)?;
    let agents = AgentViews::of(context, &catalogue, None)?;
    for one in &agents.differences {
        let (place, message) = (one.path.display(), format!("{}: {}", one.message, one.command));
        match (&one.link_to, one.is_error) {
            (Some(library), _) => {
                let message = one.message.clone();
                findings.mendable("agents", one.code, place, message, || remove_link(library, &one.skill, &one.path));
            }
            (None, true) => findings.cannot("agents", one.code, place, message),
            (None, false) => findings.note("agents", one.code, place, message),
        }
    }
    for one in &agents.lacking {
        findings.note("agents", "agent_not_linked", one.agent, format!("{}: {}", one.message(), one.command));
    }
    findings.close("agents", context.library_path(), "all agents read the content that skillhub manages");
    Ok(())
}

/// Removes a link to a skill of a library.
fn remove_link(library: &Path, skill: &SkillName, path: &Path) -> Result<String, String> {
    let dir = path.parent().map(AgentDir::open).transpose().map_err(|error| error.to_string())?.flatten();
    match dir.map(|dir| dir.remove_link(skill, library)).transpose().map_err(|error| error.to_string())? {
        Some(true) => Ok("removed the link".to_owned()),
        _ => Err("skillhub did not create it".to_owned()),
    }
}
