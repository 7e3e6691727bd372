//! [`Hint`]: the next step after a failure, as data that each kind of client renders in its own terms.

use std::fmt;

use crate::shell_word;

/// Operation that a hint suggests. The command line shows it as a command, the MCP server as a call of one of its
/// tools, and the gateway as a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// List the skills.
    ListSkills,
    /// List the files of a skill.
    ShowSkill(String),
    /// Show one file of a skill, by its path.
    ShowFile(String, String),
    /// Compare the folder of a skill with its history.
    ShowStatus(String),
    /// List the revisions of a skill.
    ShowHistory(String),
    /// Show the last change of a skill.
    ShowDiff(String),
    /// Restore a revision of a skill.
    Restore(String, String),
    /// Delete a skill.
    Delete(String),
    /// Create a skill.
    Create(String),
    /// Show a disabled skill to agents again.
    Enable(String),
    /// Search the registries for these words.
    Search(String),
    /// Install a skill. The arguments are those of the command.
    Install(String),
    /// Update an installed skill. The arguments are those of the command.
    Update(String),
    /// Uninstall a skill.
    Uninstall(String),
    /// Show how changes are requested.
    ShowRequests,
    /// Set this field of the request, which is a flag on the command line.
    SetField(&'static str),
    /// List the open proposals.
    ListProposals,
    /// List all proposals, including those that were decided.
    ListAllProposals,
    /// Show a proposal and how it was decided.
    ShowProposal(String),
    /// Show what a proposal changes.
    DiffProposal(String),
    /// Show what a proposal changes in the current skill.
    DiffProposalOntoHead(String),
    /// Reject a proposal.
    RejectProposal(String),
    /// Withdraw a proposal of the caller's own.
    Withdraw {
        /// Id of the proposal.
        id: String,
        /// Name of its skill.
        skill: String,
        /// True if the skill exists only in the proposal.
        is_new: bool,
    },
    /// Show the rules of the policy.
    ShowPolicy,
    /// Explain a rule of the scanner.
    ExplainRule(String),
    /// List the compiled tools.
    ListTools,
    /// Compile the tool of a skill.
    CompileTool(String),
    /// Remove the compiled tool of a skill.
    RemoveTool(String),
}

impl NextStep {
    /// Returns the command for a shell, or the flag.
    pub fn command(&self) -> String {
        let arguments = match self {
            Self::ListSkills => "list".to_owned(),
            Self::ShowSkill(skill) => format!("show {skill}"),
            Self::ShowFile(skill, path) => format!("show {skill} {}", shell_word(path)),
            Self::ShowStatus(skill) => format!("status {skill}"),
            Self::ShowHistory(skill) => format!("history {skill}"),
            Self::ShowDiff(skill) => format!("diff {skill}"),
            Self::Restore(skill, revision) => format!("rollback {skill} {revision}"),
            Self::Delete(skill) => format!("manage delete {skill}"),
            Self::Enable(skill) => format!("enable {skill}"),
            Self::Search(words) => format!("search {}", shell_word(words)),
            Self::Install(arguments) => format!("install {arguments}"),
            Self::Update(arguments) => format!("update {arguments}"),
            Self::Uninstall(skill) => format!("uninstall {skill}"),
            Self::Create(_) | Self::ShowRequests => "manage --help".to_owned(),
            Self::SetField(field) => return format!("--{}", field.replace('_', "-")),
            Self::ListProposals => "review list".to_owned(),
            Self::ListAllProposals => "review list --all".to_owned(),
            Self::ShowProposal(id) => format!("review show {id}"),
            Self::DiffProposal(id) => format!("review diff {id}"),
            Self::DiffProposalOntoHead(id) => format!("review diff {id} --onto-head"),
            Self::RejectProposal(id) | Self::Withdraw { id, .. } => format!("review reject {id}"),
            Self::ShowPolicy => "policy".to_owned(),
            Self::ExplainRule(rule) => format!("scan --explain {rule}"),
            Self::ListTools => "tools list".to_owned(),
            Self::CompileTool(skill) => format!("tools compile {skill}"),
            Self::RemoveTool(skill) => format!("tools remove {skill}"),
        };
        format!("skillhub {arguments}")
    }
}

/// Next step for the user: a sentence with the operations that it names. It is displayed as for the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Step(NextStep),
    Last(NextStep),
}

impl Hint {
    /// Returns the next step after a change of a skill that does not exist.
    #[must_use]
    pub fn no_skill_to_change(skill: &str) -> Self {
        Self::from("list the skills in this library: ")
            .step(NextStep::ListSkills)
            .text(", or make it: ")
            .step(NextStep::Create(skill.to_owned()))
    }

    /// Adds text to the sentence.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Adds an operation to the sentence.
    #[must_use]
    pub fn step(mut self, step: NextStep) -> Self {
        self.0.push(Part::Step(step));
        self
    }

    /// Ends the sentence with an operation, without quotation marks.
    #[must_use]
    pub fn last(mut self, step: NextStep) -> Self {
        self.0.push(Part::Last(step));
        self
    }

    /// Returns whether the sentence names an operation.
    #[must_use]
    pub fn names(&self, step: &NextStep) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Step(named) | Part::Last(named) if named == step))
    }

    /// Formats the sentence, with each operation as given by `step`.
    pub fn with(&self, step: impl Fn(&NextStep) -> String) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Step(next) => format!("`{}`", step(next)),
            Part::Last(next) => step(next),
        });
        parts.collect()
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self(vec![Part::Text(text)])
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<NextStep> for Hint {
    fn from(step: NextStep) -> Self {
        Self(vec![Part::Step(step)])
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(NextStep::command))
    }
}
