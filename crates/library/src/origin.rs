//! [`Origin`]: the source of an installed skill.

use std::{fmt, str::FromStr};

use semver::Version;
use serde::{Deserialize, Serialize};
use skill::{Digest, DigestError, NameError, QualifiedName, QualifiedNameError, SkillName};
use thiserror::Error;

/// Source of an installed skill, with the release that was installed from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "OriginFields", into = "OriginFields")]
pub enum Origin {
    /// A registry.
    Registry(RegistryRelease),
    /// A git repository.
    Git {
        /// URL of the repository.
        url: String,
        /// Commit at the time of installation; `None` for an imported skill whose commit is unknown.
        commit: Option<CommitId>,
        /// Installed skill.
        skill: SourceSkill,
    },
    /// A folder on this machine.
    Folder {
        /// Path of the skill's folder.
        path: String,
        /// Installed skill.
        skill: SourceSkill,
    },
    /// An archive.
    Archive {
        /// Path or URL of the file.
        place: String,
        /// Installed skill.
        skill: SourceSkill,
    },
    /// A source of another tool, from which skillhub cannot fetch.
    Other {
        /// Kind of the source, in the word of that tool.
        kind: String,
        /// Location within that source.
        place: String,
        /// Installed skill.
        skill: SourceSkill,
    },
}

/// Release of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryRelease {
    /// Location of the registry.
    pub registry: String,
    /// Name of the skill.
    pub name: QualifiedName,
    /// Version of the release.
    pub version: Version,
    /// Digest of its files.
    pub digest: Digest,
}

/// Skill from a source without owners and releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSkill {
    /// Name of the skill.
    pub name: SkillName,
    /// Version that the author or another tool gives, which may be any text.
    pub version: Option<String>,
    /// Digest of the installed files.
    pub digest: SourceDigest,
}

/// Digest of files from a source without releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceDigest {
    /// The files are known.
    Known(Digest),
    /// Hash of another tool. The files that it installed are unknown.
    Foreign(String),
}

/// Id of a git commit: 40 or 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitId(String);

/// An origin as flat texts, as stored in a commit's trailer and in a lock file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OriginFields {
    /// Kind of source: `registry`, `git`, `folder`, `archive`, or the word of another tool.
    pub kind: String,
    /// Location of the registry, git URL, or path.
    pub source: String,
    /// `owner/name` in a registry; the bare name from other sources.
    pub name: String,
    /// Version of the release; `None` from sources without versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Commit of a git source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the installed files, `sha256:…`, or the hash of another tool.
    pub digest: String,
}

/// Reasons why texts are not an [`Origin`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OriginError {
    /// The name of a registry's skill is invalid.
    #[error("it has no owner/name: {0}")]
    QualifiedName(#[from] QualifiedNameError),
    /// The name of a skill from another source is invalid.
    #[error("{0:?} cannot be the name of a skill: {1}")]
    Name(String, NameError),
    /// A registry's release has no version.
    #[error("it has no version")]
    NoVersion,
    /// The version of a registry's release is invalid.
    #[error("{0:?} is not a version")]
    Version(String),
    /// The digest is invalid.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// The text is not the id of a commit.
    #[error("{0:?} is not the id of a commit")]
    Commit(String),
    /// A source other than a git repository has a commit.
    #[error("a source of kind {0:?} cannot have a commit")]
    UnexpectedCommit(String),
}

impl Origin {
    /// Kind of a registry.
    pub const REGISTRY: &'static str = "registry";
    /// Kind of a git repository.
    pub const GIT: &'static str = "git";
    /// Kind of a folder.
    pub const FOLDER: &'static str = "folder";
    /// Kind of an archive.
    pub const ARCHIVE: &'static str = "archive";

    /// Returns the word for the kind of source.
    pub fn kind(&self) -> &str {
        match self {
            Self::Registry(_) => Self::REGISTRY,
            Self::Git { .. } => Self::GIT,
            Self::Folder { .. } => Self::FOLDER,
            Self::Archive { .. } => Self::ARCHIVE,
            Self::Other { kind, .. } => kind,
        }
    }

