//! [`Registries::bring_ahead`]: what many skills of registries elsewhere need, fetched together.

use std::collections::BTreeMap;

use registry_index::{ReadError, Wanted, select, shard};
use skill::{Digest, QualifiedName};

use super::{Registries, Registry, RegistryError};

/// A release that will be asked for.
pub(crate) type Wish = (QualifiedName, Wanted);

impl Registries {
    /// Fetches, of each registry elsewhere, the lines of all skills at once and then all archives, but those that
    /// `has` says are here. What cannot be had is left to whoever asks for it.
    pub(crate) fn bring_ahead(&self, wishes: &[Wish], has: impl Fn(&Digest) -> bool) {
        let mut groups: BTreeMap<Option<&str>, Vec<&Wish>> = BTreeMap::new();
        for wish in wishes {
            groups.entry(self.name_for(&wish.0.owner)).or_default().push(wish);
        }
        for (name, wishes) in groups {
            if wishes.len() > 1
                && let Ok(registry) = self.named(name)
                && !registry.is_here()
            {
                let _told_later = bring(&registry, &wishes, &has);
            }
        }
    }
}

fn bring(registry: &Registry, wishes: &[&Wish], has: impl Fn(&Digest) -> bool) -> Result<(), RegistryError> {
    let index = registry.with(wishes.iter().filter_map(|(name, _)| shard::skill_file(name)).collect())?;
    let mut archives = Vec::new();
    for (name, wanted) in wishes {
        let entries = index.releases(name).or_else(|error| match error {
            ReadError::Line { .. } => Ok(Vec::new()),
            other => Err(other),
        })?;
        let chosen = select(&entries, wanted).filter(|entry| !has(&entry.archive));
        archives.extend(chosen.and_then(|entry| registry.archive_path(&entry.digest)));
    }
    registry.with(archives).map(|_| ())
}
