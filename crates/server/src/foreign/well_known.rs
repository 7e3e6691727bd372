//! Indexes and files for `npx skills add`, OpenCode and Claude Code ([`router`]).
//!
//! | below | format | read by |
//! |---|---|---|
//! | `/.well-known/agent-skills/` | Agent Skills Discovery 0.2.0: an archive and its sha256 for each skill | `skills` |
//! | `/.well-known/skills/` | its predecessor: files that are fetched one by one | older `skills`, OpenCode |
//! | `/.claude-plugin/` | a marketplace of plugins ([`super::plugins`]) | Claude Code |
//!
//! All exist at the root, at `/OWNER` and at `/OWNER/NAME`, so that `npx skills add URL/OWNER/NAME` installs a single
//! skill. A client fetches every skill of an index before it asks which of them to install. So an index lists only the
//! [`PAGE`] skills with the most downloads; all others are available by owner or name.
//!
//! These formats have no owners. At the root, a name belongs to the owner who published it first
//! ([`super::names::holder`]). Another owner's skill of the same name is only available at `/OWNER/NAME`.

mod documents;

use std::{cmp::Ordering, sync::Arc, time::Instant};

use axum::{Extension, Router, extract::State, http::HeaderMap, response::Response, routing::get};
use registry_index::Entry;
use serde::Deserialize;
use skill::{Digest, Owner, QualifiedName, SkillName, SkillPath};
use web::{Client, extract::Path};

use super::{
    facts_cache::{Facts, FactsCache},
    names::{current, holder},
    own_url,
    plugins::{as_marketplace, as_plugin},
    rendered::Document,
};
use crate::{
    access::{Action, Caller},
    api::{HubState, Shared, count, file_answer, name_of, run},
    contents,
    error::ApiError,
    hub::Hub,
    sparse,
    store::catalogue::{Order, PAGE, Query},
    work_limiter::Job,
};
use documents::{ArchiveIndex, ArchivedSkill, FileIndex, ListedFiles};

/// Schema URL that identifies the format of an index.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// Longest description that clients accept, in UTF-16 code units.
const DESCRIPTION_UNITS: usize = 1024;

/// Cache policy of an index, which may change at any time.
const ASK_AGAIN: &str = "no-cache";

/// Builds the routes below `.well-known`.
pub fn router() -> Router<Shared> {
    let mut router = Router::new();
    for place in ["", "/{owner}", "/{owner}/{skill}"] {
        let at = |form: &str, rest: &str| format!("{place}/.well-known/{form}/{rest}");
        router = router
            .route(&at("agent-skills", "index.json"), get(archives))
            .route(&at("skills", "index.json"), get(files))
            .route(&at("agent-skills", "{name}/{*path}"), get(file))
            .route(&at("skills", "{name}/{*path}"), get(file))
            .route(&format!("{place}/.claude-plugin/marketplace.json"), get(plugins));
    }
    router
}

/// The parameters of a path: an optional owner and skill, and a file in the skill.
#[derive(Debug, Deserialize)]
struct Place {
    owner: Option<String>,
    skill: Option<String>,
    name: Option<String>,
    path: Option<String>,
}

/// Formats of an index.
#[derive(Debug)]
enum Form {
    /// Agent Skills Discovery 0.2.0, with archives.
    Archives,
    /// The older format, with lists of files.
    Files,
    /// A marketplace of plugins, whose URLs begin with this server's address.
    Plugins(String),
}

/// The skills that an index lists.
#[derive(Debug, PartialEq)]
enum Part {
    All,
    Of(Owner),
    One(QualifiedName),
}

impl Place {
    fn part(&self) -> Result<Part, ApiError> {
        let Some(owner) = &self.owner else { return Ok(Part::All) };
        let none = |_| ApiError::not_found(format!("{owner} has not published any skills"));
        Ok(match &self.skill {
            Some(name) => Part::One(name_of(owner, name)?),
            None => Part::Of(Owner::parse(owner).map_err(none)?),
        })
    }
}

