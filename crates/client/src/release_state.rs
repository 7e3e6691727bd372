//! [`ReleaseState`]: that a registry withdrew a release or holds it back, as far as this machine knows.

use std::collections::BTreeMap;

use library::Origin;
use registry_index::{Entry, Index};
use semver::Version;
use skill::QualifiedName;

use crate::registry::Registries;

/// What a registry says against a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseState {
    /// It was withdrawn, for this reason.
    Withdrawn(String),
    /// It is held back until it was looked at, for this reason.
    Quarantined(String),
}

/// The indexes of registries as this machine last saw them; no network is used.
pub struct KnownReleases<'a> {
    registries: &'a Registries,
    indexes: BTreeMap<String, Option<Index>>,
}

impl ReleaseState {
    /// The state that a line of the index gives to its release.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        match (&entry.withdrawn, entry.quarantined()) {
            (Some(withdrawal), _) => Some(Self::Withdrawn(withdrawal.reason.clone())),
            (None, Some(held)) => Some(Self::Quarantined(held.reason)),
            (None, None) => None,
        }
    }

    /// The state in JSON.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Withdrawn(_) => "withdrawn",
            Self::Quarantined(_) => "quarantined",
        }
    }

    /// The reason that the registry gives.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Withdrawn(reason) | Self::Quarantined(reason) => reason,
        }
    }
}

impl<'a> KnownReleases<'a> {
    /// Those of registries that this home trusts.
    #[must_use]
    pub fn new(registries: &'a Registries) -> Self {
        Self { registries, indexes: BTreeMap::new() }
    }

    /// What its registry is known to say against the release that a skill was installed from; `None` also where
    /// nothing is known.
    pub fn state(&mut self, origin: &Origin) -> Option<ReleaseState> {
        if origin.kind != "registry" {
            return None;
        }
        let name: QualifiedName = origin.name.parse().ok()?;
        let version: Version = origin.version.as_deref()?.parse().ok()?;
        let registries = self.registries;
        let index = self.indexes.entry(origin.source.clone());
        let index = index.or_insert_with(|| registries.index_here(&origin.source)).as_ref()?;
        // A mirror that lacks the lines knows nothing of the release.
        let entries = index.releases(&name).ok()?;
        entries.iter().find(|entry| entry.version == version).and_then(ReleaseState::of)
    }
}
