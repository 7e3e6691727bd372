//! The inbox at a terminal: each item is shown, and one key decides on it. A decision takes effect at once, so that
//! nothing is lost when the command ends early.

use ops::{Decision, Inbox, InboxItem, ShownItem};
use serde_json::Value;
use skill::{File, SkillPath, counted, edit::Edit};
use skill_manage::{
    Reviewer,
    review::{ChangedSkill, Difference, Replacement},
};

use super::{
    conflict_text,
    edit::{self, EditArgs},
    inbox,
    keys::{Choice, ask},
    queue,
};
use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, GOOD, coloured_diff, terminal_lines},
};

/// Reply to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    Decide(Decision),
    Edit,
    Skip,
    Quit,
}

const EDIT: Choice<Reply> = ('e', "edit", Reply::Edit);
const SKIP: Choice<Reply> = ('s', "skip", Reply::Skip);
const QUIT: Choice<Reply> = ('q', "quit", Reply::Quit);
/// Shows the next screenful; `None` because it replies to nothing.
const MORE: Choice<Option<Reply>> = ('m', "more", None);

/// Lines of the screen that the question below a screenful takes.
const QUESTION_LINES: usize = 3;

/// Returns the replies to an item.
fn choices(shown: &ShownItem) -> Vec<Choice<Reply>> {
    let key = |word: &str, decision| match decision {
        Decision::Pin => 'p',
        _ => word.chars().next().unwrap_or_default(),
    };
    let decisions = shown.decisions().into_iter();
    let mut choices: Vec<Choice<Reply>> =
        decisions.map(|(word, decision)| (key(word, decision), word, Reply::Decide(decision))).collect();
    if shown.is_editable() {
        choices.insert(2, EDIT);
    }
    choices.extend([SKIP, QUIT]);
    choices
}

/// Goes through the inbox: the proposals first, then the changed skills.
pub fn run(context: &Context, mut inbox: Inbox, reviewer: &Reviewer) -> Result<Exit, CliError> {
    let items = inbox.items();
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
fn one(
    context: &Context,
    inbox: &mut Inbox,
    item: &InboxItem,
    of: &str,
    reviewer: &Reviewer,
) -> Result<Reply, CliError> {
    while let Some(shown) = context.show_item(inbox, item)? {
        let reply = show(context, &shown, of)?;
        let decided = match reply {
            Reply::Skip | Reply::Quit => return Ok(reply),
            Reply::Decide(decision) => {
                context.decide(inbox, &shown, decision, reviewer).map(Some).map_err(CliError::from)
            }
            Reply::Edit => edit_item(context, inbox, &shown, reviewer),
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
    Ok(Reply::Decide(Decision::Keep))
}

/// Shows an item by screenfuls, each on request, and returns the reply to it.
fn show(context: &Context, shown: &ShownItem, of: &str) -> Result<Reply, CliError> {
    let text = text(context, shown);
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let screen = terminal_lines().saturating_sub(QUESTION_LINES).max(1);
    let mut screens = lines.chunks(screen);
    loop {
        if let Some(screen) = screens.next() {
            say(context, &screen.join("\n"))?;
        }
        let mut choices: Vec<Choice<Option<Reply>>> =
            choices(shown).into_iter().map(|(key, word, reply)| (key, word, Some(reply))).collect();
        let rest = screens.clone().flatten().count();
        if rest > 0 {
            say(context, &format!("{FAINT}… {}{FAINT:#}", counted(rest, "more line")))?;
            choices.insert(0, MORE);
        }
        if let Some(reply) = ask(context, of, &choices)? {
            return Ok(reply);
        }
    }
}

fn say(context: &Context, text: &str) -> Result<Exit, CliError> {
    context.out.answer(&Value::Null, |out| writeln!(out, "{text}"))
}

/// Formats an item with its change.
fn text(context: &Context, shown: &ShownItem) -> String {
    match shown {
        ShownItem::Skill(_, skill) => inbox::skill_text(skill),
        ShownItem::Proposal(proposal, difference) => {
            let change = |difference: &Difference| {
                let conflicts = difference.conflicts.iter().map(|conflict| conflict_text(conflict) + "\n");
                coloured_diff(&difference.text) + &conflicts.collect::<String>()
            };
            queue::text(proposal, context.now) + &difference.as_deref().map(change).unwrap_or_default()
        }
    }
}

/// Lets the person edit an item, and describes the result. `None` if the item is to be shown again.
fn edit_item(
    context: &Context,
    inbox: &mut Inbox,
    shown: &ShownItem,
    reviewer: &Reviewer,
) -> Result<Option<String>, CliError> {
    match shown {
        ShownItem::Proposal(_, difference) => {
            if let Some(difference) = difference {
                edit::run(context, &EditArgs::of(&difference.reviewed))?;
            }
            Ok(None)
        }
        ShownItem::Skill(place, skill) => {
            let change = &skill.change;
            let Some(library) = inbox.libraries.get_mut(*place) else { return Ok(None) };
            let line = edit::until_taken(context, change.skill.as_str(), &changed_files(change), &[], |replacements| {
                Ok(context.keep_edited(library, change, edits(replacements), reviewer)?)
            });
            line.map(Some)
        }
    }
}

/// Returns the files of a changed skill that the person may edit.
fn changed_files(change: &ChangedSkill) -> Vec<(SkillPath, File)> {
    let changed = change.difference.files.iter();
    changed.filter_map(|file| Some((file.path.clone(), change.after.get(&file.path)?.clone()))).collect()
}

fn edits(replacements: Vec<Replacement>) -> Vec<Edit> {
    let edits = replacements.into_iter().filter_map(|replacement| {
        let bytes = replacement.bytes?;
        Some(Edit::WriteFile { path: replacement.path, bytes, executable: None })
    });
    edits.collect()
}
