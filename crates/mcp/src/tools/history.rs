//! Tools that report the past and present state of skills.

use std::{num::NonZeroUsize, path::PathBuf};

use agent::SkillLocations;
use library::{Library, Scope};
use ops::{AgentViews, Refusal, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;
use skill::SkillName;
use skill_manage::documents::{self, DiffBase, Overview};

use super::{Call, Effect, Spec, ToolResult, arguments, read, text};

/// Default number of revisions in a history.
const REVISIONS: usize = 20;

pub(crate) const SKILL_HISTORY: Spec = Spec {
    name: "skill_history",
    title: "Show a skill's history",
    description: "List the revisions of a skill, newest first, each with its time, author, reason, action and scanner \
                  verdict.",
    input: || {
        let limit =
            json!({"type": "integer", "minimum": 1, "description": "Maximum number of revisions. Default: 20."});
        arguments(json!({"name": text("Name of the skill"), "limit": limit}), &["name"])
    },
    output: || json!({"name": {"type": "string"}, "revisions": {"type": "array", "items": {"type": "object"}}}),
    effect: Effect::Reads,
    run: history,
};

pub(crate) const SKILL_DIFF: Spec = Spec {
    name: "skill_diff",
    title: "Compare revisions of a skill",
    description: "Show the unified diff between two revisions of a skill. Without `from` and `to`, shows the \
                  unrecorded edit of its folder if there is one, else the last change.",
    input: || {
        let revision = |what: &str| text(&format!("{what}: an id or its first digits, a number, head or head~2"));
        let fields = json!({
            "name": text("Name of the skill"),
            "from": revision("Older revision (default: the one before `to`)"),
            "to": revision("Newer revision (default: the folder's current content)"),
        });
        arguments(fields, &["name"])
    },
    output: || {
        json!({
            "from": {"type": ["string", "null"]},
            "to": {"type": ["string", "null"]},
            "edited": {"type": "boolean"},
            "digest": {"type": "string"},
            "held": {"type": ["string", "null"]},
            "files": {"type": "array", "items": {"type": "object"}},
            "diff": {"type": "string"},
        })
    },
    effect: Effect::Reads,
    run: diff,
};

pub(crate) const SKILL_STATUS: Spec = Spec {
    name: "skill_status",
    title: "Show the status of skills",
    description: "Compare the folders of one or all skills with their history: clean, modified by hand, new, missing, \
                  absent or blocked. Includes the scanner's findings and the number of pending proposals.",
    input: || arguments(json!({"name": text("Name of the skill. Default: all skills.")}), &[]),
    output: || {
        json!({
            "skills": {"type": "array", "items": {"type": "object"}},
            "problems": {"type": "array", "items": {"type": "object"}},
            "proposals": {"type": "integer"},
            "waivers": {"type": "array", "items": {"type": "object"}},
        })
    },
    effect: Effect::Reads,
    run: status,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryArguments {
    name: String,
    limit: Option<NonZeroUsize>,
}

fn history(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let HistoryArguments { name, limit } = read(arguments)?;
    let name = exact_name(&name)?;
    let limit = limit.map_or(REVISIONS, NonZeroUsize::get);
    let history = documents::history(&call.place.library_with_past(&name)?, name, limit)?;
    Ok(json!(history).into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiffArguments {
    name: String,
    from: Option<String>,
    to: Option<String>,
}

fn diff(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let DiffArguments { name, from, to } = read(arguments)?;
    let since = from.as_deref().map_or(DiffBase::Parent, DiffBase::Revision);
    let name = exact_name(&name)?;
    let compared = documents::compare(&call.place.library_with_past(&name)?, &name, since, to.as_deref())?;
    Ok(compared.document().into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusArguments {
    name: Option<String>,
}

fn status(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let StatusArguments { name } = read(arguments)?;
    let name = name.as_deref().map(exact_name).transpose()?;
    let mut overview = overview(call, name.as_ref())?;
    let sight = call.sight()?;
    let is_seen = |name: &str| SkillName::parse(name).is_ok_and(|name| sight(&name).is_granted());
    overview.retain(is_seen);
    let mut hosts = call.live.with(|catalogue| AgentViews::of(call.place, catalogue, name.as_ref()))??.document();
    hosts.retain(is_seen);
    let changed = call.live.with(|catalogue| call.place.changed_since_review(catalogue.libraries()))??;
    let changed = changed.into_iter().map(|skill| skill.name.to_string()).filter(|name| is_seen(name));
    Ok(overview.document_with(hosts, &changed.collect::<Vec<_>>()).into())
}

/// Returns the state of one skill, or of all libraries that the agent sees.
fn overview(call: &Call<'_>, name: Option<&SkillName>) -> Result<Overview, Refusal> {
    if let Some(name) = name {
        return call.place.overview(&[&call.place.library_for(name)?], &[], Some(name));
    }
    let SkillLocations { home, libraries: own, storage, .. } = call.place.places(true);
    let own: Vec<PathBuf> = own.iter().filter_map(|(path, _)| library::resolve(path).ok()).collect();
    let is_own = |library: &&Library| own.iter().any(|own| library.path().starts_with(own));
    // Opened separately from the shared catalogue, whose lock would otherwise be held while all folders are read.
    let (places, paths) = call.live.with(|catalogue| {
        let places = catalogue.libraries().iter().filter(is_own);
        let places = places.map(|library| (library.path().to_owned(), library.scope()));
        let paths = catalogue.skills.iter().filter_map(|listed| listed.path.clone());
        (places.collect::<Vec<_>>(), paths.collect::<Vec<_>>())
    })?;
    let open = |(path, scope): &(PathBuf, Scope)| Library::open(path, *scope, &home, &storage);
    let libraries = places.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    call.place.overview(&libraries.iter().collect::<Vec<_>>(), &paths, None)
}
