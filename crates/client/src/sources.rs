//! [`Sources`]: everything that a search covers, and the detection of new sources.
//!
//! A registry is searched by itself. Any other source is read as a list of skills, each with the address that
//! `skillhub install` takes ([`offer`]). Lists are cached below the home ([`list_cache`]), so that a search also works
//! offline and does not fetch a repository each time. Nothing of a source is installed, linked or trusted by searching
//! it.

mod detect;
mod folders;
mod list_cache;
mod offer;

use std::path::Path;

use jiff::Timestamp;
use library::Home;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

pub use detect::DetectedSource;
use list_cache::{CachedList, ListCache};
use offer::Offer;

use crate::{
    config::{Config, SourceConfig, SourceKind},
    discovery::PickError,
    install::{Inputs, InstallError, InstallRequest, Prefetch, listing, listing_of_site, side_by_side},
    registry::{EMBEDDED, Registries, RegistryError},
    search::{SearchError, SearchResult, SearchResults, SearchedSource, SourceState, search},
    spec::{CLAWHUB, SiteApi, SiteSpec, Spec, SpecError},
};

/// Maximum number of sources that are read at the same time.
const AT_A_TIME: usize = 8;

/// A public source, which is searched only if the user agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicSource {
    /// Name in the answers of a search.
    pub name: &'static str,
    /// Kind of the source.
    pub kind: SourceKind,
    /// Location of the source.
    pub location: &'static str,
}

/// Public sources. ClawHub is the registry of OpenClaw; the repository is that of the authors of the Agent Skills
/// standard.
pub const PUBLIC_SOURCES: [PublicSource; 2] = [
    PublicSource { name: "clawhub", kind: SourceKind::ClawHub, location: CLAWHUB },
    PublicSource { name: "anthropics", kind: SourceKind::Marketplace, location: "github:anthropics/skills" },
];

/// The sources of a user.
pub struct Sources<'a> {
    /// Home of skillhub, with the cached lists.
    pub home: &'a Home,
    /// User configuration.
    pub config: &'a Config,
    /// Registries that may be used.
    pub registries: &'a Registries,
    /// Home directory of the user, to expand `~`.
    pub user_home: &'a Path,
    /// Current folder, to which patterns of folders are relative.
    pub cwd: &'a Path,
    /// Time of the search.
    pub now: Timestamp,
}

/// Options of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchRequest {
    /// Maximum number of results.
    pub limit: usize,
    /// True to use only the cache and this machine.
    pub offline: bool,
    /// True to search registries only, as when the user names one.
    pub only_registries: bool,
    /// True to search [`PUBLIC_SOURCES`] as well.
    pub public: bool,
}

/// A source in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSource {
    /// Name in the configuration.
    pub name: String,
    /// Kind of the source.
    pub kind: SourceKind,
    /// Location of the source.
    pub location: String,
}

