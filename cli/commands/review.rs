//! `skillhub review` shows proposals, and records people's decisions on them.

mod edit;
pub mod inbox;
mod keys;
mod queue;
mod walk;

use std::io::{self, IsTerminal};

use clap::{Args, Subcommand};
use library::Stamp;
use ops::TOKEN_VARIABLE;
use serde_json::{Value, json};
use skill::{SkillName, SkillPath, merge::Conflict};
use skill_manage::{
    Report, Status,
    review::{self, Accept, Decider, Difference, ProposalRef, Reject},
};

use crate::{
    commands::{eval, evolve::reach::TrialReach, manage, show::print_file},
    context::Context,
    exit::{CliError, Exit, failed},
    hints,
    print::{GOOD, STRONG, WARN, coloured_diff, visible},
};

/// Flags of `review`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub review                                everything that waits for you; at a terminal, one
                                                 key decides each item
  skillhub review keep pdf                       you have seen the changes of pdf and keep them
  skillhub review list                           pending proposals
  skillhub review show k7m3qx                    its author, reason, findings and files
  skillhub review diff k7m3qx --onto-head        what accepting it would change now
  skillhub review accept k7m3qx@1@0f3a9c21b4d8   only if proposal and skill are unchanged since
                                                 `review show` or `review diff` printed this id
  skillhub review accept k7m3qx --require-evals  only if `eval compare` found it no worse
  skillhub review accept k7m3qx --canary 0.2     in a fifth of the runs first; see
                                                 `skillhub evolve --help`
  skillhub review edit k7m3qx                    change it in $EDITOR first
  skillhub review reject k7m3qx --reason \"wrong tool\"

A proposal is a change that a policy held for a person's decision. Only people can accept and edit
proposals: at a terminal, or with SKILLHUB_REVIEWER_TOKEN. The author of a proposal can reject it too.

Without a subcommand, the pending proposals come first. Then each skill with changes since its review
checkpoint, the last revision that a person kept, is shown as one difference, however many revisions it
has.")]
pub struct ReviewArgs {
    #[command(subcommand)]
    command: Option<ReviewCommand>,
}

/// Subcommands of `review`.
#[derive(Debug, Subcommand)]
pub enum ReviewCommand {
    /// Keep the changes of skills, so that later reviews begin there
    Keep(inbox::KeepArgs),
    /// List pending proposals
    List(queue::ListArgs),
    /// Show a proposal: its author, reason, findings and files
    Show {
        /// The proposal
        #[arg(value_name = "ID")]
        id: String,
        /// Print the proposed content of this file
        path: Option<String>,
    },
    /// Show what a proposal changes
    Diff {
        /// The proposal
        #[arg(value_name = "ID")]
        id: String,
        /// Compare with the skill's newest revision instead of the one that the change was made on
        #[arg(long)]
        onto_head: bool,
    },
    /// Change a proposal before deciding
    Edit(edit::EditArgs),
    /// Accept proposals as the newest revisions of their skills
    Accept(AcceptArgs),
    /// Reject proposals, including damaged and expired ones
    Reject(DecideArgs),
}

/// Flags of `review accept` and `review reject`.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// Proposals by id. ID@N@HEAD, as `review show` prints it, names exact content on an exact head;
    /// ID and ID@N mean the head that the change was made on
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Decide only if the proposal is at its revision N
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Flags of `review accept`.
#[derive(Debug, Args)]
pub struct AcceptArgs {
    #[command(flatten)]
    decide: DecideArgs,
    /// Accept only if `skillhub eval compare` found it no worse than the current skill
    #[arg(long)]
    require_evals: bool,
    /// Use it in this share of the runs only, such as 0.2, until their outcomes decide
    #[arg(long, value_name = "SHARE")]
    canary: Option<f64>,
}

/// Runs the subcommand, or shows what waits for a person.
pub fn run(context: &Context, args: &ReviewArgs) -> Result<Exit, CliError> {
    let Some(command) = &args.command else { return show_inbox(context) };
    match command {
        ReviewCommand::Keep(args) => inbox::keep(context, args),
        ReviewCommand::List(args) => queue::list(context, args),
        ReviewCommand::Show { id, path: None } => queue::show(context, &target(id)?),
        ReviewCommand::Show { id, path: Some(path) } => show_file(context, &target(id)?, &manage::parse_path(path)?),
        ReviewCommand::Diff { id, onto_head } => diff(context, &target(id)?, *onto_head),
        ReviewCommand::Edit(args) => edit::run(context, args),
        ReviewCommand::Accept(args) => accept(context, args),
        ReviewCommand::Reject(args) => reject(context, args),
    }
}

