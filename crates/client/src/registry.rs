//! [`Registries`]: which registry is meant, and [`Registry`], one of them opened.

mod seen;

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use library::{Home, PlaceError};
use registry_index::{Index, InitError, OpenError, ReadError, SeedError, Stamp, seed};
use skill::Owner;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{config::Config, paths};

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
}

/// A registry, open.
#[derive(Debug)]
pub struct Registry {
    name: String,
    location: PathBuf,
    index: Index,
}

/// Why a registry cannot be used.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// A kind of place that this version does not reach.
    #[error("the registry {location:?} is not reachable: this version reaches folders and file:// URLs")]
    Unreachable {
        /// The place as given.
        location: String,
    },
    /// A folder, but no registry.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The embedded registry could not be made.
    #[error("cannot make the embedded registry: {0}")]
    Init(#[from] InitError),
    /// The embedded registry could not be filled.
    #[error("cannot fill the embedded registry: {0}")]
    Seed(#[from] SeedError),
    /// It does not hold what was seen of it before.
    #[error(
        "the registry {} has gone back, or was written anew: it no longer holds the commit {seen}",
        location.display()
    )]
    WentBack {
        /// The registry.
        location: PathBuf,
        /// The commit seen last.
        seen: String,
        /// The file that remembers it.
        note: PathBuf,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The home cannot be used.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The system refused.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Fails for RegistryError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unreachable { .. } => Failure::new(FailureKind::Unreachable, "registry_unreachable")
                .hint("clone the registry, and name the folder of the clone with --registry"),
            Self::Open(error) => error.failure(),
            Self::Init(error) => error.failure(),
            Self::Seed(_) => Failure::new(FailureKind::Failed, "seed_failed"),
            Self::WentBack { note, .. } => Failure::new(FailureKind::Integrity, "registry_went_back").hint(format!(
                "ask who runs it; if it was made anew on purpose, take its line out of {}",
                note.display()
            )),
            Self::Read(error) => error.failure(),
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}

impl Registries {
    /// `given` is what `--registry` or its environment variable says: a name of the configuration, a
    /// `file://` URL or a folder. `now` stamps the embedded registry if it has to be made.
    #[must_use]
    pub fn new(given: Option<&str>, config: &Config, home: &Home, now: Timestamp) -> Self {
        Self { given: given.map(str::to_owned), config: config.clone(), home: home.clone(), now }
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

    fn name_for(&self, owner: &Owner) -> Option<&str> {
        self.given.as_deref().or_else(|| self.config.registry_of(owner.as_str()))
    }

    fn named(&self, name: Option<&str>) -> Result<Registry, RegistryError> {
        let Some(name) = name else { return self.embedded() };
        match self.config.registries.get(name) {
            Some(registry) => Registry::open(name, &registry.location, self.home.path(), &self.home),
            None if name == EMBEDDED => self.embedded(),
            None => Registry::open(name, name, Path::new(""), &self.home),
        }
    }

    fn embedded(&self) -> Result<Registry, RegistryError> {
        let location = self.home.registry();
        if !self.home.ensure()?.is_dir("registry") {
            self.make_embedded(&location)?;
        }
        let index = Index::open(&location)?;
        Ok(Registry { name: EMBEDDED.to_owned(), location, index })
    }

    /// Makes the embedded registry beside its place and renames it, so that no other process sees it
    /// half made; of two at one time the first stays.
    fn make_embedded(&self, location: &Path) -> Result<(), RegistryError> {
        let io = |source| RegistryError::Io { path: location.to_owned(), source };
        let home = self.home.ensure()?;
        let temporary = tempfile::Builder::new().prefix(".registry-").tempdir_in(self.home.path()).map_err(io)?;
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
    fn open(name: &str, location: &str, base: &Path, home: &Home) -> Result<Self, RegistryError> {
        let unreachable = || RegistryError::Unreachable { location: location.to_owned() };
        let path = match location.contains("://") {
            true => paths::of_file_url(location).ok_or_else(unreachable)?,
            false => base.join(location),
        };
        let path = library::resolve(&path).map_err(|source| RegistryError::Io { path, source })?;
        let index = Index::open(&path)?;
        if path != home.registry() {
            seen::check_grown(home, &path, &index)?;
        }
        Ok(Self { name: name.to_owned(), location: path, index })
    }

    /// Its name in the configuration, `local` for the embedded one, else what was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is: an absolute path.
    #[must_use]
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// Its index.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location.display())
    }
}
