//! [`Spec`]: a user's description of a skill and its source.

mod address;
mod git;
mod packed;
mod site;

use std::{fmt, str::FromStr};

use library::System;
use registry_index::{ReleaseSelector, ReleaseSelectorError};
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use skill::uri::{authority, without_user};
use skill::{NameError, OwnerError, PathError, QualifiedName, QualifiedNameError, SkillName, SkillPath, shell_word};
use thiserror::Error;

pub(crate) use git::transport_of;
pub use git::{BrowserLink, GitSpec};
pub(crate) use packed::unpack_hint;
pub(crate) use site::CLAWHUB;
pub use site::{SiteApi, SiteSpec};

use crate::paths;

/// A skill to install, as written on the command line. The `Display` form parses to the same value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// A skill with its owner: `owner/name[@req]`.
    Qualified {
        /// Full name of the skill.
        name: QualifiedName,
        /// Requested version or range.
        request: VersionRequest,
    },
    /// A skill without its owner: `name[@req]`. Exactly one owner must have it.
    Bare {
        /// Bare name of the skill.
        name: SkillName,
        /// Requested version or range.
        request: VersionRequest,
    },
    /// A folder, as written. A leading `~` is the user's home. If no folder has this name, the part after its last `#`
    /// names one of the skills in the folder. The path of a `SKILL.md` stands for its folder.
    Folder(String),
    /// A `.skill` file, as written.
    Archive(String),
    /// The URL of a `.skill` file.
    ArchiveUrl(String),
    /// A folder in a git repository.
    Git(GitSpec),
    /// A skill that a site offers: in a well-known index, or on ClawHub.
    Site(SiteSpec),
}

/// A requested version or range, with its original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRequest {
    text: String,
    wanted: ReleaseSelector,
}

