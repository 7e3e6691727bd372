//! Builds the documents of ClawHub's API from entries of the index.

use std::borrow::Cow;

use registry_index::Entry;
use serde_json::Value;
use skill::{Bundle, Digest, Owner};

use super::documents::{
    Ambiguity, Evidence, ListedSkill, Moderation, ModerationDetails, NamedSkill, Profile, Release, ReleaseFile,
    SearchResult, Skill, SkillDetails, Stats, Tags, VersionNumber, Whoami,
};
use crate::{access::Caller, foreign::names::Candidate, store::catalogue::SearchHit};

/// The only licence that ClawHub supports.
const ITS_LICENSE: &str = "MIT-0";

/// Builds an item of a list of skills.
pub fn item(slug: String, found: &SearchHit) -> ListedSkill {
    let stats = Stats { downloads: found.downloads, stars: found.stars };
    ListedSkill {
        skill: skill(slug, &found.entry, stats, at(&found.entry)),
        latest_version: release(&found.entry),
        owner_handle: found.entry.name.owner.to_string(),
        metadata: (),
    }
}

/// Builds an item of a list of search results.
pub fn result(slug: String, found: &SearchHit) -> SearchResult {
    let entry = &found.entry;
    SearchResult {
        slug,
        owner_handle: entry.name.owner.to_string(),
        display_name: entry.name.name.to_string(),
        summary: entry.description.clone(),
        version: entry.version.to_string(),
        score: found.score,
        downloads: found.downloads,
        updated_at: at(entry),
        owner: profile(&entry.name.owner, None),
    }
}

/// Builds the document of a skill from its newest release.
pub fn skill(slug: String, entry: &Entry, stats: Stats, created_at: i64) -> Skill {
    Skill {
        slug,
        display_name: entry.name.name.to_string(),
        summary: entry.description.clone(),
        description: entry.description.clone(),
        topics: entry.keywords.clone(),
        tags: Tags { latest: entry.version.to_string() },
        stats,
        created_at,
        updated_at: at(entry),
    }
}

/// Builds the document of a skill with its owner and verdict.
pub fn details(skill: Skill, entry: &Entry) -> SkillDetails {
    let owner = profile(&entry.name.owner, None);
    SkillDetails { skill, latest_version: release(entry), metadata: (), owner, moderation: moderation(entry) }
}

/// Builds the document of a release.
pub fn release(entry: &Entry) -> Release {
    Release {
        version: entry.version.to_string(),
        created_at: at(entry),
        changelog: entry.changelog.clone().unwrap_or_default(),
        changelog_source: (),
        license: entry.license.as_deref().filter(|license| *license == ITS_LICENSE).map(|_| ITS_LICENSE),
        files: None,
    }
}

/// Builds the document of a release with its files.
pub fn release_with_files(entry: &Entry, bundle: &Bundle) -> Release {
    let files = bundle.files().map(|(path, file)| ReleaseFile {
        path: path.to_string(),
        size: file.bytes.len(),
        sha256: Digest::of_bytes(&file.bytes).hex(),
        content_type: if file.text().is_some() { "text/plain" } else { "application/octet-stream" },
    });
    Release { files: Some(files.collect()), ..release(entry) }
}

/// Builds the document of a release's version.
pub fn version(entry: &Entry) -> VersionNumber {
    VersionNumber { version: entry.version.to_string() }
}

fn profile(name: &Owner, role: Option<&'static str>) -> Profile {
    Profile { handle: name.to_string(), display_name: name.to_string(), image: (), role }
}

fn moderation(entry: &Entry) -> Moderation {
    let warns = entry.verdict != "allow";
    let summary =
        format!("scanner verdict: `{}`; see GET /v1/skills/{}/{}/scan", entry.verdict, entry.name, entry.version);
    Moderation {
        is_suspicious: warns,
        is_malware_blocked: false,
        verdict: if warns { "suspicious" } else { "clean" },
        reason_codes: Vec::new(),
        updated_at: at(entry),
        engine_version: None,
        summary,
    }
}

/// Builds the verdict with the findings of a scan with today's rules.
pub fn moderation_with_evidence(entry: &Entry, report: &scan::Report) -> ModerationDetails {
    let severity = |severity| match severity {
        scan::Severity::Info | scan::Severity::Low => "info",
        scan::Severity::Medium => "warn",
        scan::Severity::High | scan::Severity::Critical => "critical",
    };
    let evidence = report.findings.iter().map(|finding| Evidence {
        code: finding.rule.clone(),
        severity: severity(finding.severity),
        file: finding.path.clone(),
        line: finding.line,
        message: finding.message.clone(),
        evidence: finding.excerpt.clone(),
    });
    let mut codes: Vec<Cow<'static, str>> = report.findings.iter().map(|finding| finding.rule.clone()).collect();
    codes.sort_unstable();
    codes.dedup();
    let engine_version = Some(report.ruleset.clone());
    ModerationDetails {
        moderation: Moderation { reason_codes: codes, engine_version, ..moderation(entry) },
        legacy_reason: (),
        evidence: evidence.collect(),
    }
}

/// Builds the document of the caller; `None` if they are anonymous.
pub fn who(caller: &Caller) -> Option<Whoami> {
    let Caller::Account { name, is_admin, .. } = caller else { return None };
    Some(Whoami { user: profile(name, Some(if *is_admin { "admin" } else { "user" })) })
}

/// Builds the error for an ambiguous name.
pub fn ambiguity(message: &str, candidates: Vec<Candidate>) -> Ambiguity<'_> {
    let matches = candidates.into_iter().map(|Candidate { owner, name }| NamedSkill {
        reference: format!("@{owner}/{name}"),
        url: format!("/v1/skills/{owner}/{name}"),
        owner_handle: owner,
        slug: name,
    });
    Ambiguity { code: "AMBIGUOUS_SKILL_SLUG", message, matches: matches.collect() }
}

/// Formats an error with its findings and hint as plain text.
pub fn error_text(message: &str, findings: &[Value], hint: Option<&str>) -> String {
    let mut text = message.to_owned();
    for finding in findings {
        let of = |field: &str| finding[field].as_str().unwrap_or_default();
        text.push_str(&format!("\n{}:{}: {}: {}", of("path"), finding["line"], of("rule"), of("message")));
    }
    text.extend(hint.map(|hint| format!("\n{hint}")));
    text
}

/// Returns the time of publication, in milliseconds since 1970.
pub fn at(entry: &Entry) -> i64 {
    entry.published_at.as_millisecond()
}
