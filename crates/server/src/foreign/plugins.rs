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
use client::plugin_marketplace;
use registry_index::Entry;
use serde_json::{Value, json};
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
pub fn as_plugin(base: &str, only: Option<&Owner>, entry: &Entry, facts: &Facts) -> Option<Value> {
    let url = format!("{base}/.claude-plugin/{}/{}/plugin.zip", entry.name, entry.version);
    let source = json!({"source": "archive", "url": url, "sha256": facts.plugin?.hex()});
    Some(plugin_marketplace::plugin(entry, only, &source))
}

/// Renders a marketplace of a server with this base URL.
pub fn as_marketplace(base: &str, only: Option<&Owner>, plugins: Vec<Value>) -> Value {
    let host = base.split("://").last().unwrap_or(base);
    let name: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    match only {
        Some(owner) => plugin_marketplace::manifest(owner.as_str(), owner.as_str(), plugins),
        None => plugin_marketplace::manifest(name.trim_matches('-'), host, plugins),
    }
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
        let plugin = plugin_marketplace::plugin_files(&entry.name.name, &bundle).map_err(|error| unusable(&error))?;
        count(hub, &entry, account, client);
        let zip = HeaderValue::from_static("application/zip");
        Ok(([(header::CONTENT_TYPE, zip)], archive::pack(&plugin).into_bytes()).into_response())
    })
    .await
}

fn unusable(error: &plugin_marketplace::PluginError) -> ApiError {
    let message = format!("the skill cannot be a plugin: {error}");
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_path", message).hint("install it with `skillhub install`")
}