/// Shows the inbox. At a terminal, a person decides on each item with one key.
fn show_inbox(context: &Context) -> Result<Exit, CliError> {
    let inbox = context.inbox()?;
    let can_ask = !context.out.json && !context.out.quiet && io::stdin().is_terminal() && io::stdout().is_terminal();
    match context.reviewer("decide in a review") {
        Ok(reviewer) if can_ask => walk::run(context, inbox, &reviewer),
        _ => inbox::print(context, &inbox),
    }
}

/// Parses a proposal's id from the command line.
fn target(text: &str) -> Result<ProposalRef, CliError> {
    text.parse().map_err(|error: review::ProposalRefError| {
        CliError::usage(error.to_string()).hint("see the ids: skillhub review list")
    })
}

/// Parses the proposals of a decision. `--revision` applies to a single one.
fn targets(args: &DecideArgs) -> Result<Vec<ProposalRef>, CliError> {
    let mut targets = args.ids.iter().map(|id| target(id)).collect::<Result<Vec<_>, _>>()?;
    match (args.revision, targets.as_mut_slice()) {
        (None, _) => {}
        (Some(revision), [one]) if one.revision.is_none_or(|named| named == revision) => one.revision = Some(revision),
        (Some(_), _) => {
            return Err(CliError::usage("--revision takes exactly one proposal, without a number of its own")
                .hint("write several proposals as ID@N"));
        }
    }
    Ok(targets)
}

/// Prints one file of the candidate.
fn show_file(context: &Context, target: &ProposalRef, path: &SkillPath) -> Result<Exit, CliError> {
    let library = context.library_with_proposal(&target.id)?;
    let proposal = review::proposal(&library, target)?;
    let candidate = review::candidate(&library, &proposal)?;
    let file = candidate.get(path).ok_or_else(|| {
        let message = format!("the proposal {} has no file {path}", proposal.id);
        CliError::new("not_found", Exit::NotFound, message)
            .hint(format!("see the files that it changes: skillhub review show {}", proposal.id))
    })?;
    print_file(context, path, file)
}

fn diff(context: &Context, target: &ProposalRef, onto_head: bool) -> Result<Exit, CliError> {
    let difference = review::difference(&context.library_with_proposal(&target.id)?, target, onto_head)?;
    let Difference { proposal, files, text, conflicts, moved, reviewed, .. } = difference;
    let from = if onto_head { json!("head") } else { json!(proposal.base) };
    let document = json!({
        "ok": true, "id": proposal.id.as_str(), "name": proposal.skill.as_str(), "revision": proposal.revision,
        "from": from, "files": files, "diff": text, "moved": moved, "conflicts": conflicts,
        "reviewed": reviewed.to_string(),
    });
    let mut shown = coloured_diff(&text);
    for conflict in &conflicts {
        shown.push_str(&conflict_text(conflict));
        shown.push('\n');
    }
    if moved && !onto_head {
        context.out.note("The skill has changed since. Pass --onto-head to see what accepting would do now");
    }
    if proposal.state.is_open() && conflicts.is_empty() && (onto_head || !moved) {
        context
            .out
            .note(&hints::for_user(&format!("A person accepts exactly this: `skillhub review accept {reviewed}`")));
    }
    context.out.long_answer(&document, || shown)
}

/// Formats a conflict with its three texts: base, skill and proposal.
fn conflict_text(conflict: &Conflict) -> String {
    let mut text = format!("{WARN}conflict{WARN:#}: {}", visible(&conflict.to_string()));
    for (label, there) in [("base", &conflict.base), ("skill", &conflict.ours), ("proposed", &conflict.theirs)] {
        let Some(there) = there else { continue };
        text.push_str(&format!("\n  {label}:"));
        there.lines().for_each(|line| text.push_str(&format!("\n    {}", visible(line))));
    }
    text
}

