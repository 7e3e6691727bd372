//! The inbox at a terminal: each item is shown, and one key decides on it. A decision takes effect at once, so that
//! nothing is lost when the command ends early.

use std::io;

use console::{Key, Term};
use library::{Action, Library, ProposalEntry, Revision};
use ops::{Inbox, InboxSkill};
use serde_json::Value;
use skill::{SkillName, counted, edit::Edit};
use skill_manage::{
    ChangeRequest, CommitEdit, Notes, Reviewer, Rollback, documents,
    review::{self, Accept, ChangedSkill, Decider, ProposalRef, Reject},
};

use super::{
    conflict_text,
    edit::{self, EditArgs},
    inbox, queue,
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, GOOD, STRONG, coloured_diff},
};

/// Reason in the history for changes that a person makes in a review.
const REASON: &str = "decided in a review";

/// Reply to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Keep,
    Revert,
    Edit,
    Pin,
    Skip,
    Quit,
}

/// Key, the word for its effect, and the reply.
type Choice = (char, &'static str, Reply);

const EDIT: Choice = ('e', "edit", Reply::Edit);
const SKIP: Choice = ('s', "skip", Reply::Skip);
const QUIT: Choice = ('q', "quit", Reply::Quit);

/// Item of the inbox.
enum Item {
    Proposal(ProposalRef),
    Skill(usize, SkillName),
}

/// Item as shown to the person.
enum Shown {
    /// Proposal, with the reference to exactly what was shown. False if it is damaged.
    Proposal(ProposalRef, bool),
    Skill(usize, Box<InboxSkill>),
}

impl Shown {
    fn choices(&self) -> Vec<Choice> {
        match self {
            Self::Proposal(_, false) => vec![('r', "reject", Reply::Revert), SKIP, QUIT],
            Self::Proposal(_, true) => {
                vec![('a', "accept", Reply::Keep), ('r', "reject", Reply::Revert), EDIT, SKIP, QUIT]
            }
            Self::Skill(_, skill) => {
                let is_new = skill.change.before.is_empty();
                let revert = if is_new { ('d', "delete", Reply::Revert) } else { ('r', "roll back", Reply::Revert) };
                let is_there = !skill.change.after.is_empty();
                let (edit, pin) = (is_there.then_some(EDIT), is_there.then_some(('p', "keep and pin", Reply::Pin)));
                let optional = edit.into_iter().chain(pin);
                [('k', "keep", Reply::Keep), revert].into_iter().chain(optional).chain([SKIP, QUIT]).collect()
            }
        }
    }
}

/// Goes through the inbox: the proposals first, then the changed skills.
pub fn run(context: &Context, mut inbox: Inbox, reviewer: &Reviewer) -> Result<Exit, CliError> {
    let id = |entry: &ProposalEntry| match entry {
        ProposalEntry::Whole(proposal) => proposal.id.clone(),
        ProposalEntry::Damaged(damaged) => damaged.id.clone(),
    };
    let proposals = inbox.proposals.iter().map(|entry| Item::Proposal(ProposalRef::to(id(entry))));
    let skills = inbox.skills.iter().map(|(place, name)| Item::Skill(*place, name.clone()));
    let items: Vec<Item> = proposals.chain(skills).collect();
    say(context, &inbox::summary(inbox.proposals.len(), inbox.skills.len()))?;
    let mut skipped = 0;
    for (place, item) in items.iter().enumerate() {
        let of = format!("{} of {}", place + 1, items.len());
        match one(context, &mut inbox, item, &of, reviewer)? {
            Reply::Quit => {
                skipped += items.len() - place;
                break;
            }
            Reply::Skip => skipped += 1,
            _ => {}
        }
    }
    if skipped > 0 {
        say(context, &format!("{} left for later: skillhub review", counted(skipped, "item")))?;
    }
    Ok(Exit::Done)
}

/// Shows one item until it is decided, and returns the last reply.
fn one(context: &Context, inbox: &mut Inbox, item: &Item, of: &str, reviewer: &Reviewer) -> Result<Reply, CliError> {
    while let Some(shown) = show(context, inbox, item)? {
        let reply = ask(context, of, &shown.choices())?;
        if matches!(reply, Reply::Skip | Reply::Quit) {
            return Ok(reply);
        }
        let decided = match &shown {
            Shown::Proposal(target, _) => on_proposal(context, target, reply, reviewer),
            Shown::Skill(place, skill) => match inbox.libraries.get_mut(*place) {
                Some(library) => on_skill(context, library, &skill.change, reply, reviewer),
                None => Ok(None),
            },
        };
        match decided {
            Ok(Some(line)) => {
                say(context, &format!("{GOOD}{line}{GOOD:#}\n"))?;
                return Ok(reply);
            }
            // An edited proposal still waits for its decision.
            Ok(None) => {}
            // The item is shown again: it may have changed meanwhile.
            Err(error) => drop(context.out.fail(&error)),
        }
    }
    Ok(Reply::Keep)
}

fn say(context: &Context, text: &str) -> Result<(), CliError> {
    context.out.answer(&Value::Null, |out| writeln!(out, "{text}"))
}

/// Shows an item with its change. `None` if there is nothing to decide any more.
fn show(context: &Context, inbox: &Inbox, item: &Item) -> Result<Option<Shown>, CliError> {
    let (text, shown) = match item {
        Item::Skill(place, name) => {
            let Some(library) = inbox.libraries.get(*place) else { return Ok(None) };
            let Some(skill) = InboxSkill::of(library, name, context.now)? else { return Ok(None) };
            (inbox::skill_text(&skill), Shown::Skill(*place, Box::new(skill)))
        }
        Item::Proposal(target) => {
            let library = context.library_with_proposal(&target.id)?;
            let proposal = documents::proposal(&library, target)?;
            let text = queue::text(&proposal, context.now);
            match &proposal.entry {
                ProposalEntry::Damaged(_) => (text, Shown::Proposal(target.clone(), false)),
                ProposalEntry::Whole(whole) if !whole.state.is_open() => return Ok(None),
                ProposalEntry::Whole(_) => {
                    let difference = review::difference(&library, target, proposal.moved)?;
                    let conflicts: String =
                        difference.conflicts.iter().map(|conflict| conflict_text(conflict) + "\n").collect();
                    let text = text + &coloured_diff(&difference.text) + &conflicts;
                    (text, Shown::Proposal(difference.reviewed, true))
                }
            }
        }
    };
    context.out.long_answer(&Value::Null, || text)?;
    Ok(Some(shown))
}

/// Asks for one of the keys.
fn ask(context: &Context, of: &str, choices: &[Choice]) -> Result<Reply, CliError> {
    let words: Vec<String> = choices.iter().map(|(key, word, _)| format!("{STRONG}{key}{STRONG:#} {word}")).collect();
    loop {
        context.out.answer(&Value::Null, |out| write!(out, "{FAINT}{of}{FAINT:#}  {}: ", words.join(", ")))?;
        let key = match Term::stdout().read_key() {
            Ok(Key::Char(key)) => key.to_ascii_lowercase(),
            Ok(Key::Escape | Key::CtrlC) => 'q',
            Ok(_) => ' ',
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 'q',
            Err(error) => return Err(error.into()),
        };
        let found = choices.iter().find(|(of, _, _)| *of == key);
        say(context, found.map_or("", |(_, word, _)| word))?;
        if let Some((_, _, reply)) = found {
            return Ok(*reply);
        }
    }
}

/// Decides on a proposal and describes the result. `None` if it is to be shown again.
fn on_proposal(
    context: &Context,
    target: &ProposalRef,
    reply: Reply,
    reviewer: &Reviewer,
) -> Result<Option<String>, CliError> {
    let mut library = context.library_with_proposal(&target.id)?;
    match reply {
        Reply::Keep => {
            let elsewhere = || context.elsewhere();
            let accept = Accept { target: target.clone(), reason: None, trial: None };
            let report = review::accept(&mut library, &accept, reviewer, &context.manage(&elsewhere)?)?;
            if let Ok(skill) = SkillName::parse(&report.name) {
                context.refresh_lock(&library, &skill);
            }
            let number = report.number.map(|number| format!(" as revision {number}")).unwrap_or_default();
            Ok(Some(format!("Accepted for {}{number}", report.name)))
        }
        Reply::Edit => {
            edit::run(context, &EditArgs::of(target))?;
            Ok(None)
        }
        _ => {
            let reject = Reject { target: ProposalRef::to(target.id.clone()), reason: None };
            review::reject(&mut library, &reject, Decider::Person(reviewer), context.now)?;
            Ok(Some(format!("Rejected {}", target.id)))
        }
    }
}

/// Decides on a changed skill and describes the result.
fn on_skill(
    context: &Context,
    library: &mut Library,
    change: &ChangedSkill,
    reply: Reply,
    reviewer: &Reviewer,
) -> Result<Option<String>, CliError> {
    let skill = &change.skill;
    let line = match reply {
        Reply::Revert => revert(context, library, change)?,
        Reply::Edit => {
            let edited = edit_skill(context, library, change)?;
            review::keep(library, skill, &edited, reviewer, context.now)?;
            format!("Kept your edit of {skill} as revision {}", edited.number)
        }
        _ => {
            let kept = recorded(context, library, change)?;
            review::keep(library, skill, &kept, reviewer, context.now)?;
            let mut line = format!("Kept revision {} of {skill}", kept.number);
            if reply == Reply::Pin {
                skill_manage::pin(library, skill, &context.stamp())?;
                line.push_str("; only people can change it now");
            }
            line
        }
    };
    context.refresh_lock(library, skill);
    Ok(Some(line))
}

fn notes() -> Notes {
    Notes { reason: Some(REASON.to_owned()), ..Notes::default() }
}

/// Returns the revision with the files that were shown. An edit of the folder becomes one first.
fn recorded(context: &Context, library: &mut Library, change: &ChangedSkill) -> Result<Revision, CliError> {
    if let Some(head) = change.head().filter(|_| !change.edited) {
        return Ok(head.clone());
    }
    let elsewhere = || context.elsewhere();
    let edit = CommitEdit { skill: change.skill.clone(), notes: notes(), dry_run: false };
    skill_manage::commit(library, &edit, &context.manage(&elsewhere)?)?;
    let head = library.head(&change.skill)?.filter(|head| head.digest == change.digest());
    head.ok_or_else(|| {
        CliError::new("stale", Exit::Conflict, format!("{} changed after it was shown", change.skill))
            .hint("look at it again: skillhub review")
    })
}

/// Restores the review checkpoint, or deletes a skill that has none.
fn revert(context: &Context, library: &mut Library, change: &ChangedSkill) -> Result<String, CliError> {
    let (skill, elsewhere) = (change.skill.clone(), || context.elsewhere());
    let context = context.manage(&elsewhere)?;
    let expected_revision = change.head().filter(|_| !change.edited).map(|head| head.id.to_string());
    match change.checkpoint.as_ref().filter(|kept| !kept.tombstone) {
        Some(kept) => {
            let to = Some(kept.id.to_string());
            let rollback = Rollback { skill, to, expected_revision, notes: notes(), dry_run: false };
            skill_manage::roll_back(library, &rollback, &context)?;
            Ok(format!("Rolled {} back to revision {}", change.skill, kept.number))
        }
        None => {
            let request = request(skill, Action::Delete, vec![Edit::Delete], expected_revision);
            skill_manage::manage(library, &request, &context)?;
            Ok(format!("Deleted {}; restore it: skillhub rollback {}", change.skill, change.skill))
        }
    }
}

fn request(skill: SkillName, action: Action, edits: Vec<Edit>, expected_revision: Option<String>) -> ChangeRequest {
    let (dry_run, absorbed_into, remarks) = (false, None, Vec::new());
    ChangeRequest { skill, action, edits, expected_revision, notes: notes(), dry_run, absorbed_into, remarks }
}

/// Lets the person edit the changed texts, and returns the revision with the result.
fn edit_skill(context: &Context, library: &mut Library, change: &ChangedSkill) -> Result<Revision, CliError> {
    let changed = change.difference.files.iter();
    let files: Vec<_> =
        changed.filter_map(|file| Some((file.path.clone(), change.after.get(&file.path)?.clone()))).collect();
    let replacements = edit::in_editor(context, change.skill.as_str(), &files, &[])?;
    let base = recorded(context, library, change)?;
    let edits = replacements.into_iter().filter_map(|replacement| {
        let bytes = replacement.bytes?;
        Some(Edit::WriteFile { path: replacement.path, bytes, executable: None })
    });
    let request = request(change.skill.clone(), Action::Operations, edits.collect(), Some(base.id.to_string()));
    let elsewhere = || context.elsewhere();
    let report = skill_manage::manage(library, &request, &context.manage(&elsewhere)?)?;
    Ok(report.revision.map_or_else(|| Ok(base), |id| library.revision(&id)).map_err(skill_manage::ManageError::from)?)
}
