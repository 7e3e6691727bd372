//! [`DetectedSource`]: the kind of a new source, found by reading it once.

use std::path::{Component, Path, PathBuf};

use skill::{
    failure::{Fails, FailureKind},
    uri,
};

use super::{ListedSource, SourceError, Sources, folders, list_cache::ListCache};
use crate::{
    config::SourceKind,
    install::{InstallError, is_folder},
    paths,
    registry::Registries,
    site_index::SiteError,
    spec::{CLAWHUB, SiteApi, SiteSpec, Spec},
};

/// A location that was read, with its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedSource {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Location as it is stored in the configuration.
    pub location: String,
    /// Number of skills that it offers; `None` for registries and ClawHub, which are searched by query.
    pub skills: Option<usize>,
    /// Parts that were ignored, one sentence each.
    pub warnings: Vec<String>,
}

impl Sources<'_> {
    /// Reads a location and detects its kind, unless `kind` is given.
    ///
    /// # Errors
    /// The location cannot be read as a source of the kind, or of any kind.
    pub fn detect(&self, text: &str, kind: Option<SourceKind>) -> Result<DetectedSource, SourceError> {
        if let Some(kind) = kind {
            return self.read_once(text, kind);
        }
        if text.contains("://") && !folders::is_pattern(text) {
            text.parse::<Spec>()?;
        }
        let kinds = possible_kinds(text, is_folder(&self.absolute(text)));
        let (mut errors, mut is_unreachable) = (Vec::new(), false);
        for &kind in kinds {
            match self.read_once(text, kind) {
                Ok(found) => return Ok(found),
                Err(error) if kinds.len() == 1 => return Err(error),
                Err(error) => {
                    is_unreachable |= error.failure().kind == FailureKind::Unreachable;
                    errors.push(format!("as {kind}: {error}"));
                }
            }
        }
        Err(SourceError::NotASource { location: text.to_owned(), reasons: errors, is_unreachable })
    }

    fn read_once(&self, text: &str, kind: SourceKind) -> Result<DetectedSource, SourceError> {
        let location = self.stored_location(text, kind)?;
        if kind == SourceKind::Registry {
            let registries = Registries::new(Some(&location), self.config, self.home, self.now);
            registries.default_one()?;
            return Ok(DetectedSource { kind, location, skills: None, warnings: Vec::new() });
        }
        let mut list = self.read(kind, &location, "", false)?;
        if folders::is_pattern(&location) && list.offers.is_empty() && list.warnings.is_empty() {
            list.warnings.push(format!("no folder with skills matches {location:?} here yet"));
        }
        let kind = match kind {
            SourceKind::Git if list.has_manifest => SourceKind::Marketplace,
            SourceKind::Folder if list.has_manifest && !folders::is_pattern(&location) => SourceKind::Marketplace,
            SourceKind::Marketplace if !list.has_manifest => {
                let fault = "it has no manifest that lists plugins".to_owned();
                return Err(InstallError::from(SiteError { origin: location, fault }).into());
            }
            kind => kind,
        };
        let listed = ListedSource { name: String::new(), kind, location: location.clone() };
        ListCache::of(self.home, &listed, "").write(&list);
        let skills = Some(list.offers.len()).filter(|_| kind != SourceKind::ClawHub);
        Ok(DetectedSource { kind, location, skills, warnings: list.warnings })
    }

    /// Returns the location as it is stored. A folder is stored with its absolute path; a relative pattern stays
    /// relative to the current folder of each search.
    fn stored_location(&self, text: &str, kind: SourceKind) -> Result<String, SourceError> {
        let absolute = || self.absolute(text).display().to_string();
        let is_path = !text.contains(':') && is_folder(Path::new(&absolute()));
        Ok(match kind {
            SourceKind::WellKnown => SiteSpec::at(SiteApi::WellKnown, text)?.base,
            SourceKind::ClawHub if text == "clawhub" => CLAWHUB.to_owned(),
            SourceKind::ClawHub => SiteSpec::at(SiteApi::ClawHub, text)?.base,
            SourceKind::Folder if folders::is_pattern(text) => text.to_owned(),
            SourceKind::Folder => absolute(),
            SourceKind::Git | SourceKind::Marketplace | SourceKind::Registry if is_path => absolute(),
            SourceKind::Git | SourceKind::Marketplace => text.parse::<Spec>()?.to_string(),
            SourceKind::Registry => text.to_owned(),
        })
    }

    /// Returns the absolute path that a text names, without `.` and `..`. A `..` after a link leads out of the link's
    /// target, so such a path is resolved.
    fn absolute(&self, text: &str) -> PathBuf {
        let path = self.cwd.join(paths::expanded(text, Some(self.user_home)));
        let has_parent = path.components().any(|part| part == Component::ParentDir);
        let resolved = has_parent.then(|| library::resolve(&path).ok()).flatten();
        resolved.unwrap_or_else(|| path.components().collect())
    }
}

/// Returns the kinds that a location may have, in the order in which they are tried. The manifest of a repository or
/// folder makes it a marketplace.
fn possible_kinds(text: &str, is_folder: bool) -> &'static [SourceKind] {
    use SourceKind::{ClawHub, Folder, Git, Registry, WellKnown};
    let host = if text.contains("://") { uri::authority(text) } else { "" };
    if is_folder {
        return &[Registry, Folder];
    }
    match text.parse() {
        _ if folders::is_pattern(text) => &[Folder],
        _ if text == "clawhub" || host == "clawhub.ai" => &[ClawHub],
        Ok(Spec::Site(SiteSpec { api: SiteApi::ClawHub, .. })) => &[ClawHub],
        Ok(Spec::Site(_)) if text.contains("/.well-known/") => &[WellKnown],
        Ok(Spec::Site(_)) => &[Registry, WellKnown, ClawHub],
        Ok(Spec::Git(git))
            if git.written.starts_with("http") && git.path.is_none() && !git.written.ends_with(".git") =>
        {
            &[Registry, WellKnown, Git]
        }
        Ok(Spec::Git(git)) if git.path.is_none() && git.reference.is_none() => &[Git, Registry],
        Ok(Spec::Git(_)) => &[Git],
        _ => &[Folder],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_the_address() {
        for (text, is_folder, kinds) in [
            ("./skills", true, "registry folder"),
            ("node_modules/*/skills", false, "folder"),
            ("clawhub", false, "clawhub"),
            ("https://clawhub.ai", false, "clawhub"),
            ("clawhub:https://h.example", false, "clawhub"),
            ("https://h.example", false, "registry well-known clawhub"),
            ("https://h.example/.well-known/skills/index.json", false, "well-known"),
            ("https://h.example/team/docs", false, "registry well-known git"),
            ("github:a/b", false, "git registry"),
            ("github:a/b#skills@v1", false, "git"),
            ("git@h.example:team/skills.git", false, "git registry"),
            ("nowhere", false, "folder"),
        ] {
            let found: Vec<&str> = possible_kinds(text, is_folder).iter().map(|kind| kind.as_str()).collect();
            assert_eq!(found.join(" "), kinds, "{text}");
        }
    }
}
