//! [`SourceListing`]: the skills that a source offers.

use super::{Inputs, InstallError, InstallRequest, Source};
use crate::{
    discovery::{OfferedSkill, PickError},
    install::Installer,
    spec::Spec,
};

/// Skills and plugins that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceListing {
    /// Skills by preference, then plugins of other repositories.
    pub skills: Vec<OfferedSkill>,
    /// Parts of the manifest that were ignored, one sentence each.
    pub warnings: Vec<String>,
}

impl Installer<'_> {
    /// Lists what a folder or a repository offers, and installs nothing. The fetched repository is kept for an install
    /// with the same installer.
    ///
    /// # Errors
    /// The source cannot be fetched or read, or the spec names a single skill.
    pub fn offered(&self, spec: &Spec, request: &InstallRequest) -> Result<SourceListing, InstallError> {
        listing(self.inputs(), spec, request)
    }
}

fn listing(by: Inputs<'_>, spec: &Spec, request: &InstallRequest) -> Result<SourceListing, InstallError> {
    let source = Source::of(by, request);
    let contents = match spec {
        Spec::Folder(text) => source.open_spec(text)?.0.contents()?,
        Spec::Git(git) => source.git_contents(git)?,
        Spec::Qualified { name, .. } => return Err(PickError::Single(name.to_string()).into()),
        Spec::Bare { .. } | Spec::Archive(_) | Spec::ArchiveUrl(_) => {
            return Err(PickError::Single(spec.to_string()).into());
        }
    };
    let skills = contents.offered();
    if skills.is_empty() {
        return Err(PickError::None { origin: spec.to_string() }.into());
    }
    Ok(SourceListing { skills, warnings: contents.warnings })
}
