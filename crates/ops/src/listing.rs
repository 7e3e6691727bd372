//! The lists of skills that hosts put in their prompts.

use std::collections::HashMap;

use agent::{Catalogue, Host, HostListing, ListedSkill, ListingBudget, Reads, Views};

use crate::{refusal::Refusal, workspace::Workspace};

impl Workspace {
    /// Returns the list of skills in the prompt of a host.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn host_listing(&self, host: &Host) -> Result<HostListing, Refusal> {
        let catalogue = Catalogue::inspect(&self.places_of(host.id))?;
        let (settings, budget) = (self.settings()?, ListingBudget::of(host.id));
        let views = Views::new(&catalogue, &settings);
        let mut skills: Vec<&ListedSkill> = catalogue.seen(&settings, host.id);
        skills.retain(|listed| views.effective(host, listed).reads != Reads::Nothing);
        let uses = match budget {
            Some(budget) => self.uses(&catalogue, Some(budget.limit))?,
            None => HashMap::new(),
        };
        Ok(HostListing::of(&skills, budget, &uses))
    }

    /// Returns the agents in use whose hosts do not list all descriptions, each with a warning that names skills.
    ///
    /// # Errors
    /// A library or the configuration cannot be read.
    pub fn listing_warnings(&self) -> Result<Vec<(&'static str, String)>, Refusal> {
        let is_known = self.seen()?;
        let mut warnings = Vec::new();
        for host in self.hosts().all() {
            let Some(budget) = ListingBudget::of(host.id) else { continue };
            let listing = self.host_listing(host)?;
            warnings.extend(listing.warning(host.name, budget, &is_known).map(|warning| (host.id, warning)));
        }
        Ok(warnings)
    }
}
