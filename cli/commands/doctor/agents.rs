//! Comparison of the content that agents' hosts read with the content that `read` serves.

use std::path::Path;

use agent::Catalogue;
use client::VisibilityOutcome;
use library::Library;
use ops::AgentViews;
use skill::SkillName;

use super::Findings;
use crate::{
    context::Context,
    exit::{CliError, failed},
    needs,
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
                findings.mendable("agents", one.code, place, message, || {
                    remove_link(catalogue.libraries(), library, &one.skill, &one.path)
                });
            }
            (None, true) => findings.cannot("agents", one.code, place, message),
            (None, false) => findings.note("agents", one.code, place, message),
        }
    }
    for one in &agents.lacking {
        let message = format!("{}: {}", one.message(), one.command);
        match one.in_use {
            true => findings.warn("agents", "agent_not_linked", one.agent, message),
            false => findings.note("agents", "agent_not_linked", one.agent, message),
        }
    }
    for (agent, warning) in context.listing_warnings(Catalogue::inspect)? {
        findings.warn("agents", "descriptions_not_listed", agent, warning);
    }
    findings.close("agents", context.library_path(), "all agents read the content that skillhub manages");
    Ok(())
}

/// Reports the skills that need programs, MCP servers or variables that this machine does not have.
pub fn check_needs(context: &Context, findings: &mut Findings) -> Result<(), CliError> {
    let catalogue = Catalogue::inspect(&context.places(false)).map_err(failed)?;
    let is_known = context.seen()?;
    let skills = catalogue.visible().filter(|listed| is_known(listed.name.as_str()));
    let stated = skills.filter_map(|listed| {
        let files = catalogue.files(listed).ok()?;
        Some((listed.name.clone(), needs::stated(files.skill_md()?)))
    });
    for (skill, needs) in needs::missing(context, stated) {
        findings.warn("needs", "needs_missing", &skill, needs::describe(&skill, &needs));
    }
    findings.close(
        "needs",
        context.library_path(),
        "this machine has all programs, servers and variables that skills name",
    );
    Ok(())
}

/// Removes a link to a skill of a library.
fn remove_link(libraries: &[Library], of: &Path, skill: &SkillName, path: &Path) -> Result<String, String> {
    let library = libraries.iter().find(|library| library.path() == of);
    match library.and_then(|library| client::sync_link(library, skill, path, false)) {
        Some(VisibilityOutcome::Left(_, why)) => Err(why),
        Some(_) => Ok("removed the link".to_owned()),
        None => Err("skillhub did not create it".to_owned()),
    }
}
