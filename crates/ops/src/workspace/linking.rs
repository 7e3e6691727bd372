//! Agents' folders in which new skills are linked.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use agent::{Settings, Tables};
use client::{AgentFolder, AgentFolders, Config};
use library::Linker;

use super::place::{LibraryLocation, SKILLS_FOLDER};
use crate::setup::Setup;

/// Creates the linker for the folders of the agents in use, in the project and in the user's home. A library whose
/// folder was set explicitly gets no links.
pub(super) fn linker(place: &LibraryLocation, setup: &Setup, config: &Config) -> Linker {
    let (project, setup) = (place.project.clone(), setup.clone());
    let named = place.named.then(|| place.path.clone());
    let in_use = config.agents.in_use.clone();
    // The command itself reports an invalid configuration. Until then nothing is hidden.
    let settings = Settings::of(&Tables {
        agent: config.agent.clone(),
        skill_evolution: config.skill_evolution.clone(),
        agents: config.agents.tables.clone(),
        permissions: config.permissions.clone(),
    })
    .ok();
    let folders = OnceLock::new();
    Linker::new(move |library, skill| {
        let by_library: &Vec<(PathBuf, Vec<AgentFolder>)> =
            folders.get_or_init(|| folders_by_library(project.as_deref(), &setup, &in_use));
        let is_named = named.as_ref().is_some_and(|named| library::resolve(named).is_ok_and(|named| named == library));
        let found = by_library.iter().filter(|(path, _)| path == library && !is_named);
        let found = found.flat_map(|(_, folders)| folders);
        let may_see =
            |id: &&str| settings.as_ref().is_none_or(|settings| settings.grants_visibility(id, skill.as_str(), None));
        found.filter(|folder| folder.ids.iter().any(&may_see)).map(|folder| folder.target(false)).collect()
    })
}

/// Returns the folders of the user's agents.
pub(super) fn user_folders(setup: &Setup) -> AgentFolders {
    AgentFolders::of_user(&setup.user_home, |name| (setup.variables)(name).map(PathBuf::from))
}

fn folders_by_library(project: Option<&Path>, setup: &Setup, in_use: &[String]) -> Vec<(PathBuf, Vec<AgentFolder>)> {
    let of_project = project.map(|root| (root.join(SKILLS_FOLDER), AgentFolders::of_project(root)));
    let of_user = (setup.user_home.join(SKILLS_FOLDER), user_folders(setup));
    let all = of_project.into_iter().chain([of_user]);
    let resolved = all.filter_map(|(path, folders)| {
        let path = library::resolve(&path).ok()?;
        let chosen = folders.with_in_use(in_use).chosen(&[], &path).ok()?;
        Some((path, chosen))
    });
    resolved.collect()
}
