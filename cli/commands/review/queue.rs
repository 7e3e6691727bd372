//! `skillhub review list` and `skillhub review show` list proposals and describe one.

use std::io::{self, Write};

use clap::Args;
use jiff::Timestamp;
use library::{DamagedProposal, Proposal, ProposalEntry, ProposalState};
use scan::CapabilityDelta;
use skill::diff::Change;
use skill_manage::{
    documents::{self, ShownProposal},
    review::{self, ProposalRef},
};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    hints,
    print::{
        BAD, FAINT, GOOD, STRONG, Table, WARN, action_word, capability_lines, delta_lines, findings_lines, past_time,
        time, verdict_style, visible, wrapped,
    },
};

/// Width, in columns, of a value beside its label.
const VALUE_COLUMNS: usize = 68;

/// Flags of `review list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub review list
  skillhub review list --all --skill my-skill --json")]
pub struct ListArgs {
    /// Include decided proposals
    #[arg(long)]
    all: bool,
    /// Only proposals for this skill
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
}

/// Lists proposals, the oldest first.
pub fn list(context: &Context, args: &ListArgs) -> Result<Exit, CliError> {
    let skill = args.skill.as_deref().map(|name| context.skill_called(name)).transpose()?;
    let libraries = match &skill {
        Some(_) => context.visible_with_groups()?,
        None => context.libraries()?,
    };
    let mut entries = review::list(&libraries, args.all, skill.as_ref())?;
    let is_seen = context.seen()?;
    entries.retain(|entry| entry.skill().is_none_or(|skill| is_seen(skill.as_str())));
    let deltas = documents::deltas(&libraries, &entries);
    context.out.answer(&documents::proposals(&entries, &deltas, context.now), |out| {
        if entries.is_empty() {
            let none = if args.all { "No proposals" } else { "No pending proposals" };
            return writeln!(out, "{none}");
        }
        write(&entries, &deltas, context.now, out)
    })?;
    if skill.is_none() {
        let more = review::list(&context.libraries_behind(), args.all, None)?;
        let count = more.iter().filter(|entry| entry.skill().is_none_or(|skill| is_seen(skill.as_str()))).count();
        let command = if args.all { "skillhub review list --all" } else { "skillhub review list" };
        context.note_more_behind(count, "proposal", command);
    }
    Ok(Exit::Done)
}

/// Writes a table of proposals, then the capabilities that each adds.
pub fn write(
    entries: &[ProposalEntry],
    deltas: &[Option<CapabilityDelta>],
    now: Timestamp,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new(&["id", "skill", "state", "verdict", "actor", "action", "created", "reason"]);
    entries.iter().for_each(|entry| table.row(&row(entry, now)));
    table.write(out)?;
    entries.iter().zip(deltas).try_for_each(|(entry, delta)| {
        let (ProposalEntry::Whole(proposal), Some(delta)) = (entry, delta) else { return Ok(()) };
        let mut print = |line| writeln!(out, "{FAINT}{}{FAINT:#} {line}", proposal.id);
        delta_lines(delta).into_iter().try_for_each(&mut print)
    })
}

/// Returns the id with the proposal's own revision, so that it cannot refer to a newer one.
fn typed_id(proposal: &Proposal) -> String {
    format!("{}@{}", proposal.id, proposal.revision)
}

fn row(entry: &ProposalEntry, now: Timestamp) -> Vec<String> {
    match entry {
        ProposalEntry::Whole(proposal) => vec![
            typed_id(proposal),
            proposal.skill.to_string(),
            review::state_at(proposal, now).as_str().to_owned(),
            proposal.scan.verdict().to_string(),
            visible(&proposal.actor.to_string()),
            action_word(proposal.action.as_str()).to_owned(),
            past_time(proposal.created),
            visible(&proposal.reason.as_deref().unwrap_or_default().replace('\n', " ")),
        ],
        ProposalEntry::Damaged(damaged) => {
            let skill = damaged.skill.as_ref().map(ToString::to_string).unwrap_or_default();
            let cells = [damaged.id.to_string(), skill, "damaged".to_owned()];
            let rest = [String::new(), String::new(), String::new(), String::new(), visible(&damaged.why)];
            cells.into_iter().chain(rest).collect()
        }
    }
}

/// Prints all details of one proposal except its text.
pub fn show(context: &Context, target: &ProposalRef) -> Result<Exit, CliError> {
    let library = context.library_with_proposal(&target.id)?;
    let shown = documents::proposal(&library, target)?;
    let next = match &shown.entry {
        ProposalEntry::Whole(proposal) => accept_line(proposal, shown.reviewed.as_ref(), shown.moved),
        ProposalEntry::Damaged(_) => String::new(),
    };
    context.out.long_answer(&shown.document(context.now), || text(&shown, context.now) + &next)
}

