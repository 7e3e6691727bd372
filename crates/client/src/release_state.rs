//! [`ReleaseState`]: withdrawn, quarantined and held releases, as far as this machine knows.

use std::collections::BTreeMap;

use library::{Origin, RegistryRelease};
use registry_index::{Entry, Index, ReadError};
use serde::{Deserialize, Serialize};
use skill::Digest;

use crate::registry::Registries;

/// Number of releases of a registry from which their states are cached, so that a list does not read every entry each
/// time.
const KEPT_FROM: usize = 16;

/// State of a release that its registry does not want to be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub enum ReleaseState {
    /// The release was withdrawn, for this reason.
    Withdrawn(String),
    /// The release is under quarantine until a moderator decides, for this reason.
    Quarantined(String),
    /// The release is on hold because another release with its content is under quarantine, for this reason.
    Held(String),
}

/// Cached states for one registry. They are valid for one revision of its index and one set of releases.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KnownStates {
    revision: String,
    releases: String,
    #[serde(default)]
    states: BTreeMap<String, ReleaseState>,
    /// True if the entries of all releases were available.
    #[serde(skip)]
    is_whole: bool,
}

impl PartialEq for KnownStates {
    fn eq(&self, other: &Self) -> bool {
        (&self.revision, &self.releases) == (&other.revision, &other.releases)
    }
}

impl ReleaseState {
    /// Returns the state of a release according to its index entry.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        let withdrawn = entry.withdrawn.as_ref().map(|withdrawal| Self::Withdrawn(withdrawal.reason.clone()));
        let quarantined = || entry.quarantined().map(|notice| Self::Quarantined(notice.reason));
        withdrawn.or_else(quarantined).or_else(|| entry.held().map(|notice| Self::Held(notice.reason)))
    }

    /// Describes the state as a sentence without the release's name.
    pub fn sentence(&self) -> String {
        match self {
            Self::Withdrawn(reason) => format!("was withdrawn: {reason}"),
            Self::Quarantined(reason) => format!("is under quarantine: {reason}"),
            Self::Held(reason) => format!("is on hold: {reason}"),
        }
    }

    /// Returns the word for the state in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Withdrawn(_) => "withdrawn",
            Self::Quarantined(_) => "quarantined",
            Self::Held(_) => "held",
        }
    }

    /// Returns the reason that the registry gives.
    pub fn reason(&self) -> &str {
        match self {
            Self::Withdrawn(reason) | Self::Quarantined(reason) | Self::Held(reason) => reason,
        }
    }
}

/// Location of the registry, and the release in the form of [`Origin::release`].
pub type InstalledRelease = (String, String);

/// Returns the known states of installed releases. The network is not used. Registries without a local index are
/// skipped.
pub fn known_states<'a>(
    registries: &Registries,
    origins: impl Iterator<Item = &'a Origin>,
) -> BTreeMap<InstalledRelease, ReleaseState> {
    let mut by_source: BTreeMap<&str, Vec<&RegistryRelease>> = BTreeMap::new();
    for release in origins.filter_map(Origin::as_registry) {
        by_source.entry(&release.registry).or_default().push(release);
    }
    let kept = registries.known_states();
    let (mut all, mut news) = (BTreeMap::new(), kept.clone());
    for (source, releases) in by_source {
        let Some(index) = registries.local_index(source) else { continue };
        let Ok(revision) = index.revision() else { continue };
        let known = KnownStates::of(&index, revision, &releases, kept.get(source));
        all.extend(known.states.iter().map(|(release, state)| ((source.to_owned(), release.clone()), state.clone())));
        if known.is_whole && releases.len() >= KEPT_FROM {
            news.insert(source.to_owned(), known);
        }
    }
    registries.keep_known_states(&kept, &news);
    all
}

impl KnownStates {
    /// Returns the cached states if they are still valid, otherwise reads the index.
    fn of(index: &Index, revision: String, all: &[&RegistryRelease], before: Option<&Self>) -> Self {
        let releases = digest_of(all);
        if let Some(known) = before.filter(|known| known.revision == revision && known.releases == releases) {
            return Self { is_whole: true, ..known.clone() };
        }
        let (mut states, mut is_whole) = (BTreeMap::new(), true);
        for release in all {
            match state_in(index, release) {
                Ok(state) => states.extend(state.map(|state| (release.to_string(), state))),
                // A mirror may fetch the entries later without a new revision, so an incomplete result is not cached.
                Err(_) => is_whole = false,
            }
        }
        Self { revision, releases, states, is_whole }
    }
}

fn state_in(index: &Index, release: &RegistryRelease) -> Result<Option<ReleaseState>, ReadError> {
    let entries = index.releases(&release.name)?;
    Ok(entries.iter().find(|entry| entry.version == release.version).and_then(ReleaseState::of))
}

fn digest_of(releases: &[&RegistryRelease]) -> String {
    let mut releases: Vec<String> = releases.iter().map(ToString::to_string).collect();
    releases.sort();
    Digest::of_bytes(releases.join("\n").as_bytes()).to_string()
}
