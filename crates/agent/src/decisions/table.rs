//! [`answer`]: the answer to an agent, by what an operation does and the state of the skill.

use std::fmt;

/// What an operation does with skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Lists skills. Those that are hidden are left out.
    Lists,
    /// Gives a skill's content as agents use it.
    Reads,
    /// Shows a skill's history, state or differences.
    Inspects,
    /// Changes a skill's content.
    Edits,
    /// Brings earlier content back.
    Restores,
    /// Shows a skill to agents again.
    Enables,
    /// Hides a skill from agents.
    Disables,
    /// Pins a skill.
    Pins,
    /// Records outcomes of runs.
    Records,
    /// Installs, updates or manages skills.
    Installs,
    /// Uninstalls a skill.
    Uninstalls,
    /// Runs or compiles what a skill declares.
    Runs,
    /// Takes a decision that is for people.
    Decides,
    /// Acts on no skill of a library.
    Nothing,
}

/// The state of a skill, as people and their configuration left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillState {
    /// Nothing was decided about it.
    Normal,
    /// It is pinned.
    Pinned,
    /// A person disabled it.
    Disabled,
    /// The configuration denies it to the agent.
    Denied,
    /// The configuration has a person asked.
    Asked,
    /// It is built in.
    ReadOnly,
    /// The scanner blocks it.
    Blocked,
    /// A person rolled back, uninstalled or deleted the content.
    TakenBack,
}

/// The way in which an agent comes. A person has a terminal or a reviewer's proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The command line, without a terminal.
    Cli,
    /// The Model Context Protocol.
    Mcp,
    /// The gateway, with its token alone.
    Http,
}

/// What an operation answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is done. A change is done, held or refused as the policy says.
    Allowed,
    /// As for a skill that does not exist: `not_found`.
    Hidden,
    /// `policy_denied`.
    Refused,
    /// It becomes a proposal.
    Held,
    /// A person is asked.
    Asks,
    /// `scan_blocked` or `external_blocked`.
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

/// The answers to agents, by state in the order of [`SkillState::ALL`].
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

/// The answer to an agent. Only the Model Context Protocol can ask a person; elsewhere what takes a question is refused.
#[must_use]
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
