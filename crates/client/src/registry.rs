//! [`Registries`]: the configured registries and their selection; [`Registry`]: an open registry.

mod credential;
mod error;
mod index_remote;
mod init;
mod last_seen;
mod location;
mod mirror;
mod mirrors;
mod prefetch;
mod records;
mod remote;
mod route;
mod searched;
mod signers;
mod web;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use library::{Home, interrupt};
use registry_index::{
    AppendError, Appended, ArchiveLocation, Deprecation, Entry, FlagError, Index, KeyChange, KeyChangeError,
    NewRelease, Stamp, seed, shard,
};
use scan::Cleared;
use semver::Version;
use skill::{Digest, Owner, QualifiedName, SkillName, archive::Archive};

pub use credential::{EnvironmentToken, token_variable};
pub use error::RegistryError;
pub use index_remote::IndexRemote;
pub use init::{InitializedRegistry, init_registry, is_git_location, registry_folder};
use last_seen::{Growth, LastSeen};
pub(crate) use location::Location;
use mirror::Mirror;
pub use mirrors::{MirrorCheck, MirrorsTidied};
pub(crate) use prefetch::PrefetchItem;
use remote::{Heads, Remote};
use route::Opened;
pub(crate) use route::Route;
pub use route::installed_sources;
pub(crate) use searched::SearchedRegistry;
pub(crate) use signers::{SignerKey, SignerStatus, Signers};
use web::Web;

use crate::{
    config::{Config, RegistryConfig},
    search::result::SearchResult,
    spec::GitSpec,
};

/// Name of the embedded registry inside the home.
pub const EMBEDDED: &str = "local";

/// The registries that a command may use.
///
/// A registry that the user names is used alone. Otherwise each owner is looked up in one registry, without a fallback:
/// the one whose configuration lists the owner, otherwise the one for `*`, otherwise the embedded one, which is created
/// on first use.
#[derive(Debug, Clone)]
pub struct Registries {
    given: Option<String>,
    config: Config,
    home: Home,
    now: Timestamp,
    accepts_rewrite: bool,
    is_offline: bool,
    heads: Heads,
    token: Option<String>,
    named_tokens: BTreeMap<String, String>,
    installed: BTreeSet<String>,
    opened: Opened,
}

/// An open registry.
///
/// A git registry is a partial clone. Before reading, call [`Registry::with_skill`] or another `with_*` method to fetch
/// the objects.
#[derive(Debug)]
pub struct Registry {
    name: String,
    location: String,
    index: Index,
    reach: Access,
}

/// Access to the whole registry.
#[derive(Debug)]
enum Access {
    /// The registry is on this machine.
    Here,
    /// The registry is accessed through git.
    Git(Box<Remote>),
    /// The registry is a server, accessed over HTTP.
    Web(Box<Web>),
}

impl Registries {
    /// Creates the set of registries. `given` is the value of `--registry` or its environment variable: a name in the
    /// configuration, a git URL or a folder. `now` is the creation time of the embedded registry if it does not exist
    /// yet.
    pub fn new(given: Option<&str>, config: &Config, home: &Home, now: Timestamp) -> Self {
        let (given, config, home) = (given.map(str::to_owned), config.clone(), home.clone());
        Self {
            given,
            config,
            home,
            now,
            accepts_rewrite: false,
            is_offline: false,
            heads: Heads::default(),
            token: None,
            named_tokens: BTreeMap::new(),
            installed: BTreeSet::new(),
            opened: Opened::default(),
        }
    }

    /// Accepts the current state of a registry even if its history does not contain the state seen before.
    #[must_use]
    pub fn accepting_rewrites(self, accepts_rewrite: bool) -> Self {
        Self { accepts_rewrite, ..self }
    }

    /// Requires signatures of these owners; `*` for all.
    #[must_use]
    pub fn requiring_signatures(mut self, owners: impl IntoIterator<Item = String>) -> Self {
        self.config.require_signatures.extend(owners);
        self
    }

