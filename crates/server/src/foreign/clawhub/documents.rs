//! Response documents of ClawHub's API, built from entries of the index. Times are milliseconds since 1970.

use registry_index::Entry;
use serde_json::{Value, json};
use skill::{Bundle, Digest, QualifiedName};

use crate::{access::Caller, store::catalogue::SearchHit};

/// The only licence that ClawHub supports.
const ITS_LICENSE: &str = "MIT-0";

/// Usage counters of a skill.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Downloads of all releases.
    pub downloads: u64,
    /// Accounts that starred the skill.
    pub stars: u64,
}

/// Builds an item of a list of skills.
pub fn item(slug: &str, found: &SearchHit) -> Value {
    let counts = Counts { downloads: found.downloads, stars: found.stars };
    let mut item = skill(slug, &found.entry, counts, at(&found.entry));
    item["latestVersion"] = version(&found.entry);
    item["ownerHandle"] = json!(found.entry.name.owner.as_str());
    item["metadata"] = Value::Null;
    item
}

/// Builds an item of a list of search results.
pub fn result(slug: &str, found: &SearchHit) -> Value {
    let entry = &found.entry;
    json!({
        "slug": slug, "ownerHandle": entry.name.owner.as_str(), "displayName": entry.name.name.as_str(),
        "summary": entry.description, "version": entry.version.to_string(), "score": found.score,
        "downloads": found.downloads, "updatedAt": at(entry), "owner": owner(&entry.name),
    })
}

/// Builds the document of a skill from its newest release.
pub fn skill(slug: &str, entry: &Entry, counts: Counts, created_at: i64) -> Value {
    json!({
        "slug": slug, "displayName": entry.name.name.as_str(), "summary": entry.description,
        "description": entry.description, "topics": entry.keywords, "tags": {"latest": entry.version.to_string()},
        "stats": {"downloads": counts.downloads, "stars": counts.stars},
        "createdAt": created_at, "updatedAt": at(entry),
    })
}

/// Builds the document of a release.
pub fn version(entry: &Entry) -> Value {
    json!({
        "version": entry.version.to_string(), "createdAt": at(entry), "changelog": entry.changelog.as_deref().unwrap_or_default(), "changelogSource": null,
        "license": entry.license.as_deref().filter(|license| *license == ITS_LICENSE),
    })
}

/// Builds the document of a release with its files.
pub fn version_with_files(entry: &Entry, bundle: &Bundle) -> Value {
    let files: Vec<Value> = bundle
        .files()
        .map(|(path, file)| {
            json!({
                "path": path.as_str(), "size": file.bytes.len(), "sha256": Digest::of_bytes(&file.bytes).hex(),
                "contentType": if file.text().is_some() { "text/plain" } else { "application/octet-stream" },
            })
        })
        .collect();
    let mut version = version(entry);
    version["files"] = json!(files);
    version
}

/// Builds the document of a skill's owner.
pub fn owner(name: &QualifiedName) -> Value {
    json!({"handle": name.owner.as_str(), "displayName": name.owner.as_str(), "image": null})
}

/// Builds the verdict that the scanner gave when the release was published.
pub fn moderation(entry: &Entry) -> Value {
    let warns = entry.verdict != "allow";
    let summary =
        format!("scanner verdict: `{}`; see GET /v1/skills/{}/{}/scan", entry.verdict, entry.name, entry.version);
    json!({
        "isSuspicious": warns, "isMalwareBlocked": false, "verdict": if warns { "suspicious" } else { "clean" },
        "reasonCodes": [], "updatedAt": at(entry), "engineVersion": null, "summary": summary,
    })
}

/// Builds the verdict with the findings of a scan with today's rules.
pub fn moderation_with_evidence(entry: &Entry, report: &scan::Report) -> Value {
    let severity = |severity| match severity {
        scan::Severity::Info | scan::Severity::Low => "info",
        scan::Severity::Medium => "warn",
        scan::Severity::High | scan::Severity::Critical => "critical",
    };
    let evidence: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "code": finding.rule, "severity": severity(finding.severity), "file": finding.path,
                "line": finding.line, "message": finding.message, "evidence": finding.excerpt,
            })
        })
        .collect();
    let mut codes: Vec<&str> = report.findings.iter().map(|finding| finding.rule.as_ref()).collect();
    codes.sort_unstable();
    codes.dedup();
    let mut moderation = moderation(entry);
    moderation["reasonCodes"] = json!(codes);
    moderation["engineVersion"] = json!(report.ruleset);
    moderation["legacyReason"] = Value::Null;
    moderation["evidence"] = json!(evidence);
    moderation
}

/// Builds the document of the caller; `None` if they are anonymous.
pub fn who(caller: &Caller) -> Option<Value> {
    let Caller::Account { name, is_admin, .. } = caller else { return None };
    let role = if *is_admin { "admin" } else { "user" };
    Some(json!({"user": {"handle": name.as_str(), "displayName": name.as_str(), "image": null, "role": role}}))
}

/// Builds the error for an ambiguous name, as the client lists its owners.
pub fn ambiguous(message: &str, matches: &[Value]) -> Value {
    let matches: Vec<Value> = matches
        .iter()
        .map(|one| {
            let (owner, name) = (one["owner"].as_str().unwrap_or_default(), one["name"].as_str().unwrap_or_default());
            json!({
                "ownerHandle": owner, "slug": name, "ref": format!("@{owner}/{name}"),
                "url": format!("/v1/skills/{owner}/{name}"),
            })
        })
        .collect();
    json!({"code": "AMBIGUOUS_SKILL_SLUG", "message": message, "matches": matches})
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
