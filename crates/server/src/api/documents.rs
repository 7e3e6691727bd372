//! JSON documents of the API's responses.

use registry_index::Entry;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    access::Scope,
    store::catalogue::SearchHit,
    store::{Member, WithheldReason},
};

/// A page of search results.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Skills in the requested order.
    pub results: Vec<SkillSummary>,
    /// Number of skills on all pages; `null` above 1,000.
    pub total: Option<usize>,
    /// Value of `offset` for the next page; `null` on the last page.
    pub next: Option<usize>,
}

/// A skill, summarised by its newest release.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillSummary {
    /// Qualified name of the skill, as `owner/name`.
    pub name: String,
    /// Version of the newest release.
    pub version: String,
    /// Title in any script, if it has one.
    pub title: Option<String>,
    /// Description from the skill's frontmatter.
    pub description: String,
    /// Advice of its owner if the newest release is deprecated.
    pub deprecated: Option<String>,
    /// Relevance for the query; 0 in a list.
    pub score: u32,
    /// Verdict of the scanner, `allow` or `warn`.
    pub verdict: String,
    /// True if the newest release is signed.
    pub signed: bool,
    /// Time at which the newest release was published.
    pub published_at: String,
    /// Downloads of all releases.
    pub downloads: u64,
    /// Accounts that starred the skill.
    pub stars: u64,
    /// Licence from the skill's frontmatter.
    pub license: Option<String>,
    /// Keywords from the skill's frontmatter.
    pub keywords: Vec<String>,
}

/// A skill with all its releases.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Qualified name of the skill, as `owner/name`.
    pub name: String,
    /// Releases, newest version first.
    pub releases: Vec<ReleaseDocument>,
    /// Downloads of all releases.
    pub downloads: u64,
    /// Accounts that starred the skill.
    pub stars: u64,
}

/// A release, as its index entry describes it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReleaseDocument {
    /// Format version of the index entry.
    pub v: u32,
    /// Qualified name of the skill, as `owner/name`.
    pub name: String,
    /// Version of the release.
    pub version: String,
    /// Digest of the unpacked files.
    pub digest: String,
    /// The sha256 of the archive.
    pub archive: String,
    /// Size of the archive, in bytes.
    pub size: u64,
    /// Number of files in the archive.
    pub files: u64,
    /// Title in any script, if it has one.
    pub title: Option<String>,
    /// Description from the skill's frontmatter.
    pub description: String,
    /// Licence from the skill's frontmatter.
    pub license: Option<String>,
    /// Keywords from the skill's frontmatter.
    pub keywords: Vec<String>,
    /// Skills that this release requires.
    pub requires: Vec<String>,
    /// Verdict of the scanner, `allow` or `warn`.
    pub verdict: String,
    /// Account that published the release.
    pub publisher: String,
    /// Time at which the release was published.
    pub published_at: String,
    /// Signature of the owner; `null` for an unsigned release.
    pub signature: Option<String>,
    /// Origin of a forked release.
    #[schema(value_type = Option<Object>)]
    pub forked_from: Option<Value>,
    /// Changes in this release, as plain text.
    pub changelog: Option<String>,
    /// True if the release is excluded from new installs.
    pub yanked: bool,
    /// Time and reason of a withdrawal, which deleted the archive.
    #[schema(value_type = Option<Object>)]
    pub withdrawn: Option<Value>,
    /// Quarantine, hold, reason of a yank, and deprecation, as in the index entry.
    #[schema(value_type = Option<Object>)]
    pub status: Option<Value>,
}

/// A single release.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneRelease {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Release with its metadata.
    pub release: ReleaseDocument,
    /// Reason of the quarantine; `null` without one.
    pub quarantined: Option<String>,
    /// Reason of a hold, due to a quarantined or withdrawn release with the same content. `null` without one.
    pub held: Option<String>,
}

/// The result of publishing an archive.
#[derive(Debug, Serialize, ToSchema)]
pub struct PublishedDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// `published`, or `unchanged` if the same release exists already.
    pub status: &'static str,
    /// Qualified name of the skill, as `owner/name`.
    pub name: String,
    /// Version of the release.
    pub version: String,
    /// Digest of the unpacked files.
    pub digest: String,
    /// Size of the archive, in bytes.
    pub size: u64,
    /// Verdict of the scanner, `allow` or `warn`.
    pub verdict: String,
    /// Reason for which the release is on hold; `null` if it is available.
    pub held: Option<String>,
    /// Findings of the scanner, in the format of `skillhub scan --json`.
    #[schema(value_type = Vec<Object>)]
    pub findings: Value,
}

/// The files of a release.
#[derive(Debug, Serialize, ToSchema)]
pub struct FilesDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Qualified name of the skill, as `owner/name`.
    pub name: String,
    /// Version of the release.
    pub version: String,
    /// Files in the order of their paths.
    pub files: Vec<FileDocument>,
}

