//! Links to managed skills, for agents whose hosts do not find them.

use std::{collections::BTreeMap, path::PathBuf};

use client::{AgentFolder, Operation, RELINK};
use library::{Stamp, find_agent};
use ops::MissingLink;
use serde_json::{Value, json};
use skill::{SkillName, counted};

use super::{found::FoundLibrary, record::SetupRecord};
use crate::{
    exit::CliError,
    print::{page_columns, wrapped},
};

/// Reason that the log has for the links of a setup.
const REASON: &str = "setup";

/// Maximum number of skills named for an agent. More are counted.
const NAMED: usize = 10;

/// Links the skills of the libraries that agents lack by now, and adds the folders that this creates to the record.
/// Returns the new links.
///
/// # Errors
/// A library cannot be read or changed. A link that fails is a warning.
pub fn link_missing(
    places: &[FoundLibrary],
    replaces_tracked: bool,
    record: &mut SetupRecord,
    warnings: &mut Vec<String>,
) -> Result<Vec<MissingLink>, CliError> {
    let mut linked = Vec::new();
    for place in places {
        let mut missing = place.missing_links()?;
        if missing.is_empty() {
            continue;
        }
        missing.iter().for_each(|link| record.note_absent(&link.folder.path));
        let library = place.context.library()?;
        let stamp = Stamp { reason: Some(REASON.to_owned()), ..place.context.stamp() };
        let mut placed: Vec<PathBuf> = Vec::new();
        for (skill, folders) in by_skill(&missing) {
            let changes = client::show_in(&library, skill, &folders, replaces_tracked, &stamp)?;
            placed.extend(changes.placed);
            warnings.extend(changes.warnings);
        }
        missing.retain(|link| placed.contains(&path_of(link)));
        linked.extend(missing);
    }
    Ok(linked)
}

/// Returns whether an operation is the links of a setup.
pub fn is_of_setup(operation: &Operation) -> bool {
    operation.action == RELINK && operation.reason.as_deref() == Some(REASON)
}

/// Returns the folders in which each skill is missing, each folder once.
fn by_skill(missing: &[MissingLink]) -> BTreeMap<&SkillName, Vec<AgentFolder>> {
    let mut by_skill: BTreeMap<&SkillName, Vec<AgentFolder>> = BTreeMap::new();
    for link in missing {
        let folders = by_skill.entry(&link.skill).or_default();
        if folders.iter().all(|known| known.path != link.folder.path) {
            folders.push(link.folder.clone());
        }
    }
    by_skill
}

fn path_of(link: &MissingLink) -> PathBuf {
    link.folder.path.join(link.skill.as_str())
}

/// Formats a link as JSON.
pub fn document(link: &MissingLink) -> Value {
    json!({"agent": link.agent, "skill": link.skill.as_str(), "path": path_of(link)})
}

/// Formats the skills that each agent gets. `head` begins each line, as in `Linked for`.
pub fn lines<'l>(head: &str, links: impl IntoIterator<Item = &'l MissingLink>) -> Vec<String> {
    let mut by_agent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in links {
        let name = find_agent(link.agent).map_or(link.agent, |agent| agent.name);
        by_agent.entry(name).or_default().push(link.skill.as_str());
    }
    let line = |(agent, skills): (&str, Vec<&str>)| {
        let named = skills.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = match skills.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {}", counted(more, "more skill")),
        };
        wrapped(&format!("{head} {agent}: {named}{more}"), page_columns())
    };
    by_agent.into_iter().flat_map(line).collect()
}
