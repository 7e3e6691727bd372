//! [`SiteIndex`]: the skills that a site offers, as its well-known index or ClawHub's API lists them.
//!
//! Answers of a site are not trusted: they are bounded, and whatever cannot be read becomes a warning.

use serde::Deserialize;
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Digest, Limits, uri};
use thiserror::Error;

/// Maximum size of an answer in bytes.
pub(crate) const MOST_BYTES: u64 = 8 << 20;

/// Maximum number of skills that are read from an answer.
const MOST_SKILLS: usize = 10_000;

/// Paths of the two forms of a well-known index below the base of a site, the newer form first.
pub(crate) const INDEXES: [&str; 2] = ["/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"];

/// A site's answer that cannot be used.
#[derive(Debug, Error)]
#[error("{origin} is not usable: {fault}")]
pub struct SiteError {
    /// Address of the answer.
    pub origin: String,
    /// Description of the problem.
    pub fault: String,
}

impl Fails for SiteError {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Invalid, "invalid_source")
            .hint("ask the operator of the site to correct it; nothing was installed")
    }
}

/// The skills of an answer that could be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteIndex {
    pub skills: Vec<IndexedSkill>,
    /// Parts of the answer that were ignored, one sentence each.
    pub warnings: Vec<String>,
}

/// A skill of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedSkill {
    /// Name in the index; `owner/slug` or a slug on ClawHub.
    pub name: String,
    pub description: String,
    pub version: Option<String>,
    pub content: IndexedContent,
}

/// Location of a skill's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexedContent {
    /// URL of one file with its hash: an archive, or a `SKILL.md` that is the whole skill.
    Hashed { url: String, digest: Digest, is_archive: bool },
    /// Base URL, and the paths of files below it, not checked yet.
    Files { base: String, paths: Vec<String> },
    /// ClawHub lists the files of a version separately.
    ClawHub,
}

#[derive(Deserialize)]
struct IndexDocument {
    skills: Vec<Value>,
}

#[derive(Deserialize)]
struct SkillDocument {
    name: String,
    #[serde(default)]
    description: String,
    version: Option<String>,
    #[serde(rename = "type", default)]
    kind: String,
    url: Option<String>,
    digest: Option<String>,
    files: Option<Vec<String>>,
}

impl SiteIndex {
    /// Parses a well-known index that was read from `url`.
    ///
    /// # Errors
    /// The answer does not have the form of an index.
    pub fn parse(bytes: &[u8], url: &str) -> Result<Self, String> {
        let document: IndexDocument = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        Ok(Self::of(document.skills, "the index", |skill| well_known(skill, url)))
    }

    /// Parses the results of a search on ClawHub, or its list of skills.
    ///
    /// # Errors
    /// The answer does not have the form of a list.
    pub fn of_clawhub(bytes: &[u8]) -> Result<Self, String> {
        let document: ClawHubList = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let items = document.results.or(document.items).ok_or("it has neither `results` nor `items`")?;
        Ok(Self::of(items, "the list", of_clawhub))
    }

    fn of(all: Vec<Value>, place: &str, read: impl Fn(Value) -> Result<IndexedSkill, String>) -> Self {
        let mut index = Self::default();
        if all.len() > MOST_SKILLS {
            index.warnings.push(format!("only the first {MOST_SKILLS} skills of {place} were read"));
        }
        for skill in all.into_iter().take(MOST_SKILLS) {
            let name = skill.get("name").or(skill.get("slug")).and_then(Value::as_str);
            let name = name.map_or_else(|| "a skill without a name".to_owned(), |name| format!("the skill {name:?}"));
            match read(skill) {
                Ok(skill) => index.skills.push(skill),
                Err(why) => index.warnings.push(format!("{name} of {place} was ignored: {why}")),
            }
        }
        index
    }
}

