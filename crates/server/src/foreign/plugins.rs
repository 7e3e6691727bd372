//! Skills as plugins of Claude Code ([`router`]).
//!
//! | path | answer |
//! |---|---|
//! | `/.claude-plugin/marketplace.json` | the skills with the most downloads, as plugins `owner--name` |
//! | `/OWNER/.claude-plugin/marketplace.json` | the skills of one owner; below `/OWNER/NAME`, one skill |
//! | `/.claude-plugin/OWNER/NAME/VERSION/plugin.zip` | the archive of a plugin, with its hash in the marketplace |
//!
//! Claude Code installs archives over HTTPS only, from hosts other than loopback.

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use client::plugin_marketplace::{Marketplace, Plugin, PluginError, PluginSource, plugin_files};
use registry_index::Entry;
use skill::{Owner, archive};
use web::{Client, extract::Path};

use super::facts_cache::Facts;
use crate::{
    access::Caller,
    api::{HubState, ReleasePath, Shared, count, of_release, run},
    contents,
    error::ApiError,
};

/// Builds the route of the archives. Those of the marketplaces are built with the other indexes.
pub fn router() -> Router<Shared> {
    Router::new().route("/.claude-plugin/{owner}/{name}/{version}/plugin.zip", get(plugin_archive))
}

/// Renders a release as a plugin of a marketplace, which is for `only` one owner. Returns `None` if the paths of its
/// files are too long for a plugin.
pub fn as_plugin<'a>(base: &str, only: Option<&Owner>, entry: &'a Entry, facts: &Facts) -> Option<Plugin<'a>> {
    let url = format!("{base}/.claude-plugin/{}/{}/plugin.zip", entry.name, entry.version);
    let source = PluginSource::Archive { source: "archive", url, sha256: facts.plugin?.hex() };
    Some(Plugin::of(entry, only, source))
}

/// Renders a marketplace of a server with this base URL as JSON.
pub fn as_marketplace(base: &str, only: Option<&Owner>, plugins: Vec<Plugin<'_>>) -> Result<String, serde_json::Error> {
    let host = base.split("://").last().unwrap_or(base);
    let name: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let (name, owner) = only.map_or((name.trim_matches('-'), host), |owner| (owner.as_str(), owner.as_str()));
    serde_json::to_string(&Marketplace::new(name, owner, plugins))
}

/// Returns the archive of a plugin. The download is counted.
async fn plugin_archive(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    at: Path<ReleasePath>,
) -> Result<Response, ApiError> {
    let account = caller.account().map(ToString::to_string).unwrap_or_default();
    let entry = of_release(&hub, caller, at, |hub, entry| hub.check_open(entry).map(|()| entry.clone())).await?;
    let bundle = contents::files(&hub, &entry).await?;
    run(&hub, move |hub| {
        let plugin = plugin_files(&entry.name.name, &bundle).map_err(|error| unusable(&error))?;
        count(hub, &entry, account, client);
        let zip = HeaderValue::from_static("application/zip");
        Ok(([(header::CONTENT_TYPE, zip)], archive::pack(&plugin).into_bytes()).into_response())
    })
    .await
}

fn unusable(error: &PluginError) -> ApiError {
    let message = format!("the skill cannot be a plugin: {error}");
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_path", message).hint("install it with `skillhub install`")
}