async fn archives(
    hub: HubState,
    kept: Extension<Arc<FactsCache>>,
    caller: Caller,
    headers: HeaderMap,
    Path(at): Path<Place>,
) -> Result<Response, ApiError> {
    index(hub, kept, caller, Form::Archives, at, headers).await
}

async fn files(
    hub: HubState,
    kept: Extension<Arc<FactsCache>>,
    caller: Caller,
    headers: HeaderMap,
    Path(at): Path<Place>,
) -> Result<Response, ApiError> {
    index(hub, kept, caller, Form::Files, at, headers).await
}

async fn plugins(
    hub: HubState,
    kept: Extension<Arc<FactsCache>>,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    Path(at): Path<Place>,
) -> Result<Response, ApiError> {
    let base = own_url(client, &headers);
    index(hub, kept, caller, Form::Plugins(base), at, headers).await
}

/// Returns an index. It is rendered once and cached, however many clients fetch it.
async fn index(
    State(hub): HubState,
    Extension(kept): Extension<Arc<FactsCache>>,
    caller: Caller,
    form: Form,
    at: Place,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    hub.check(&caller, Action::Read)?;
    sparse::follow_other_processes(&hub).await?;
    let key = Digest::of_bytes(format!("{form:?} {:?} {:?}", at.owner, at.skill).as_bytes());
    // Read before the rendering: a commit in between makes the document outdated, not wrong.
    let state = || hub.stores.releases.head().map(|head| (head, hub.stores.releases.decisions()));
    let at_hand = || state().map(|state| kept.rendered.cached(&key, &state, Instant::now()));
    if let Some(found) = at_hand()? {
        return Ok(found_as(&found, &headers));
    }
    let _turn = hub.contents.lanes.lock_job(Job::List, key).await;
    let found = match at_hand()? {
        Some(found) => found,
        None => {
            let before = state()?;
            let text = rendered(&hub, &kept, &form, at.part()?).await?;
            kept.rendered.keep(key, before, Instant::now(), text)
        }
    };
    Ok(found_as(&found, &headers))
}

fn found_as(document: &Document, asked: &HeaderMap) -> Response {
    sparse::answer(document.bytes.clone(), &document.etag, "application/json", ASK_AGAIN, asked)
}

async fn rendered(hub: &Shared, kept: &FactsCache, form: &Form, part: Part) -> Result<String, ApiError> {
    let only = match &part {
        Part::All => None,
        Part::Of(owner) | Part::One(QualifiedName { owner, .. }) => Some(owner.clone()),
    };
    let has_owners = matches!(form, Form::Plugins(_));
    let entries = run(hub, move |hub| entries(hub, &part, has_owners)).await?;
    let text = match form {
        Form::Archives => {
            serde_json::to_string(&ArchiveIndex { schema: SCHEMA, skills: entries.iter().map(as_archive).collect() })
        }
        Form::Files => {
            let mut skills = Vec::new();
            for entry in &entries {
                let facts = kept.facts(hub, entry).await?;
                skills.extend(as_files(entry, &facts));
            }
            serde_json::to_string(&FileIndex { skills })
        }
        Form::Plugins(base) => {
            let mut plugins = Vec::new();
            for entry in &entries {
                let facts = kept.facts(hub, entry).await?;
                plugins.extend(as_plugin(base, only.as_ref(), entry, &facts));
            }
            as_marketplace(base, only.as_ref(), plugins)
        }
    };
    text.map_err(|error| ApiError::broken(&error))
}

fn as_archive(entry: &Entry) -> ArchivedSkill<'_> {
    ArchivedSkill {
        name: entry.name.name.as_str(),
        kind: "archive",
        description: shortened(&entry.description),
        version: entry.version.to_string(),
        url: format!("/v1/skills/{}/{}/archive", entry.name, entry.version),
        digest: entry.archive.to_string(),
    }
}