fn well_known(skill: Value, index: &str) -> Result<IndexedSkill, String> {
    let skill: SkillDocument = serde_json::from_value(skill).map_err(|error| error.to_string())?;
    let SkillDocument { name, description, version, kind, url, digest, files } = skill;
    if !is_plain(&name) {
        return Err("its name has characters that are not allowed".to_owned());
    }
    let content = match (url, digest, files) {
        (Some(url), Some(digest), _) => {
            let digest = digest.parse().map_err(|_| format!("{digest:?} is not a digest"))?;
            let is_archive = match kind.as_str() {
                "archive" => true,
                "skill-md" => false,
                other => return Err(format!("its type {other:?} is not supported")),
            };
            IndexedContent::Hashed { url: content_url(index, &url)?, digest, is_archive }
        }
        (Some(_), None, _) => return Err("it has no digest".to_owned()),
        (None, _, Some(paths)) => {
            let folder = index.rsplit_once('/').map_or(index, |(folder, _)| folder);
            IndexedContent::Files { base: format!("{folder}/{}", uri::component(&name)), paths }
        }
        (None, _, None) => return Err("it has neither a URL nor files".to_owned()),
    };
    Ok(IndexedSkill { name, description: shortened(&description), version, content })
}

/// Resolves the URL of a skill's content. It keeps the scheme of the index and has no credentials.
fn content_url(index: &str, url: &str) -> Result<String, String> {
    let is_allowed = |url: &String| {
        let host = uri::authority(url);
        uri::scheme(url) == uri::scheme(index)
            && !host.is_empty()
            && !host.contains('@')
            && !url.contains(char::is_whitespace)
    };
    uri::join(index, url).filter(is_allowed).ok_or_else(|| format!("{url:?} is not a URL that skillhub follows"))
}

fn is_plain(name: &str) -> bool {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 256 && !name.starts_with(['.', '-']) && name.chars().all(is_allowed)
}

fn shortened(text: &str) -> String {
    text.chars().take(Limits::default().description_chars).collect()
}

#[derive(Deserialize)]
struct ClawHubList {
    results: Option<Vec<Value>>,
    items: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClawHubSkill {
    slug: String,
    owner_handle: Option<String>,
    summary: Option<String>,
    version: Option<String>,
    latest_version: Option<ClawHubVersion>,
}

#[derive(Deserialize)]
struct ClawHubVersion {
    version: String,
    #[serde(default)]
    files: Vec<ListedFile>,
}

/// A file of a version on ClawHub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ListedFile {
    /// Path in the skill.
    pub path: String,
    /// Hash of the file, 64 hexadecimal digits.
    pub sha256: String,
}

fn of_clawhub(skill: Value) -> Result<IndexedSkill, String> {
    let ClawHubSkill { slug, owner_handle, summary, version, latest_version } =
        serde_json::from_value(skill).map_err(|error| error.to_string())?;
    let name = owner_handle.map_or_else(|| slug.clone(), |owner| format!("{owner}/{slug}"));
    if !name.split('/').all(is_plain) || name.matches('/').count() > 1 {
        return Err("its name has characters that are not allowed".to_owned());
    }
    let version = version.or(latest_version.map(|latest| latest.version)).filter(|version| is_plain(version));
    let description = shortened(&summary.unwrap_or_default());
    Ok(IndexedSkill { name, description, version, content: IndexedContent::ClawHub })
}

/// Returns the newest version in ClawHub's description of a skill.
pub(crate) fn newest_version(bytes: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(bytes).ok()?;
    let version = document.pointer("/latestVersion/version")?.as_str()?;
    is_plain(version).then(|| version.to_owned())
}

