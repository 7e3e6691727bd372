//! [`PublishError`]: reasons why nothing was published.

use std::{io, path::PathBuf};

use library::folder::FolderError;
use registry_index::{AppendError, ReadError, RequirementError, SignerError};
use scan::{Blocked, Report};
use semver::Version;
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{NameError, OwnerError, Problem, QualifiedName, SkillName, shell_word};
use thiserror::Error;

use super::ForkError;
use crate::{failure::details, install::invalid_requirement, registry::RegistryError, signing::SigningError};

/// Reasons why nothing was published.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum PublishError {
    /// The folder cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// Path of the folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The folder cannot be read as a skill.
    #[error("cannot read {}: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// Error found in its content.
        source: FolderError,
    },
    /// The skill violates the Agent Skills standard.
    #[error("{} is not a valid skill: {}", path.display(), first(problems))]
    Invalid {
        /// Path of the folder.
        path: PathBuf,
        /// All problems, errors first.
        problems: Vec<Problem>,
    },
    /// Two folders of a batch have a skill of the same name.
    #[error("{} and {} both have a skill named {name}", first.display(), second.display())]
    Twice {
        /// Name of the skill.
        name: SkillName,
        /// Folder that was named first.
        first: PathBuf,
        /// Folder that was named after it.
        second: PathBuf,
    },
    /// The skill's name is not allowed in registries.
    #[error("cannot publish a skill named {name}: {why}", name = .0, why = .0.unpublishable().unwrap_or_default())]
    Name(SkillName),
    /// The folder's name is not a valid skill name.
    NotAName(#[from] NameError),
    /// The version is not a semantic version.
    #[error("{text:?} is not a version: {source}")]
    Version {
        /// Version as the user gave it.
        text: String,
        /// Error of the version parser.
        source: semver::Error,
    },
    /// No owner was given or configured.
    #[error("no owner was given to publish as")]
    NoOwner {
        /// Path of the configuration file, in which a default can be set.
        config: PathBuf,
    },
    /// The owner's name is invalid.
    Owner(#[from] OwnerError),
    /// The scan blocks the skill.
    Blocked(#[from] Box<Blocked>),
    /// The scan blocks the skill, and the registry is a server, which does not honour the publisher's acceptance.
    #[error("{blocked}")]
    ServerBlocks {
        /// Registry as shown to people.
        registry: String,
        /// Scanned files and the findings in them.
        blocked: Box<Blocked>,
    },
    /// The content cannot be packed.
    Archive(#[from] skill::archive::ArchiveError),
    /// Lines of the template were left unchanged.
    #[error("{} is not finished: {} from the template", path.join("SKILL.md").display(), lines_named(lines))]
    Template {
        /// Path of the folder.
        path: PathBuf,
        /// Line numbers in `SKILL.md`, from 1.
        lines: Vec<usize>,
    },
    /// The version exists with other content, or the versions differ only in build metadata.
    #[error("{}", taken(release, existing, registry))]
    VersionExists {
        /// Name and version that should be published.
        release: String,
        /// Existing release with that version.
        existing: String,
        /// Registry as shown to people.
        registry: String,
        /// Next free version.
        next: Version,
    },
    /// The requirements of the skill cannot be parsed.
    Requirement(#[from] RequirementError),
    /// The skill requires itself.
    #[error("{0} requires itself")]
    RequiresItself(QualifiedName),
    /// Signing with the key failed.
    Signing(#[from] SigningError),
    /// The owner's keys cannot be read.
    Signer(#[from] SignerError),
    /// The registry rejected the release.
    Append(#[from] AppendError),
    /// The registry cannot be used.
    Registry(#[from] RegistryError),
    /// The registry's index cannot be read.
    Read(#[from] ReadError),
    /// The skill cannot be published as a fork.
    Fork(#[from] ForkError),
}

/// Formats line numbers: `line 3 is` or `lines 3, 10 and 14 are`.
fn lines_named(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
    match numbers.split_last() {
        Some((last, [])) => format!("line {last} is still"),
        Some((last, others)) => format!("lines {} and {last} are still", others.join(", ")),
        None => String::new(),
    }
}

fn taken(release: &str, existing: &str, registry: &str) -> String {
    if release == existing {
        return format!("{registry} already has {release} with different content");
    }
    format!(
        "cannot publish {release} to {registry}: {existing} exists, and build metadata (+…) does not make a new version"
    )
}

fn first(problems: &[Problem]) -> &str {
    problems.first().map_or("", |problem| problem.message.as_str())
}

impl Fails for PublishError {
    fn failure(&self) -> Failure {
        let invalid = |code| Failure::new(FailureKind::Invalid, code);
        match self {
            Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Failure::new(FailureKind::NotFound, "not_found").hint("name the folder that has the SKILL.md")
            }
            Self::Open { .. } => Failure::io(),
            Self::Folder { source, .. } => source.failure(),
            Self::Invalid { path, .. } => invalid("invalid_skill")
                .hint(format!("list all problems: skillhub validate {}", shell_word(&path.display().to_string()))),
            Self::Template { path, .. } => invalid("invalid_skill").hint(format!(
                "replace these lines with your own, then run: skillhub validate {}",
                shell_word(&path.display().to_string())
            )),
            Self::Name(name) => invalid("invalid_name").hint(format!(
                "rename the skill and its folder, such as to {}, and keep the title under `metadata` as `title`",
                SkillName::suggested(name.as_str())
            )),
            Self::Twice { .. } => Failure::new(FailureKind::Usage, "usage").hint("name one of the two folders"),
            Self::NotAName(_) => invalid("invalid_name").hint("rename the skill and its folder"),
            Self::Version { .. } => {
                invalid("invalid_version").hint("give three numbers, as in 1.2.0, in the frontmatter or with --version")
            }
            Self::NoOwner { config } => Failure::new(FailureKind::Usage, "no_owner")
                .hint(format!("add --owner NAME, or set owner = \"NAME\" in {}", config.display())),
            Self::Owner(OwnerError(text)) => Failure::new(FailureKind::Usage, "invalid_owner")
                .hint(format!("choose such a name, as in --owner {}", SkillName::suggested(text))),
            Self::Blocked(_) => {
                Failure::new(FailureKind::Blocked, "scan_blocked").hint("apply the remedy of each finding")
            }
            Self::ServerBlocks { registry, .. } => Failure::new(FailureKind::Blocked, "scan_blocked").hint(format!(
                "apply the remedy of each finding; {registry} is a server, which scans releases itself and does not \
                 honour findings accepted by the publisher"
            )),
            Self::Archive(_) => invalid("invalid_archive"),
            Self::VersionExists { next, .. } => Failure::new(FailureKind::Conflict, "version_exists")
                .hint(format!("publish the next free version: --version {next}, or --bump patch")),
            Self::Requirement(_) | Self::RequiresItself(_) => invalid_requirement(),
            Self::Signing(error) => error.failure(),
            Self::Signer(error) => error.failure(),
            Self::Append(error) => error.failure(),
            Self::Registry(error) => error.failure(),
            Self::Read(error) => error.failure(),
            Self::Fork(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        details(self.report(), self.problems())
    }
}

impl PublishError {
    /// Returns the scan report if the scan blocks the skill.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Blocked(blocked) | Self::ServerBlocks { blocked, .. } => Some(blocked.report()),
            _ => None,
        }
    }

    /// Returns the problems of the skill if it is invalid, otherwise an empty slice.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}