/// Formats all details of a proposal except its difference.
pub fn text(shown: &ShownProposal, now: Timestamp) -> String {
    let proposal = match &shown.entry {
        ProposalEntry::Whole(proposal) => proposal,
        ProposalEntry::Damaged(damaged) => return about_damaged(damaged),
    };
    let lines = shown.capabilities.iter().flat_map(capability_lines);
    let lines = shown.delta.iter().flat_map(delta_lines).chain(lines);
    lines.fold(about(proposal, shown.moved, now), |text, line| format!("{text}  {line}\n"))
}

/// Returns the command that accepts the proposal as shown, or the one that shows what accepting it would change now.
fn accept_line(proposal: &Proposal, reviewed: Option<&ProposalRef>, moved: bool) -> String {
    let Some(reviewed) = reviewed.filter(|_| proposal.state.is_open()) else { return String::new() };
    let command = match moved {
        true => format!("skillhub review diff {} --onto-head", proposal.id),
        false => format!("skillhub review accept {reviewed}"),
    };
    format!("  {FAINT}next{FAINT:#}      {}\n", hints::for_user(&command))
}

fn about(proposal: &Proposal, moved: bool, now: Timestamp) -> String {
    let state = review::state_at(proposal, now);
    let style = match state {
        ProposalState::Accepted => GOOD,
        ProposalState::Rejected | ProposalState::Quarantined => BAD,
        _ => WARN,
    };
    let (verdict, id) = (proposal.scan.verdict(), typed_id(proposal));
    let of_verdict = verdict_style(verdict);
    let mut text = format!(
        "{STRONG}{id}{STRONG:#}  {style}{}{style:#}  {} {STRONG}{}{STRONG:#}  by {}  \
         {of_verdict}{verdict}{of_verdict:#}\n",
        state.as_str(),
        action_word(proposal.action.as_str()),
        proposal.skill,
        visible(&proposal.actor.to_string()),
    );
    let mut line = |label: &str, value: &str| {
        text.push_str(&format!("  {FAINT}{label:<9}{FAINT:#} {}\n", visible(&value.replace('\n', " "))));
    };
    // A long value continues on further lines. Those with commands are never broken.
    let mut optional = |label: &str, value: Option<&str>| {
        let parts = value.map(|value| wrapped(&value.replace('\n', " "), VALUE_COLUMNS)).unwrap_or_default();
        parts.iter().enumerate().for_each(|(place, part)| line(if place == 0 { label } else { "" }, part));
    };
    optional("held", Some(&proposal.why));
    optional("reason", proposal.reason.as_deref());
    for evidence in &proposal.evidence {
        optional(evidence.kind.as_str(), Some(&evidence.text));
    }
    optional("run", proposal.run.as_deref());
    optional("thread", proposal.thread.as_deref());
    optional("note", proposal.note.as_deref());
    optional("edited by", proposal.edited_by.as_ref().map(ToString::to_string).as_deref());
    optional("created", Some(&past_time(proposal.created)));
    optional("expires", Some(&time(proposal.expires)).filter(|_| proposal.state.is_open()).map(String::as_str));
    if let Some(release) = &proposal.release {
        line("merges", &release.origin.release());
        for path in &release.unresolved {
            line("open", &format!("{path} has both sides; resolve it: skillhub review edit {}", proposal.id));
        }
    }
    if moved && proposal.state.is_open() {
        line("head", "the skill has changed since; see what accepting would do with `review diff --onto-head`");
    }
    if let Some(decided) = &proposal.decided {
        let reason = decided.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let was_decided = matches!(state, ProposalState::Accepted | ProposalState::Rejected);
        let label = if was_decided { "decided" } else { "closed" };
        line(label, &format!("{} by {}{reason}", past_time(decided.time), decided.by));
        let revision = decided.revision.as_ref().map(|id| id.short());
        revision.into_iter().for_each(|id| line("revision", id));
    }
    for file in &proposal.files {
        let word = match file.change {
            Change::Added => "added",
            Change::Modified => "modified",
            Change::Removed => "removed",
        };
        let runs = if file.file.as_ref().is_some_and(|file| file.executable) { "  executable" } else { "" };
        text.push_str(&format!("  {word:<9} {}{runs}\n", visible(file.path.as_str())));
    }
    for line in findings_lines(proposal.scan.findings.iter().filter(|finding| finding.new)) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

fn about_damaged(damaged: &DamagedProposal) -> String {
    format!(
        "{STRONG}{}{STRONG:#}  {BAD}damaged{BAD:#}\n  {}\n  remove it: skillhub review reject {}\n",
        damaged.id,
        visible(&damaged.why),
        damaged.id
    )
}