/// Returns the files in ClawHub's description of a version.
pub(crate) fn version_files(bytes: &[u8]) -> Option<Vec<ListedFile>> {
    #[derive(Deserialize)]
    struct VersionDocument {
        version: ClawHubVersion,
    }
    let document: VersionDocument = serde_json::from_slice(bytes).ok()?;
    Some(document.version.files).filter(|files| !files.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "https://h.example/team/.well-known/agent-skills/index.json";

    fn parse(skills: &str) -> SiteIndex {
        SiteIndex::parse(format!("{{\"skills\": [{skills}]}}").as_bytes(), INDEX).unwrap()
    }

    #[test]
    fn both_forms_are_read() {
        let digest = format!("sha256:{}", "1".repeat(64));
        let index = parse(&format!(
            r#"{{"name": "a", "type": "archive", "description": "A.", "url": "/x/a.zip", "digest": "{digest}"}},
               {{"name": "b", "type": "skill-md", "url": "b/SKILL.md", "digest": "{digest}"}},
               {{"name": "c", "files": ["SKILL.md"], "version": "1.0.0"}}"#
        ));
        let places: Vec<String> = index
            .skills
            .iter()
            .map(|skill| match &skill.content {
                IndexedContent::Hashed { url, is_archive, .. } => format!("{url} {is_archive}"),
                IndexedContent::Files { base, paths } => format!("{base} {}", paths.join(",")),
                IndexedContent::ClawHub => String::new(),
            })
            .collect();
        assert_eq!(
            places,
            [
                "https://h.example/x/a.zip true",
                "https://h.example/team/.well-known/agent-skills/b/SKILL.md false",
                "https://h.example/team/.well-known/agent-skills/c SKILL.md",
            ]
        );
        assert!(index.warnings.is_empty() && index.skills[2].version.is_some(), "{index:?}");
    }

    #[test]
    fn unsafe_skills_become_warnings() {
        let digest = format!("sha256:{}", "1".repeat(64));
        for bad in [
            r#"{"name": "../x", "files": ["SKILL.md"]}"#.to_owned(),
            r#"{"name": "x"}"#.to_owned(),
            r#"{"name": "x", "type": "archive", "url": "/x.zip"}"#.to_owned(),
            r#"{"name": "x", "type": "archive", "url": "/x.zip", "digest": "md5:1"}"#.to_owned(),
            format!(r#"{{"name": "x", "type": "exe", "url": "/x", "digest": "{digest}"}}"#),
            format!(r#"{{"name": "x", "type": "archive", "url": "http://h.example/x", "digest": "{digest}"}}"#),
            format!(r#"{{"name": "x", "type": "archive", "url": "https://me:pw@h/x", "digest": "{digest}"}}"#),
            format!(r#"{{"name": "x", "type": "archive", "url": "file:///etc/passwd", "digest": "{digest}"}}"#),
            "7".to_owned(),
        ] {
            let index = parse(&format!(r#"{bad}, {{"name": "good", "files": []}}"#));
            assert_eq!((index.skills.len(), index.warnings.len()), (1, 1), "{bad}: {index:?}");
        }
        for text in ["", "[]", "{}", "<html>", &"[".repeat(100_000)] {
            assert!(
                SiteIndex::parse(text.as_bytes(), INDEX).is_err() && SiteIndex::of_clawhub(text.as_bytes()).is_err()
            );
        }
    }

    #[test]
    fn clawhub_answers_are_read() {
        let text = r#"{"results": [{"slug": "pdf", "ownerHandle": "acme", "summary": "Reads.", "version": "1.2.0"},
                                   {"slug": "../x"}, {"slug": "notes", "version": null}]}"#;
        let index = SiteIndex::of_clawhub(text.as_bytes()).unwrap();
        let names: Vec<&str> = index.skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!((names, index.warnings.len()), (vec!["acme/pdf", "notes"], 1));
        assert_eq!(newest_version(br#"{"latestVersion": {"version": "2.0.0"}}"#).as_deref(), Some("2.0.0"));
        assert_eq!(newest_version(br#"{"latestVersion": {"version": "../2"}}"#), None);
        let files = br#"{"version": {"version": "1", "files": [{"path": "SKILL.md", "sha256": "00", "size": 1}]}}"#;
        assert_eq!(version_files(files).unwrap()[0].path, "SKILL.md");
        assert_eq!(version_files(br#"{"version": {"version": "1"}}"#), None);
    }
}
