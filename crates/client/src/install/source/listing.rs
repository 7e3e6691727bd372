//! [`SourceListing`]: the skills that a source offers.

use super::{Inputs, InstallError, InstallRequest, Source};
use crate::{
    discovery::{OfferedSkill, PickError},
    spec::{SiteSpec, Spec},
};

/// Skills and plugins that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceListing {
    /// Skills by preference, then plugins of other repositories.
    pub skills: Vec<OfferedSkill>,
    /// Parts of the manifest or index that were ignored, one sentence each.
    pub warnings: Vec<String>,
    /// True if the source has a manifest that lists plugins.
    pub has_manifest: bool,
}

/// Lists what a source offers. A site is asked for all of its skills.
///
/// # Errors
/// The source cannot be fetched or read, or the spec names a single skill.
pub(crate) fn listing(by: Inputs<'_>, spec: &Spec, request: &InstallRequest) -> Result<SourceListing, InstallError> {
    let source = Source::of(by, request);
    let contents = match spec {
        Spec::Folder(text) => source.open_spec(text)?.0.contents()?,
        Spec::Git(git) => source.git_contents(git)?,
        Spec::Site(site) if site.skill.is_none() => return listing_of_site(by, site, "", request),
        Spec::Qualified { name, .. } => return Err(PickError::Single(name.to_string()).into()),
        Spec::Bare { .. } | Spec::Archive(_) | Spec::ArchiveUrl(_) | Spec::Site(_) => {
            return Err(PickError::Single(spec.to_string()).into());
        }
    };
    let skills = contents.offered();
    if skills.is_empty() {
        return Err(PickError::None { origin: spec.to_string() }.into());
    }
    Ok(SourceListing { skills, has_manifest: contents.has_manifest, warnings: contents.warnings })
}

/// Lists what a site offers. ClawHub searches for the query, which may be empty; other sites list everything.
///
/// # Errors
/// The site cannot be reached, or its answer cannot be read.
pub(crate) fn listing_of_site(
    by: Inputs<'_>,
    site: &SiteSpec,
    query: &str,
    request: &InstallRequest,
) -> Result<SourceListing, InstallError> {
    let (skills, warnings) = Source::of(by, request).site_offers(site, query)?;
    Ok(SourceListing { skills, warnings, has_manifest: false })
}
