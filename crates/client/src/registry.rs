//! [`Registries`]: which registry is meant, and [`Registry`], one of them opened.

mod ahead;
mod credential;
mod error;
mod init;
mod location;
mod mirror;
mod mirrors;
mod noted;
mod remote;
mod seen;
mod signers;
mod sources;
mod web;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use library::{Home, interrupt};
use registry_index::{
    AppendError, Appended, BundlePlace, Deprecation, Entry, FlagError, Index, KeyChange, KeyChangeError, NewRelease,
    Stamp, seed, shard,
};
use scan::Cleared;
use semver::Version;
use skill::{Digest, Owner, QualifiedName, SkillName};

pub(crate) use ahead::Wish;
pub use credential::token_variable;
pub use error::RegistryError;
pub use init::{init_registry, is_elsewhere};
use location::Location;
use mirror::Mirror;
pub use mirrors::{MirrorCheck, MirrorsTidied};
use remote::{Heads, Remote};
use seen::{Growth, Seen};
pub(crate) use signers::{Signers, Standing};
use sources::Opened;
pub(crate) use sources::Route;
pub use sources::installed_sources;
use web::Web;

use crate::{
    config::{Config, RegistryConfig},
    search::result::SearchResult,
    spec::GitSpec,
};

/// The name of the registry inside the home.
pub const EMBEDDED: &str = "local";

/// The registries that a command may ask.
///
/// One that was named is asked alone. Otherwise each owner is asked for at one registry, without a
/// fallback: the one whose configuration names the owner, else the one for `*`, else the embedded
/// one, which is made on first use.
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

/// A registry, open.
///
/// Of one that only git reaches there is but a part on this machine: what is to be read is brought first, by
/// [`Registry::with_skill`] and its like.
#[derive(Debug)]
pub struct Registry {
    name: String,
    location: String,
    index: Index,
    reach: Reach,
}

/// How the whole of a registry is reached.
#[derive(Debug)]
enum Reach {
    /// It is here.
    Here,
    /// By git.
    Git(Box<Remote>),
    /// By asking a server.
    Web(Web),
}

impl Registries {
    /// `given` is what `--registry` or its environment variable says: a name of the configuration, a
    /// git URL or a folder. `now` stamps the embedded registry if it has to be made.
    #[must_use]
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

    /// The same, taking what a registry holds now although it did not grow from what was seen of it.
    #[must_use]
    pub fn accepting_rewrites(self, accepts_rewrite: bool) -> Self {
        Self { accepts_rewrite, ..self }
    }

    /// The same, taking nothing of these owners without their signature; `*` for all.
    #[must_use]
    pub fn requiring_signatures(mut self, owners: impl IntoIterator<Item = String>) -> Self {
        self.config.require_signatures.extend(owners);
        self
    }

    /// The same, showing this token in place of those that were kept to the server that a flag names, or to the only one.
    #[must_use]
    pub fn with_token(self, token: Option<String>) -> Self {
        Self { token, ..self }
    }

    /// The same, showing the servers of these names in the configuration a token of their own.
    #[must_use]
    pub fn with_named_tokens(self, named_tokens: BTreeMap<String, String>) -> Self {
        Self { named_tokens, ..self }
    }

    /// The same without the network.
    #[must_use]
    pub fn offline(&self) -> Self {
        Self { is_offline: true, ..self.clone() }
    }

