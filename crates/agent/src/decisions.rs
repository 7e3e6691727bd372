//! [`Operation`] and [`answer`]: the decision table, with the answer of each MCP tool, command and route of the gateway
//! by the state of the skill, the channel and the actor. Routes of the marketplace have no row.
//!
//! [`TOOLS`], [`COMMANDS`] and [`ROUTES`] list every operation with its [`Act`] and the fields that name skills. An
//! operation without a row does not run. Each channel calls [`Operation::admit`] before an operation starts. Pins, the
//! policy, the scanner and content that a person took back are checked together with the change itself, in lower
//! layers. The documentation of the table is generated from here.

mod operations;
mod table;

use skill::{
    SkillName,
    failure::{Hint, NextStep},
};

pub use operations::{COMMANDS, ROUTES, TOOLS};
pub use table::{Act, Answer, Channel, SkillState, answer};

use crate::{error::AgentError, visibility::Visibility};

/// One tool, command or route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Name of a tool, words of a command, or method and path of a route.
    pub name: &'static str,
    /// Kind of access to skills.
    pub act: Act,
    /// Fields that contain skill names.
    pub skills: &'static [&'static str],
    /// Fields that contain proposal ids, since each proposal is about a skill.
    pub proposals: &'static [&'static str],
}

/// Next step of an admitted operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The operation starts.
    Go,
    /// A person is asked first. Where nobody can be asked, the operation is refused.
    Ask,
}

/// Name of an operation that creates a skill.
const CREATION: &str = "create";

