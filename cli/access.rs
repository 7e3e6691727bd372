//! Access check of a command line against the decision table, and the log entry of a refusal.
//!
//! The library's crates log their own refusals. Requests that end before that are logged here: an unreadable request, a
//! person without proof, a decision reserved for people, and a hidden skill.

use agent::{
    AgentError,
    decisions::{Act, Channel, Operation},
    near,
};
use clap::ArgMatches;
use library::{Event, EventStatus, Library, LibraryError, random_process_id};
use skill::{QualifiedName, SkillName};
use skill_manage::{NOTED_CHARS, review::ProposalRef};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    global::Global,
};

/// Number of events at the end of the log that are searched for this command's own.
const LAST: usize = 64;

/// Name of the command whose requests name skills on standard input as well.
pub const RECORD: &str = "record";

/// Log actions that differ from the command's name, as pairs of command and action.
const ACTIONS: [(&str, &str); 10] = [
    ("commit", "external"),
    ("reviewer new", "reviewer"),
    ("reviewer revoke", "reviewer"),
    ("review accept", "accept"),
    ("review reject", "reject"),
    ("review edit", "edit_proposal"),
    ("curate apply", "archive"),
    ("curate restore", "restore"),
    ("tools call", "tools_call"),
    ("evolve run", "optimise"),
];

/// The operation that a command line requests, with the skills and proposals that it names.
pub struct RequestedOperation {
    operation: &'static Operation,
    /// True if it creates the skill.
    creates: bool,
    skills: Vec<String>,
    proposals: Vec<String>,
    /// Agent on whose behalf it acts, if one is named.
    agent: Option<String>,
    /// True if the command accepts a new key of an owner.
    accepts_key: bool,
    /// True if refusals are not logged here: the command changes nothing, or logs its own because its request comes as
    /// JSON.
    is_unnoted: bool,
}

impl RequestedOperation {
    /// Creates the operation on one skill for a request that is not on the command line.
    fn on_skill(operation: &'static Operation, skill: &SkillName, creates: bool) -> Self {
        let (skills, proposals) = (vec![skill.to_string()], Vec::new());
        Self { operation, creates, skills, proposals, agent: None, accepts_key: false, is_unnoted: false }
    }

    /// Determines the operation of a parsed command line. Returns `None` for a command without a row in the table.
    pub fn of(matches: &ArgMatches) -> Option<Self> {
        let (mut words, mut at) = (Vec::new(), matches);
        while let Some((word, below)) = at.subcommand() {
            words.push(word);
            at = below;
        }
        let operation = Operation::find(Channel::Cli, &words.join(" "))?;
        let values = |ids: &[&str]| ids.iter().flat_map(|id| texts(at, id)).collect();
        let is_set = |id: &str| !texts(at, id).is_empty();
        let is_true = |id: &str| texts(at, id).iter().any(|text| text == "true");
        Some(Self {
            operation,
            creates: texts(at, "action") == ["create"],
            skills: values(operation.skills),
            proposals: values(operation.proposals),
            agent: texts(at, "agent").into_iter().next().filter(|_| operation.act == Act::Runs),
            accepts_key: is_set("accept_key"),
            is_unnoted: is_true("dry_run") || is_set("request"),
        })
    }

    /// Checks the operation against the decision table.
    ///
    /// # Errors
    /// The response to an agent that may not begin the operation.
    pub fn check(&self, context: &Context) -> Result<(), CliError> {
        if context.accepts_rewrite {
            context.reviewer("accept a registry whose history was rewritten")?;
        }
        if self.accepts_key {
            context.reviewer("accept an owner's new key")?;
        }
        // Commands that only read answer a hidden name and a missing one alike, with similar names. Outcome requests
        // are checked one by one, so that the error names the line.
        if context.is_person() || self.operation.act == Act::Reads || self.operation.name == RECORD {
            return Ok(());
        }
        self.admit(context, self.skills.iter().filter_map(|text| skill_in(context, text)).collect())
    }

    /// Checks the operation on the given skills and its proposals against the decision table.
    ///
    /// # Errors
    /// The operation's error for a missing skill, or a refusal because a person must be asked, which a command cannot
    /// do.
    fn admit(&self, context: &Context, skills: Vec<SkillName>) -> Result<(), CliError> {
        let targets = self.proposals.iter().filter_map(|text| text.parse::<ProposalRef>().ok());
        let targets: Vec<ProposalRef> = targets.filter(|_| self.operation.act != Act::Decides).collect();
        // Commands that repair the configuration work with an invalid one.
        if skills.is_empty() && targets.is_empty() {
            return Ok(());
        }
        let sight = context.visibility_to(self.agent.as_deref(), None)?;
        let targets =
            targets.into_iter().map(|ProposalRef { id, .. }| (id.clone(), context.library_with_proposal(&id)));
        let ask = |skill: &SkillName| Err(AgentError::Asked(skill.clone()).into());
        let operation = if self.creates { self.operation.creating() } else { *self.operation };
        Ok(ops::admit(&operation, Channel::Cli, sight, skills, targets, ask)?)
    }

    /// Adds the nearest name in the list of skills to the error for a name that is not in it.
    pub fn with_nearest(&self, context: &Context, error: CliError) -> CliError {
        let hint = error.hint.as_deref().filter(|_| error.exit == Exit::NotFound && error.lists_skills);
        let hint = hint.filter(|hint| !hint.starts_with("did you mean"));
        let ([asked], Some(hint)) = (self.skills.as_slice(), hint) else { return error };
        let Ok(catalogue) = context.catalogue(&context.places(false), Vec::new(), None) else { return error };
        let names = catalogue.skills.iter().map(|listed| listed.name.as_str());
        match near(asked, names).filter(|near| near != asked) {
            Some(near) => {
                let hint = format!("did you mean {near}? {hint}");
                error.hint(hint)
            }
            None => error,
        }
    }

