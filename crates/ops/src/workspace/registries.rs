//! Registries of a [`Workspace`], with their access tokens from the environment.

use std::collections::BTreeMap;

use client::Registries;
use library::Library;

use super::Workspace;
use crate::refusal::Refusal;

/// Environment variable with the token for the only registry on a server.
pub const SERVER_TOKEN_VARIABLE: &str = "SKILLHUB_TOKEN";

impl Workspace {
    /// Returns the registries that the flags and the configuration name.
    pub fn registries(&self) -> Registries {
        self.registries_at(self.registry.as_deref())
    }

    /// Returns the registries with another default than the one on the command line.
    pub fn registries_at(&self, given: Option<&str>) -> Registries {
        let registries = Registries::new(given, &self.config, &self.home, self.now);
        let registries = registries.accepting_rewrites(self.accepts_rewrite);
        registries.with_token(self.variable(SERVER_TOKEN_VARIABLE)).with_named_tokens(self.named_tokens())
    }

    /// Returns the registries for a library, including those that its skills came from.
    ///
    /// # Errors
    /// The library's history cannot be read.
    pub fn registries_of(&self, library: &Library) -> Result<client::Registries, Refusal> {
        Ok(self.registries().for_library(client::installed_sources(library)?))
    }

    /// Reads the tokens of named registries from the environment. A variable that belongs to two names is used for
    /// neither.
    fn named_tokens(&self) -> BTreeMap<String, String> {
        let names = || self.config.registries.keys();
        let is_shared = |variable: &str| names().filter(|name| client::token_variable(name) == variable).count() > 1;
        let of_name = |name: &String| {
            let token = Some(client::token_variable(name)).filter(|name| !is_shared(name))?;
            Some((name.clone(), self.variable(&token)?))
        };
        names().filter_map(of_name).collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.setup.variables)(name)?.into_string().ok()
    }
}
