//! [`Operation`]: an undoable operation; [`OperationsSince`]: everything after one operation.

use library::{Event, Library};
use skill::{Digest, SkillName};

use super::{
    UndoError,
    last_operation::{LastOperation, command, is_undoable},
};

/// Id that stands for the state before the first operation.
pub const START: &str = "start";

/// Number of hexadecimal digits in an operation's id, and the minimum length of a prefix.
const DIGITS: usize = 8;
const FEWEST: usize = 4;

/// An operation that can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Id of eight hexadecimal digits, derived from the log.
    pub id: String,
    /// Action as named in the log, such as `update`, `patch` or `disable`.
    pub action: String,
    /// Time of the operation, RFC 3339 in UTC.
    pub time: String,
    /// Actor of the operation, as `kind:id`.
    pub actor: String,
    /// Reason given by the actor.
    pub reason: Option<String>,
    /// Names of the skills that it changed, in the order of the log.
    pub skills: Vec<SkillName>,
}

/// Returns the undoable operations of a library, newest first.
///
/// # Errors
/// [`UndoError`] if the log cannot be read.
pub fn operations(library: &Library) -> Result<Vec<Operation>, UndoError> {
    Ok(of_log(&library.events()?.0))
}

fn of_log(events: &[Event]) -> Vec<Operation> {
    let mut found: Vec<(&str, Operation)> = Vec::new();
    for event in events.iter().filter(|event| is_undoable(event)) {
        let command = command(event);
        let at = found.iter().position(|(known, _)| *known == command).unwrap_or_else(|| {
            found.push((command, Operation::of(event)));
            found.len() - 1
        });
        if let (Some((_, operation)), Ok(skill)) = (found.get_mut(at), SkillName::parse(&event.skill))
            && !operation.skills.contains(&skill)
        {
            operation.skills.push(skill);
        }
    }
    found.into_iter().rev().map(|(_, operation)| operation).collect()
}

/// Everything that was done after an operation.
pub(super) struct OperationsSince<'a> {
    /// All operations combined; `None` if there were none.
    pub all: Option<LastOperation<'a>>,
    /// List of the operations, newest first.
    pub operations: Vec<Operation>,
}

impl<'a> OperationsSince<'a> {
    /// Collects everything after the operation with this id or unique prefix. [`START`] selects all operations.
    pub fn of(events: &'a [Event], id: &'a str) -> Result<Self, UndoError> {
        let mut operations = of_log(events);
        let kept = match id {
            START => None,
            _ => Some(find(&operations, id)?),
        };
        if let Some(kept) = kept {
            operations.truncate(kept);
        }
        let is_after = |event: &&Event| {
            let id = id_of(command(event));
            is_undoable(event) && operations.iter().any(|operation| operation.id == id)
        };
        let all = events.iter().find(is_after).and_then(|first| LastOperation::since(events, first, id));
        Ok(Self { all, operations })
    }
}

/// Returns the index of an operation in the list.
fn find(operations: &[Operation], id: &str) -> Result<usize, UndoError> {
    let unknown = || UndoError::NoOperation(id.to_owned());
    if id.len() < FEWEST {
        return Err(unknown());
    }
    let mut matching = operations.iter().enumerate().filter(|(_, operation)| operation.id.starts_with(id));
    let (at, _) = matching.next().ok_or_else(unknown)?;
    if matching.next().is_some() { Err(UndoError::SeveralOperations(id.to_owned())) } else { Ok(at) }
}

impl Operation {
    fn of(event: &Event) -> Self {
        Self {
            id: id_of(command(event)),
            action: event.action.clone(),
            time: event.time.clone(),
            actor: event.actor.clone(),
            reason: event.reason.clone(),
            skills: Vec::new(),
        }
    }
}

fn id_of(command: &str) -> String {
    Digest::of_bytes(command.as_bytes()).hex().chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a log from lines of the form `command skill action`.
    fn log(lines: &str) -> Vec<Event> {
        let event = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let text = format!(
                r#"{{"v":1,"time":"2026-01-02T03:04:05Z","operation":"{}-0","skill":"{}","action":"{}",
                "status":"applied","actor":"agent:x","revision":"0123456789012345678901234567890123456789"}}"#,
                words[0], words[1], words[2]
            );
            serde_json::from_str(&text).unwrap()
        };
        lines.split("; ").map(event).collect()
    }

    fn since(events: &[Event], id: &str) -> Vec<String> {
        let since = OperationsSince::of(events, id).unwrap();
        let mut skills: Vec<String> =
            since.all.iter().flat_map(LastOperation::skills).map(|of| of.name.to_string()).collect();
        skills.sort();
        skills
    }

    #[test]
    fn commands_are_listed_newest_first() {
        let events = log("1 a install; 1 b install; 2 a external; 2 a patch; 3 c external");
        let listed = of_log(&events);
        let told: Vec<_> = listed.iter().map(|operation| (operation.action.as_str(), operation.skills.len())).collect();
        assert_eq!(told, [("patch", 1), ("install", 2)]);
        assert_ne!(listed[0].id, listed[1].id);
    }

    #[test]
    fn chosen_operation_itself_is_kept() {
        let events = log("1 a install; 2 b install; 3 a patch; 4 c create");
        let ids: Vec<String> = of_log(&events).into_iter().map(|operation| operation.id).collect();
        assert_eq!(since(&events, &ids[0]), Vec::<String>::new());
        assert_eq!(since(&events, &ids[2]), ["a", "c"]);
        assert_eq!(since(&events, &ids[3][..6]), ["a", "b", "c"]);
        assert_eq!(since(&events, START), ["a", "b", "c"]);
        assert!(matches!(OperationsSince::of(&events, "zzzz"), Err(UndoError::NoOperation(_))));
        assert!(matches!(OperationsSince::of(&events, ""), Err(UndoError::NoOperation(_))));
    }
}
