//! [`GitSpec`]: a folder in a git repository.

use std::fmt;

use skill::{
    SkillPath,
    uri::{authority, without_user},
};

use super::{SpecError, check_reference, check_url, is_github_name, is_scp_form};

/// A folder in a git repository: `URL[#path][@ref]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitSpec {
    /// URL as written: `https://…`, `git+https://…`, `file://…`, `ssh://…`, `git@host:…` or `github:owner/repo`. A
    /// browser's link and `gitlab:` are converted to one of these.
    pub written: String,
    /// Folder within the repository; `None` for the whole repository.
    pub path: Option<SkillPath>,
    /// Branch, tag or full commit id; `None` for the default branch.
    pub reference: Option<String>,
    /// Browser's link whose reference and path are not separated yet. `path` and `reference` are `None` then.
    pub link: Option<BrowserLink>,
}

/// A link to a folder in a browser, such as `https://github.com/o/r/tree/feature/x/skills/pdf`. Only the references of
/// the repository show where the name of the branch ends and the path begins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BrowserLink {
    /// Link without its query and fragment.
    pub text: String,
    /// Reference and path, decoded and separated by a slash.
    pub tail: String,
}

impl GitSpec {
    /// Returns the URL that is passed to git.
    pub fn url(&self) -> String {
        match (self.written.strip_prefix("github:"), self.written.strip_prefix("git+")) {
            (Some(repository), _) => format!("https://github.com/{repository}.git"),
            (_, Some(url)) => url.to_owned(),
            _ => self.written.clone(),
        }
    }

    /// Returns the only transport that git may use for this URL.
    pub fn transport(&self) -> &'static str {
        transport_of(&self.url())
    }

    /// Returns the name of the repository, as the fallback name of a skill.
    pub fn repository_name(&self) -> &str {
        let last = self.written.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        last.strip_suffix(".git").unwrap_or(last)
    }

    /// Returns the spec if git may be called with it.
    pub(crate) fn checked(self) -> Result<Self, SpecError> {
        self.check()?;
        Ok(self)
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.written.strip_prefix("github:").is_some_and(|repository| !is_github_name(repository)) {
            return Err(SpecError::GitHub(self.written.clone()));
        }
        let url = self.url();
        check_url(&url)?;
        let known = ["https://", "http://", "ssh://", "git://", "file://"];
        if !known.iter().any(|scheme| url.starts_with(scheme)) && !is_scp_form(&url) {
            return Err(SpecError::Scheme(self.written.clone()));
        }
        if url.starts_with("http") && authority(&url).contains('@') {
            return Err(SpecError::Credentials(without_user(&url)));
        }
        // ssh would interpret a host that starts with a hyphen as an option.
        let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        if host.starts_with('-') || host.split_once('@').is_some_and(|(_, host)| host.starts_with('-')) {
            return Err(SpecError::BadUrl(self.written.clone()));
        }
        self.reference.as_deref().map_or(Ok(()), check_reference)
    }
}

/// Returns the only transport that git may use for a URL.
pub(crate) fn transport_of(url: &str) -> &'static str {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("file") => "file",
        Some("https") => "https",
        Some("http") => "http",
        Some("git") => "git",
        None if url.starts_with('/') => "file",
        _ => "ssh",
    }
}

impl fmt::Display for GitSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(link) = &self.link {
            return f.write_str(&link.text);
        }
        f.write_str(&self.written)?;
        match (&self.path, &self.reference) {
            (None, None) => Ok(()),
            (Some(path), None) => write!(f, "#{path}"),
            (Some(path), Some(reference)) => write!(f, "#{path}@{reference}"),
            // After any other URL, an `@` before a slash would belong to a user name.
            (None, Some(reference)) if self.written.starts_with("github:") || self.written.ends_with(".git") => {
                write!(f, "@{reference}")
            }
            (None, Some(reference)) => write!(f, "#@{reference}"),
        }
    }
}
