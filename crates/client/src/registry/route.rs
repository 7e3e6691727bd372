//! [`Route`]: selection of the registry for a skill, and the sources that this home trusts.
//!
//! A lock file may have come with a clone. The source that it names is therefore used only if this home used it before:
//! in the configuration, for a login, or for an install. Installs are recorded in [`FILE`] of the home. Homes of
//! earlier versions do not have this file. There, a source is trusted if the library's history refers to it and it was
//! accessed before.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use library::{Home, Library, StorageError};
use registry_index::{Entry, Index};
use skill::Owner;

use super::{Access, Location, Mirror, Registries, Registry, RegistryError, last_seen::LastSeen, records, web};
use crate::{
    login::Logins,
    release_state::{KnownStates, ReleaseState},
};

/// Name of the file with the sources of installs in this home, each with the time of the first install.
pub(super) const FILE: &str = "sources.toml";

/// Name of the file with cached states of installed releases.
const KNOWN_STATES: &str = "release-states.toml";

/// The registry in which a skill is looked up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Route {
    /// The registry with this name in the configuration or flag; `None` for the embedded one.
    Named(Option<String>),
    /// The registry at this location.
    At(String),
}

/// Locations of the registries that a command has opened, shared by all clones of its [`Registries`].
#[derive(Debug, Clone, Default)]
pub(super) struct Opened(Arc<Mutex<BTreeSet<String>>>);

impl Opened {
    pub fn add(&self, location: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(location.to_owned());
    }

    fn has(&self, location: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(location)
    }
}

/// Returns the registries from which the current skills of a library were installed, according to its history.
///
/// # Errors
/// The history cannot be read.
pub fn installed_sources(library: &Library) -> Result<BTreeSet<String>, StorageError> {
    let origins = library.skills()?.into_iter().filter_map(|(_, head)| head.origin);
    Ok(origins.filter_map(|origin| Some(origin.as_registry()?.registry.clone())).collect())
}

impl Registries {
    /// Returns a copy of the registries, without network access if `is_offline`.
    pub(crate) fn offline_if(&self, is_offline: bool) -> Self {
        if is_offline { self.offline() } else { self.clone() }
    }

    /// Returns the scanner for skills that are published to registries or installed from them.
    pub(crate) fn scanner(&self) -> scan::Scanner {
        self.home.scanner()
    }

    /// Sets the sources that the library's history refers to; see [`installed_sources`].
    #[must_use]
    pub fn for_library(self, installed: BTreeSet<String>) -> Self {
        Self { installed, ..self }
    }

    /// Selects the registry for an owner's skill that came from `source`: the one that a flag names, otherwise the
    /// source if this home trusts it, otherwise the one configured for the owner.
    ///
    /// # Errors
    /// [`RegistryError`] if the home cannot be read.
    pub(crate) fn route(&self, owner: &Owner, source: Option<&str>) -> Result<Route, RegistryError> {
        match source {
            Some(source) if self.given.is_none() && self.trusts(source)? => Ok(Route::At(source.to_owned())),
            _ => Ok(Route::Named(self.name_for(owner).map(str::to_owned))),
        }
    }

    /// Selects the registry for a requirement of a skill from `requirer`: the one configured for the owner, otherwise
    /// that of the requiring skill.
    pub(crate) fn route_of_requirement(&self, owner: &Owner, requirer: Option<&str>) -> Route {
        match (self.name_for(owner), requirer) {
            (None, Some(requirer)) => Route::At(requirer.to_owned()),
            (name, _) => Route::Named(name.map(str::to_owned)),
        }
    }

