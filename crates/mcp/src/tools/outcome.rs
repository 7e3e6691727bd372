//! The tool [`RECORD_OUTCOME`], with which an agent reports the outcome of a run.

use library::OutcomeKind;
use ops::{Refusal, exact_name};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;

use super::{Call, Effect, Spec, ToolResult, arguments, read, text, undeclared};

pub(crate) const RECORD_OUTCOME: Spec = Spec {
    name: "record_outcome",
    title: "Record an outcome",
    description: "Report truthfully how a run with a skill ended; `corrected` if someone had to correct your work. \
                  Changes that make runs fail are rolled back.",
    input: || {
        let events = OutcomeKind::ALL.map(OutcomeKind::as_str);
        let number = || json!({"type": "integer", "minimum": 0});
        let fields = json!({
            "name": {"type": "string"},
            "event": {"type": "string", "enum": events},
            "run": text("As for read_skill"),
            "thread": text("Your conversation id"),
            "task": text("The task, in the same words each time; it counts once a day"),
            "latency_ms": number(),
            "tokens_in": number(),
            "tokens_out": number(),
        });
        arguments(fields, &["name", "event"])
    },
    output: undeclared,
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
    let name = exact_name(&name)?;
    if OutcomeKind::from_word(&event).is_none() {
        let message = format!("unknown event {:?}", skill::shortened(&event, skill::ECHO_CHARS));
        let words = OutcomeKind::ALL.map(OutcomeKind::as_str).join(", ");
        return Err(Refusal::request(message).hint(format!("set `event` to one of {words}, and `name` to the skill")));
    }
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
