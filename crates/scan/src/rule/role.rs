//! [`Role`]: kinds of context that turn a match into a mere mention.

/// Kinds of context that turn a match into a mere mention. Scripts act and never mention, except for lists
/// of test inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// No context matters: the match always has the same weight.
    Fact,
    /// Command: a mention only if its own sentence or line forbids it or calls it bad.
    Command,
    /// Attack on a service: also a mention if the file declares itself to be about security tests, if the lines above
    /// it in a reference discuss attacks, or, in any file, if it is one of several texts in a list.
    Test,
    /// Sentence: also a mention if it is quoted or its passage discusses attacks.
    Speech,
    /// Text that impersonates somebody else, which affects an agent wherever it is read. It is a mention only if it is
    /// shown in a block, in quotation marks or among others, or if its passage discusses attacks.
    Planted,
}

impl Role {
    /// Returns the name used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Command => "command",
            Self::Test => "test",
            Self::Speech => "speech",
            Self::Planted => "planted",
        }
    }
}
