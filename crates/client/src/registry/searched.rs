//! [`SearchedRegistry`]: the registries that a search covers.

use super::{EMBEDDED, Registries, Registry, RegistryError};
use crate::config::RegistryConfig;

/// A registry that a search covers, and the result of opening it.
pub(crate) struct SearchedRegistry {
    pub name: String,
    pub location: String,
    /// True if it is searched for all owners, because it serves none.
    pub is_source: bool,
    pub registry: Result<Registry, RegistryError>,
}

impl Registries {
    /// Opens all registries that a search covers: those of [`Self::all`], and those that are configured as sources.
    pub(crate) fn searched(&self) -> Vec<SearchedRegistry> {
        let names = match &self.given {
            Some(given) => vec![given.as_str()],
            None => self.names(|registry| !registry.owners.is_empty() || registry.is_source),
        };
        let open = |name: &str| SearchedRegistry {
            is_source: self.is_searched_only(name),
            location: match self.config.registries.get(name) {
                Some(registry) => registry.location.clone(),
                None if name == EMBEDDED => self.embedded_location(),
                None => name.to_owned(),
            },
            registry: self.named(Some(name)),
            name: name.to_owned(),
        };
        names.into_iter().map(open).collect()
    }

    /// Returns the arguments of `skillhub install` for a search result from a registry.
    pub(crate) fn install_arguments(&self, skill: &str, registry: &str) -> String {
        match self.given.is_none() && self.is_searched_only(registry) {
            true => format!("{skill} --registry {}", skill::shell_word(registry)),
            false => skill.to_owned(),
        }
    }

    /// Returns whether a registry is searched, but serves no owners.
    fn is_searched_only(&self, name: &str) -> bool {
        self.config.registries.get(name).is_some_and(|registry| registry.is_source && registry.owners.is_empty())
    }

    /// Returns the location of the embedded registry; `None` if another registry has its name or serves all owners.
    pub(crate) fn embedded_if_used(&self) -> Option<String> {
        let is_replaced = self.config.registry_of("*").is_some() || self.config.registries.contains_key(EMBEDDED);
        (!is_replaced).then(|| self.embedded_location())
    }

    /// Returns the names of the covered registries, and of the embedded one unless another serves all owners.
    pub(super) fn names(&self, is_covered: impl Fn(&RegistryConfig) -> bool) -> Vec<&str> {
        let covered = self.config.registries.iter().filter(|(_, registry)| is_covered(registry));
        let embedded = Some(EMBEDDED).filter(|_| self.config.registry_of("*").is_none());
        covered.map(|(name, _)| name.as_str()).chain(embedded).collect()
    }
}
