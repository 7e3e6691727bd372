//! [`fetch`]: downloads and verifies the skills that a spec or a lock file entry names.

mod folder;
mod git;
mod listing;
mod site;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use library::{Home, Origin, RegistryRelease, SourceDigest, SourceSkill};
pub use listing::SourceListing;
pub(crate) use listing::{listing, listing_of_site};
use registry_index::{Entry, FetchError};
use skill::failure::{Fails, FailureKind};
use skill::{
    Bundle, Digest, Limits,
    archive::{self, Archive},
};

pub(crate) use folder::is_folder;

use super::{
    Evolved, InstallError, InstallRequest,
    candidate::Candidate,
    fetch_item::FetchItem,
    prefetch::Prefetch,
    signer,
    skill_name::name_of,
    uploads::{read_below, unpack},
};
use crate::{
    cache::Cache,
    discovery::DiscoveredSkill,
    http::{self, HttpError},
    lock_file::{LockFile, LockedSkill},
    lookalike, paths,
    registry::{Registries, Registry, Route},
    releases::install_instead,
    resolve::{self, Located, ResolveError, Resolved},
    spec::{Spec, VersionRequest},
};

/// Parts of an installer that fetching uses.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub home: &'a Home,
    pub registries: &'a Registries,
    pub lock_path: &'a Path,
    pub user_home: Option<&'a Path>,
    pub prefetch: &'a Prefetch,
}

/// Fetches and verifies all skills of an order.
pub(crate) fn fetch(
    by: Inputs<'_>,
    order: &FetchItem,
    request: &InstallRequest,
) -> Result<Vec<Candidate>, InstallError> {
    let source = Source::of(by, request);
    let fetched = source.of_order(order)?;
    source.skipped.into_inner().into_iter().next().map_or(Ok(fetched), |(_, error)| Err(error))
}

/// Like [`fetch`], but skills that cannot be read are results of their own if the request chooses all of a source.
pub(crate) fn fetch_each(
    by: Inputs<'_>,
    order: &FetchItem,
    request: &InstallRequest,
) -> Vec<(String, Result<Vec<Candidate>, InstallError>)> {
    let source = Source::of(by, request);
    let fetched = source.of_order(order);
    let skipped = source.skipped.into_inner().into_iter().map(|(label, error)| (label, Err(error)));
    [(order.label(), fetched)].into_iter().chain(skipped).collect()
}

/// Fetches and verifies one release of a registry.
pub(crate) fn fetch_release(
    by: Inputs<'_>,
    request: &InstallRequest,
    found: &Resolved,
    wanted: &VersionRequest,
) -> Result<Candidate, InstallError> {
    Source::of(by, request).of_release(found, wanted)
}

/// Adds the lock file's registry to an error if that registry was not queried. A registry is never queried only because
/// the lock file names it.
fn said_by_the_lock(error: InstallError, locked: &LockedSkill, by: Inputs<'_>) -> InstallError {
    let place = locked.origin.location();
    match error {
        InstallError::Resolve(error) if !by.registries.asks_source(place).unwrap_or_default() => {
            let is_only_source = LockFile::read(by.lock_path).is_ok_and(|lock| {
                let is_same = |one: &Origin| one.kind() != locked.origin.kind() || one.location() == place;
                lock.skills().all(|skill| is_same(&skill.origin))
            });
            let name = Some(locked.name()).filter(|_| !is_only_source);
            InstallError::NotInThisRegistry { name, locked_in: place.to_owned(), error: Box::new(error) }
        }
        other => other,
    }
}

/// Checks a fetched skill against its lock file entry.
fn check_lock(candidate: &Candidate, locked: &LockedSkill) -> Result<(), InstallError> {
    let differs = |what: String| InstallError::lock_differs(locked, what);
    let found = candidate.bundle.digest();
    // Without a known release there is no digest to compare. The archive then has the files as they were imported.
    if let Some(digest) = locked.origin.digest().known().filter(|digest| *digest != found) {
        return Err(differs(format!("its digest is {found}, not {digest}")));
    }
    if Some(candidate.archive) != locked.archive {
        let wanted = locked.archive.map(|archive| archive.to_string()).unwrap_or_default();
        return Err(differs(format!("its archive is {}, not {wanted}", candidate.archive)));
    }
    if let Some(signer) = locked.signer.as_ref().filter(|signer| candidate.signer.as_ref() != Some(*signer)) {
        let found =
            candidate.signer.as_deref().map_or_else(|| "not signed".to_owned(), |key| format!("signed with {key}"));
        return Err(differs(format!("it is {found}, but the lock file has the key {signer}")));
    }
    if candidate.origin.name() != locked.origin.name() {
        return Err(differs(format!("its name is {}", candidate.origin.name())));
    }
    Ok(())
}

