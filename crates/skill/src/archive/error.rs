//! [`ArchiveError`]: why an archive was refused.

use thiserror::Error;

use crate::{BundleError, PathError, SkillPath};

/// Why an archive was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArchiveError {
    /// No zip, or a cut-off one.
    #[error("the archive is not a complete zip file; get it again, or pack the skill again")]
    NotAZip,
    /// The packed file is over its limit.
    #[error("the archive has {bytes} bytes, the limit is {limit}; leave out what the skill does not need")]
    TooLarge {
        /// Bytes of the archive.
        bytes: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// More members than a skill can need, folders included.
    #[error("the archive has {members} members, the limit is {limit}; leave out what the skill does not need")]
    TooManyMembers {
        /// Members listed.
        members: usize,
        /// Members allowed.
        limit: usize,
    },
    /// No file in it.
    #[error("the archive holds no file; pack the folder that has the SKILL.md")]
    Empty,
    /// Bytes that belong to no member, before, between or after the members.
    #[error("the archive has bytes at offset {offset} that belong to no member; pack it again without additions")]
    StrayBytes {
        /// Where they start.
        offset: u64,
    },
    /// Two members share bytes.
    #[error("the member {member:?} overlaps another; the archive is made to deceive or damaged, get it again")]
    Overlap {
        /// The second of the two.
        member: String,
    },
    /// The two records of a member, or two readings of its name, differ.
    #[error("the member {member:?} has records that differ in {field}; readers would disagree, pack the skill again")]
    Inconsistent {
        /// The member.
        member: String,
        /// What differs.
        field: &'static str,
    },
    /// A zip feature that skillhub does not read.
    #[error(
        "the member {member:?} uses {feature}, which is not read; pack the skill again with stored or deflated members"
    )]
    Unsupported {
        /// The member.
        member: String,
        /// The feature.
        feature: String,
    },
    /// An encrypted member.
    #[error("the member {member:?} is encrypted; pack the skill again without a password")]
    Encrypted {
        /// The member.
        member: String,
    },
    /// A name that would be written outside the skill's folder.
    #[error("the member {member:?} would leave the skill's folder; the archive is not to be trusted")]
    Escapes {
        /// The member.
        member: String,
    },
    /// A name that is no path of a skill for another reason.
    #[error("the member {member:?} has a name that is not allowed: {error}; rename it")]
    BadName {
        /// The member.
        member: String,
        /// The rule it breaks.
        error: PathError,
    },
    /// A name in an unknown encoding.
    #[error("a member's name is not UTF-8 ({member:?}); rename it or pack with another tool")]
    NameEncoding {
        /// The name with marks in place of what cannot be read.
        member: String,
    },
    /// A link, a device, a pipe, or a folder with content.
    #[error("the member {member:?} is no regular file; replace links by the files that they lead to")]
    NotRegular {
        /// The member.
        member: String,
    },
    /// Two members that are one file on some system.
    #[error("the members {first:?} and {second:?} would be the same file on some systems; rename one")]
    Duplicate {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A member that unpacks to far more than it takes.
    #[error(
        "the member {member:?} unpacks {packed} bytes to {size}, more than {limit} times as much; refused as a bomb"
    )]
    Bomb {
        /// The member.
        member: String,
        /// Bytes declared.
        size: u64,
        /// Bytes in the archive.
        packed: u64,
        /// Times allowed.
        limit: u64,
    },
    /// Data that cannot be inflated.
    #[error("the member {member:?} is damaged; get the archive again")]
    Damaged {
        /// The member.
        member: String,
    },
    /// Content of another size than declared.
    #[error("the member {member:?} does not have the {declared} bytes that it declares; get the archive again")]
    WrongSize {
        /// The member.
        member: String,
        /// Bytes declared.
        declared: u32,
    },
    /// Content with another checksum than declared.
    #[error("the member {member:?} does not match its checksum; get the archive again")]
    WrongChecksum {
        /// The member.
        member: String,
    },
    /// A program for a processor, which no scan can read.
    #[error("{path} is a native binary ({format}); ship the source or install it as a package instead")]
    NativeBinary {
        /// The file.
        path: SkillPath,
        /// Its format.
        format: &'static str,
    },
    /// Another skill inside the skill.
    #[error("{path} is a second SKILL.md; rename it, move it to evals/, or publish it as a skill of its own")]
    SecondSkillMd {
        /// The file.
        path: SkillPath,
    },
    /// The files are more or larger than a skill may have.
    #[error(transparent)]
    Bundle(BundleError),
}

impl ArchiveError {
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