    /// Sets the token for the server that a flag names, or for the only server. It replaces stored tokens.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Self {
        Self { token, ..self }
    }

    /// Sets tokens for the servers with these names in the configuration.
    #[must_use]
    pub fn with_named_tokens(self, named_tokens: BTreeMap<String, String>) -> Self {
        Self { named_tokens, ..self }
    }

    /// Returns the registries without network access.
    #[must_use]
    pub fn offline(&self) -> Self {
        Self { is_offline: true, ..self.clone() }
    }

    /// Opens the registry for names without an owner, and for owners that no registry lists.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn default_one(&self) -> Result<Registry, RegistryError> {
        self.named(self.given.as_deref().or_else(|| self.config.registry_of("*")))
    }

    /// Opens the one registry that serves an owner's skills.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn serving(&self, owner: &Owner) -> Result<Registry, RegistryError> {
        self.named(self.name_for(owner))
    }

    /// Opens all registries that may be searched when the owner is unknown.
    ///
    /// # Errors
    /// [`RegistryError`] of the first that cannot be opened.
    pub fn all(&self) -> Result<Vec<Registry>, RegistryError> {
        if self.given.is_some() {
            return Ok(vec![self.default_one()?]);
        }
        self.names(|registry| !registry.owners.is_empty()).into_iter().map(|name| self.named(Some(name))).collect()
    }

    /// Returns whether this registry serves an owner's skills.
    pub fn is_asked_for(&self, registry: &Registry, owner: &Owner) -> bool {
        self.given.is_some() || self.name_for(owner).unwrap_or(EMBEDDED) == registry.name
    }

    /// Returns the mirror folder of the default registry, if it is a git registry. The folder may not exist.
    pub fn mirror(&self) -> Option<PathBuf> {
        match Location::read(&self.location(), Path::new("")) {
            Ok(Location::Git(spec)) => Some(Mirror::of(&spec, &self.home).path().to_owned()),
            _ => None,
        }
    }

    /// Returns the location of the default registry, as given or configured. Nothing is opened or created.
    pub fn location(&self) -> String {
        match self.given.as_deref().or_else(|| self.config.registry_of("*")) {
            None => self.home.registry().display().to_string(),
            Some(name) => match self.config.registries.get(name) {
                Some(registry) => registry.location.clone(),
                None if name == EMBEDDED => self.home.registry().display().to_string(),
                None => name.to_owned(),
            },
        }
    }

    /// Returns whether releases of an owner in the registry at this location must be signed.
    pub fn requires_signature(&self, location: &str, owner: &str) -> bool {
        let is_named = |named: &String| named == "*" || named == owner;
        let is_there =
            |registry: &RegistryConfig| route::place_of(&registry.location, &self.home).as_deref() == Some(location);
        let mut strict = self.config.registries.values().filter(|registry| registry.require_signatures);
        self.config.require_signatures.iter().any(is_named) || strict.any(is_there)
    }

    fn name_for(&self, owner: &Owner) -> Option<&str> {
        self.given.as_deref().or_else(|| self.config.registry_of(owner.as_str()))
    }

    fn named(&self, name: Option<&str>) -> Result<Registry, RegistryError> {
        let Some(name) = name else { return self.embedded() };
        match self.config.registries.get(name) {
            Some(registry) => self.open(name, &registry.location, self.home.path()),
            None if name == EMBEDDED => self.embedded(),
            None => self.open(name, name, Path::new("")),
        }
    }

    fn embedded(&self) -> Result<Registry, RegistryError> {
        let location = self.home.registry();
        if !self.home.ensure()?.is_dir("registry") {
            self.make_embedded(&location)?;
        }
        let index = Index::open(&location)?;
        let (name, location) = (EMBEDDED.to_owned(), location.display().to_string());
        Ok(Registry { name, location, index, reach: Access::Here })
    }

    fn open(&self, name: &str, text: &str, base: &Path) -> Result<Registry, RegistryError> {
        let registry = self.open_unnoted(name, text, base)?;
        self.opened.add(registry.location());
        Ok(registry)
    }

    fn open_unnoted(&self, name: &str, text: &str, base: &Path) -> Result<Registry, RegistryError> {
        let name = name.to_owned();
        let path = match Location::read(text, base)? {
            Location::Git(spec) if self.is_offline => return Err(RegistryError::Offline(spec.url())),
            Location::Git(spec) => {
                if let Some((web, index)) = self.web(&spec)? {
                    return Ok(Registry {
                        name,
                        location: web.url().to_owned(),
                        index,
                        reach: Access::Web(Box::new(web)),
                    });
                }
                let remote = Remote::new(&spec, &self.home, &self.heads, self.accepts_rewrite);
                let (location, index) = (remote.url().to_owned(), remote.index()?);
                return Ok(Registry { name, location, index, reach: Access::Git(Box::new(remote)) });
            }
            Location::Folder(path) => path,
        };
        let path = library::resolve(&path).map_err(|source| RegistryError::Io { path, source })?;
        let index = Index::open(&path)?;
        let location = path.display().to_string();
        if path != self.home.registry() {
            let seen = LastSeen::read(&self.home)?;
            let growth = |seen: &str| Ok(if index.has_grown_from(seen)? { Growth::Grown } else { Growth::Other });
            seen.check(&self.home, &location, &index.revision()?, self.accepts_rewrite, growth)?;
        }
        Ok(Registry { name, location, index, reach: Access::Here })
    }

    /// Returns the skillhub server at a URL, if there is one. The URL may be a git URL instead.
    fn web(&self, spec: &GitSpec) -> Result<Option<(Web, Index)>, RegistryError> {
        let url = spec.url();
        if !matches!(spec.transport(), "http" | "https") || url.ends_with(".git") {
            return Ok(None);
        }
        let credential = self.credential(url.trim_end_matches('/'));
        Web::find(&url, &self.home, credential, self.accepts_rewrite, self.now)
    }

    /// Creates the embedded registry under a temporary name and renames it, so that no other process sees it
    /// incomplete. If two processes create it at the same time, the first one wins.
    fn make_embedded(&self, location: &Path) -> Result<(), RegistryError> {
        let io = |source| RegistryError::Io { path: location.to_owned(), source };
        let home = self.home.ensure()?;
        let temporary = tempfile::Builder::new().prefix(".registry-").tempdir_in(self.home.path()).map_err(io)?;
        interrupt::note_temporary(temporary.path());
        let index = Index::init(temporary.path(), &Stamp { by: "skillhub".to_owned(), at: self.now })?;
        seed(&index, self.now)?;
        drop(index);
        let name = temporary.path().file_name().unwrap_or_default();
        match home.rename(name, &home, "registry") {
            Ok(()) => {
                let _it_has_another_name_now = temporary.keep();
                Ok(())
            }
            Err(_) if home.is_dir("registry") => Ok(()),
            Err(source) => Err(io(source)),
        }
    }
}