/// Reasons why a text is not a valid [`Spec`].
#[derive(Debug, Error)]
#[error(transparent)]
pub enum SpecError {
    /// The text is empty.
    #[error("the name of the skill to install is empty")]
    Empty,
    /// The text starts with a hyphen, like an option.
    #[error("{0:?} starts with a hyphen")]
    Hyphen(String),
    /// The URL contains spaces, control characters or another invalid sequence.
    #[error("{0:?} has a character that is not allowed in a URL")]
    BadUrl(String),
    /// The URL has an unsupported scheme.
    #[error("{0:?} has an unknown scheme; use https, ssh or file")]
    Scheme(String),
    /// The URL contains a user name or password, which would be stored in lock files and histories.
    #[error("the URL {0:?} contains a user name or password")]
    Credentials(String),
    /// The text after `github:` is not an owner, a repository and possibly a path.
    #[error("{0:?} does not have the form github:owner/repo or github:owner/repo/path")]
    GitHub(String),
    /// The text after `gitlab:` is not a group and a repository.
    #[error("{0:?} does not have the form gitlab:group/repo")]
    GitLab(String),
    /// The text after `clawhub:` is not a slug with an optional owner and version.
    #[error("{0:?} does not have the form clawhub:owner/slug or clawhub:slug@version")]
    ClawHub(String),
    /// The text before the colon is not a host that has a short form.
    #[error("{0:?} names a host that has no short form")]
    Host(String),
    /// The link leads to a page of the host that does not show a repository or a folder.
    #[error("{0:?} is not the page of a repository or of a folder in it")]
    Page(String),
    /// The text has the form of a repository of GitHub and cannot be the name of a skill in a registry.
    #[error("{0} was not found: names of skills in a registry have only lower-case letters, digits and hyphens")]
    Repository(String),
    /// The text is too long. It is not repeated.
    #[error("the address is longer than {} bytes", address::LONGEST)]
    TooLong,
    /// The reference is not a possible branch, tag or commit of git.
    #[error("{0:?} is not the name of a branch, tag or commit")]
    Reference(String),
    /// The folder in the repository is invalid.
    Path(#[from] PathError),
    /// The skill's name is invalid.
    Name(#[from] NameError),
    /// The owner's name is invalid.
    Owner(#[from] OwnerError),
    /// The text contains more than one slash, or ends with `@` or a slash.
    #[error("{0:?} does not have the form owner/name")]
    Form(String),
    /// The text has the form `owner/repo@skill`, in which other installers name a skill of a repository.
    #[error("{:?} is neither a version nor a range of versions", skill.as_str())]
    SkillAfterAt {
        /// Repository on GitHub.
        repository: String,
        /// Text after the `@`.
        skill: SkillName,
    },
    /// The part after the `#` names a plugin, not a folder.
    #[error("{text:?} names a plugin, not a folder")]
    Plugin {
        /// Address before the `#`.
        address: String,
        /// Text after the `#`.
        text: String,
    },
    /// The text is the path of an archive of another kind than `.skill`.
    #[error("{0} cannot be installed as it is: only a .skill file is read without unpacking it")]
    Packed(String),
    /// The text after the `@` is not a version or range.
    Wanted(#[from] ReleaseSelectorError),
}

impl Fails for SpecError {
    fn failure(&self) -> Failure {
        let usage = Failure::new(FailureKind::Usage, "invalid_spec");
        match self {
            Self::Form(text) if text.ends_with('@') => {
                usage.hint("write the version after the @, as in @1.2.0, or leave the @ out")
            }
            Self::Form(text) => {
                usage.hint(format!("to name a folder, write ./{text}; for a folder of a repository, github:{text}"))
            }
            Self::Repository(text) => Failure::new(FailureKind::NotFound, "not_found").hint(repository_hint("", text)),
            Self::GitLab(_) => usage.hint("write the group and the repository, as in gitlab:group/repo"),
            Self::Host(_) => usage.hint("write the whole URL, as in https://codeberg.org/owner/repo"),
            Self::Page(_) => usage.hint(
                "copy the link of the repository or folder, as in https://github.com/owner/repo/tree/main/skills/pdf",
            ),
            Self::SkillAfterAt { repository, skill } => usage.hint(
                Hint::from("to install that skill of a repository of github.com: ")
                    .last(NextStep::Install(format!("github:{repository}#{skill}"))),
            ),
            Self::Plugin { address, text } => {
                let install = NextStep::Install(format!("{} --skill {}", shell_word(address), shell_word(text)));
                usage.hint(Hint::from("").last(install))
            }
            Self::Packed(file) => match unpack_hint(file) {
                Some(hint) => usage.hint(hint),
                None => usage,
            },
            Self::Wanted(_) => usage.hint("write @1.2.0, @^1.2, @~1.2 or @>=1,<2"),
            Self::Credentials(_) => usage.hint("remove them from the URL; git's credential helper supplies them"),
            Self::Path(_) => Failure::new(FailureKind::Invalid, "invalid_path"),
            _ => usage.hint(
                "write owner/name, owner/name@^1.2, a bare name, ./folder, file.skill, a git URL, a browser's link, \
                 github:owner/repo or clawhub:slug",
            ),
        }
    }
}

/// Returns the hint that installs from a repository of GitHub, after another sentence.
pub(crate) fn repository_hint(before: &str, repository: &str) -> Hint {
    Hint::from(format!("{before}if it is a repository of github.com: "))
        .last(NextStep::Install(format!("github:{repository}")))
}

impl VersionRequest {
    /// Requests exactly this version.
    pub fn exact(version: &semver::Version) -> Self {
        Self { text: version.to_string(), wanted: ReleaseSelector::Exact(version.clone()) }
    }

    /// Requests the newest release.
    pub fn newest() -> Self {
        Self { text: String::new(), wanted: ReleaseSelector::Newest }
    }

    /// Returns the text after the `@`; empty for the newest.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the parsed request.
    pub fn wanted(&self) -> &ReleaseSelector {
        &self.wanted
    }
}

impl FromStr for VersionRequest {
    type Err = ReleaseSelectorError;
    fn from_str(text: &str) -> Result<Self, ReleaseSelectorError> {
        let wanted = if text == "latest" { ReleaseSelector::Newest } else { text.parse()? };
        Ok(Self { text: text.trim().to_owned(), wanted })
    }
}

impl fmt::Display for VersionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => Ok(()),
            text => write!(f, "@{text}"),
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::read(text, System::this())
    }
}

impl Spec {
    /// Parses a spec as people write it on a system.
    fn read(text: &str, system: System) -> Result<Self, SpecError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SpecError::Empty);
        }
        if text.starts_with('-') {
            return Err(SpecError::Hyphen(text.to_owned()));
        }
        if text.len() > address::LONGEST {
            return Err(SpecError::TooLong);
        }
        if let Some(site) = site::of_site(text)? {
            return Ok(Self::Site(site));
        }
        if ["github:", "gitlab:", "git+"].iter().any(|start| text.starts_with(start)) || is_scp_form(text) {
            return Ok(Self::Git(text.parse()?));
        }
        if text.contains("://") {
            return of_url(text);
        }
        if let Some(git) = address::of_link(text)? {
            return Ok(Self::Git(git));
        }
        if text.to_ascii_lowercase().ends_with(".skill") {
            return Ok(Self::Archive(text.to_owned()));
        }
        let is_skill_md = text.rsplit('/').next() == Some(SkillPath::SKILL_MD);
        if is_skill_md || text.starts_with(['.', '/', '~']) || text.contains('\\') || system.is_drive_path(text) {
            return Ok(Self::Folder(text.to_owned()));
        }
        if unpack_hint(text).is_some() { Err(SpecError::Packed(text.to_owned())) } else { of_registry(text) }
    }
}