    /// Opens the registry of a route.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub(crate) fn follow(&self, route: &Route) -> Result<Registry, RegistryError> {
        match route {
            Route::Named(name) => self.named(name.as_deref()),
            Route::At(source) => self.at(source),
        }
    }

    /// Opens the registry of an installed skill; see [`Registries::route`].
    ///
    /// # Errors
    /// [`RegistryError`]
    pub(crate) fn of_installed(&self, owner: &Owner, source: &str) -> Result<Registry, RegistryError> {
        self.follow(&self.route(owner, Some(source))?)
    }

    /// Returns whether the registry at this location may be used: no flag names a registry, and this home trusts it.
    ///
    /// # Errors
    /// [`RegistryError`] if a file of the home is damaged.
    pub(crate) fn asks_source(&self, source: &str) -> Result<bool, RegistryError> {
        Ok(self.given.is_none() && self.trusts(source)?)
    }

    /// Like [`Registries::asks_source`], but also requires that this library has skills from the source.
    ///
    /// # Errors
    /// [`RegistryError`] if a file of the home is damaged.
    pub(crate) fn asks_installed_source(&self, source: &str) -> Result<bool, RegistryError> {
        Ok(self.installed.contains(source) && self.asks_source(source)?)
    }

    fn trusts(&self, source: &str) -> Result<bool, RegistryError> {
        if source == self.embedded_location() || self.configured(source).is_some() || self.opened.has(source) {
            return Ok(true);
        }
        if records::read::<String>(&self.home, FILE)?.contains_key(source) {
            return Ok(true);
        }
        let is_signed_in = || Logins::read(&self.home).is_ok_and(|logins| logins.of(source).is_some());
        if is_signed_in() {
            return Ok(true);
        }
        let was_reached = LastSeen::read(&self.home)?.of(source).is_some() || web::is_known(source, &self.home);
        Ok(was_reached && self.installed.contains(source))
    }

    /// Records the sources from which skills were installed, as far as this command has opened them. In a read-only
    /// home they are not recorded, and the user has to name them again.
    pub(crate) fn remember<'a>(&self, sources: impl Iterator<Item = &'a str>) {
        let known = records::read::<String>(&self.home, FILE);
        let Ok(mut known) = known else { return };
        let count = known.len();
        let embedded = self.embedded_location();
        for source in sources.filter(|source| self.opened.has(source) && *source != embedded) {
            known.entry(source.to_owned()).or_insert_with(|| self.now.to_string());
        }
        if known.len() > count {
            let _told_again = records::write(&self.home, FILE, &known);
        }
    }

    /// Returns the local part of the index of a trusted registry. Nothing is created or fetched.
    pub(crate) fn local_index(&self, source: &str) -> Option<Index> {
        if source == self.embedded_location() {
            return Index::open(&self.home.registry()).ok();
        }
        if !self.trusts(source).ok()? {
            return None;
        }
        if web::is_known(source, &self.home) {
            return web::local_index(source, &self.home);
        }
        let text = if source.starts_with("file://") { format!("git+{source}") } else { source.to_owned() };
        match Location::read(&text, self.home.path()).ok()? {
            Location::Folder(path) => Index::open(&path).ok(),
            Location::Git(spec) => {
                let seen = LastSeen::read(&self.home).ok()?;
                let mirror = Mirror::of(&spec, &self.home);
                Index::open_at(mirror.path(), seen.of(&spec.url())?).ok()
            }
        }
    }

    /// Returns the cached states of releases. A damaged file counts as empty, because it is only a cache.
    pub(crate) fn known_states(&self) -> BTreeMap<String, KnownStates> {
        records::read(&self.home, KNOWN_STATES).unwrap_or_default()
    }

    /// Writes the cached states of releases if they changed.
    pub(crate) fn keep_known_states(
        &self,
        before: &BTreeMap<String, KnownStates>,
        now: &BTreeMap<String, KnownStates>,
    ) {
        if before != now {
            let _read_again = records::write(&self.home, KNOWN_STATES, now);
        }
    }

    /// Opens the registry at a location in the form used by origins.
    fn at(&self, source: &str) -> Result<Registry, RegistryError> {
        if source == self.embedded_location() {
            return self.embedded();
        }
        if let Some(name) = self.configured(source) {
            return self.named(Some(name));
        }
        // The origin of a folder registry is a path. `file://` in an origin is a git URL.
        let text = if source.starts_with("file://") { format!("git+{source}") } else { source.to_owned() };
        self.open(source, &text, Path::new(""))
    }

    /// Returns the name in the configuration of the registry at a location.
    pub(super) fn configured(&self, source: &str) -> Option<&str> {
        let is_there = |text: &str| place_of(text, &self.home).is_some_and(|place| place == source);
        self.config.registries.iter().find(|(_, registry)| is_there(&registry.location)).map(|(name, _)| name.as_str())
    }

    pub(super) fn embedded_location(&self) -> String {
        self.home.registry().display().to_string()
    }
}

