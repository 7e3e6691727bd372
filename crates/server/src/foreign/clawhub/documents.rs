//! Documents that ClawHub's API returns. Times are milliseconds since 1970. What the server does not store is null.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

/// Addresses with which `clawhub` continues.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    /// Base address of the API.
    pub api_base: String,
    /// Base address for signing in.
    pub auth_base: String,
}

/// Skills that match a search, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResults {
    pub results: Vec<SearchResult>,
}

/// A skill that matches a search.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// Shortest slug of the skill.
    pub slug: String,
    pub owner_handle: String,
    pub display_name: String,
    /// Description of its newest release.
    pub summary: String,
    /// Newest version.
    pub version: String,
    /// Relevance; higher is better. Comparable only within one search.
    pub score: u32,
    /// Downloads of all releases.
    pub downloads: u64,
    pub updated_at: i64,
    pub owner: Profile,
}

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListOf{T}")]
pub struct Listing<T> {
    pub items: Vec<T>,
    /// Value of `cursor` for the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A skill with its newest release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Shortest slug of the skill.
    pub slug: String,
    pub display_name: String,
    /// Description of the newest release.
    pub summary: String,
    /// The same description.
    pub description: String,
    /// Keywords of the newest release.
    pub topics: Vec<String>,
    pub tags: Tags,
    pub stats: Stats,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Versions of a skill by tag.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tags {
    /// Newest version.
    pub latest: String,
}

/// Usage counters of a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// Downloads of all releases.
    pub downloads: u64,
    /// Accounts that starred the skill.
    pub stars: u64,
}

/// A skill in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedSkill {
    #[serde(flatten)]
    pub skill: Skill,
    pub latest_version: Release,
    pub owner_handle: String,
    pub metadata: (),
}

/// A skill with its owner and verdict.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillDetails {
    pub skill: Skill,
    pub latest_version: Release,
    pub metadata: (),
    pub owner: Profile,
    pub moderation: Moderation,
}

/// A release of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    pub version: String,
    pub created_at: i64,
    /// Changes in this release; empty if its publisher stated none.
    pub changelog: String,
    pub changelog_source: (),
    /// `MIT-0`, the only licence of ClawHub; null for any other.
    pub license: Option<&'static str>,
    /// Files of the release, only in the answer about one version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ReleaseFile>")]
    pub files: Option<Vec<ReleaseFile>>,
}

/// A file of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseFile {
    pub path: String,
    /// Size in bytes.
    pub size: usize,
    /// Hash of the content, in hexadecimal.
    pub sha256: String,
    /// `text/plain` or `application/octet-stream`.
    pub content_type: &'static str,
}

/// A release with its files and the name of its skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReleaseDetails {
    pub version: Release,
    pub skill: SkillLabel,
}

/// The name of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillLabel {
    /// Shortest slug of the skill.
    pub slug: String,
    pub display_name: String,
}

/// An owner or account. It has no other display name than its name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    pub handle: String,
    pub display_name: String,
    pub image: (),
    /// `admin` or `user`; absent for the owner of a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub role: Option<&'static str>,
}

/// The account of the caller.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Whoami {
    pub user: Profile,
}

/// The verdict that the scanner gave when the release was published.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Moderation {
    /// True if the client asks before it installs the release.
    pub is_suspicious: bool,
    /// Always false: a blocked release is never published.
    pub is_malware_blocked: bool,
    /// `suspicious` or `clean`.
    pub verdict: &'static str,
    /// Rules of the findings; empty without evidence.
    pub reason_codes: Vec<Cow<'static, str>>,
    pub updated_at: i64,
    /// Version of the rules; null without evidence.
    pub engine_version: Option<String>,
    /// The verdict in words.
    pub summary: String,
}

/// The verdict with the findings of a scan with today's rules.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModerationDetails {
    #[serde(flatten)]
    pub moderation: Moderation,
    pub legacy_reason: (),
    pub evidence: Vec<Evidence>,
}

/// A finding of the scanner.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Evidence {
    /// Rule of the finding.
    pub code: Cow<'static, str>,
    /// `info`, `warn` or `critical`.
    pub severity: &'static str,
    /// Path of the file.
    pub file: String,
    /// Line number in the file, from 1.
    pub line: usize,
    /// Description of the problem.
    pub message: Cow<'static, str>,
    /// Text of the match.
    pub evidence: String,
}