/// Renders a skill in the older format. A skill with a path that clients reject is omitted, because it would make them
/// reject the whole index.
fn as_files<'a>(entry: &'a Entry, facts: &Facts) -> Option<ListedFiles<'a>> {
    facts.paths.iter().all(|path| is_plain(path)).then(|| ListedFiles {
        name: entry.name.name.as_str(),
        description: shortened(&entry.description),
        version: entry.version.to_string(),
        files: facts.paths.clone(),
    })
}

/// Returns whether clients can fetch a path. They append it to the address without escaping, and reject two dots as an
/// escape from the folder.
fn is_plain(path: &str) -> bool {
    !path.contains("..") && !path.contains(['#', '?', '%'])
}

/// Shortens a description to the length that clients accept.
fn shortened(text: &str) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= DESCRIPTION_UNITS
    };
    text.chars().take_while(fits).collect()
}

async fn file(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    Path(at): Path<Place>,
) -> Result<Response, ApiError> {
    let account = caller.account().map(ToString::to_string).unwrap_or_default();
    let (name, path) = (at.name.as_deref().unwrap_or_default(), at.path.as_deref().unwrap_or_default());
    let none = || ApiError::not_found(format!("the file {name}/{path} was not found"));
    let (part, skill) = (at.part()?, SkillName::parse_standard(name).map_err(|_| none())?);
    let entry = run(&hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        match part {
            Part::All => holder(hub, &skill),
            Part::Of(owner) => current(hub, &QualifiedName { owner, name: skill }),
            Part::One(one) if one.name == skill => current(hub, &one),
            Part::One(_) => Ok(None),
        }
    });
    let entry = entry.await?.ok_or_else(none)?;
    let path = SkillPath::parse(path).map_err(|_| none())?;
    let file = contents::files(&hub, &entry).await?.get(&path).cloned().ok_or_else(none)?;
    if path.as_str() == SkillPath::SKILL_MD {
        // A client fetches `SKILL.md` once for each skill that it installs file by file.
        count(&hub, &entry, account, client);
    }
    Ok(file_answer(&file))
}

/// Returns the releases that an index lists, sorted by name. Unless the format `has_owners`, each name occurs once.
fn entries(hub: &Hub, part: &Part, has_owners: bool) -> Result<Vec<Entry>, ApiError> {
    let owner = match part {
        Part::One(name) => {
            let entry =
                current(hub, name)?.ok_or_else(|| ApiError::not_found(format!("the skill {name} was not found")))?;
            return Ok(vec![entry]);
        }
        Part::Of(owner) => Some(owner.clone()),
        Part::All => None,
    };
    let query = Query { owner, order: Some(Order::Downloads), limit: PAGE, ..Query::default() };
    let mut entries = Vec::new();
    for found in hub.stores.catalogue.find(&query)?.skills {
        let name = &found.entry.name;
        let entry = match part {
            Part::All if !has_owners => holder(hub, &name.name)?.filter(|holder| holder.name == *name),
            _ => current(hub, name)?,
        };
        entries.extend(entry);
    }
    entries.sort_by(|a, b| by_name(&a.name, &b.name));
    Ok(entries)
}

fn by_name(a: &QualifiedName, b: &QualifiedName) -> Ordering {
    (a.name.as_str(), a.owner.as_str()).cmp(&(b.name.as_str(), b.owner.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_cut_in_utf16_units() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"x".repeat(1025)).len(), 1024);
        assert_eq!(shortened(&"😀".repeat(600)).chars().count(), 512);
    }

    #[test]
    fn ambiguous_paths_are_rejected() {
        for (path, plain) in
            [("SKILL.md", true), ("references/a b.md", true), ("a..b", false), ("a#b", false), ("100%.md", false)]
        {
            assert_eq!(is_plain(path), plain, "{path}");
        }
    }
}