    /// Logs a refusal of the operation, unless it has been logged already.
    pub fn note(&self, context: &Context, error: &CliError) {
        let is_refusal = match self.operation.act {
            Act::Edits | Act::Restores | Act::Decides => {
                !matches!(error.exit, Exit::Done | Exit::Failed | Exit::Unreachable)
            }
            _ => error.exit == Exit::Refused,
        };
        if is_refusal && self.operation.is_decision() && !self.is_unnoted {
            self.record(context, error);
        }
    }

    /// Logs that somebody claimed to be a person without proof.
    pub fn note_unproven(&self, global: &Global, error: &CliError) {
        let as_nobody = Global { actor: None, ..global.clone() };
        let claims = global.actor.as_deref().unwrap_or_default();
        if error.exit != Exit::Refused || claims.is_empty() {
            return;
        }
        if let Ok(context) = Context::new(&as_nobody) {
            let message = format!("{} ({claims:?} was claimed)", error.message);
            self.note(&context, &CliError::new(error.code, error.exit, message));
        }
    }

    fn record(&self, context: &Context, error: &CliError) {
        let Ok(library) = context.library() else { return };
        let is_noted = |library: &Library| is_noted(context, library).unwrap_or(true);
        let is_noted_behind = || context.visible_libraries().is_ok_and(|libraries| libraries.iter().any(is_noted));
        if !library.own_path().exists() || is_noted(&library) || is_noted_behind() {
            return;
        }
        let known = ACTIONS.iter().find(|(command, _)| *command == self.operation.name);
        let action = known.map_or_else(|| self.operation.name.replace(' ', "_"), |(_, action)| (*action).to_owned());
        let skill = self.skills.first().and_then(|text| name_in(text)).map(|name| name.to_string()).unwrap_or_default();
        let message: String = error.message.chars().take(NOTED_CHARS).collect();
        let event = Event::refused(&context.stamp(), &skill, &action, error.code, &message);
        // The refusal itself is the result. A log that cannot be written must not hide it.
        let _unlogged = library.record(&event);
    }
}

/// Returns the raw values of an argument.
fn texts(matches: &ArgMatches, id: &str) -> Vec<String> {
    let raw = matches.try_get_raw(id).ok().flatten();
    raw.into_iter().flatten().filter_map(|text| text.to_str().map(str::to_owned)).collect()
}

/// Resolves an argument to a skill, also by the name in its `SKILL.md`. Returns `None` for a path or a URL.
fn skill_in(context: &Context, text: &str) -> Option<SkillName> {
    let called = || context.skill_called(text).ok();
    match name_in(text) {
        Some(name) if context.has_skill(&name).unwrap_or(true) => Some(name),
        other => called().or(other),
    }
}

/// Parses the skill's name from an argument: bare, qualified by an owner, or with a version or revision. Returns `None`
/// for a path or a URL.
fn name_in(text: &str) -> Option<SkillName> {
    let name = text.split_once('@').map_or(text, |(name, _)| name);
    name.parse::<QualifiedName>().map(|qualified| qualified.name).or_else(|_| SkillName::parse(name)).ok()
}

/// Checks a request that comes on standard input, and may create the skill, against the decision table.
///
/// # Errors
/// The same as [`RequestedOperation::admit`].
pub fn check_request(context: &Context, command: &str, skill: &SkillName, creates: bool) -> Result<(), CliError> {
    let Some(operation) = Operation::find(Channel::Cli, command) else { return Ok(()) };
    let requested = RequestedOperation::on_skill(operation, skill, creates);
    requested.admit(context, vec![skill.clone()]).inspect_err(|error| requested.note(context, error))
}

/// Returns whether the log already has a refusal of this command.
fn is_noted(context: &Context, library: &Library) -> Result<bool, LibraryError> {
    let ours = format!("{:x}-{:x}-", context.now.as_nanosecond(), random_process_id());
    let (events, _) = library.events()?;
    let is_ours = |event: &Event| event.status == EventStatus::Refused && event.operation.starts_with(&ours);
    Ok(events.iter().rev().take(LAST).any(is_ours))
}

#[cfg(test)]
mod tests {
    use agent::decisions::COMMANDS;
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::args::Cli;

    /// Collects all commands that can be run, with their words.
    fn leaves(command: &Command, words: &str) -> Vec<(String, Command)> {
        let of_below =
            command.get_subcommands().flat_map(|below| leaves(below, format!("{words} {}", below.get_name()).trim()));
        let is_leaf = !words.is_empty() && !command.is_subcommand_required_set();
        is_leaf.then(|| (words.to_owned(), command.clone())).into_iter().chain(of_below).collect()
    }

    #[test]
    fn every_command_has_a_row() {
        let found = leaves(&Cli::command(), "");
        for (words, command) in &found {
            let row = Operation::find(Channel::Cli, words).unwrap_or_else(|| panic!("`{words}` has no row"));
            for id in row.skills.iter().chain(row.proposals) {
                assert!(command.get_arguments().any(|arg| arg.get_id() == id), "`{words}` has no argument {id}");
            }
        }
        for row in COMMANDS {
            assert!(found.iter().any(|(words, _)| words == row.name), "there is no command `{}`", row.name);
        }
    }

    #[test]
    fn names_are_found_in_arguments() {
        let name = |text: &str| name_in(text).map(|name| name.to_string());
        for text in ["pdf", "acme/pdf", "acme/pdf@^1.2", "pdf@3"] {
            assert_eq!(name(text).as_deref(), Some("pdf"), "{text}");
        }
        for text in ["./pdf", "github:acme/pdf", "https://x.invalid/pdf", "a/b/c", ""] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