/// Returns whether the text has the form `user@host:path`, without a scheme or a slash before the colon.
pub(crate) fn is_scp_form(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    let word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
    };
    !path.starts_with("//") && host.split_once('@').is_some_and(|(user, host)| word(user) && word(host))
}

fn of_url(text: &str) -> Result<Spec, SpecError> {
    let place = text.split(['#', '?']).next().unwrap_or(text);
    let is_archive = place.to_ascii_lowercase().ends_with(".skill");
    match text.split_once("://").map(|(scheme, _)| scheme) {
        Some("http" | "https") if is_archive => {
            check_url(text)?;
            if authority(text).contains('@') {
                return Err(SpecError::Credentials(without_user(text)));
            }
            Ok(Spec::ArchiveUrl(text.to_owned()))
        }
        Some("file") if is_archive => {
            match paths::of_file_url(text).and_then(|path| path.to_str().map(str::to_owned)) {
                Some(path) => Ok(Spec::Archive(path)),
                None => Err(SpecError::BadUrl(text.to_owned())),
            }
        }
        _ => Ok(Spec::Git(text.parse()?)),
    }
}

fn of_registry(text: &str) -> Result<Spec, SpecError> {
    let (name, request) = text.split_once('@').unwrap_or((text, ""));
    if name.split_once(':').is_some_and(|(host, _)| !host.contains('/') && address::is_repository(host)) {
        return Err(SpecError::Host(name.to_owned()));
    }
    if text.ends_with(['@', '/']) {
        return Err(SpecError::Form(text.to_owned()));
    }
    let request: VersionRequest = match (request.parse::<VersionRequest>(), SkillName::parse_standard(request)) {
        (Err(_), Ok(skill)) if is_github_name(name) => {
            return Err(SpecError::SkillAfterAt { repository: name.to_owned(), skill });
        }
        (request, _) => request?,
    };
    if !name.contains('/') {
        return Ok(Spec::Bare { name: SkillName::parse_standard(name)?, request });
    }
    match name.parse() {
        Ok(name) => Ok(Spec::Qualified { name, request }),
        Err(_) if is_github_name(name) => Err(SpecError::Repository(text.to_owned())),
        Err(QualifiedNameError::Form(text)) => Err(SpecError::Form(text)),
        Err(QualifiedNameError::Owner(error)) => Err(error.into()),
        Err(QualifiedNameError::Name(error)) => Err(error.into()),
    }
}

/// Returns whether the text has the form `owner/repo`.
fn is_github_name(text: &str) -> bool {
    text.matches('/').count() == 1 && address::is_repository(text)
}

fn check_url(text: &str) -> Result<(), SpecError> {
    let bad = text.is_empty() || text.starts_with('-') || text.contains("::");
    if bad || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(SpecError::BadUrl(text.to_owned()));
    }
    Ok(())
}