/// Reasons why sources cannot be searched or added.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum SourceError {
    /// A registry cannot be searched.
    Search(#[from] SearchError),
    /// A registry cannot be opened.
    Registry(#[from] RegistryError),
    /// Another source cannot be read.
    Read(#[from] InstallError),
    /// The location cannot be parsed.
    Spec(#[from] SpecError),
    /// No source answered.
    #[error("no source could be searched: {}", reasons.join("; "))]
    NoAnswer {
        /// Name and reason of each source.
        reasons: Vec<String>,
    },
    /// The location is not that of a source of any kind.
    #[error("{location} is not a source of skills:\n  {}", reasons.join("\n  "))]
    NotASource {
        /// Location as the user gave it.
        location: String,
        /// Kind and reason of each attempt.
        reasons: Vec<String>,
        /// True if the location could not be reached.
        is_unreachable: bool,
    },
}

impl Fails for SourceError {
    fn failure(&self) -> Failure {
        match self {
            Self::Search(error) => error.failure(),
            Self::Registry(error) => error.failure(),
            Self::Read(error) => error.failure(),
            Self::Spec(error) => error.failure(),
            Self::NoAnswer { .. } => Failure::new(FailureKind::Unreachable, "no_source")
                .hint("check the network, or list the sources with `skillhub source list`"),
            Self::NotASource { is_unreachable: true, .. } => Failure::new(FailureKind::Unreachable, "network")
                .hint("check the address and the network, and try again"),
            Self::NotASource { .. } => Failure::new(FailureKind::NotFound, "not_a_source")
                .hint("name a folder, a git address, a site with a well-known index, a registry or clawhub:"),
        }
    }
}

/// Answer of a source that is not a registry.
struct SourceAnswer {
    source: SearchedSource,
    offers: Vec<Offer>,
    warnings: Vec<String>,
    error: Option<InstallError>,
}

impl Sources<'_> {
    /// Lists the configured sources by name, and the embedded registry unless another serves all owners.
    pub fn list(&self) -> Vec<ListedSource> {
        let registries = self.config.registries.iter().map(|(name, registry)| ListedSource {
            name: name.clone(),
            kind: SourceKind::Registry,
            location: registry.location.clone(),
        });
        let embedded = self.registries.embedded_if_used().map(|location| ListedSource {
            name: EMBEDDED.to_owned(),
            kind: SourceKind::Registry,
            location,
        });
        let mut all: Vec<ListedSource> = registries.chain(self.others()).chain(embedded).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn others(&self) -> impl Iterator<Item = ListedSource> {
        let listed = |(name, source): (&String, &SourceConfig)| ListedSource {
            name: name.clone(),
            kind: source.kind,
            location: source.location.clone(),
        };
        self.config.sources.iter().map(listed)
    }

    /// Searches all sources.
    ///
    /// # Errors
    /// A registry cannot be trusted, or no source answered.
    pub fn search(&self, query: &str, request: &SearchRequest) -> Result<SearchResults, SourceError> {
        let mut asked = Vec::new();
        if !request.only_registries {
            asked.extend(self.others());
            asked.extend(self.public_sources(request.public));
        }
        let mut answers: Vec<SourceAnswer> = Vec::new();
        side_by_side(AT_A_TIME, asked, |source| self.answer(&source, query, request.offline), |it| answers.push(it));
        answers.sort_by(|a, b| a.source.name.cmp(&b.source.name));
        let offers = answers.iter().flat_map(|answer| answer.offers.iter().map(|offer| offer.result(&answer.source)));
        let registries = if request.offline { self.registries.offline() } else { self.registries.clone() };
        let (mut found, first_error) = search(&registries, offers.collect(), query, request.limit)?;
        let mut errors: Vec<SourceError> = first_error.into_iter().map(SourceError::from).collect();
        for SourceAnswer { source, warnings, error, .. } in answers {
            found.ignored.extend(warnings.iter().map(|warning| format!("{}: {warning}", source.name)));
            errors.extend(error.map(SourceError::from));
            found.sources.push(source);
        }
        if found.sources.iter().any(|source| source.state != SourceState::Unreachable) {
            return Ok(found);
        }
        match (errors.pop(), found.sources.len()) {
            (Some(only), 1) => Err(only),
            _ => Err(SourceError::NoAnswer { reasons: reasons(&found.sources) }),
        }
    }

    /// Returns the public sources that are not configured already.
    fn public_sources(&self, is_agreed: bool) -> impl Iterator<Item = ListedSource> {
        let is_known = |public: &PublicSource| {
            self.config.registries.contains_key(public.name)
                || self.others().any(|own| own.name == public.name || own.location == public.location)
        };
        PUBLIC_SOURCES.into_iter().filter(move |public| is_agreed && !is_known(public)).map(|public| ListedSource {
            name: public.name.to_owned(),
            kind: public.kind,
            location: public.location.to_owned(),
        })
    }

    /// Reads the skills of a source, from the cache if they were read a short time ago, if the source cannot be
    /// reached, or offline.
    fn answer(&self, source: &ListedSource, query: &str, offline: bool) -> SourceAnswer {
        let ListedSource { name, kind, location } = source;
        let answer = |state, list: CachedList, error: Option<InstallError>| SourceAnswer {
            source: SearchedSource {
                name: name.clone(),
                kind: kind.to_string(),
                location: location.clone(),
                state,
                read_at: (state == SourceState::Cached).then(|| list.read_at().to_string()),
                reason: error.as_ref().map(ToString::to_string),
            },
            offers: list.offers,
            warnings: list.warnings,
            error,
        };
        let cache = ListCache::of(self.home, source, query);
        let cached = cache.read();
        if let Some(list) = cached.as_ref().filter(|list| offline || list.is_fresh(self.now)) {
            return answer(SourceState::Cached, list.clone(), None);
        }
        match self.read(*kind, location, query, offline) {
            Ok(list) => {
                cache.write(&list);
                answer(SourceState::Searched, list, None)
            }
            Err(error) => match cached {
                Some(list) => answer(SourceState::Cached, list, Some(error)),
                None => answer(SourceState::Unreachable, CachedList::empty(self.now), Some(error)),
            },
        }
    }

    /// Reads the skills of a source that is not a registry.
    fn read(&self, kind: SourceKind, location: &str, query: &str, offline: bool) -> Result<CachedList, InstallError> {
        let prefetch = Prefetch::default();
        let by = Inputs {
            home: self.home,
            registries: self.registries,
            lock_path: Path::new(""),
            user_home: Some(self.user_home),
            prefetch: &prefetch,
        };
        let request = InstallRequest { offline, dry_run: true, ..InstallRequest::default() };
        let mut list = CachedList::empty(self.now);
        let specs = match kind {
            SourceKind::Folder => {
                let folders = folders::matching(self.cwd, location, self.user_home)?;
                list.warnings.extend(folders.warnings);
                folders.paths.into_iter().map(Spec::Folder).collect()
            }
            SourceKind::WellKnown => vec![Spec::Site(SiteSpec::at(SiteApi::WellKnown, location)?)],
            SourceKind::ClawHub => vec![Spec::Site(SiteSpec::at(SiteApi::ClawHub, location)?)],
            SourceKind::Git | SourceKind::Marketplace | SourceKind::Registry => vec![location.parse()?],
        };
        let is_pattern = folders::is_pattern(location);
        for spec in specs {
            let found = match &spec {
                Spec::Site(site) => listing_of_site(by, site, query, &request),
                spec => listing(by, spec, &request),
            };
            match found {
                Ok(found) => {
                    list.has_manifest |= found.has_manifest;
                    list.offers.extend(found.skills.iter().map(|skill| Offer::of(&found, skill)));
                    list.warnings.extend(found.warnings);
                }
                Err(InstallError::Pick(PickError::None { .. })) if is_pattern => {}
                Err(error) => return Err(error),
            }
        }
        Ok(list)
    }
}

/// Joins the name of each source with the reason why it could not be searched.
fn reasons(sources: &[SearchedSource]) -> Vec<String> {
    let reason = |source: &SearchedSource| Some(format!("{} ({})", source.name, source.reason.as_ref()?));
    sources.iter().filter_map(reason).collect()
}

impl Offer {
    /// Returns the result of a search for this skill, without its score.
    fn result(&self, source: &SearchedSource) -> SearchResult {
        SearchResult {
            name: self.name.clone(),
            title: self.title.clone(),
            version: self.version.clone().unwrap_or_default(),
            description: self.description.clone(),
            deprecated: None,
            score: 0,
            registry: source.name.clone(),
            kind: source.kind.clone(),
            install: skill::shell_word(&self.address),
        }
    }
}
