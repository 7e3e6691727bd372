//! Visibility of skills: showing them to agents and hiding them.

use std::path::Path;

use client::{AgentFolder, VisibilityOutcome};
use serde_json::{Value, json};
use skill::SkillName;

use crate::{refusal::Refusal, visibility::FolderVisibility, workspace::Workspace};

impl Workspace {
    /// Shows a skill to all agents, or hides it from them. Returns the result document and the outcomes of its links.
    ///
    /// # Errors
    /// The skill does not exist, or a file cannot be written.
    pub fn set_enabled(&self, name: &SkillName, enabled: bool) -> Result<(Value, Vec<VisibilityOutcome>), Refusal> {
        let catalogue = self.catalogue(&self.places(true), self.public_skills()?, None)?;
        let listed = catalogue.find(name)?;
        let library = catalogue
            .state_library(listed)
            .ok_or_else(|| Refusal::usage("there is no library to store the setting in"))?;
        let action = if enabled { "enable" } else { "disable" };
        let stamp = self.stamp();
        library.set_state(name, &stamp, action, |state| state.set_enabled(enabled, &stamp.actor))?;
        let sight = FolderVisibility::new(self)?;
        let mut links = sight.apply(library, name, &library.state()?.of(name));
        if enabled && listed.head.is_some() {
            let folders = self.agent_folders_of(library).chosen(&[], library.path())?;
            let hidden = library.state()?.of(name).hidden_in;
            let is_shown = |path: &Path| !hidden.contains(&path.to_owned()) && !sight.hides(library, name, path);
            let folders: Vec<AgentFolder> = folders.into_iter().filter(|folder| is_shown(&folder.path)).collect();
            let changes = client::show_in(library, name, &folders, self.is_at_terminal(), &stamp)?;
            let is_known =
                |path: &_| links.iter().any(|link| matches!(link, VisibilityOutcome::Shown(shown) if shown == path));
            let shown: Vec<_> = changes.placed.into_iter().filter(|path| !is_known(path)).collect();
            links.extend(shown.into_iter().map(VisibilityOutcome::Shown));
        }
        let document = json!({
            "ok": true, "name": name.as_str(), "enabled": enabled, "library": library.path(),
            "links": links.iter().map(link_document).collect::<Vec<_>>(),
        });
        Ok((document, links))
    }
}

fn link_document(outcome: &VisibilityOutcome) -> Value {
    match outcome {
        VisibilityOutcome::Hidden(path) => json!({"path": path, "status": "removed"}),
        VisibilityOutcome::Shown(path) => json!({"path": path, "status": "placed"}),
        VisibilityOutcome::Left(path, why) => json!({"path": path, "status": "left", "why": why}),
    }
}
