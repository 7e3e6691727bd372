//! [`answer`]: the answer to an agent, by the kind of operation and the state of the skill.

use std::fmt;

/// Kind of access to skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Lists skills, excluding hidden ones.
    Lists,
    /// Returns a skill's content for use by agents.
    Reads,
    /// Shows a skill's history, state or differences.
    Inspects,
    /// Changes a skill's content.
    Edits,
    /// Brings earlier content back.
    Restores,
    /// Enables a skill for agents.
    Enables,
    /// Disables a skill for agents.
    Disables,
    /// Pins a skill, which keeps agents from changing it.
    Pins,
    /// Records outcomes of runs.
    Records,
    /// Installs, updates or manages skills.
    Installs,
    /// Uninstalls a skill.
    Uninstalls,
    /// Runs or compiles tools declared by a skill.
    Runs,
    /// Makes a decision that is reserved for people.
    Decides,
    /// Does not act on a skill of a library.
    Nothing,
}

/// State of a skill, as set by people and their configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillState {
    /// No restriction applies.
    Normal,
    /// It is pinned.
    Pinned,
    /// A person disabled it.
    Disabled,
    /// The configuration denies it to the agent.
    Denied,
    /// The configuration requires a person's consent.
    Asked,
    /// It is built in, and therefore read only.
    ReadOnly,
    /// The scanner blocks it.
    Blocked,
    /// A person rolled back, uninstalled or deleted the content.
    TakenBack,
}

/// Channel of an agent's request. A person has a terminal or a reviewer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Command line without a terminal.
    Cli,
    /// Model Context Protocol, over any transport.
    Mcp,
    /// Gateway, authenticated by its token alone.
    Http,
}

/// Answer of an operation to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The operation is executed. A change is applied, held or refused by the policy.
    Allowed,
    /// The error `not_found`, as for a skill that does not exist.
    Hidden,
    /// The error `policy_denied`.
    Refused,
    /// The change becomes a proposal.
    Held,
    /// A person is asked for consent.
    Asks,
    /// The error `scan_blocked` or `external_blocked`.
    Blocked,
}

impl SkillState {
    /// All states, in the order of the table's columns.
    pub const ALL: [Self; 8] = [
        Self::Normal,
        Self::Pinned,
        Self::Disabled,
        Self::Denied,
        Self::Asked,
        Self::ReadOnly,
        Self::Blocked,
        Self::TakenBack,
    ];
}

use Answer::{Allowed as A, Asks as Q, Blocked as B, Held as P, Hidden as H, Refused as R};

/// Answers to agents, by state in the order of [`SkillState::ALL`].
pub(super) const ANSWERS: [(Act, [Answer; 8]); 14] = [
    //            normal, pinned, disabled, denied, ask, built in, blocked, taken back
    (Act::Lists, [A, A, A, H, A, A, A, H]),
    (Act::Reads, [A, A, R, H, Q, A, B, H]),
    (Act::Inspects, [A, A, A, H, Q, A, A, A]),
    (Act::Edits, [A, R, A, H, Q, R, B, P]),
    (Act::Restores, [A, R, A, H, Q, R, A, R]),
    (Act::Enables, [A, A, R, H, Q, A, A, A]),
    (Act::Disables, [A, R, A, H, Q, A, A, A]),
    (Act::Pins, [A, A, A, H, Q, A, A, A]),
    (Act::Records, [A, A, A, H, Q, A, A, A]),
    (Act::Installs, [A, R, A, H, Q, A, B, R]),
    (Act::Uninstalls, [A, R, A, H, Q, A, B, H]),
    (Act::Runs, [A, A, H, H, Q, A, H, H]),
    (Act::Decides, [R, R, R, R, R, R, R, R]),
    (Act::Nothing, [A, A, A, A, A, A, A, A]),
];

/// Returns the answer to an agent. Only MCP can ask a person, so the other channels refuse an operation that needs
/// consent.
pub fn answer(act: Act, state: SkillState, channel: Channel) -> Answer {
    let row = ANSWERS.iter().find(|(known, _)| *known == act);
    let place = SkillState::ALL.iter().position(|known| *known == state);
    let found = row.zip(place).and_then(|((_, answers), place)| answers.get(place));
    match found.copied().unwrap_or(Answer::Refused) {
        Answer::Asks if channel != Channel::Mcp => Answer::Refused,
        found => found,
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl fmt::Display for SkillState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal",
            Self::Pinned => "pinned",
            Self::Disabled => "disabled by a person",
            Self::Denied => "denied",
            Self::Asked => "ask",
            Self::ReadOnly => "built in",
            Self::Blocked => "blocked",
            Self::TakenBack => "taken back by a person",
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Hidden => "not_found",
            Self::Refused => "policy_denied",
            Self::Held => "proposed",
            Self::Asks => "asks",
            Self::Blocked => "blocked",
        })
    }
}