    /// Returns the location of the registry, the git URL, or the path.
    pub fn location(&self) -> &str {
        match self {
            Self::Registry(release) => &release.registry,
            Self::Git { url, .. } => url,
            Self::Folder { path, .. } => path,
            Self::Archive { place, .. } | Self::Other { place, .. } => place,
        }
    }

    /// Returns the full name: `owner/name` in a registry, the bare name from other sources.
    pub fn name(&self) -> String {
        match self.skill() {
            Ok(release) => release.name.to_string(),
            Err(skill) => skill.name.to_string(),
        }
    }

    /// Returns the full name of a skill with this folder: `owner/name` in a registry, the folder's name from other
    /// sources. It is unique in a library.
    pub fn name_in(&self, folder: &SkillName) -> String {
        self.qualified_name().unwrap_or_else(|| folder.to_string())
    }

    /// Returns the name without the owner.
    pub fn bare_name(&self) -> &SkillName {
        match self.skill() {
            Ok(release) => &release.name.name,
            Err(skill) => &skill.name,
        }
    }

    /// Returns the release, if the source is a registry.
    pub fn as_registry(&self) -> Option<&RegistryRelease> {
        self.skill().ok()
    }

    /// Returns `owner/name`, if the source is a registry.
    pub fn qualified_name(&self) -> Option<String> {
        self.as_registry().map(|release| release.name.to_string())
    }

    /// Returns the version, if the source has one.
    pub fn version(&self) -> Option<String> {
        match self.skill() {
            Ok(release) => Some(release.version.to_string()),
            Err(skill) => skill.version.clone(),
        }
    }

    /// Returns the commit of a git source.
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Git { commit, .. } => commit.as_ref(),
            _ => None,
        }
    }

    /// Returns the digest of the installed files.
    pub fn digest(&self) -> SourceDigest {
        match self.skill() {
            Ok(release) => SourceDigest::Known(release.digest),
            Err(skill) => skill.digest.clone(),
        }
    }

    /// Returns the origin of a skill that has another name here. A registry's release keeps its name.
    #[must_use]
    pub fn renamed(mut self, name: &SkillName) -> Self {
        if let Self::Git { skill, .. }
        | Self::Folder { skill, .. }
        | Self::Archive { skill, .. }
        | Self::Other { skill, .. } = &mut self
        {
            skill.name.clone_from(name);
        }
        self
    }

    /// Formats the release for people: the name, and the version, or else the start of the commit or digest,
    /// whichever distinguishes releases.
    pub fn release(&self) -> String {
        let digits = |id: &str, from: usize| id.get(from..from + 12).unwrap_or(id).to_owned();
        let which = match (self.version(), self.commit()) {
            (Some(version), None) => version,
            (_, Some(commit)) => digits(commit.as_str(), 0),
            (None, None) => digits(&self.digest().to_string(), "sha256:".len()),
        };
        format!("{} {which}", self.name())
    }

    fn skill(&self) -> Result<&RegistryRelease, &SourceSkill> {
        match self {
            Self::Registry(release) => Ok(release),
            Self::Git { skill, .. }
            | Self::Folder { skill, .. }
            | Self::Archive { skill, .. }
            | Self::Other { skill, .. } => Err(skill),
        }
    }
}

impl fmt::Display for RegistryRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

impl SourceDigest {
    /// Returns the digest, if the files are known.
    pub fn known(&self) -> Option<Digest> {
        match self {
            Self::Known(digest) => Some(*digest),
            Self::Foreign(_) => None,
        }
    }
}

impl fmt::Display for SourceDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(digest) => digest.fmt(f),
            Self::Foreign(text) => f.write_str(text),
        }
    }
}

impl FromStr for SourceDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        if text.starts_with("sha256:") { text.parse().map(Self::Known) } else { Ok(Self::Foreign(text.to_owned())) }
    }
}

impl CommitId {
    /// Returns all digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CommitId {
    type Err = OriginError;

