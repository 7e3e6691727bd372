//! The tool [`RECORD_OUTCOME`], with which an agent reports the outcome of a run.

use ops::Refusal;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, Call, Effect, Spec, arguments, change::skill_name, read, text};

pub(crate) const RECORD_OUTCOME: Spec = Spec {
    name: "record_outcome",
    title: "Tell how it went",
    description: "Tell how your run with a skill went, once it has ended: completed, failed, aborted, or corrected when \
                  somebody had to put right what you did. Changes of skills that make runs fail are found and taken \
                  back by it, so tell the truth, failures too.",
    input: || {
        let event = json!({
            "type": "string",
            "enum": ["activated", "completed", "failed", "aborted", "corrected"],
            "description": "What happened",
        });
        let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
        let fields = json!({
            "name": text("The skill"),
            "event": event,
            "run": text("The id of your run, as you gave it to read_skill; without it the connection is the run"),
            "thread": text("The id of your conversation, as you gave it to skill_manage"),
            "task": text("What was to be done, the same words for the same task: it counts once a day"),
            "latency_ms": number("Milliseconds that it took"),
            "tokens_in": number("Tokens that you read"),
            "tokens_out": number("Tokens that you wrote"),
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

fn record(call: &Call<'_>, arguments: JsonObject) -> Result<Answer, Refusal> {
    let Arguments { name, event, run, thread, task, latency_ms, tokens_in, tokens_out } = read(arguments)?;
    let name = skill_name(&name)?;
    let run = run.as_deref().or(call.run).ok_or_else(|| {
        Refusal::request("say which run: name it in `run`")
            .hint("any id that your run has from its beginning to its end")
    })?;
    let request = evolve::Request {
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
        ..evolve::Request::default()
    };
    let recorded = call.place.record(vec![request])?;
    // A gate decision may have changed the lists that clients fetch.
    Ok(Answer { changes_lists: !recorded.decisions.is_empty(), ..recorded.document().into() })
}
