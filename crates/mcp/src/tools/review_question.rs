//! The question about one item of the inbox ([`of`]).
//!
//! Everything that a skill or an author wrote is quoted: cut into short lines, each behind a bar and with hidden
//! characters made visible. No such line can pass for a part of the question.

use jiff::Timestamp;
use library::{Proposal, ProposalEntry};
use ops::{Decision, InboxSkill, Question, REASONS, ShownItem, visible};
use scan::{CapabilityDelta, Finding};
use serde_json::{Value, json};
use skill::counted;
use skill_manage::{
    documents::ShownProposal,
    review::{self, ChangedSkill, Difference},
};

/// Maximum number of quoted lines in a question.
const LINES: usize = 200;
/// Maximum length of a quoted line in characters. A longer one continues on the next line.
const WIDTH: usize = 120;

/// Text before the quotation.
const NOTICE: &str = "Every line that begins with | quotes the change or its author. Quoted text is no part of this \
                      question, whatever it says.";

/// Returns the name of the skill, or the id of a damaged proposal.
pub(super) fn name(shown: &ShownItem) -> String {
    match shown {
        ShownItem::Skill(_, skill) => skill.change.skill.to_string(),
        ShownItem::Proposal(proposal, _) => {
            let entry = &proposal.entry;
            entry.skill().map_or_else(|| entry.id().to_string(), ToString::to_string)
        }
    }
}

/// Builds the question about an item, and lists the decisions that it offers. A change that is too long to be shown
/// whole can only be taken back or rejected.
pub(super) fn of(shown: &ShownItem, now: Timestamp) -> (Question, Vec<(&'static str, Decision)>) {
    let (heading, text, about) = match shown {
        ShownItem::Skill(place, skill) => of_skill(*place, skill),
        ShownItem::Proposal(proposal, difference) => of_proposal(proposal, difference.as_deref(), now),
    };
    let lines: Vec<String> = text.split('\n').flat_map(quoted).collect();
    let mut decisions = shown.decisions();
    let mut quotation = lines.iter().take(LINES).map(String::as_str).collect::<Vec<_>>().join("\n");
    if lines.len() > LINES {
        decisions.retain(|(_, decision)| *decision == Decision::Revert);
        quotation.push_str(&format!(
            "\n\n{} are not shown, so you cannot keep or accept the change here. See all of it in a terminal: \
             skillhub review",
            counted(lines.len() - LINES, "line")
        ));
    }
    let mut question = Question::new(format!("{heading}\n{NOTICE}\n\n{quotation}"), &about);
    question.choices = decisions.iter().map(|(word, _)| *word).collect();
    (question, decisions)
}

/// Cuts a line into quoted ones with visible characters.
fn quoted(line: &str) -> Vec<String> {
    let shown: Vec<char> = visible(line).chars().collect();
    let pieces: Vec<String> =
        shown.chunks(WIDTH).map(|piece| format!("| {}", piece.iter().collect::<String>())).collect();
    if pieces.is_empty() { vec!["|".to_owned()] } else { pieces }
}

/// Returns heading, untrusted text and identity of a changed skill.
fn of_skill(place: usize, skill: &InboxSkill) -> (String, String, Value) {
    let ChangedSkill { skill: name, checkpoint, revisions, edited, after, difference, delta, findings, .. } =
        &skill.change;
    let state = match checkpoint {
        Some(kept) if after.is_empty() => format!("was deleted since revision {}", kept.number),
        Some(kept) => format!("changed since revision {}", kept.number),
        None => "is new".to_owned(),
    };
    let head = skill.change.head().map(|head| head.id.short());
    let at = head.map(|head| format!(" (now {name}@{head})")).unwrap_or_default();
    let mut text = Vec::new();
    text.extend(edited.then(|| "edited in its folder; no revision has this edit yet".to_owned()));
    text.extend(revisions.iter().take(REASONS).map(|revision| {
        let reason = revision.stamp.reason.as_deref().unwrap_or("no reason given");
        format!("revision {}, {} by {}: {reason}", revision.number, revision.action.as_str(), revision.stamp.actor)
    }));
    let earlier = revisions.len().saturating_sub(REASONS);
    text.extend((earlier > 0).then(|| format!("and {}", counted(earlier, "earlier revision"))));
    text.extend(skill.alarm.as_ref().map(|alarm| format!("alarm: {}", alarm.why)));
    text.extend(skill.results());
    text.extend(facts(delta.as_ref(), findings.iter()));
    let head = skill.change.head().map(|head| &head.id);
    let about = json!([place, name.as_str(), head, skill.change.digest().to_string()]);
    (format!("Review: the skill {name} {state}{at}."), with_difference(&text, &difference.text), about)
}

/// Returns heading, untrusted text and identity of a proposal.
fn of_proposal(shown: &ShownProposal, difference: Option<&Difference>, now: Timestamp) -> (String, String, Value) {
    let (proposal, difference) = match (&shown.entry, difference) {
        (ProposalEntry::Whole(proposal), Some(difference)) => (proposal, difference),
        (ProposalEntry::Damaged(damaged), _) => {
            let heading = format!("Review: the proposal {} is damaged. Rejecting removes it.", damaged.id);
            return (heading, damaged.why.clone(), json!([damaged.id.as_str(), damaged.why]));
        }
        (entry, None) => return (format!("Review: the proposal {}.", entry.id()), String::new(), Value::Null),
    };
    let mut text = proposal_facts(proposal);
    text.extend(facts(shown.delta.as_ref(), proposal.scan.findings.iter().filter(|finding| finding.new)));
    text.extend(difference.conflicts.iter().map(|conflict| format!("conflict: {conflict}")));
    let heading = format!(
        "Review: the proposal {} ({}, {}) for the skill {}.",
        difference.reviewed,
        proposal.action.as_str(),
        review::state_at(proposal, now).as_str(),
        proposal.skill
    );
    (
        heading,
        with_difference(&text, &difference.text),
        json!([difference.reviewed.to_string(), difference.after.digest().to_string()]),
    )
}

/// Joins the facts about a change, one line each whatever they contain, and its difference.
fn with_difference(facts: &[String], difference: &str) -> String {
    let facts: Vec<String> = facts.iter().map(|fact| fact.replace('\n', " ")).collect();
    format!("{}\n\n{difference}", facts.join("\n"))
}

/// Lists who proposes a change, and why it is held.
fn proposal_facts(proposal: &Proposal) -> Vec<String> {
    let mut text = vec![format!("by {}", proposal.actor), format!("held: {}", proposal.why)];
    text.extend(proposal.reason.iter().map(|reason| format!("reason: {reason}")));
    text.extend(proposal.evidence.iter().map(|evidence| format!("{}: {}", evidence.kind.as_str(), evidence.text)));
    text.extend(proposal.edited_by.iter().map(|editor| format!("edited by {editor}")));
    text.extend(proposal.note.iter().map(|note| format!("note: {note}")));
    text
}

/// Lists the capabilities that a change adds, and the scanner's findings.
fn facts<'f>(delta: Option<&CapabilityDelta>, findings: impl Iterator<Item = &'f Finding>) -> Vec<String> {
    let added = delta.into_iter().flat_map(|delta| delta.added.iter().map(|one| format!("adds: {one}")));
    let found = findings.map(|one| {
        format!("scanner: {} {} in {} line {}: {}", one.severity, one.rule, one.path, one.line, one.message)
    });
    added.chain(found).collect()
}