/// The verdict on the newest release of a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModerationReport {
    pub moderation: ModerationDetails,
}

/// Data for installing the newest release of a skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    pub ok: bool,
    /// Shortest slug of the skill.
    pub slug: String,
    /// Always `archive`.
    pub install_kind: &'static str,
    pub archive: ArchiveLocation,
}

/// Location of a release's archive.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveLocation {
    pub version: String,
    pub download_url: String,
}

/// The release that a folder has, and the newest one. Both are null for an unknown skill.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// Release with the fingerprint of the folder; null if none of the compared releases has it.
    #[serde(rename = "match")]
    pub found: Option<VersionNumber>,
    pub latest_version: Option<VersionNumber>,
}

/// The version of a release.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionNumber {
    pub version: String,
}

/// Place to which one file is uploaded.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadPlace {
    pub upload_url: String,
    pub upload_ticket: String,
}

/// An uploaded file, as a publication refers to it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredFile {
    pub storage_id: String,
}

/// A release that was published.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    pub ok: bool,
    /// Full name of the skill, `owner/name`.
    pub skill_id: String,
    /// Full name and version, `owner/name@version`.
    pub version_id: String,
    /// Always `published`.
    pub status: &'static str,
    /// Slug in the request.
    pub slug: String,
    pub version: String,
    /// Always `published`.
    pub publication_status: &'static str,
}

/// A star that was set.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Starred {
    pub ok: bool,
    pub starred: bool,
    /// True if the account had starred the skill before.
    pub already_starred: bool,
}

/// A star that was removed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unstarred {
    pub ok: bool,
    pub unstarred: bool,
    /// True if the account had not starred the skill.
    pub already_unstarred: bool,
}

/// Error for a name that several owners have. The client lists the owners.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ambiguity<'a> {
    /// Always `AMBIGUOUS_SKILL_SLUG`.
    pub code: &'static str,
    pub message: &'a str,
    pub matches: Vec<NamedSkill>,
}

/// One of the skills with an ambiguous name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedSkill {
    pub owner_handle: String,
    pub slug: String,
    /// Owner and name, as `@owner/name`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Path of the skill on this server.
    pub url: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of a registry to `clawhub`. Times are milliseconds since 1970. What the server does not store is null.
    #[derive(JsonSchema)]
    #[schemars(untagged)]
    #[expect(dead_code, reason = "has the types of the answers, for their schema")]
    enum ClawhubAnswer<'a> {
        /// `GET /.well-known/clawhub.json`
        Discovery(Discovery),
        /// `GET /api/v1/search`
        Search(SearchResults),
        /// `GET /api/v1/skills`
        List(Listing<ListedSkill>),
        /// `GET /api/v1/skills/SLUG`
        Skill(Box<SkillDetails>),
        /// `GET /api/v1/skills/SLUG/install`
        Install(Installation),
        /// `GET /api/v1/skills/SLUG/versions`
        Versions(Listing<Release>),
        /// `GET /api/v1/skills/SLUG/versions/VERSION`
        Version(ReleaseDetails),
        /// `GET /api/v1/skills/SLUG/moderation`
        Moderation(ModerationReport),
        /// `GET /api/v1/resolve`
        Resolve(Resolution),
        /// `GET /api/v1/whoami`
        Whoami(Whoami),
        /// `POST /api/v1/skills/-/upload-url`
        UploadUrl(UploadPlace),
        /// `POST /api/v1/skills/-/uploads/TICKET`
        Upload(StoredFile),
        /// `POST /api/v1/skills`
        Publish(Published),
        /// `POST /api/v1/stars/SLUG`
        Star(Starred),
        /// `DELETE /api/v1/stars/SLUG`
        Unstar(Unstarred),
        /// Status 409 of a route with a slug
        Ambiguous(Ambiguity<'a>),
    }

    #[test]
    fn answers_have_the_published_schema() {
        testkit::assert_published::<ClawhubAnswer<'_>>("clawhub");
    }
}
