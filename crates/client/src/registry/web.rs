//! [`Web`]: a registry on a skillhub server, read file by file from its sparse index.
//!
//! Fetched files are cached in a local index below the home, so that all other code reads it like any other index. The
//! ETag of a file is its git blob id, which is known for cached files.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use library::Home;
use registry_index::{
    AppendError, Appended, Deprecation, Entry, Index, KeyChange, NewRelease, OpenError, Stamp, shard,
};
use semver::Version;
use serde::Deserialize;
use serde_json::{Value, json};
use skill::{Digest, Limits, Owner, QualifiedName, SkillName, failure::FailureKind};

use super::{Access, Registry, RegistryError, mirror::lock_to_change};
use crate::{
    config::SourceKind,
    http::{self, HttpError, HttpRequest, HttpResponse},
    search::result::SearchResult,
};

/// Error codes of a server that are passed on unchanged.
const CODES: [(&str, FailureKind); 19] = [
    ("unauthorized", FailureKind::Refused),
    ("policy_denied", FailureKind::Refused),
    ("read_only", FailureKind::Refused),
    ("quarantined", FailureKind::Refused),
    ("held", FailureKind::Refused),
    ("unsigned", FailureKind::Refused),
    ("not_found", FailureKind::NotFound),
    ("version_exists", FailureKind::Conflict),
    ("locked", FailureKind::Conflict),
    ("scan_blocked", FailureKind::Blocked),
    ("invalid_request", FailureKind::Usage),
    ("invalid_skill", FailureKind::Invalid),
    ("invalid_archive", FailureKind::Invalid),
    ("too_many_requests", FailureKind::Unreachable),
    ("withdrawn", FailureKind::Integrity),
    ("other_key", FailureKind::Integrity),
    ("retired_key", FailureKind::Integrity),
    ("bad_signature", FailureKind::Integrity),
    ("damaged_index", FailureKind::Integrity),
];

/// Credential for one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Credential {
    /// Bearer token, if there is one.
    pub token: Option<String>,
    /// Hint on how to have the environment's token sent, if it was withheld.
    pub withheld: Option<String>,
    /// Hint if the server does not accept the token, which is from the environment.
    pub unaccepted: Option<String>,
}

/// A registry on a server.
#[derive(Debug)]
pub(super) struct Web {
    url: String,
    credential: Credential,
    home: Home,
    path: PathBuf,
    accepts_rewrite: bool,
    now: Timestamp,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    name: String,
    title: Option<String>,
    version: String,
    description: String,
    deprecated: Option<String>,
    score: u32,
}

#[derive(Deserialize)]
struct Owners {
    owners: Vec<String>,
    similar: Vec<String>,
}

impl Registry {
    /// Returns whether the registry is a server, which scans releases itself.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.reach, Access::Web(_))
    }
}