impl Registry {
    /// Returns its name in the configuration, `local` for the embedded registry, otherwise the text given by the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its location: an absolute path, or the URL passed to git.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns its folder, if the whole registry is on this machine.
    ///
    /// # Errors
    /// [`RegistryError::NotHere`] for a git or server registry.
    pub fn whole(&self) -> Result<&Path, RegistryError> {
        if self.is_local() { Ok(self.index.dir()) } else { Err(RegistryError::NotHere(self.location.clone())) }
    }

    /// Returns whether the whole registry is on this machine.
    pub fn is_local(&self) -> bool {
        matches!(self.reach, Access::Here)
    }

    /// Returns its index. For a git or server registry, only objects that were already fetched can be read.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the index after fetching the entries of a skill.
    ///
    /// # Errors
    /// [`RegistryError`] if they cannot be fetched.
    pub fn with_skill(&self, name: &QualifiedName) -> Result<&Index, RegistryError> {
        self.with(shard::skill_file(name).into_iter().collect())
    }

    /// Returns the index after fetching the file of an owner.
    ///
    /// # Errors
    /// [`RegistryError`] if it cannot be fetched.
    pub fn with_owner(&self, owner: &Owner) -> Result<&Index, RegistryError> {
        self.with(vec![shard::owner_file(owner)])
    }

    /// Returns the index after fetching the folder of a skill's name, which lists its owners.
    ///
    /// # Errors
    /// [`RegistryError`] if it cannot be fetched.
    pub fn with_owners_of(&self, name: &SkillName) -> Result<&Index, RegistryError> {
        if let Access::Web(web) = &self.reach {
            web.fetch_names(&self.index, name)?;
            return Ok(&self.index);
        }
        self.with(shard::name_folder(name).into_iter().collect())
    }

    /// Returns the index after fetching the archive of a release, if the index itself contains archives.
    ///
    /// # Errors
    /// [`RegistryError`] if it cannot be fetched.
    pub fn with_archive(&self, entry: &Entry) -> Result<&Index, RegistryError> {
        self.with(self.archive_path(&entry.digest).into_iter().collect())
    }

    /// Returns the index after fetching the entries of all skills.
    ///
    /// # Errors
    /// [`RegistryError`] if they cannot be fetched, and for every server registry.
    pub fn with_all_lines(&self) -> Result<&Index, RegistryError> {
        match &self.reach {
            Access::Here => {}
            Access::Git(remote) => remote.fetch_entries(&self.index)?,
            Access::Web(web) => return Err(RegistryError::NotHere(web.url().to_owned())),
        }
        Ok(&self.index)
    }

