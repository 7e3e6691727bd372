//! The tool [`RECORD_OUTCOME`], with which an agent reports the outcome of a run.

use ops::Refusal;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;

use super::{Call, Effect, Spec, ToolResult, arguments, change::skill_name, read, text};

pub(crate) const RECORD_OUTCOME: Spec = Spec {
    name: "record_outcome",
    title: "Record an outcome",
    description: "Record the outcome of a run with a skill after it ends: completed, failed, aborted, or corrected if \
                  someone had to correct your work. Report failures truthfully: skill changes that make runs fail are \
                  detected and rolled back this way.",
    input: || {
        let event = json!({
            "type": "string",
            "enum": ["activated", "completed", "failed", "aborted", "corrected"],
            "description": "Outcome of the run",
        });
        let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
        let fields = json!({
            "name": text("Name of the skill"),
            "event": event,
            "run": text("Id of your run, the same as for read_skill. Default: this connection."),
            "thread": text("Id of your conversation, the same as for skill_manage"),
            "task": text("The task, in the same words each time: one task counts once a day"),
            "latency_ms": number("Duration in milliseconds"),
            "tokens_in": number("Input tokens used"),
            "tokens_out": number("Output tokens used"),
        });
        arguments(fields, &["name", "event"])
    },
    output: || {
        json!({
            "recorded": {"type": "integer"},
            "doubles": {"type": "integer"},
            "unrecorded": {"type": "integer"},
            "skills": {"type": "array", "items": {"type": "string"}},
            "decisions": {"type": "array", "items": {"type": "object"}},
        })
    },
    effect: Effect::Changes,
    run: record,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    event: String,
    run: Option<String>,
    #[serde(alias = "thread_id")]
    thread: Option<String>,
    task: Option<String>,
    latency_ms: Option<u64>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
}

fn record(call: &Call<'_>, arguments: JsonObject) -> Result<ToolResult, Refusal> {
    let Arguments { name, event, run, thread, task, latency_ms, tokens_in, tokens_out } = read(arguments)?;
    let name = skill_name(&name)?;
    let run = run.as_deref().or(call.run).ok_or_else(|| {
        Refusal::request("no run id given").hint("set `run` to any id that stays the same for the whole run")
    })?;
    let request = evolve::OutcomeRecord {
        skill: name.to_string(),
        event,
        run: Some(run.to_owned()),
        thread,
        by_author: call.authored.has(&name),
        task,
        latency_ms,
        tokens_in,
        tokens_out,
        place: 1,
        ..evolve::OutcomeRecord::default()
    };
    let recorded = call.place.record(vec![request])?;
    // A gate decision may have changed the lists that clients fetch.
    Ok(ToolResult { changes_lists: !recorded.decisions.is_empty(), ..recorded.document().into() })
}