impl Registry {
    /// Returns the registry's reason not to use a release whose entry was just read.
    pub(crate) fn state_of(&self, entry: &Entry) -> Option<ReleaseState> {
        let by_line = ReleaseState::of(entry);
        match &self.reach {
            Access::Web(web) if by_line.is_none() && entry.yanked => {
                web.quarantine_reason(&entry.name, &entry.version).map(ReleaseState::Quarantined)
            }
            _ => by_line,
        }
    }
}

/// Returns the location of a registry in the form used by origins; `None` if the text is not a location.
pub(super) fn place_of(text: &str, home: &Home) -> Option<String> {
    match Location::read(text, home.path()).ok()? {
        Location::Git(spec) => Some(spec.url().trim_end_matches('/').to_owned()),
        Location::Folder(path) => library::resolve(&path).ok().map(|path| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write the home from outside")]

    use jiff::Timestamp;

    use super::*;
    use crate::Config;

    const TEAM: &str = "https://skills.example.org";

    fn registries(home: &Home, given: Option<&str>, config: &str) -> Registries {
        let config = Config::parse(config, Path::new("config.toml")).unwrap();
        Registries::new(given, &config, home, Timestamp::UNIX_EPOCH)
    }

    fn home() -> (tempfile::TempDir, Home) {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        home.ensure().unwrap();
        (temp, home)
    }

    fn route(registries: &Registries, source: &str) -> Route {
        registries.route(&Owner::parse("acme").unwrap(), Some(source)).unwrap()
    }

    #[test]
    fn unknown_source_is_not_contacted() {
        let (_temp, home) = home();
        let plain = registries(&home, None, "");
        assert_eq!(route(&plain, TEAM), Route::Named(None));
        assert_eq!(route(&plain, "/tmp/elsewhere"), Route::Named(None));
        let named = plain.for_library(BTreeSet::from([TEAM.to_owned()]));
        assert_eq!(route(&named, TEAM), Route::Named(None), "the history alone may repeat what a lock file said");
    }

    #[test]
    fn configured_or_remembered_source_is_contacted() {
        let (_temp, home) = home();
        let config = format!("[registries.team]\nlocation = \"{TEAM}/\"\n");
        assert_eq!(route(&registries(&home, None, &config), TEAM), Route::At(TEAM.to_owned()));
        let installing = registries(&home, Some(TEAM), "");
        installing.remember([TEAM].into_iter());
        assert_eq!(route(&registries(&home, None, ""), TEAM), Route::Named(None), "it was not opened");
        installing.opened.add(TEAM);
        installing.remember([TEAM].into_iter());
        let next = registries(&home, None, "");
        assert_eq!(route(&next, TEAM), Route::At(TEAM.to_owned()));
        assert_eq!(route(&registries(&home, Some("/other"), ""), TEAM), Route::Named(Some("/other".to_owned())));
    }

    #[test]
    fn registries_of_older_homes_stay_trusted() {
        let (_temp, home) = home();
        let text = format!("format = 1\n[seen]\n\"{TEAM}\" = \"0123\"\n");
        std::fs::write(home.path().join("registries.toml"), text).unwrap();
        let plain = registries(&home, None, "");
        assert_eq!(route(&plain, TEAM), Route::Named(None), "another library's lock file does not count");
        let here = plain.for_library(BTreeSet::from([TEAM.to_owned()]));
        assert_eq!(route(&here, TEAM), Route::At(TEAM.to_owned()));
    }

    #[test]
    fn damaged_file_is_an_error() {
        let (_temp, home) = home();
        std::fs::write(home.path().join(FILE), "format = 7\n").unwrap();
        assert!(registries(&home, None, "").route(&Owner::parse("acme").unwrap(), Some(TEAM)).is_err());
    }

    #[test]
    fn requirement_comes_from_requirers_registry() {
        let (_temp, home) = home();
        let acme = Owner::parse("acme").unwrap();
        let plain = registries(&home, None, "");
        assert_eq!(plain.route_of_requirement(&acme, Some(TEAM)), Route::At(TEAM.to_owned()));
        assert_eq!(plain.route_of_requirement(&acme, None), Route::Named(None));
        let config = "[registries.a]\nlocation = \"/a\"\nowners = [\"acme\"]\n";
        let configured = registries(&home, None, config);
        assert_eq!(configured.route_of_requirement(&acme, Some(TEAM)), Route::Named(Some("a".to_owned())));
    }
}
