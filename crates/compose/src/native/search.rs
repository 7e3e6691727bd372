//! Native tool `web_search`: queries the configured search endpoint.

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::http::Uri;

use super::{
    fetch::{Fetcher, Header},
    gives, spec as tool, text,
};
use crate::{
    host::{Approval, Bounds, ToolFault, ToolSpec},
    settings::SearchSettings,
};

/// Maximum number of results.
const MOST: usize = 50;
/// Default number of results.
const USUAL: usize = 10;

pub(super) fn spec() -> ToolSpec {
    let words = json!({"type": "string"});
    let of_first = json!({"type": ["string", "null"], "description": "From the first result"});
    tool(
        "web_search",
        "Search the web with the configured endpoint.",
        json!({"query": text("Search terms"), "count": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}}),
        &["query"],
        gives(json!({
            "query": words, "url": of_first, "content": of_first,
            "results": {"type": "array", "items": {"type": "object", "properties": {"title": words, "url": words, "snippet": words}}},
        })),
        Approval::None,
    )
}

#[derive(Deserialize)]
pub(super) struct Search {
    query: String,
    count: Option<usize>,
}

pub(super) fn search(
    fetcher: &Fetcher,
    settings: Option<&SearchSettings>,
    wanted: &Search,
    bounds: &Bounds<'_>,
) -> Result<Value, ToolFault> {
    let settings = settings.ok_or_else(|| {
        ToolFault::permanent("not_configured", "no search endpoint is configured")
            .hint("set `url` under [tools.search] in config.toml")
    })?;
    let count = wanted.count.unwrap_or(USUAL).clamp(1, MOST);
    let url =
        settings.url.replace("{count}", &count.to_string()).replace("{query}", &skill::uri::component(&wanted.query));
    let mut headers = vec![Header { name: "accept".to_owned(), value: "application/json".to_owned() }];
    if let (Some(name), Some(variable)) = (&settings.header, &settings.header_from) {
        let value = std::env::var(variable).map_err(|_| {
            ToolFault::permanent(
                "not_configured",
                format!("the search endpoint needs the environment variable {variable}, which is not set"),
            )
        })?;
        headers.push(Header { name: name.clone(), value });
    }
    // The endpoint was configured by a person and is therefore allowed. Redirects to other hosts are not.
    let own = skill::uri::authority(&settings.url).to_owned();
    let may_ask = move |uri: &Uri| uri.authority().is_some_and(|at| at.as_str() == own);
    let page = fetcher.get(&url, headers, Box::new(may_ask), bounds)?;
    let answer: Value = serde_json::from_slice(&page.bytes).map_err(|error| {
        ToolFault::transient(
            "bad_answer",
            format!(
                "the search endpoint did not return valid JSON: \
                                                                   {error}"
            ),
        )
    })?;
    let results = answer.pointer(&settings.results).and_then(Value::as_array).ok_or_else(|| {
        ToolFault::permanent(
            "bad_answer",
            format!("the search endpoint's response has no list at {}", settings.results),
        )
        .hint("set the path of the list with `results` under [tools.search] in config.toml")
    })?;
    let part =
        |result: &Value, pointer: &str| result.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let results: Vec<Value> = results
        .iter()
        .take(count)
        .map(|result| {
            json!({
                "title": part(result, &settings.title), "url": part(result, &settings.link),
                "snippet": part(result, &settings.snippet),
            })
        })
        .collect();
    let first = results.first().map(|first| (first["url"].clone(), first["snippet"].clone())).unwrap_or_default();
    Ok(json!({"query": wanted.query, "url": first.0, "content": first.1, "results": results}))
}