impl Web {
    /// Opens the registry at a URL, with its cached index; `None` if there is no skillhub server at this URL.
    ///
    /// # Errors
    /// [`RegistryError`] if the server cannot be reached, or requires a token.
    pub fn find(
        url: &str,
        home: &Home,
        credential: Credential,
        accepts_rewrite: bool,
        now: Timestamp,
    ) -> Result<Option<(Self, Index)>, RegistryError> {
        let url = url.trim_end_matches('/').to_owned();
        let path = place_of(&url, home);
        let web = Self { url, credential, home: home.clone(), path, accepts_rewrite, now };
        let config = match web.ask(&format!("/index/{}", shard::CONFIG), &HttpRequest::default()) {
            Err(error) if web.is_known() || is_ours_to_say(&error) => return Err(error),
            // The URL may belong to a git server. git then reports its own error.
            Err(_) => return Ok(None),
            Ok(config) => config,
        };
        match config.status {
            200 if registry_index::Config::parse(&config.bytes).is_ok() => {}
            401 | 403 | 429 | 500.. if web.is_known() || is_ours(&config) => return Err(web.refused(&config)),
            _ => return Ok(None),
        }
        let _locked = lock_to_change(&web.path, home)?;
        let index = Index::init(&web.path, &web.stamp())?;
        index.take_over(&[(shard::CONFIG.to_owned(), Some(config.bytes))], accepts_rewrite, &web.stamp())?;
        let index = Index::open(&web.path).map_err(|OpenError::NotARegistry { reason, .. }| {
            RegistryError::NotARegistry { url: web.url.clone(), reason }
        })?;
        Ok(Some((web, index)))
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Fetches the current versions of files in the index. A cached archive is not fetched again.
    pub fn fetch_missing(&self, index: &Index, paths: &[String]) -> Result<(), RegistryError> {
        let mut files = Vec::new();
        for path in paths {
            let here = index.file(path)?;
            let is_archive = path.starts_with(shard::BUNDLES);
            if is_archive && here.is_some() {
                continue;
            }
            let etag = here.as_ref().map(|file| format!("\"{}\"", file.id));
            let answer =
                self.ask(&format!("/index/{path}"), &HttpRequest { etag: etag.as_deref(), ..HttpRequest::default() })?;
            match answer.status {
                304 => {}
                200 => files.push((path.clone(), Some(answer.bytes))),
                404 if is_archive => {}
                404 => files.extend(here.map(|_| (path.clone(), None))),
                _ => return Err(self.refused(&answer)),
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        let _locked = lock_to_change(&self.path, &self.home)?;
        Ok(index.take_over(&files, self.accepts_rewrite, &self.stamp())?)
    }

    /// Fetches the entries of all skills with this name, and of those with similar names.
    pub fn fetch_names(&self, index: &Index, name: &SkillName) -> Result<(), RegistryError> {
        let answer = self.ask(&format!("/v1/names/{name}"), &HttpRequest::default())?;
        if answer.status != 200 {
            return Err(self.refused(&answer));
        }
        let Owners { owners, similar } = self.read(&answer)?;
        let owned = owners
            .iter()
            .filter_map(|owner| Some(QualifiedName { owner: Owner::parse(owner).ok()?, name: name.clone() }));
        let near = similar.iter().filter_map(|other| other.parse::<QualifiedName>().ok());
        // A skill of this name is among the similar ones too.
        let paths: BTreeSet<String> = owned.chain(near).filter_map(|name| shard::skill_file(&name)).collect();
        self.fetch_missing(index, &Vec::from_iter(paths))
    }

    /// Searches for skills on the server.
    pub fn search(&self, query: &str, limit: usize, registry: &str) -> Result<Vec<SearchResult>, RegistryError> {
        let path = format!("/v1/skills?q={}&limit={}", skill::uri::component(query), limit.clamp(1, 100));
        let answer = self.ask(&path, &HttpRequest::default())?;
        if answer.status != 200 {
            return Err(self.refused(&answer));
        }
        let Results { results } = self.read(&answer)?;
        let of = |Found { name, title, version, description, deprecated, score }: Found| SearchResult {
            name,
            title,
            version,
            description,
            deprecated,
            score,
            registry: registry.to_owned(),
            kind: SourceKind::Registry.to_string(),
            install: String::new(),
        };
        Ok(results.into_iter().map(of).collect())
    }

    /// Uploads an archive as a release and returns its entry.
    pub fn publish<E: From<RegistryError> + From<AppendError>>(
        &self,
        index: &Index,
        release: &NewRelease,
        archive: &[u8],
    ) -> Result<Appended, E> {
        let mut path = format!(
            "/v1/skills/{}/{}?changelog={}",
            release.name,
            release.version,
            skill::uri::component(&release.changelog)
        );
        if let Some(signature) = &release.signature {
            path.push_str(&format!("&signature={}", URL_SAFE_NO_PAD.encode(signature)));
        }
        if let Some(Ok(from)) = release.forked_from.as_ref().map(serde_json::to_string) {
            path.push_str(&format!("&forked_from={}", skill::uri::component(&from)));
        }
        let sent = HttpRequest { method: "PUT", body: Some(("application/zip", archive)), ..HttpRequest::default() };
        let answer = self.ask(&path, &sent).map_err(|error| match error {
            RegistryError::Http(HttpError::Unreached { message, .. }) => RegistryError::Unanswered {
                url: self.url.clone(),
                release: format!("{} {}", release.name, release.version),
                message,
            },
            error => error,
        })?;
        if answer.status != 200 {
            let (name, version) = (release.name.clone(), release.version.clone());
            return Err(match self.refused(&answer) {
                RegistryError::Answer { code: "version_exists", .. } => {
                    AppendError::VersionExists { name, version }.into()
                }
                error => error.into(),
            });
        }
        let is_new = self.read::<Value>(&answer)?.get("status").is_some_and(|status| status == "published");
        let entry = self.line(index, &release.name, &release.version)?;
        Ok(if is_new { Appended::Published(entry) } else { Appended::Unchanged(entry) })
    }

    /// Sets or clears the `yanked` flag of a release on the server, and returns its entry.
    pub fn set_yanked(
        &self,
        index: &Index,
        name: &QualifiedName,
        version: &Version,
        yanked: bool,
        reason: Option<&str>,
    ) -> Result<Entry, RegistryError> {
        let method = if yanked { "PUT" } else { "DELETE" };
        let reason = reason.map(|reason| format!("?reason={}", skill::uri::component(reason))).unwrap_or_default();
        self.set_flag(index, name, version, method, &format!("yank{reason}"))
    }

    /// Marks a release on the server as deprecated, or removes the mark, and returns its entry.
    pub fn set_deprecated(
        &self,
        index: &Index,
        name: &QualifiedName,
        version: &Version,
        deprecation: Option<&Deprecation>,
    ) -> Result<Entry, RegistryError> {
        let Some(Deprecation { replacement, reason }) = deprecation else {
            return self.set_flag(index, name, version, "DELETE", "deprecation");
        };
        let replacement =
            replacement.as_ref().map(|name| format!("&use={}", skill::uri::component(name))).unwrap_or_default();
        let flag = format!("deprecation?reason={}{replacement}", skill::uri::component(reason));
        self.set_flag(index, name, version, "PUT", &flag)
    }

    fn set_flag(
        &self,
        index: &Index,
        name: &QualifiedName,
        version: &Version,
        method: &'static str,
        flag: &str,
    ) -> Result<Entry, RegistryError> {
        let path = format!("/v1/skills/{name}/{version}/{flag}");
        let answer = self.ask(&path, &HttpRequest { method, ..HttpRequest::default() })?;
        if answer.status != 200 { Err(self.refused(&answer)) } else { self.line(index, name, version) }
    }

    /// Adds or retires a key of an owner on the server.
    pub fn change_key(&self, owner: &Owner, change: &KeyChange) -> Result<(), RegistryError> {
        let (method, body) = match change {
            KeyChange::Add { key, vouched_by } => {
                ("POST", json!({ "key": key.to_string(), "vouched_by": vouched_by }).to_string())
            }
            KeyChange::Retire(key) => ("DELETE", json!({ "key": key }).to_string()),
        };
        let body = Some(("application/json", body.as_bytes()));
        let answer =
            self.ask(&format!("/v1/owners/{owner}/keys"), &HttpRequest { method, body, ..HttpRequest::default() })?;
        if answer.status == 200 { Ok(()) } else { Err(self.refused(&answer)) }
    }

    /// Returns the reason of a release's quarantine, for servers whose entries do not include it.
    pub fn quarantine_reason(&self, name: &QualifiedName, version: &Version) -> Option<String> {
        let answer = self.ask(&format!("/v1/skills/{name}/{version}"), &HttpRequest::default()).ok()?;
        let document: Value = serde_json::from_slice(&answer.bytes).ok()?;
        document.get("quarantined").and_then(Value::as_str).map(str::to_owned)
    }

    fn line(&self, index: &Index, name: &QualifiedName, version: &Version) -> Result<Entry, RegistryError> {
        self.fetch_missing(index, &shard::skill_file(name).into_iter().collect::<Vec<_>>())?;
        let entries = index.releases(name)?;
        entries.into_iter().find(|entry| entry.version == *version).ok_or_else(|| RegistryError::NotTaken {
            url: self.url.clone(),
            message: format!("{name} {version} is not in its index"),
        })
    }

    fn ask(&self, path: &str, ask: &HttpRequest<'_>) -> Result<HttpResponse, RegistryError> {
        let ask = HttpRequest {
            token: self.credential.token.as_deref(),
            ..HttpRequest { method: ask.method, etag: ask.etag, body: ask.body, token: None }
        };
        Ok(http::ask(&format!("{}{path}", self.url), &ask, Limits::default().archive_bytes)?)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, answer: &HttpResponse) -> Result<T, RegistryError> {
        serde_json::from_slice(&answer.bytes).map_err(|error| RegistryError::NotARegistry {
            url: self.url.clone(),
            reason: format!("its response cannot be parsed ({error})"),
        })
    }

    /// Converts an error response of the server.
    fn refused(&self, answer: &HttpResponse) -> RegistryError {
        let document: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
        let text = |key: &str| document.pointer(&format!("/error/{key}")).and_then(Value::as_str).map(str::to_owned);
        let said = text("code").unwrap_or_default();
        let (code, kind) = CODES.into_iter().find(|(code, _)| *code == said).unwrap_or(match answer.status {
            401 | 403 => ("registry_refused", FailureKind::Refused),
            404 => ("not_found", FailureKind::NotFound),
            _ => ("registry_unreachable", FailureKind::Unreachable),
        });
        let Credential { withheld, unaccepted, .. } = self.credential.clone();
        let login = || format!("sign in: skillhub login {}", self.url);
        RegistryError::Answer {
            url: self.url.clone(),
            kind,
            code,
            message: text("message").unwrap_or_else(|| match &answer.redirect {
                Some(to) => format!("it redirects to {to}, which skillhub does not follow"),
                None => format!("HTTP status {}", answer.status),
            }),
            hint: match answer.status {
                301 | 302 | 303 | 307 | 308 => Some("use the registry's new address, if you trust it".to_owned()),
                401 => Some(withheld.or(unaccepted).unwrap_or_else(login)),
                403 => withheld.or_else(|| text("hint")),
                _ => text("hint"),
            },
        }
    }

    /// Returns whether the URL was a skillhub server in an earlier request.
    fn is_known(&self) -> bool {
        is_there(&self.path)
    }

    fn stamp(&self) -> Stamp {
        Stamp { by: "skillhub".to_owned(), at: self.now }
    }
}

/// Returns whether the URL was a skillhub server in an earlier request.
pub(super) fn is_known(url: &str, home: &Home) -> bool {
    is_there(&place_of(url, home))
}

/// Opens the cached index of a server.
pub(super) fn local_index(url: &str, home: &Home) -> Option<Index> {
    Index::open(&place_of(url, home)).ok()
}

fn is_there(path: &Path) -> bool {
    library::open_dir(path).is_ok_and(|found| found.is_some())
}

/// Returns the path of a server's cached index.
fn place_of(url: &str, home: &Home) -> PathBuf {
    let name = Digest::of_bytes(url.as_bytes()).hex();
    home.mirrors().join(format!("{}.sparse", name.get(..16).unwrap_or(&name)))
}

/// Returns whether the error was detected before anything was sent. Falling back to git would not help then.
fn is_ours_to_say(error: &RegistryError) -> bool {
    matches!(error, RegistryError::Http(HttpError::PlainToken { .. } | HttpError::Trust(_)))
}

/// Returns whether a response has the form of a skillhub server's errors.
fn is_ours(answer: &HttpResponse) -> bool {
    let document: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
    document.get("ok") == Some(&Value::Bool(false)) && document.pointer("/error/code").is_some()
}
