//! `skillhub review` without a subcommand prints a person's inbox, and `skillhub review keep` moves review checkpoints.

use std::io::Write;

use clap::Args;
use evolve::Count;
use library::{ActorKind, Library, Revision};
use ops::{Inbox, InboxSkill, REASONS};
use serde_json::json;
use skill::counted;
use skill_manage::{
    documents,
    review::{self, ChangedSkill},
};

use super::{batch, queue};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    hints,
    print::{FAINT, STRONG, WARN, coloured_diff, delta_lines, findings_lines, past_time, visible},
};

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
    for skill in &skills {
        write!(text, "\n{}{}", skill_text(skill), keep_line(&skill.change))?;
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    context.out.long_answer(&inbox.document(&skills, context.now), || text)?;
    Ok(Exit::Done)
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

/// Returns the names of the changed skills in some libraries, and for a person the line that counts them.
pub fn news(context: &Context, libraries: &[Library]) -> Result<(Vec<String>, Option<String>), CliError> {
    let changed = context.changed_since_review(libraries)?;
    let names: Vec<String> = changed.into_iter().map(|(_, name)| name.to_string()).collect();
    let is_told = !names.is_empty() && context.actor.kind == ActorKind::Person;
    let line = is_told.then(|| format!("{WARN}{}{WARN:#}: skillhub review", summary(0, names.len())));
    Ok((names, line))
}

/// Formats a changed skill: its revisions with their reasons, outcomes, capabilities, findings and difference.
pub fn skill_text(skill: &InboxSkill) -> String {
    let ChangedSkill { revisions, edited, difference, delta, findings, .. } = &skill.change;
    let mut text = heading(&skill.change);
    let mut line = |line: &str| text.push_str(&format!("  {line}\n"));
    if *edited {
        line(&format!("{WARN}edited{WARN:#} in its folder; no revision has this edit yet"));
    }
    revisions.iter().take(REASONS).for_each(|revision| line(&revision_line(revision)));
    if revisions.len() > REASONS {
        line(&format!("{FAINT}and {} earlier{FAINT:#}", counted(revisions.len() - REASONS, "revision")));
    }
    if let Some(outcomes) = outcomes(&skill.before, &skill.since) {
        line(&outcomes);
    }
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

fn revision_line(revision: &Revision) -> String {
    let reason = revision.stamp.reason.as_deref().unwrap_or_default().replace('\n', " ");
    format!(
        "{FAINT}{:>4}{FAINT:#}  {}  {}  {}  {}",
        revision.number,
        past_time(revision.stamp.time),
        revision.action.as_str(),
        visible(&revision.stamp.actor.to_string()),
        visible(&reason)
    )
}

/// Describes the runs before and since the checkpoint. `None` if there were none.
fn outcomes(before: &Count, since: &Count) -> Option<String> {
    let words = |count: &Count| format!("{} of {} succeeded", count.successes, counted(count.known(), "run"));
    match (before.known(), since.known()) {
        (0, 0) => None,
        (0, _) => Some(format!("{} since", words(since))),
        (_, 0) => Some(format!("{} before, no runs since", words(before))),
        _ => Some(format!("{} before, {} since", words(before), words(since))),
    }
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
        let library = context.library_of(&name)?;
        let (revision, _) = documents::at(&library, &name, spec)?;
        review::keep(&library, &name, &revision, &reviewer, context.now)?;
        let document = json!({"ok": true, "name": name.as_str(), "number": revision.number, "revision": revision.id});
        Ok((document, format!("kept revision {}", revision.number)))
    })
}
