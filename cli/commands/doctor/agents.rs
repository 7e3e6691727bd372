//! [`check()`]: the content that agents' hosts read, against the content that `read` serves.

use agent::Catalogue;

use super::Findings;
use crate::{
    context::Context,
    exit::{CliError, failed},
    views::AgentsPicture,
};

/// Looks at the folders that hosts read. An agent that lacks skills is named, with the command that links them.
pub fn check(context: &Context, findings: &mut Findings) -> Result<(), CliError> {
    let catalogue = Catalogue::inspect(&context.places(false)).map_err(failed)?;
    let agents = AgentsPicture::of(context, &catalogue, None)?;
    for one in &agents.differences {
        let message = format!("{}: {}", one.message, one.command);
        findings.cannot("agents", "agent_reads_other", one.path.display(), message);
    }
    for one in &agents.lacking {
        findings.note("agents", "agent_not_linked", one.agent, format!("{}: {}", one.message(), one.command));
    }
    findings.close("agents", context.library_path(), "agents' hosts read the skills that skillhub has");
    Ok(())
}
