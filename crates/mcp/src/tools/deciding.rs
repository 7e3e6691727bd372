//! [`decide`]: the inbox, one question to the person at the client for each item.
//!
//! Each answer takes effect before the next question, so an interrupted call loses none. An answer counts for the exact
//! content that its question showed; if that has changed since, the item is asked again.

use ops::{Decision, Inbox, Question, Refusal, ShownItem};
use serde_json::{Value, json};

use super::{Call, ToolResult, review_question};
use crate::consent::Answer;

/// Maximum number of answers in one call.
const ANSWERS: usize = 50;
/// Number of words that a call remembers for one answer: the key of the question and the result.
const WORDS: usize = 2;

/// Choices beside the decisions on an item.
const SKIP: &str = "skip";
const STOP: &str = "stop";

/// Asks the person about each item that was not answered in this call, and concludes once there is none.
pub(super) fn decide(call: &Call<'_>, mut inbox: Inbox) -> Result<ToolResult, Refusal> {
    call.place.check_elicitation()?;
    let items = inbox.items();
    let mut results = Vec::new();
    for item in &items {
        if call.answer.is_some_and(Answer::is_declined) {
            break;
        }
        let Some(shown) = call.place.show_item(&inbox, item)? else { continue };
        let (mut question, decisions) = review_question::of(&shown, call.place.now);
        question.choices.extend([SKIP, STOP]);
        match call.answer.and_then(|answer| Some((answer, answer.choice(&question)?))) {
            Some((_, STOP)) => break,
            Some((answer, choice)) => {
                let decision = decisions.iter().find(|(word, _)| *word == choice).map(|(_, decision)| *decision);
                results.extend(decision.map(|decision| {
                    let done = apply(call, &mut inbox, &shown, decision, answer);
                    word(&shown, choice, done)
                }));
            }
            None if call.agreed.contains(&question.key) => {}
            None if call.agreed.len() >= ANSWERS * WORDS => break,
            None => {
                let question = Question { progress: results, ..question };
                let hint = "ask a person to run `skillhub review` in a terminal";
                return Err(Refusal::to_ask("deciding on the inbox", question, hint));
            }
        }
    }
    let decided = results.iter().filter(|word| word.starts_with(DECIDED)).count();
    let left = items.len().saturating_sub(decided);
    Ok(conclude(call.agreed.iter().chain(&results).map(String::as_str), left))
}

/// Makes a decision as the person who gave the answer.
fn apply(
    call: &Call<'_>,
    inbox: &mut Inbox,
    shown: &ShownItem,
    decision: Decision,
    answer: &Answer,
) -> Result<String, Refusal> {
    call.place.decide(inbox, shown, decision, &answer.reviewer(call.place, &call.place.actor.id)?)
}

/// Beginnings of the words that note results.
const DECIDED: &str = "decided";
const FAILED: &str = "failed";

/// Notes the result of a decision in one word without spaces: `decided=NAME=CHOICE` or `failed=NAME=CODE`.
fn word(shown: &ShownItem, choice: &str, done: Result<String, Refusal>) -> String {
    let name = review_question::name(shown);
    match done {
        Ok(_) => format!("{DECIDED}={name}={}", choice.replace(' ', "_")),
        Err(refusal) => format!("{FAILED}={name}={}", refusal.failure.code),
    }
}

/// Builds the answer for the agent: which items were decided, and no text of a skill or a person.
fn conclude<'w>(words: impl Iterator<Item = &'w str>, left: usize) -> ToolResult {
    let (mut decided, mut failed) = (Vec::new(), Vec::<Value>::new());
    for word in words {
        let mut parts = word.splitn(3, '=');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(DECIDED), Some(name), Some(choice)) => {
                decided.push(json!({"name": name, "decision": choice.replace('_', " ")}));
            }
            (Some(FAILED), Some(name), Some(code)) => failed.push(json!({"name": name, "code": code})),
            _ => {}
        }
    }
    let changes_lists = !decided.is_empty();
    let document = json!({"ok": true, "decided": decided, "failed": failed, "left": left});
    ToolResult { changes_lists, ..document.into() }
}