/// Notes in an error that a folder has the name of the skill that no registry has.
fn note_folder(error: ResolveError) -> ResolveError {
    match error {
        ResolveError::NotFound { name, registry, similar, .. } => {
            let is_folder = is_folder(Path::new(&name));
            ResolveError::NotFound { name, registry, similar, is_folder }
        }
        other => other,
    }
}

struct Source<'a> {
    by: Inputs<'a>,
    registries: Registries,
    request: &'a InstallRequest,
    cache: Cache,
    /// Skills that were left out of a source of which all were requested, with the reasons.
    skipped: RefCell<Vec<(String, InstallError)>>,
}

impl<'a> Source<'a> {
    fn of(by: Inputs<'a>, request: &'a InstallRequest) -> Self {
        Self {
            by,
            registries: by.registries.offline_if(request.offline),
            request,
            cache: Cache::of(by.home),
            skipped: RefCell::default(),
        }
    }

    /// Fetches and verifies all skills of an order.
    fn of_order(&self, order: &FetchItem) -> Result<Vec<Candidate>, InstallError> {
        match order {
            FetchItem::Spec(spec) => self.of_spec(spec),
            FetchItem::Chosen { name, request: wanted, version, source: place, is_dependency } => {
                let route = match place {
                    Some(place) if self.registries.asks_source(place).map_err(ResolveError::from)? => {
                        Route::At(place.clone())
                    }
                    _ => self.registries.route(&name.owner, None).map_err(ResolveError::from)?,
                };
                let registry = self.registries.follow(&route).map_err(ResolveError::from)?;
                let found = resolve::release_in(registry, name.clone(), &VersionRequest::exact(version))?;
                let mut candidate = self.of_release(&found, wanted)?;
                candidate.warnings.extend(lookalike::in_registry(&found.registry, &found.name));
                Ok(vec![Candidate { is_dependency: *is_dependency, ..candidate }])
            }
            FetchItem::Locked(locked) => {
                let candidate = self.of_locked(locked).map_err(|error| said_by_the_lock(error, locked, self.by))?;
                check_lock(&candidate, locked)?;
                Ok(vec![Candidate {
                    locked: Some(LockedSkill::clone(locked)),
                    requested: locked.requested.clone(),
                    is_dependency: locked.dependency,
                    ..candidate
                }])
            }
        }
    }

    fn of_spec(&self, spec: &Spec) -> Result<Vec<Candidate>, InstallError> {
        match spec {
            Spec::Qualified { request, .. } | Spec::Bare { request, .. } => {
                let lock = LockFile::read(self.by.lock_path)?;
                let found = resolve::locate_known(&self.registries, spec, &lock)
                    .and_then(|Located { registry, name, .. }| resolve::release_in(registry, name, request))
                    .map_err(note_folder)?;
                Ok(vec![self.of_release(&found, request)?])
            }
            Spec::Folder(text) => self.of_folder_spec(text),
            Spec::Archive(text) => Ok(vec![self.of_archive(&self.path(text))?]),
            Spec::ArchiveUrl(url) => Ok(vec![self.of_url(url)?]),
            Spec::Git(git) => self.of_git(git, None),
            Spec::Site(site) => self.of_site(site),
        }
    }