fn accept(context: &Context, args: &AcceptArgs) -> Result<Exit, CliError> {
    let AcceptArgs { decide: args, require_evals, canary } = args;
    let targets = targets(args)?;
    let trial = canary.map(|share| context.gate()?.terms(Some(share)).map_err(failed)).transpose()?;
    let reviewer = context
        .reviewer("accept a proposal")
        .map_err(CliError::from)
        .inspect_err(|error| note_refused(context, args, &targets, error))?;
    let one = |mut target: ProposalRef| -> Result<Report, CliError> {
        let mut library = context.library_with_proposal(&target.id)?;
        if *require_evals {
            let seen = eval::required::check(context, &library, &target);
            target = seen.inspect_err(|error| note_refused(context, args, std::slice::from_ref(&target), error))?;
        }
        let accept = Accept { target, reason: args.reason.clone(), trial: trial.clone() };
        let mut report =
            context.change(&mut library, |library, acting| review::accept(library, &accept, &reviewer, acting))?;
        if report.status == Status::Applied
            && let Ok(skill) = SkillName::parse(&report.name)
            && let Some(trial) = library.state()?.of(&skill).trial
        {
            let reach = TrialReach::of(context, &library, &skill, &trial)?;
            reach.sentences().iter().for_each(|sentence| report.add(sentence));
        }
        Ok(report)
    };
    match targets.as_slice() {
        [target] => manage::print(context.out, &one(target.clone())?),
        _ => batch(context, "proposals", "id", targets, |target| {
            let report = one(target)?;
            let number = report.number.map(|number| format!(", revision {number}")).unwrap_or_default();
            Ok((json!(report), format!("{}{number}", report.name)))
        }),
    }
}

/// Logs an attempt to accept proposals by somebody who is not a person.
fn note_refused(context: &Context, args: &DecideArgs, targets: &[ProposalRef], error: &CliError) {
    let stamp = Stamp { reason: args.reason.clone(), ..context.stamp() };
    for target in targets {
        if let Ok(library) = context.library_with_proposal(&target.id) {
            review::note_refused(&library, &target.id, &stamp, error.code, &error.message);
        }
    }
}

fn reject(context: &Context, args: &DecideArgs) -> Result<Exit, CliError> {
    let targets = targets(args)?;
    let proof = context.reviewer("reject a proposal of somebody else");
    let decider = match proof {
        Ok(ref reviewer) => Decider::Person(reviewer),
        Err(_) if std::env::var_os(TOKEN_VARIABLE).is_none_or(|token| token.is_empty()) => {
            Decider::Actor(&context.actor)
        }
        Err(refusal) => return Err(refusal.into()),
    };
    let one = |target: ProposalRef| -> Result<(Value, String), CliError> {
        let mut library = context.library_with_proposal(&target.id)?;
        let reject = Reject { target, reason: args.reason.clone() };
        let rejected = review::reject(&mut library, &reject, decider, context.now)?;
        let document = json!({
            "ok": true, "id": rejected.id.as_str(), "name": rejected.skill, "state": "rejected",
            "by": rejected.by.to_string(),
        });
        let skill = rejected.skill.map(|skill| format!(" for {skill}")).unwrap_or_default();
        Ok((document, format!("Rejected the proposal {}{skill}", rejected.id)))
    };
    match targets.as_slice() {
        [target] => {
            let (document, text) = one(target.clone())?;
            context.out.answer(&document, |out| writeln!(out, "{text}; it is kept with its reason"))
        }
        _ => batch(context, "proposals", "id", targets, one),
    }
}

/// Decides on several items independently, each with a document and a line. The exit code is the most severe of all
/// results. `list` and `key` name the items and the reference to one in the JSON answer.
fn batch<T: ToString>(
    context: &Context,
    list: &str,
    key: &str,
    targets: impl IntoIterator<Item = T>,
    mut one: impl FnMut(T) -> Result<(Value, String), CliError>,
) -> Result<Exit, CliError> {
    let (mut documents, mut lines, mut exit, mut gravest) = (Vec::new(), Vec::new(), Exit::Done, Value::Null);
    for target in targets {
        let id = target.to_string();
        match one(target) {
            Ok((document, line)) => {
                documents.push(document);
                lines.push(format!("{GOOD}done{GOOD:#} {STRONG}{id}{STRONG:#}  {line}"));
            }
            Err(error) => {
                let mut document = error.to_json();
                if error.exit > exit {
                    (exit, gravest) = (error.exit, document["error"].clone());
                }
                document[key] = json!(id);
                documents.push(document);
                let hint = error.hint.map(|hint| format!("\n  {}", visible(&hint))).unwrap_or_default();
                lines.push(format!("{WARN}failed{WARN:#} {STRONG}{id}{STRONG:#}  {}{hint}", visible(&error.message)));
            }
        }
    }
    let mut answer = json!({"ok": exit == Exit::Done, list: documents});
    if !gravest.is_null() {
        answer["error"] = gravest;
    }
    context.out.answer(&answer, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(exit)
}
