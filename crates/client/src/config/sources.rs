//! [`SourceConfig`]: the table `[sources.NAME]` of the configuration.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, RegistryConfig};

/// One source of skills.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Folder or pattern of folders, git address, or URL of a site.
    pub location: String,
    /// Owners whose skills are looked up only in this registry, as in `[registries.NAME]`; empty for other kinds.
    #[serde(default)]
    pub owners: Vec<String>,
    /// True if only releases signed by their owner are accepted from this registry.
    #[serde(default)]
    pub require_signatures: bool,
}

/// Kinds of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A registry, whose skills have owners and versions.
    Registry,
    /// A git repository with skills.
    Git,
    /// A git repository or folder whose manifest lists plugins.
    Marketplace,
    /// A site with an index below `/.well-known/`.
    WellKnown,
    /// A server with the API of ClawHub.
    #[serde(rename = "clawhub")]
    ClawHub,
    /// A folder on this machine, or several by a pattern with `*`.
    Folder,
}

/// The table `[search]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// True to search public sources as well; `None` if the user was not asked yet.
    pub public: Option<bool>,
}

impl SourceKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Registry, Self::Git, Self::Marketplace, Self::WellKnown, Self::ClawHub, Self::Folder];

    /// Returns the word for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::Git => "git",
            Self::Marketplace => "marketplace",
            Self::WellKnown => "well-known",
            Self::ClawHub => "clawhub",
            Self::Folder => "folder",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for SourceKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(format!("the kinds are {words}"))
    }
}

impl Config {
    /// Moves the sources that are registries to the registries.
    pub(super) fn join_registries(&mut self) -> Result<(), String> {
        for (name, source) in std::mem::take(&mut self.sources) {
            if self.registries.contains_key(&name) {
                return Err(format!("both [sources.{name}] and [registries.{name}] exist"));
            }
            let SourceConfig { kind, location, owners, require_signatures } = source;
            if kind == SourceKind::Registry {
                let registry = RegistryConfig { location, owners, require_signatures, is_source: true };
                self.registries.insert(name, registry);
            } else if owners.is_empty() && !require_signatures {
                self.sources.insert(name, SourceConfig { kind, location, owners, require_signatures });
            } else {
                return Err(format!("[sources.{name}] is not a registry, so it cannot have owners or signatures"));
            }
        }
        Ok(())
    }
}