impl Operation {
    /// Returns the row of an operation. One without a row does not run.
    pub fn find(channel: Channel, name: &str) -> Option<&'static Self> {
        let rows = match channel {
            Channel::Cli => COMMANDS,
            Channel::Mcp => TOOLS,
            Channel::Http => ROUTES,
        };
        rows.iter().find(|row| row.name == name)
    }

    /// Checks that an agent may start the operation on a skill with the given visibility.
    ///
    /// # Errors
    /// [`AgentError::Missing`], the same answer as for a skill that does not exist.
    pub fn admit(&self, channel: Channel, name: &SkillName, sight: &Visibility) -> Result<Admission, AgentError> {
        let state = match sight {
            Visibility::Denied | Visibility::NotOnList => SkillState::Denied,
            Visibility::Asked => SkillState::Asked,
            Visibility::Seen | Visibility::Disabled | Visibility::Unusable(_) => SkillState::Normal,
        };
        match (state, answer(self.act, state, channel)) {
            // Lists exclude hidden skills themselves.
            _ if self.act == Act::Lists => Ok(Admission::Go),
            (_, Answer::Hidden) => Err(self.missing(name)),
            (SkillState::Asked, Answer::Asks | Answer::Refused) => Ok(Admission::Ask),
            _ => Ok(Admission::Go),
        }
    }

    /// Returns the same operation as the creation of a skill, which a missing one does not hinder.
    pub fn creating(self) -> Self {
        Self { name: CREATION, ..self }
    }

    /// Returns the operation's answer for a skill that does not exist.
    pub fn missing(&self, name: &SkillName) -> AgentError {
        let of_library = || Hint::from("list the skills in this library: ").step(NextStep::ListSkills);
        let (message, hint) = match self.name {
            "manage" | "skill_manage" | "PUT /api/skills/custom/{name}" | "DELETE /api/skills/custom/{name}" => {
                (format!("{name}: the skill does not exist"), Hint::no_skill_to_change(name.as_str()))
            }
            "tools show"
            | "tools call"
            | "tools remove"
            | "skills_codegen_remove"
            | "POST /api/skills.codegen.remove" => {
                let hint = Hint::from("list compiled skills with ").step(NextStep::ListTools);
                (format!("{name} is not a compiled skill"), hint)
            }
            CREATION => (
                format!("this agent cannot use the name {name}"),
                "use another name, or ask a person to allow this one in config.toml".into(),
            ),
            "uninstall" | "update" => {
                let hint = Hint::from("list the installed skills: ").step(NextStep::ListSkills);
                let verb = if self.name == "update" { "was" } else { "is" };
                (format!("{name} {verb} not installed"), hint)
            }
            "curate restore" => (
                format!("\"{name}\" does not match an archived skill"),
                "list archived skills and their ids with `skillhub curate list`".into(),
            ),
            "tools policy" | "GET /skills/{name}" | "GET /api/skills/{name}" | "GET /api/skills/custom/{name}" => {
                return AgentError::NoSkill { name: name.to_string(), near: None };
            }
            _ if matches!(self.act, Act::Reads | Act::Enables | Act::Disables | Act::Runs) => {
                return AgentError::NoSkill { name: name.to_string(), near: None };
            }
            _ => (format!("the library has no skill {name}"), of_library()),
        };
        AgentError::Missing { message, hint }
    }

    /// Returns whether refusals are recorded in the event log.
    pub fn is_decision(&self) -> bool {
        !matches!(self.act, Act::Lists | Act::Reads | Act::Inspects | Act::Nothing)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test compares a document on disk")]

    use super::{table::ANSWERS, *};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/DECISIONS.md");

    const INTRODUCTION: &str = "# The decision table\n\
\n\
The answer of each tool, command and route to an agent, by the state of the skill.\n\
This page is generated from `agent::decisions` by the test `decisions::tests::table_is_in_the_documentation` with \
`SKILLHUB_WRITE_DOCS=1`.\n\
\n\
A person, at a terminal or with a reviewer's token, is `allowed` in every state.\n\
With `[review] elicitation = true`, a person also decides through `skill_review_list`, which only lists for an agent.\n\
Two rules hold for everybody: built-in skills cannot be changed, and findings that block need a waiver.\n\
An agent acts on the command line without a terminal, over the Model Context Protocol (MCP), or over HTTP with the \
gateway's token alone.\n\
\n\
- `allowed`: the operation begins. The policy still applies a change, holds it for review or refuses it.\n\
- `asks`: an MCP client asks its person; on the command line and over HTTP the answer is `policy_denied`.\n\
- `proposed`: the change waits for review.\n\
- `blocked`: the scanner's findings are the answer.\n\
- `not_found`: the answer for a skill that does not exist. Lists leave such skills out.\n\
- `policy_denied`: refused, and recorded in the event log.\n\
\n\
An operation without a row does not run.\n\
";

    fn page() -> String {
        let mut text = INTRODUCTION.to_owned();
        text.push_str("\n## Answers\n\n| act |");
        SkillState::ALL.iter().for_each(|state| text.push_str(&format!(" {state} |")));
        text.push_str("\n|---|---|---|---|---|---|---|---|---|\n");
        for (act, answers) in &ANSWERS {
            let cells: String = answers.iter().map(|answer| format!(" {answer} |")).collect();
            text.push_str(&format!("| {act} |{cells}\n"));
        }
        for (title, rows) in [("Tools", TOOLS), ("Commands", COMMANDS), ("Routes", ROUTES)] {
            text.push_str(&format!("\n## {title}\n\n| operation | act |\n|---|---|\n"));
            rows.iter().for_each(|row| text.push_str(&format!("| `{}` | {} |\n", row.name, row.act)));
        }
        text
    }

    #[test]
    fn table_is_in_the_documentation() {
        if std::env::var_os("SKILLHUB_WRITE_DOCS").is_some() {
            std::fs::write(PAGE, page()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(PAGE).unwrap(), page(), "docs/DECISIONS.md is not the table");
    }

    #[test]
    fn people_only_operations_are_refused_everywhere() {
        for state in SkillState::ALL {
            for channel in [Channel::Cli, Channel::Mcp, Channel::Http] {
                assert_eq!(answer(Act::Decides, state, channel), Answer::Refused);
            }
        }
        assert_eq!(answer(Act::Reads, SkillState::Asked, Channel::Mcp), Answer::Asks);
        assert_eq!(answer(Act::Reads, SkillState::Asked, Channel::Http), Answer::Refused);
    }

    #[test]
    fn names_are_unique() {
        for rows in [TOOLS, COMMANDS, ROUTES] {
            for (at, row) in rows.iter().enumerate() {
                assert!(rows[..at].iter().all(|other| other.name != row.name), "{}", row.name);
            }
        }
    }

    #[test]
    fn denied_skill_is_hidden_or_refused() {
        let name = SkillName::parse("pdf").unwrap();
        let channels = [(Channel::Cli, COMMANDS), (Channel::Mcp, TOOLS), (Channel::Http, ROUTES)];
        for (channel, rows) in channels {
            for row in rows.iter().filter(|row| !row.skills.is_empty()) {
                let admitted = row.admit(channel, &name, &Visibility::Denied);
                let is_refused_later = matches!(row.act, Act::Decides | Act::Nothing | Act::Lists);
                assert_eq!(admitted.is_err(), !is_refused_later, "{}", row.name);
            }
        }
    }
}
