//! [`ArchiveError`]: the reasons why an archive is refused.

use thiserror::Error;

use crate::{BundleError, PathError, SkillPath};

/// Reason why an archive was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArchiveError {
    /// The bytes are not a zip, or the zip is truncated.
    #[error("the archive is not a complete zip file; download it again, or pack the skill again")]
    NotAZip,
    /// The packed file exceeds its size limit.
    #[error("the archive has {bytes} bytes, but the limit is {limit}; remove files that the skill does not need")]
    TooLarge {
        /// Size of the archive in bytes.
        bytes: u64,
        /// Largest size allowed, in bytes.
        limit: u64,
    },
    /// The archive lists more members than a skill can need, folders included.
    #[error("the archive has {members} members, but the limit is {limit}; remove files that the skill does not need")]
    TooManyMembers {
        /// Number of members listed.
        members: usize,
        /// Number of members allowed.
        limit: usize,
    },
    /// The archive contains no file.
    #[error("the archive has no files; pack the folder that has the SKILL.md")]
    Empty,
    /// Some bytes before, between or after the members belong to no member.
    #[error("the archive has bytes at offset {offset} that belong to no member; pack the skill again")]
    StrayBytes {
        /// Offset of the first such byte.
        offset: u64,
    },
    /// Two members share bytes of the archive.
    #[error("the member {member:?} overlaps another, so the archive is malicious or damaged; download it again")]
    Overlap {
        /// Name of the second of the two members.
        member: String,
    },
    /// The two records of a member, or two spellings of its name, differ.
    #[error(
        "the member {member:?} has two records that differ in {field}, so programs would read it differently; pack \
         the skill again"
    )]
    Inconsistent {
        /// Name of the member.
        member: String,
        /// Field in which they differ.
        field: &'static str,
    },
    /// A member uses a zip feature that skillhub does not support.
    #[error(
        "the member {member:?} uses {feature}, which is not supported; pack the skill again with stored or deflated \
         members"
    )]
    Unsupported {
        /// Name of the member.
        member: String,
        /// Feature, as a noun phrase for the message.
        feature: String,
    },
    /// A member is encrypted, so its content cannot be read.
    #[error("the member {member:?} is encrypted; pack the skill again without a password")]
    Encrypted {
        /// Name of the member.
        member: String,
    },
    /// A name would be written outside the skill's folder.
    #[error("the member {member:?} would be written outside the skill's folder; do not trust the archive")]
    Escapes {
        /// Name of the member.
        member: String,
    },
    /// A name is not a valid path inside a skill, for a reason other than leaving the folder.
    #[error("the member {member:?} has an invalid name: {error}; rename it")]
    BadName {
        /// Name of the member.
        member: String,
        /// Path rule that the name breaks.
        error: PathError,
    },
    /// A name is in an unknown encoding.
    #[error("a member's name is not UTF-8 ({member:?}); rename it, or pack the skill with another tool")]
    NameEncoding {
        /// Name with replacement characters for undecodable bytes.
        member: String,
    },
    /// A member is a link, a device, a pipe, or a folder with content.
    #[error("the member {member:?} is not a regular file; replace links with the files they point to")]
    NotRegular {
        /// Name of the member.
        member: String,
    },
    /// Two members name the same file on some systems.
    #[error("the members {first:?} and {second:?} would be the same file on some systems; rename one")]
    Duplicate {
        /// Name of the first member.
        first: String,
        /// Name of the second member.
        second: String,
    },
    /// A member's declared size exceeds the compression ratio limit.
    #[error(
        "the member {member:?} unpacks {packed} bytes to {size}, more than {limit} times as many, as a zip bomb does"
    )]
    Bomb {
        /// Name of the member.
        member: String,
        /// Declared size of the content, in bytes.
        size: u64,
        /// Compressed size in the archive, in bytes.
        packed: u64,
        /// Largest allowed ratio of content to compressed size.
        limit: u64,
    },
    /// The compressed data cannot be inflated.
    #[error("the member {member:?} is damaged; download the archive again")]
    Damaged {
        /// Name of the member.
        member: String,
    },
    /// The content differs in size from the declaration.
    #[error("the member {member:?} does not have the declared {declared} bytes; download the archive again")]
    WrongSize {
        /// Name of the member.
        member: String,
        /// Declared size of the content, in bytes.
        declared: u32,
    },
    /// The content does not match the declared checksum.
    #[error("the member {member:?} does not match its checksum; download the archive again")]
    WrongChecksum {
        /// Name of the member.
        member: String,
    },
    /// A file is a native binary, which the scanner cannot read.
    #[error("{path} is a native binary ({format}); ship the source or install it as a package instead")]
    NativeBinary {
        /// Path of the file in the skill.
        path: SkillPath,
        /// Binary format, such as `ELF`.
        format: &'static str,
    },
    /// A file is a second `SKILL.md`, which some hosts would load as another skill.
    #[error("{path} is a second SKILL.md; rename it, move it to evals/, or publish it as a skill of its own")]
    SecondSkillMd {
        /// Path of the file in the skill.
        path: SkillPath,
    },
    /// The files exceed the limits on number or size of a bundle.
    #[error(transparent)]
    Bundle(BundleError),
}

impl ArchiveError {
    /// Returns whether only a deliberate attack makes such an archive.
    pub fn is_suspicious(&self) -> bool {
        matches!(self, Self::Bomb { .. } | Self::Escapes { .. })
    }

    pub(super) fn from_path(member: &str, error: PathError) -> Self {
        let member = member.to_owned();
        match error {
            PathError::Escapes(_) => Self::Escapes { member },
            error => Self::BadName { member, error },
        }
    }
}

impl From<BundleError> for ArchiveError {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Collision { first, second } => {
                Self::Duplicate { first: first.to_string(), second: second.to_string() }
            }
            error => Self::Bundle(error),
        }
    }
}
