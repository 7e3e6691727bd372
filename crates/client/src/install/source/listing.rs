//! [`SourceListing`]: the skills that a source offers, with the address of each.

use skill::SkillPath;

use super::{Inputs, InstallError, InstallRequest, Source, note_folder};
use crate::{
    discovery::{OfferedSkill, PickError},
    resolve,
    spec::{GitSpec, SiteSpec, Spec},
};

/// Skills and plugins that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceListing {
    /// Source of the skills. Of a browser's link, reference and path are separated.
    pub spec: Spec,
    /// Skills by preference, then plugins of other repositories.
    pub skills: Vec<OfferedSkill>,
    /// Parts of the manifest or index that were ignored, one sentence each.
    pub warnings: Vec<String>,
    /// True if the source has a manifest that lists plugins.
    pub has_manifest: bool,
}

impl SourceListing {
    /// Returns the address of one skill, as `skillhub install` takes it. A plugin of another repository is installed by
    /// its name in the manifest, so that all of its skills come at once.
    pub fn address(&self, skill: &OfferedSkill) -> String {
        match (&self.spec, &skill.repository) {
            (Spec::Git(git), Some(repository)) => match SkillPath::parse(&skill.name) {
                Ok(name) if git.path.is_none() => GitSpec { path: Some(name), ..git.clone() }.to_string(),
                _ => repository.clone(),
            },
            (Spec::Git(git), None) => GitSpec { path: SkillPath::parse(&skill.folder).ok(), ..git.clone() }.to_string(),
            (Spec::Folder(folder), Some(_)) => format!("{folder}#{}", skill.name),
            (Spec::Folder(folder), None) if !skill.folder.is_empty() => format!("{folder}/{}", skill.folder),
            (Spec::Site(site), _) => site.with_skill(&skill.name).to_string(),
            (other, _) => other.to_string(),
        }
    }
}

/// Lists what a source offers. A site is asked for all of its skills.
///
/// # Errors
/// The source cannot be fetched or read, or the spec names a single skill or one that no registry has.
pub(crate) fn listing(by: Inputs<'_>, spec: &Spec, request: &InstallRequest) -> Result<SourceListing, InstallError> {
    let source = Source::of(by, request);
    let (spec, contents) = match spec {
        Spec::Folder(text) => {
            let (folder, _) = source.open_spec(text)?;
            let contents = folder.contents()?;
            (Spec::Folder(folder.written), contents)
        }
        Spec::Git(git) => {
            let (git, contents) = source.git_contents(git)?;
            (Spec::Git(git), contents)
        }
        Spec::Site(site) if site.skill.is_none() => return listing_of_site(by, site, "", request),
        Spec::Qualified { .. } | Spec::Bare { .. } => {
            resolve::resolve(&source.registries, spec).map_err(note_folder)?;
            return Err(PickError::Single(spec.to_string()).into());
        }
        Spec::Archive(_) | Spec::ArchiveUrl(_) | Spec::Site(_) => {
            return Err(PickError::Single(spec.to_string()).into());
        }
    };
    let skills = contents.offered();
    if skills.is_empty() {
        return Err(PickError::None { origin: spec.to_string() }.into());
    }
    Ok(SourceListing { spec, skills, has_manifest: contents.has_manifest, warnings: contents.warnings })
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
    Ok(SourceListing { spec: Spec::Site(site.clone()), skills, warnings, has_manifest: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_one_skill() {
        let skill = |folder: &str, repository: Option<&str>| OfferedSkill {
            name: "acme/pdf".to_owned(),
            title: None,
            description: String::new(),
            folder: folder.to_owned(),
            plugin: None,
            repository: repository.map(str::to_owned),
            version: None,
        };
        for (source, offered, address) in [
            ("github:a/b", skill("skills/pdf", None), "github:a/b#skills/pdf"),
            ("github:a/b@v1", skill("skills/pdf", None), "github:a/b#skills/pdf@v1"),
            ("github:a/b", skill("", None), "github:a/b"),
            ("github:a/b", skill("", Some("github:c/d")), "github:a/b#acme/pdf"),
            ("github:a/b#x", skill("", Some("github:c/d")), "github:c/d"),
            ("/srv/skills", skill("pdf", None), "/srv/skills/pdf"),
            ("/srv/skills", skill("", Some("github:c/d")), "/srv/skills#acme/pdf"),
            ("clawhub:", skill("", None), "clawhub:acme/pdf"),
            ("https://h.example", skill("", None), "https://h.example/.well-known/agent-skills/index.json#acme/pdf"),
        ] {
            let spec = source.parse().unwrap();
            let listing = SourceListing { spec, skills: Vec::new(), warnings: Vec::new(), has_manifest: false };
            assert_eq!(listing.address(&offered), address, "{source}");
        }
    }
}
