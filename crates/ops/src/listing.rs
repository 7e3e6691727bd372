//! The lists of skills that hosts put in their prompts.

use std::collections::HashMap;

use agent::{
    AgentError, Catalogue, Host, HostListing, ListedSkill, ListingBudget, Reads, Settings, SkillLocations, Views,
};

use crate::{refusal::Refusal, workspace::Workspace};

impl Workspace {
    /// Returns the list of skills in the prompt of a host.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn host_listing(&self, host: &Host) -> Result<HostListing, Refusal> {
        let catalogue = Catalogue::inspect(&self.places_of(host.id))?;
        let (settings, budget) = (self.settings()?, ListingBudget::of(host.id));
        let uses = match budget {
            Some(budget) => self.uses(&catalogue, Some(budget.limit))?,
            None => HashMap::new(),
        };
        Ok(HostListing::of(&found_by(host, &catalogue, &settings), budget, &uses))
    }

    /// Returns the agents in use whose hosts do not list all descriptions, each with a warning that names skills.
    /// `open` reads the skills once for all hosts. It is not called if no host here has a budget.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn listing_warnings(
        &self,
        open: impl FnOnce(&SkillLocations) -> Result<Catalogue, AgentError>,
    ) -> Result<Vec<(&'static str, String)>, Refusal> {
        let hosts = self.hosts();
        let limited: Vec<_> = hosts.all().filter_map(|host| Some((host, ListingBudget::of(host.id)?))).collect();
        if limited.is_empty() {
            return Ok(Vec::new());
        }
        let folders = limited.iter().flat_map(|(host, _)| self.places_of(host.id).folders).collect();
        let catalogue = open(&SkillLocations { folders, ..self.places(false) })?;
        let (settings, is_known) = (self.settings()?, self.seen()?);
        let mut warnings = Vec::new();
        for (host, budget) in limited {
            // Most lists fit. Comparing folders and reading the log of uses is for the others.
            let all = catalogue.seen(&settings, host.id);
            if HostListing::of(&all, Some(budget), &HashMap::new()).cut().next().is_none() {
                continue;
            }
            let uses = self.uses(&catalogue, Some(budget.limit))?;
            let listing = HostListing::of(&found_by(host, &catalogue, &settings), Some(budget), &uses);
            warnings.extend(listing.warning(host.name, budget, &is_known).map(|warning| (host.id, warning)));
        }
        Ok(warnings)
    }
}

/// Returns the skills of a catalogue that a host finds in its folders and may see.
fn found_by<'a>(host: &Host, catalogue: &'a Catalogue, settings: &Settings) -> Vec<&'a ListedSkill> {
    let views = Views::new(catalogue, settings);
    let mut skills = catalogue.seen(settings, host.id);
    skills.retain(|listed| views.effective(host, listed).reads != Reads::Nothing);
    skills
}
