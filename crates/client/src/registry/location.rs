//! [`Location`]: the parsed location of a registry.

use std::path::{Path, PathBuf};

use super::RegistryError;
use crate::{
    paths,
    spec::{GitSpec, is_scp_form},
};

/// Location of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// Folder on this machine, opened in place.
    Folder(PathBuf),
    /// Repository that is accessed through git.
    Git(GitSpec),
}

impl Location {
    /// Parses a location. Folders are relative to `base`. `file://` is a folder opened in place; `git+file://` is a
    /// folder accessed through git.
    pub fn read(text: &str, base: &Path) -> Result<Self, RegistryError> {
        if text.starts_with("file://") {
            let path = paths::of_file_url(text).ok_or_else(|| RegistryError::NoPath(text.to_owned()))?;
            return Ok(Self::Folder(path));
        }
        let is_git = text.contains("://") || ["github:", "gitlab:"].iter().any(|start| text.starts_with(start));
        let is_git = is_git || is_scp_form(text);
        if !is_git {
            return Ok(Self::Folder(base.join(text)));
        }
        let spec: GitSpec = text.parse()?;
        match (&spec.path, &spec.reference, &spec.link) {
            (None, None, None) => Ok(Self::Git(spec)),
            _ => Err(RegistryError::Part(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Location, RegistryError> {
        Location::read(text, Path::new("/base"))
    }

    #[test]
    fn folders_and_git_urls_are_distinguished() {
        for (text, path) in [("/srv/x", "/srv/x"), ("x", "/base/x"), ("file:///srv/a%20b", "/srv/a b")] {
            assert_eq!(read(text).unwrap(), Location::Folder(path.into()), "{text}");
        }
        for (text, url, transport) in [
            ("https://example.org/team/skills.git", "https://example.org/team/skills.git", "https"),
            ("git@example.org:team/skills.git", "git@example.org:team/skills.git", "ssh"),
            ("ssh://git@example.org/skills", "ssh://git@example.org/skills", "ssh"),
            ("github:acme/skills", "https://github.com/acme/skills.git", "https"),
            ("git+file:///srv/skills.git", "file:///srv/skills.git", "file"),
        ] {
            let Ok(Location::Git(spec)) = read(text) else { panic!("{text}") };
            assert_eq!((spec.url().as_str(), spec.transport()), (url, transport));
        }
    }

    #[test]
    fn partial_or_unsafe_url_is_refused() {
        for text in ["ext::sh -c x", "https://user:secret@example.org/x", "ssh://-oProxyCommand=x/y"] {
            let refused = read(text);
            assert!(!matches!(refused, Ok(Location::Git(_))), "{text}: {refused:?}");
        }
        for text in [
            "https://example.org/x.git#skills", "https://example.org/x.git@v1", "file://host/x",
            "https://github.com/o/r/tree/main/x",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