/// A file of a release.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileDocument {
    /// Path of the file in the skill.
    pub path: String,
    /// Size of the file, in bytes.
    pub size: u64,
    /// True if the file is executable.
    pub executable: bool,
}

/// The result of scanning a release with today's rules.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScanDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Version of the rules that were applied.
    pub ruleset: String,
    /// Verdict of the scanner, `allow`, `warn` or `block`.
    pub verdict: String,
    /// Findings of the scanner.
    #[schema(value_type = Vec<Object>)]
    pub findings: Value,
    /// Capabilities that the skill needs.
    #[schema(value_type = Object)]
    pub capabilities: Value,
}

/// The differences between two releases.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Version of the first release.
    pub from: String,
    /// Version of the second release.
    pub to: String,
    /// Files that differ between the two.
    #[schema(value_type = Vec<Object>)]
    pub files: Value,
    /// Differences as a unified diff.
    pub diff: String,
}

/// The origin of a skill, its forks, and its dependents.
#[derive(Debug, Serialize, ToSchema)]
pub struct LineageDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Qualified name of the skill, as `owner/name`.
    pub name: String,
    /// Origins of its releases, by version.
    pub made_from: Vec<Made>,
    /// Releases on this server that were forked from it.
    pub made_into: Vec<Made>,
    /// Skills on this server whose newest release requires it.
    pub dependents: Vec<String>,
}

/// A fork and its origin.
#[derive(Debug, Serialize, ToSchema)]
pub struct Made {
    /// The forked release, as `owner/name version`.
    pub release: String,
    /// Release that it was made from.
    pub from: String,
}

/// A namespace with its members and skills.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnerDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Owner, as in `owner/name`.
    pub owner: String,
    /// Accounts that may publish here, with their roles.
    pub members: Vec<Member>,
    /// Fingerprints of the keys that sign its releases.
    pub keys: Vec<String>,
    /// Skills, newest first, at most 100.
    pub skills: Vec<SkillSummary>,
}

/// The owners of a skill name.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnersDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Owners of a skill with this name.
    pub owners: Vec<String>,
    /// Names that differ in one or two letters, each with its owner.
    pub similar: Vec<String>,
}

/// The account of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub struct WhoDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Name of the account; `null` without a token.
    pub account: Option<String>,
    /// Scope of the caller's token.
    pub scope: Option<Scope>,
    /// True if the account is an admin of the server.
    pub admin: bool,
}

/// The confirmation of a change.
#[derive(Debug, Serialize, ToSchema)]
pub struct Done {
    /// Always `true` in a successful response.
    pub ok: bool,
}

/// The number of stars of a skill.
#[derive(Debug, Serialize, ToSchema)]
pub struct StarsDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Accounts that starred the skill.
    pub stars: u64,
}

impl Done {
    /// The confirmation of every successful change.
    pub const DONE: Self = Self { ok: true };
}

impl OneRelease {
    /// Builds the document of a release, with the quarantine or hold that withholds it.
    #[must_use]
    pub fn of(entry: &Entry, barrier: Option<WithheldReason>) -> Self {
        let (mut quarantined, mut held) = (None, None);
        match barrier {
            Some(WithheldReason::Quarantined(reason)) => quarantined = Some(reason),
            Some(WithheldReason::Held(reason)) => held = Some(reason),
            None => {}
        }
        Self { ok: true, release: ReleaseDocument::from(entry), quarantined, held }
    }
}

impl From<&Entry> for ReleaseDocument {
    fn from(entry: &Entry) -> Self {
        let of = |key: &str| entry.raw().get(key).filter(|value| !value.is_null()).cloned();
        Self {
            v: entry.v,
            name: entry.name.to_string(),
            version: entry.version.to_string(),
            digest: entry.digest.to_string(),
            archive: entry.archive.to_string(),
            size: entry.size,
            files: entry.files,
            title: entry.title.clone(),
            description: entry.description.clone(),
            license: entry.license.clone(),
            keywords: entry.keywords.clone(),
            requires: entry.requires.clone(),
            verdict: entry.verdict.clone(),
            publisher: entry.publisher.clone(),
            published_at: entry.published_at.to_string(),
            signature: entry.signature.clone(),
            forked_from: of("forked_from"),
            changelog: entry.changelog.clone(),
            yanked: entry.yanked,
            withdrawn: of("withdrawn"),
            status: of("status"),
        }
    }
}

impl From<&SearchHit> for SkillSummary {
    fn from(found: &SearchHit) -> Self {
        let SearchHit { entry, score, downloads, stars } = found;
        Self {
            name: entry.name.to_string(),
            version: entry.version.to_string(),
            title: entry.title.clone(),
            description: entry.description.clone(),
            deprecated: entry.deprecated().map(|deprecated| deprecated.to_string()),
            score: *score,
            verdict: entry.verdict.clone(),
            signed: entry.signature.is_some(),
            published_at: entry.published_at.to_string(),
            downloads: *downloads,
            stars: *stars,
            license: entry.license.clone(),
            keywords: entry.keywords.clone(),
        }
    }
}