/// Checks the rules of `git check-ref-format` that matter before git itself checks them.
pub(crate) fn check_reference(text: &str) -> Result<(), SpecError> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let refused = text.is_empty() || text.starts_with(['-', '/', '+']) || text.contains("..") || text.contains("@{");
    if refused || text.contains(bad) || text.ends_with(['/', '.']) {
        return Err(SpecError::Reference(text.to_owned()));
    }
    Ok(())
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Qualified { name, request } => write!(f, "{name}{request}"),
            Self::Bare { name, request } => write!(f, "{name}{request}"),
            Self::Folder(text) | Self::Archive(text) | Self::ArchiveUrl(text) => f.write_str(text),
            Self::Git(git) => git.fmt(f),
            Self::Site(site) => site.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn git(text: &str) -> (String, String, String) {
        let Spec::Git(git) = spec(text) else { panic!("{text} is no git spec") };
        (git.url(), git.path.map(|p| p.to_string()).unwrap_or_default(), git.reference.unwrap_or_default())
    }

    #[test]
    fn owner_and_range_are_optional() {
        for text in
            ["acme/pdf", "acme/pdf@1.2.0", "acme/pdf@^1.2", "acme/pdf@~1.2", "acme/pdf@>=1,<2", "acme/pdf@latest"]
        {
            assert!(matches!(spec(text), Spec::Qualified { .. }), "{text}");
        }
        for text in ["pdf", "pdf@1.0.0", "技能", "pdf@1"] {
            assert!(matches!(spec(text), Spec::Bare { .. }), "{text}");
        }
        let Spec::Qualified { request, .. } = spec("acme/pdf@1.2.0") else { panic!() };
        assert!(matches!(request.wanted(), ReleaseSelector::Exact(_)));
        let Spec::Qualified { request, .. } = spec("acme/pdf@>=1,<2") else { panic!() };
        assert!(matches!(request.wanted(), ReleaseSelector::Range(_)));
    }

    #[test]
    fn local_paths_are_recognised() {
        for text in
            [".", "..", "./pdf", "../pdf", "/srv/pdf", "~/pdf", "~", "./a@b", "./a#b", "SKILL.md", "pdf/SKILL.md"]
        {
            assert_eq!(spec(text), Spec::Folder(text.to_owned()));
        }
        for text in ["pdf.skill", "./pdf.skill", "/a/b.SKILL", "dist/pdf-1.0.0.skill"] {
            assert_eq!(spec(text), Spec::Archive(text.to_owned()));
        }
        assert_eq!(spec("file:///a/b%20c.skill"), Spec::Archive("/a/b c.skill".to_owned()));
        for text in ["pdf.zip", "dist/pdf.tar.gz"] {
            assert!(matches!(text.parse::<Spec>(), Err(SpecError::Packed(_))), "{text}");
        }
    }

    #[test]
    fn archive_and_repository_urls_differ() {
        let url = "https://example.org/pdf-1.0.0.skill?x=1";
        assert_eq!(spec(url), Spec::ArchiveUrl(url.to_owned()));
        assert!(matches!(spec("https://example.org/pdf"), Spec::Git(_)));
    }

    #[test]
    fn path_and_reference_take_either_order() {
        let of = |url: &str, path: &str, reference: &str| (url.to_owned(), path.to_owned(), reference.to_owned());
        let url = "https://example.org/o/r.git";
        assert_eq!(git(url), of(url, "", ""));
        assert_eq!(git(&format!("{url}#skills/pdf")), of(url, "skills/pdf", ""));
        assert_eq!(git(&format!("{url}#skills/pdf/@v1")), of(url, "skills/pdf/@v1", ""), "a folder may start with @");
        assert_eq!(git(&format!("{url}#./skills/pdf@feature/x")), of(url, "skills/pdf", "feature/x"));
        assert_eq!(git(&format!("{url}@feature/x#skills/pdf")), of(url, "skills/pdf", "feature/x"));
        assert_eq!(git(&format!("{url}@v1")), of(url, "", "v1"));
        assert_eq!(git(&format!("{url}#@feature/x")), of(url, "", "feature/x"));
        assert_eq!(git("git+https://example.org/o/r@v1"), of("https://example.org/o/r", "", "v1"));
        assert_eq!(git("git@example.org:o/r.git@v1"), of("git@example.org:o/r.git", "", "v1"));
        assert_eq!(git("git@example.org:o/r"), of("git@example.org:o/r", "", ""));
        assert_eq!(git("ssh://git@example.org/o/r"), of("ssh://git@example.org/o/r", "", ""));
        assert_eq!(git("file:///srv/r#a/b@main"), of("file:///srv/r", "a/b", "main"));
        assert_eq!(git("github:o/r#skills/pdf@v1"), of("https://github.com/o/r.git", "skills/pdf", "v1"));
        assert_eq!(git("github:o/r@v1"), of("https://github.com/o/r.git", "", "v1"));
    }

    #[test]
    fn transport_follows_the_url() {
        let transport = |text: &str| text.parse::<GitSpec>().unwrap().transport();
        assert_eq!(transport("file:///srv/r"), "file");
        assert_eq!(transport("github:o/r"), "https");
        assert_eq!(transport("git@h:o/r"), "ssh");
        assert_eq!(transport("ssh://h/o/r"), "ssh");
    }

    #[test]
    fn windows_paths_are_folders_there() {
        for (text, expected) in [
            ("C:/skills/pdf", [false, false, true]),
            (r"C:\skills\pdf", [true; 3]),
            (r".\pdf", [true; 3]),
            (r"\\server\share\pdf", [true; 3]),
            ("acme/pdf", [false; 3]),
            ("git@c:skills/pdf", [false; 3]),
        ] {
            let is_folder = |system| matches!(Spec::read(text, system), Ok(Spec::Folder(folder)) if folder == text);
            assert_eq!([System::Linux, System::MacOs, System::Windows].map(is_folder), expected, "{text}");
        }
    }

    #[test]
    fn displayed_spec_parses_back() {
        for text in [
            "acme/pdf",
            "acme/pdf@>=1,<2",
            "pdf@~1.2",
            "./pdf",
            "~/a b",
            "a.skill",
            "https://h/a.skill",
            "https://h/o/r.git@a/b",
            "https://h/o/r@v1",
            "https://h/o/r#p/q@v1",
            "git@h:o/r.git#p",
            "github:o/r@feature/x",
            "github:o/r/skills/pdf",
            "gitlab:g/s/r@v1",
            "https://github.com/o/r/tree/feature/x/pdf?x=1",
            "github.com/o/r/tree/main/pdf",
            "file:///srv/r@main",
            "git+ssh://h/r",
        ] {
            let parsed = spec(text);
            assert_eq!(spec(&parsed.to_string()), parsed, "{text} -> {parsed}");
        }
    }

    #[test]
    fn credentials_in_url_are_refused() {
        let error = "https://ann:secret@h/o/r.git@v1".parse::<Spec>().unwrap_err();
        assert!(matches!(error, SpecError::Credentials(_)));
        assert!(!error.to_string().contains("secret") && error.to_string().contains("@h/o/r.git"), "{error}");
    }

    /// A spec is unsafe if git or ssh would take it for an option or a command.
    #[test]
    fn malformed_or_unsafe_specs_are_refused() {
        for bad in [
            "",
            "  ",
            "--upload-pack=x",
            "git+--upload-pack=x",
            "git+ext::sh -c x",
            "ext::sh",
            "git+-x",
            "ssh://-oProxyCommand=x/r",
            "ssh://a@-oProxyCommand=x/r",
            "https://h/r.git@-x",
            "https://h/r.git@a..b",
            "https://h/r.git@a b",
            "https://h/r.git@+x:y",
            "https://h/r.git#../x",
            "https://h/r.git#a/../b",
            "https://h/r.git#/etc",
            "https://h/r.git#.git/hooks",
            "https://h/a b.git",
            "ftp://h/r",
            "github:o",
            "github:o/r/../s",
            "github:../r",
            "a/b/c",
            "acme/",
            "/acme@".trim_start_matches('/'),
            "Acme/pdf",
            "acme/pdf@newest",
            "pdf@",
        ] {
            assert!(bad.parse::<Spec>().is_err(), "{bad}");
        }
    }
}