    /// Searches on the server. Returns `None` for other registries, whose entries are searched locally.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Result<Option<Vec<SearchResult>>, RegistryError> {
        match &self.reach {
            Access::Web(web) => web.search(query, limit, &self.name).map(Some),
            Access::Here | Access::Git(_) => Ok(None),
        }
    }

    /// Adds or retires a key of an owner.
    pub(crate) fn change_key<E: From<RegistryError> + From<KeyChangeError>>(
        &mut self,
        owner: &Owner,
        change: &KeyChange,
        stamp: &Stamp,
    ) -> Result<(), E> {
        let paths = [shard::CONFIG.to_owned(), shard::owner_file(owner)];
        let change_here = |index: &Index| Ok::<_, E>(index.change_key(owner, change, stamp).map(drop)?);
        match &self.reach {
            Access::Here => change_here(&self.index),
            Access::Git(remote) => remote.change(&mut self.index, &paths, change_here),
            Access::Web(web) => Ok(web.change_key(owner, change)?),
        }
    }

    /// Adds a release to the index.
    pub(crate) fn append<E: From<RegistryError> + From<AppendError>>(
        &mut self,
        release: &NewRelease,
        cleared: &Cleared,
        archive: &Archive,
    ) -> Result<Appended, E> {
        if let Access::Web(web) = &self.reach {
            return web.publish(&self.index, release, archive);
        }
        let digest = cleared.digest();
        self.change(&release.name, Some(&digest), |index| Ok(index.append(release, cleared, archive)?))
    }

    /// Sets or clears the `yanked` flag of a release, with an optional reason.
    pub(crate) fn set_yanked<E: From<RegistryError> + From<FlagError>>(
        &mut self,
        name: &QualifiedName,
        version: &Version,
        yanked: bool,
        reason: Option<&str>,
        stamp: &Stamp,
    ) -> Result<Entry, E> {
        if let Access::Web(web) = &self.reach {
            return Ok(web.set_yanked(&self.index, name, version, yanked, reason)?);
        }
        self.change(name, None, |index| Ok(index.set_yanked(name, version, yanked, reason, stamp)?))
    }

    /// Marks a release as deprecated, or removes the mark.
    pub(crate) fn set_deprecated<E: From<RegistryError> + From<FlagError>>(
        &mut self,
        name: &QualifiedName,
        version: &Version,
        deprecation: Option<&Deprecation>,
        stamp: &Stamp,
    ) -> Result<Entry, E> {
        if let Access::Web(web) = &self.reach {
            return Ok(web.set_deprecated(&self.index, name, version, deprecation)?);
        }
        self.change(name, None, |index| Ok(index.set_deprecated(name, version, deprecation, stamp)?))
    }

    /// Applies `change` to the index, to add a release or set a flag. If others change the registry at the same time,
    /// the change is applied again to the new state. `digest` is that of the archive to be added.
    fn change<T, E: From<RegistryError>>(
        &mut self,
        name: &QualifiedName,
        digest: Option<&Digest>,
        change: impl Fn(&Index) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut paths = vec![shard::CONFIG.to_owned(), shard::owner_file(&name.owner)];
        paths.extend(shard::skill_file(name));
        paths.extend(digest.and_then(|digest| self.archive_path(digest)));
        match &self.reach {
            Access::Git(remote) => remote.change(&mut self.index, &paths, change),
            Access::Here | Access::Web(_) => change(&self.index),
        }
    }

    /// Returns whether its index refers to archives by URL.
    fn has_archives_elsewhere(&self) -> bool {
        matches!(self.index.config().archive_location(&Digest::of_bytes(b"")), ArchiveLocation::Url(_))
    }

    fn archive_path(&self, digest: &Digest) -> Option<String> {
        let ArchiveLocation::Tree(path) = self.index.config().archive_location(digest) else { return None };
        Some(path)
    }

    fn with(&self, paths: Vec<String>) -> Result<&Index, RegistryError> {
        match &self.reach {
            Access::Here => {}
            Access::Git(remote) => remote.fetch_missing(&self.index, &paths)?,
            Access::Web(web) => web.fetch_missing(&self.index, &paths)?,
        }
        Ok(&self.index)
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.location)
    }
}
