//! [`Registries::prefetch`]: prefetches what many skills need from git and server registries.

use std::collections::BTreeMap;

use registry_index::{ArchiveLocation, Index, ReadError, ReleaseSelector, select, shard};
use skill::{Digest, Limits, QualifiedName};

use super::{Registries, Registry, RegistryError, Route};

/// A release that will be requested.
#[derive(Debug, Clone)]
pub(crate) struct PrefetchItem {
    pub name: QualifiedName,
    pub wanted: ReleaseSelector,
    /// Location of the registry that it was installed from, if it is installed.
    pub source: Option<String>,
}

impl Registries {
    /// Prefetches from each registry the entries of all skills at once, and then all archives except those for which
    /// `has` is true. Errors are left to the later request of a skill. Returns the URLs of archives outside their
    /// registries, with sizes in bytes.
    pub(crate) fn prefetch(&self, wishes: &[PrefetchItem], has: impl Fn(&Digest) -> bool) -> Vec<(String, u64)> {
        let mut urls = Vec::new();
        let mut groups: BTreeMap<Route, Vec<&PrefetchItem>> = BTreeMap::new();
        for wish in wishes {
            let Ok(route) = self.route(&wish.name.owner, wish.source.as_deref()) else { continue };
            groups.entry(route).or_default().push(wish);
        }
        for (route, wishes) in groups {
            if wishes.len() > 1
                && let Ok(registry) = self.follow(&route)
                && (!registry.is_local() || registry.has_archives_elsewhere())
            {
                urls.extend(fetch_missing(&registry, &wishes, &has).unwrap_or_default());
            }
        }
        urls
    }
}

impl Registry {
    /// Returns the index after fetching the entries of several skills at once.
    ///
    /// # Errors
    /// [`RegistryError`] if they cannot be fetched.
    pub fn with_skills(&self, names: &[QualifiedName]) -> Result<&Index, RegistryError> {
        self.with(names.iter().filter_map(shard::skill_file).collect())
    }
}

fn fetch_missing(
    registry: &Registry,
    wishes: &[&PrefetchItem],
    has: impl Fn(&Digest) -> bool,
) -> Result<Vec<(String, u64)>, RegistryError> {
    let index = registry.with(wishes.iter().filter_map(|wish| shard::skill_file(&wish.name)).collect())?;
    let (mut archives, mut urls) = (Vec::new(), Vec::new());
    for PrefetchItem { name, wanted, .. } in wishes {
        let entries = index.releases(name).or_else(|error| match error {
            ReadError::Line { .. } => Ok(Vec::new()),
            other => Err(other),
        })?;
        let Some(entry) = select(&entries, wanted).filter(|entry| !has(&entry.archive)) else { continue };
        match registry.index.config().archive_location(&entry.digest) {
            ArchiveLocation::Tree(path) => archives.push(path),
            ArchiveLocation::Url(url) => urls.push((url, entry.size.min(Limits::default().archive_bytes))),
        }
    }
    registry.with(archives)?;
    Ok(urls)
}