    /// Parses a full id. Anything else that git accepts in its place, such as a branch or a refspec, is an error.
    fn from_str(text: &str) -> Result<Self, OriginError> {
        match matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            true => Ok(Self(text.to_owned())),
            false => Err(OriginError::Commit(text.to_owned())),
        }
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<OriginFields> for Origin {
    type Error = OriginError;

    fn try_from(fields: OriginFields) -> Result<Self, OriginError> {
        let OriginFields { kind, source, name, version, commit, digest } = fields;
        if commit.is_some() && kind != Self::GIT {
            return Err(OriginError::UnexpectedCommit(kind));
        }
        if kind == Self::REGISTRY {
            let version = version.ok_or(OriginError::NoVersion)?;
            let version = version.parse().map_err(|_| OriginError::Version(version))?;
            let (name, digest) = (name.parse()?, digest.parse()?);
            return Ok(Self::Registry(RegistryRelease { registry: source, name, version, digest }));
        }
        let digest = digest.parse()?;
        let name = SkillName::parse(&name).map_err(|error| OriginError::Name(name, error))?;
        let skill = SourceSkill { name, version, digest };
        Ok(match kind.as_str() {
            Self::GIT => {
                let commit = commit.map(|commit| commit.parse()).transpose()?;
                Self::Git { url: source, commit, skill }
            }
            Self::FOLDER => Self::Folder { path: source, skill },
            Self::ARCHIVE => Self::Archive { place: source, skill },
            _ => Self::Other { kind, place: source, skill },
        })
    }
}

impl From<Origin> for OriginFields {
    fn from(origin: Origin) -> Self {
        Self {
            kind: origin.kind().to_owned(),
            source: origin.location().to_owned(),
            name: origin.name(),
            version: origin.version(),
            commit: origin.commit().map(ToString::to_string),
            digest: origin.digest().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789012345678901234567890123456789012345678901234567890123";

    /// Builds the JSON of an origin as stored.
    fn json(kind: &str, name: &str, more: &str, digest: &str) -> String {
        format!(r#"{{"kind":"{kind}","source":"/r","name":"{name}",{more}"digest":"{digest}"}}"#)
    }

    #[test]
    fn stored_json_is_kept_byte_for_byte() {
        let commit = format!(r#""version":"v1 beta","commit":"{}","#, "a".repeat(40));
        for stored in [
            json("registry", "acme/pdf", r#""version":"1.2.0-rc.1+b","#, DIGEST),
            json("git", "PDF_tools", &commit, DIGEST),
            json("git", "pdf", "", "git-tree:4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
            json("folder", "pdf", r#""version":"1","#, DIGEST),
            json("folder", "pdf", "", "unknown"),
            json("archive", "pdf", "", DIGEST),
            json("clawhub", "pdf", r#""version":"3.0.0","#, DIGEST),
            json("node_modules", "pdf", "", "npx-skills:00"),
        ] {
            let origin: Origin = serde_json::from_str(&stored).unwrap();
            assert_eq!(serde_json::to_string(&origin).unwrap(), stored);
        }
    }

    #[test]
    fn contradictory_fields_are_refused() {
        let (version, commit) = (r#""version":"1.0.0","#, format!(r#""commit":"{}","#, "a".repeat(40)));
        for (stored, why) in [
            (json("registry", "pdf", version, DIGEST), "owner/name"),
            (json("registry", "acme/pdf", "", DIGEST), "no version"),
            (json("registry", "acme/pdf", r#""version":"newest","#, DIGEST), "not a version"),
            (json("registry", "acme/pdf", version, "git-tree:00"), "not a digest"),
            (json("registry", "acme/pdf", &format!("{version}{commit}"), DIGEST), "cannot have a commit"),
            (json("folder", "pdf", &commit, DIGEST), "cannot have a commit"),
            (json("git", "pdf", r#""commit":"main","#, DIGEST), "not the id of a commit"),
            (json("git", "acme/pdf", "", DIGEST), "cannot be the name"),
            (json("archive", "pdf", "", "sha256:00"), "not a digest"),
        ] {
            let error = serde_json::from_str::<Origin>(&stored).unwrap_err().to_string();
            assert!(error.contains(why), "{stored}: {error}");
        }
    }
}