    /// The registry for whatever names no owner, and for publishing under an owner that no registry
    /// names.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn default_one(&self) -> Result<Registry, RegistryError> {
        self.named(self.given.as_deref().or_else(|| self.config.registry_of("*")))
    }

    /// The one registry that is asked for an owner's skills.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn serving(&self, owner: &Owner) -> Result<Registry, RegistryError> {
        self.named(self.name_for(owner))
    }

    /// All that may be asked when no owner is known.
    ///
    /// # Errors
    /// [`RegistryError`] of the first that cannot be opened.
    pub fn all(&self) -> Result<Vec<Registry>, RegistryError> {
        if self.given.is_some() {
            return Ok(vec![self.default_one()?]);
        }
        let asked = self.config.registries.iter().filter(|(_, registry)| !registry.owners.is_empty());
        let mut all = asked.map(|(name, _)| self.named(Some(name))).collect::<Result<Vec<_>, _>>()?;
        if self.config.registry_of("*").is_none() {
            all.push(self.embedded()?);
        }
        Ok(all)
    }

    /// Whether an owner's skills are asked for at this registry.
    #[must_use]
    pub fn is_asked_for(&self, registry: &Registry, owner: &Owner) -> bool {
        self.given.is_some() || self.name_for(owner).unwrap_or(EMBEDDED) == registry.name
    }

    /// The folder with what is here of the default registry, where only git reaches it; it need not be there.
    #[must_use]
    pub fn mirror(&self) -> Option<PathBuf> {
        match Location::read(&self.location(), Path::new("")) {
            Ok(Location::Git(spec)) => Some(Mirror::of(&spec, &self.home).path().to_owned()),
            _ => None,
        }
    }

    /// Where the default registry is, as it was given or configured; nothing is opened or made.
    #[must_use]
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

    /// Whether nothing of an owner is taken from the registry at this place without their signature.
    #[must_use]
    pub fn requires_signature(&self, location: &str, owner: &str) -> bool {
        let is_named = |named: &String| named == "*" || named == owner;
        let is_there =
            |registry: &RegistryConfig| sources::place_of(&registry.location, &self.home).as_deref() == Some(location);
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
        Ok(Registry { name, location, index, reach: Reach::Here })
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
                    return Ok(Registry { name, location: web.url().to_owned(), index, reach: Reach::Web(web) });
                }
                let remote = Remote::new(&spec, &self.home, &self.heads, self.accepts_rewrite);
                let (location, index) = (remote.url().to_owned(), remote.index()?);
                return Ok(Registry { name, location, index, reach: Reach::Git(Box::new(remote)) });
            }
            Location::Folder(path) => path,
        };
        let path = library::resolve(&path).map_err(|source| RegistryError::Io { path, source })?;
        let index = Index::open(&path)?;
        let location = path.display().to_string();
        if path != self.home.registry() {
            let seen = Seen::read(&self.home)?;
            let growth = |seen: &str| Ok(if index.has_grown_from(seen)? { Growth::Grown } else { Growth::Other });
            seen.check(&self.home, &location, &index.revision()?, self.accepts_rewrite, growth)?;
        }
        Ok(Registry { name, location, index, reach: Reach::Here })
    }

    /// The server at a URL that may be one of git as well, if a skillhub server it is.
    fn web(&self, spec: &GitSpec) -> Result<Option<(Web, Index)>, RegistryError> {
        let url = spec.url();
        if !matches!(spec.transport(), "http" | "https") || url.ends_with(".git") {
            return Ok(None);
        }
        let credential = self.credential(url.trim_end_matches('/'));
        Web::find(&url, &self.home, credential, self.accepts_rewrite, self.now)
    }

    /// Makes the embedded registry beside its place and renames it, so that no other process sees it
    /// half made; of two at one time the first stays.
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
    /// Its name in the configuration, `local` for the embedded one, else what was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is: an absolute path, or the URL that git is given.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Its folder, where it is on this machine, whole.
    ///
    /// # Errors
    /// [`RegistryError::NotHere`] when only git reaches it.
    pub fn whole(&self) -> Result<&Path, RegistryError> {
        if self.is_here() { Ok(self.index.dir()) } else { Err(RegistryError::NotHere(self.location.clone())) }
    }

    /// Whether it is on this machine, whole.
    #[must_use]
    pub fn is_here(&self) -> bool {
        matches!(self.reach, Reach::Here)
    }

    /// Its index. Of one elsewhere only what was brought can be read.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The index, with the lines of a skill.
    ///
    /// # Errors
    /// [`RegistryError`] when git cannot fetch them.
    pub fn with_skill(&self, name: &QualifiedName) -> Result<&Index, RegistryError> {
        self.with(shard::skill_file(name).into_iter().collect())
    }

    /// The index, with the file of an owner.
    ///
    /// # Errors
    /// [`RegistryError`] when git cannot fetch it.
    pub fn with_owner(&self, owner: &Owner) -> Result<&Index, RegistryError> {
        self.with(vec![shard::owner_file(owner)])
    }

    /// The index, with the folder of a name, which lists its owners.
    ///
    /// # Errors
    /// [`RegistryError`] when git cannot fetch it.
    pub fn with_owners_of(&self, name: &SkillName) -> Result<&Index, RegistryError> {
        if let Reach::Web(web) = &self.reach {
            web.bring_names(&self.index, name)?;
            return Ok(&self.index);
        }
        self.with(shard::name_folder(name).into_iter().collect())
    }

    /// The index, with the archive of a release, where the index has archives.
    ///
    /// # Errors
    /// [`RegistryError`] when git cannot fetch it.
    pub fn with_archive(&self, entry: &Entry) -> Result<&Index, RegistryError> {
        self.with(self.archive_path(&entry.digest).into_iter().collect())
    }

    /// The index, with the lines of all skills.
    ///
    /// # Errors
    /// [`RegistryError`] when git cannot fetch them.
    pub fn with_all_lines(&self) -> Result<&Index, RegistryError> {
        match &self.reach {
            Reach::Here => {}
            Reach::Git(remote) => remote.bring_lines(&self.index)?,
            Reach::Web(web) => return Err(RegistryError::NotHere(web.url().to_owned())),
        }
        Ok(&self.index)
    }

    /// What a server finds; `None` where the lines of all skills are to be looked through here.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Result<Option<Vec<SearchResult>>, RegistryError> {
        match &self.reach {
            Reach::Web(web) => web.search(query, limit, &self.name).map(Some),
            Reach::Here | Reach::Git(_) => Ok(None),
        }
    }

    /// Adds a key to an owner's, or retires one.
    pub(crate) fn change_key<E: From<RegistryError> + From<KeyChangeError>>(
        &mut self,
        owner: &Owner,
        change: &KeyChange,
        stamp: &Stamp,
    ) -> Result<(), E> {
        let paths = [shard::CONFIG.to_owned(), shard::owner_file(owner)];
        let change_here = |index: &Index| Ok::<_, E>(index.change_key(owner, change, stamp).map(drop)?);
        match &self.reach {
            Reach::Here => change_here(&self.index),
            Reach::Git(remote) => remote.change(&mut self.index, &paths, change_here),
            Reach::Web(web) => Ok(web.change_key(owner, change)?),
        }
    }

    /// Puts a release into the index.
    pub(crate) fn append<E: From<RegistryError> + From<AppendError>>(
        &mut self,
        release: &NewRelease,
        cleared: &Cleared,
        archive: &[u8],
    ) -> Result<Appended, E> {
        if let Reach::Web(web) = &self.reach {
            return Ok(web.publish(&self.index, release, archive)?);
        }
        let digest = cleared.digest();
        self.change(&release.name, Some(&digest), |index| Ok(index.append(release, cleared, archive)?))
    }

    /// Sets the flag `yanked` of a release, with the reason if there is one.
    pub(crate) fn set_yanked<E: From<RegistryError> + From<FlagError>>(
        &mut self,
        name: &QualifiedName,
        version: &Version,
        flag: (bool, Option<&str>),
        stamp: &Stamp,
    ) -> Result<Entry, E> {
        if let Reach::Web(web) = &self.reach {
            return Ok(web.set_yanked(&self.index, name, version, flag)?);
        }
        self.change(name, None, |index| Ok(index.set_yanked(name, version, flag, stamp)?))
    }

    /// Marks a release as deprecated, or takes the mark back.
    pub(crate) fn set_deprecated<E: From<RegistryError> + From<FlagError>>(
        &mut self,
        name: &QualifiedName,
        version: &Version,
        deprecation: Option<&Deprecation>,
        stamp: &Stamp,
    ) -> Result<Entry, E> {
        if let Reach::Web(web) = &self.reach {
            return Ok(web.set_deprecated(&self.index, name, version, deprecation)?);
        }
        self.change(name, None, |index| Ok(index.set_deprecated(name, version, deprecation, stamp)?))
    }

    /// Puts a release into the index, or sets a flag of one, with `change`. Where others change the registry at the same
    /// time, it is made again on top of what they made. `digest` is that of the archive that it brings.
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
            Reach::Git(remote) => remote.change(&mut self.index, &paths, change),
            Reach::Here | Reach::Web(_) => change(&self.index),
        }
    }

    /// Whether its index names URLs for archives.
    fn has_archives_elsewhere(&self) -> bool {
        matches!(self.index.config().place_of(&Digest::of_bytes(b"")), BundlePlace::Url(_))
    }

    fn archive_path(&self, digest: &Digest) -> Option<String> {
        match self.index.config().place_of(digest) {
            BundlePlace::Tree(path) => Some(path),
            BundlePlace::Url(_) => None,
        }
    }

    fn with(&self, paths: Vec<String>) -> Result<&Index, RegistryError> {
        match &self.reach {
            Reach::Here => {}
            Reach::Git(remote) => remote.bring(&self.index, &paths)?,
            Reach::Web(web) => web.bring(&self.index, &paths)?,
        }
        Ok(&self.index)
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.location)
    }
}
