//! `skillhub review` without a subcommand prints a person's inbox, and `skillhub review keep` moves review checkpoints.

use std::io::Write;

use agent::Catalogue;
use clap::Args;
use evolve::GateDecision;
use library::{ActorKind, Revision};
use ops::{Inbox, InboxSkill, REASONS};
use serde_json::json;
use skill::{SkillName, counted};
use skill_manage::{
    documents,
    review::{self, ChangedSkill},
};

use super::{batch, queue};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    hints,
    print::{
        BAD, FAINT, STRONG, WARN, action_word, coloured_diff, delta_lines, findings_lines, past_time, visible, wrapped,
    },
};

/// Width, in columns, of the text of a revision beside its number.
const TEXT_COLUMNS: usize = 70;

/// Flags of `review keep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub review keep pdf                       its newest revision
  skillhub review keep pdf@12 docx@0f3a9c21b4d8  exactly these revisions

A kept revision is the skill's review checkpoint: `skillhub review` shows later changes only, and the gate
compares later outcomes with those up to it.")]
pub struct KeepArgs {
    /// Skills, each with the revision to keep [default: its newest one]
    #[arg(required = true, value_name = "NAME[@REVISION]")]
    skills: Vec<String>,
}

/// Prints the pending proposals, then each changed skill as one difference.
pub fn print(context: &Context, inbox: &Inbox) -> Result<Exit, CliError> {
    let skills = inbox.read_skills(context.now)?;
    let mut text = Vec::new();
    writeln!(text, "{}", summary(inbox.proposals.len(), skills.len()))?;
    if !inbox.proposals.is_empty() {
        queue::write(&inbox.proposals, &documents::deltas(&inbox.libraries, &inbox.proposals), context.now, &mut text)?;
    }
    let is_shown = |name: &SkillName| skills.iter().any(|skill| skill.change.skill == *name);
    inbox
        .alarms
        .iter()
        .filter(|(found, _)| !is_shown(&found.name))
        .try_for_each(|(found, alarm)| writeln!(text, "{}", alarm_line(&found.name, alarm)))?;
    for skill in &skills {
        write!(text, "\n{}{}", skill_text(skill), keep_line(&skill.change))?;
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    context.out.long_answer(&inbox.document(&skills, context.now), || text)
}

/// Counts what waits for a person.
pub fn summary(proposals: usize, skills: usize) -> String {
    let proposals_wait = format!("{} pending", counted(proposals, "proposal"));
    let skills_wait = format!("{} changed since you looked", counted(skills, "skill"));
    match (proposals, skills) {
        (0, 0) => "Nothing changed since you looked, and no proposal is pending".to_owned(),
        (0, _) => skills_wait,
        (_, 0) => proposals_wait,
        _ => format!("{proposals_wait}, {skills_wait}"),
    }
}

/// Returns the names of the changed skills in the libraries of a catalogue, and for a person the line that counts them
/// and one for each open alarm.
pub fn news(context: &Context, catalogue: &Catalogue) -> Result<(Vec<String>, Vec<String>), CliError> {
    let changed = context.changed_in(catalogue)?;
    let names: Vec<String> = changed.into_iter().map(|skill| skill.name.to_string()).collect();
    let mut lines = Vec::new();
    if context.actor.kind == ActorKind::Person {
        let alarms = context.alarms(catalogue.libraries())?;
        lines.extend(alarms.iter().map(|(found, alarm)| alarm_line(&found.name, alarm)));
        let count = || format!("{WARN}{}{WARN:#}: skillhub review", summary(0, names.len()));
        lines.extend((!names.is_empty()).then(count));
    }
    Ok((names, lines))
}

/// Formats an open alarm of the gate, with the command that shows its figures.
fn alarm_line(name: &SkillName, alarm: &GateDecision) -> String {
    format!("{BAD}alarm{BAD:#} for {name}: {}: skillhub evolve status {name}", visible(&alarm.why))
}

/// Formats a changed skill: its revisions with their reasons, outcomes, capabilities, findings and difference.
pub fn skill_text(skill: &InboxSkill) -> String {
    let ChangedSkill { revisions, edited, difference, delta, findings, .. } = &skill.change;
    let mut text = heading(&skill.change);
    let mut line = |line: &str| text.push_str(&format!("  {line}\n"));
    skill.alarm.iter().for_each(|alarm| line(&format!("{BAD}alarm{BAD:#}: {}", visible(&alarm.why))));
    if *edited {
        line(&format!("{WARN}edited{WARN:#} in its folder; no revision has this edit yet"));
    }
    revisions.iter().take(REASONS).flat_map(revision_lines).for_each(|of_revision| line(&of_revision));
    if revisions.len() > REASONS {
        line(&format!("{FAINT}and {} earlier{FAINT:#}", counted(revisions.len() - REASONS, "revision")));
    }
    skill.results().iter().for_each(|results| line(results));
    delta.iter().flat_map(delta_lines).for_each(|capability| line(&capability));
    findings_lines(findings).iter().for_each(|finding| line(finding));
    text + &coloured_diff(&difference.text)
}

fn heading(change: &ChangedSkill) -> String {
    let ChangedSkill { skill, checkpoint, revisions, after, .. } = change;
    let count = counted(revisions.len(), "revision");
    let what = match checkpoint {
        Some(kept) if after.is_empty() => format!("deleted since revision {}", kept.number),
        Some(kept) => format!("{count} since revision {}, {}", kept.number, past_time(kept.stamp.time)),
        None => format!("new, {count}"),
    };
    format!("{STRONG}{skill}{STRONG:#}  {what}\n")
}

/// Formats a revision with its reason, which continues on further lines if it is long.
fn revision_lines(revision: &Revision) -> Vec<String> {
    let reason = revision.stamp.reason.as_deref().unwrap_or_default().replace('\n', " ");
    let text = format!(
        "{}  {}  {}  {}",
        past_time(revision.stamp.time),
        action_word(revision.action.as_str()),
        visible(&revision.stamp.actor.to_string()),
        visible(&reason)
    );
    let number = format!("{FAINT}{:>4}{FAINT:#}", revision.number);
    let lines = wrapped(&text, TEXT_COLUMNS).into_iter().enumerate();
    lines
        .map(|(place, part)| if place == 0 { format!("{number}  {part}") } else { format!("        {part}") })
        .collect()
}

/// Returns the command that keeps exactly what is shown.
fn keep_line(change: &ChangedSkill) -> String {
    let command = match change.head().filter(|_| !change.edited) {
        Some(head) => format!("skillhub review keep {}@{}", change.skill, head.id.short()),
        None => format!("skillhub commit {} --reason WHY", change.skill),
    };
    format!("  {FAINT}a person keeps it:{FAINT:#} {}\n", hints::for_user(&command))
}

/// Keeps the named revisions, each on its own.
pub fn keep(context: &Context, args: &KeepArgs) -> Result<Exit, CliError> {
    let reviewer = context.reviewer("keep a change")?;
    batch(context, "skills", "name", &args.skills, |text: &String| {
        let (name, spec) = text.split_once('@').unwrap_or((text, "head"));
        let name = context.skill_called(name)?;
        let library = context.library_with_past(&name)?;
        let (revision, _) = documents::at(&library, &name, spec).map_err(|error| match CliError::from(error) {
            error if error.exit == Exit::Usage => error.hint(format!("list its revisions: skillhub history {name}")),
            error => error,
        })?;
        review::keep(&library, &name, &revision, &reviewer, context.now)?;
        let document = json!({"ok": true, "name": name.as_str(), "number": revision.number, "revision": revision.id});
        Ok((document, format!("kept revision {}", revision.number)))
    })
}