    /// Adds the candidate of a skill of a source. If all skills of the source are requested, one that cannot be read is
    /// skipped.
    fn add(
        &self,
        candidates: &mut Vec<Candidate>,
        skill: &DiscoveredSkill,
        candidate: Result<Candidate, InstallError>,
    ) -> Result<(), InstallError> {
        match candidate {
            Ok(candidate) => candidates.push(candidate),
            Err(error) if self.request.pick.all && !matches!(error, InstallError::Interrupted(_)) => {
                let label = if skill.folder.is_empty() { &skill.name } else { &skill.folder };
                self.skipped.borrow_mut().push((label.clone(), error));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn path(&self, text: &str) -> PathBuf {
        paths::expanded(text, self.by.user_home)
    }

    fn of_locked(&self, locked: &LockedSkill) -> Result<Candidate, InstallError> {
        match &locked.origin {
            Origin::Registry(release) => self.of_locked_release(locked, release),
            Origin::Git { commit, .. } => self.of_locked_git(locked, commit.as_ref()),
            Origin::Folder { path, .. } => match self.of_cache(locked)? {
                Some(candidate) => Ok(candidate),
                None => one(self.of_folder(Path::new(path), &self.request.pick)?, locked),
            },
            Origin::Archive { place, .. } => match self.of_cache(locked)? {
                Some(candidate) => Ok(candidate),
                None => match place.parse() {
                    Ok(Spec::ArchiveUrl(url)) => self.of_url(&url),
                    Ok(Spec::Site(site)) => one(self.of_site(&site)?, locked),
                    _ => self.of_archive(Path::new(place)),
                },
            },
            Origin::Other { kind, .. } => self.of_cache(locked)?.ok_or_else(|| {
                let what = format!("this version of skillhub cannot fetch from a source of kind {kind:?}");
                InstallError::lock_differs(locked, what)
            }),
        }
    }

    /// Fetches the release that the lock file names from the index, even if it was yanked.
    fn of_locked_release(&self, locked: &LockedSkill, release: &RegistryRelease) -> Result<Candidate, InstallError> {
        let RegistryRelease { registry, name, version, digest } = release;
        let request = VersionRequest::exact(version);
        let registry = self.registries.of_installed(&name.owner, registry).map_err(ResolveError::from);
        match registry.and_then(|registry| resolve::release_in(registry, name.clone(), &request)) {
            Ok(found) if found.entry.digest != *digest => {
                let what = format!("the registry has the digest {} for this version", found.entry.digest);
                Err(InstallError::lock_differs(locked, what))
            }
            Ok(found) => self.of_release(&found, &request),
            // An index that was rolled back may hide the current state of the release, so that integrity error is not
            // bypassed with the cache.
            Err(error @ ResolveError::Registry(_))
                if error.failure().kind != FailureKind::Integrity
                    && !signer::is_required(&self.registries, release) =>
            {
                self.check_known_state(release)?;
                self.of_cache(locked)?.ok_or_else(|| error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Rejects a release that its registry had withdrawn, quarantined or held when this machine last saw its index. The
    /// cache must not provide a release that the registry would not.
    fn check_known_state(&self, release: &RegistryRelease) -> Result<(), InstallError> {
        let known = self.registries.local_index(&release.registry);
        let entries = known.and_then(|index| index.releases(&release.name).ok()).unwrap_or_default();
        let is_locked = |entry: &&Entry| entry.version == release.version;
        Ok(entries.iter().find(is_locked).map_or(Ok(()), Entry::check_open)?)
    }

    fn of_release(&self, found: &Resolved, request: &VersionRequest) -> Result<Candidate, InstallError> {
        let Resolved { registry, name, entry } = found;
        entry.check_open()?;
        let signer = signer::of_release(&self.registries, registry, entry)?;
        if matches!(self.request.evolved, Evolved::Merge(_)) {
            signer::check_unsigned(registry, entry)?;
        }
        let archive = self.archive_of(registry, entry)?;
        let bundle = unpack(&archive, &name.to_string())?;
        check_digest(&name.to_string(), &entry.digest, &bundle)?;
        entry.check_files(&bundle)?;
        if !self.request.dry_run {
            self.cache.put(&archive)?;
        }
        let origin = Origin::Registry(RegistryRelease {
            registry: registry.location().to_owned(),
            name: name.clone(),
            version: entry.version.clone(),
            digest: entry.digest,
        });
        let release = format!("{name} {}", entry.version);
        let yanked = Some(format!("{release} {}", entry.yank_advice())).filter(|_| entry.yanked);
        let deprecated =
            entry.deprecated().map(|advice| format!("{release} is {advice}{}", install_instead(registry, &advice)));
        let vouchers = signer::vouchers(registry, entry, signer.as_deref());
        let (requested, local) = (request.as_str().to_owned(), registry.is_local());
        Ok(Candidate {
            signer,
            vouchers,
            warnings: yanked.into_iter().chain(deprecated).collect(),
            ..Candidate::new(name.name.clone(), bundle, origin, entry.archive, requested, local)
        })
    }

    fn archive_of(&self, registry: &Registry, entry: &Entry) -> Result<Archive, InstallError> {
        if !registry.is_local()
            && let Some(archive) = self.cache.get(&entry.archive)?
        {
            entry.check_archive(&archive)?;
            return Ok(archive);
        }
        match registry.with_archive(entry).map_err(ResolveError::from)?.bundle(entry) {
            Ok(archive) => Ok(archive),
            Err(FetchError::Elsewhere(url)) => {
                let archive = match self.cache.get(&entry.archive)? {
                    Some(archive) => archive,
                    None => Archive::of_bytes(self.download(&url, Some(entry))?),
                };
                entry.check_archive(&archive)?;
                Ok(archive)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the files of a lock file entry from the cache; `None` if they are not cached.
    fn of_cache(&self, locked: &LockedSkill) -> Result<Option<Candidate>, InstallError> {
        let Some(archive) = locked.archive else { return Ok(None) };
        let Some(bytes) = self.cache.get(&archive)? else { return Ok(None) };
        let bundle = unpack(&bytes, &locked.name())?;
        let (name, origin) = (locked.origin.bare_name().clone(), locked.origin.clone());
        Ok(Some(Candidate {
            signer: locked.signer.clone(),
            is_dependency: locked.dependency,
            ..Candidate::new(name, bundle, origin, archive, locked.requested.clone(), locked.local)
        }))
    }

    fn of_archive(&self, path: &Path) -> Result<Candidate, InstallError> {
        let path = library::resolve(path).map_err(|source| InstallError::Open { path: path.to_owned(), source })?;
        let open = |source| InstallError::Open { path: path.clone(), source };
        let origin = path.display().to_string();
        let folder = path.parent().unwrap_or(Path::new("/"));
        let bytes = read_below(folder, path.file_name().unwrap_or_default()).map_err(open)?;
        let bundle = unpack(&bytes, &origin)?;
        let fallback = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let skill = DiscoveredSkill::of_bundle(&bundle);
        let place = origin.clone();
        let of = |skill| Origin::Archive { place, skill };
        self.candidate(&skill, &fallback, bundle, Local { requested: origin, local: true }, of)
    }

    fn of_url(&self, url: &str) -> Result<Candidate, InstallError> {
        let bundle = unpack(&self.download(url, None)?, url)?;
        let skill = DiscoveredSkill::of_bundle(&bundle);
        let file = url.split(['?', '#']).next().unwrap_or(url).rsplit('/').next().unwrap_or_default();
        let fallback = file.get(..file.len().saturating_sub(".skill".len())).unwrap_or_default().to_owned();
        let of = |skill| Origin::Archive { place: url.to_owned(), skill };
        self.candidate(&skill, &fallback, bundle, Local { requested: url.to_owned(), local: false }, of)
    }

    /// Downloads an archive. For a release whose archive is outside the registry, the limit is the size in its index
    /// entry.
    fn download(&self, url: &str, entry: Option<&Entry>) -> Result<Vec<u8>, InstallError> {
        if self.request.offline {
            return Err(InstallError::Offline { origin: url.to_owned() });
        }
        let most = Limits::default().archive_bytes;
        let gone = |entry: &Entry| FetchError::Missing { name: entry.name.clone(), version: entry.version.clone() };
        let fetch = || http::get(url, entry.map_or(most, |entry| entry.size.min(most)));
        match (self.by.prefetch.download(url).unwrap_or_else(fetch), entry) {
            (Err(HttpError::NotFound { .. }), Some(entry)) => Err(gone(entry).into()),
            (Err(HttpError::TooLarge { .. }), Some(entry)) if entry.size <= most => Err(too_large(entry).into()),
            (done, _) => Ok(done?),
        }
    }

    fn candidate(
        &self,
        skill: &DiscoveredSkill,
        fallback: &str,
        bundle: Bundle,
        Local { requested, local }: Local,
        of: impl FnOnce(SourceSkill) -> Origin,
    ) -> Result<Candidate, InstallError> {
        let (name, warnings) = name_of(skill, fallback)?;
        let bundle = bundle.with_frontmatter_of(&skill.parsed);
        let packed = archive::pack(&bundle);
        let archive = if self.request.dry_run { packed.hash() } else { self.cache.put(&packed)? };
        let digest = SourceDigest::Known(bundle.digest());
        let origin = of(SourceSkill { name: name.clone(), version: version_of(&bundle), digest });
        Ok(Candidate { warnings, ..Candidate::new(name, bundle, origin, archive, requested, local) })
    }
}

/// Returns the error for an archive that is larger than its index entry declares.
fn too_large(entry: &Entry) -> FetchError {
    let detail = format!("expected {} bytes, but it has more", entry.size);
    FetchError::Integrity { name: entry.name.clone(), version: entry.version.clone(), detail }
}

/// Facts for the lock file about a source without owners.
struct Local {
    /// Text that fetches the skill again.
    requested: String,
    /// True if the source exists on this machine only.
    local: bool,
}

/// Returns the candidate that the lock file entry names, out of several.
fn one(candidates: Vec<Candidate>, locked: &LockedSkill) -> Result<Candidate, InstallError> {
    let differs = || InstallError::LockDiffers {
        name: locked.name(),
        what: "its source no longer has it".to_owned(),
        hint: "restore the source, or remove the entry from the lock file".into(),
    };
    candidates.into_iter().find(|candidate| candidate.origin.name() == locked.origin.name()).ok_or_else(differs)
}

pub(crate) fn check_digest(name: &str, expected: &Digest, bundle: &Bundle) -> Result<(), InstallError> {
    let found = bundle.digest();
    if found == *expected {
        return Ok(());
    }
    let (name, expected, found) = (name.to_owned(), expected.to_string(), found.to_string());
    Err(InstallError::Digest { name, promised_by: "the index", expected, found })
}

/// Returns the version in the frontmatter.
pub(crate) fn version_of(bundle: &Bundle) -> Option<String> {
    bundle.frontmatter()?.version()
}
