//! Paths to values of a run, used in templates and conditions ([`Reference`]).

use std::fmt;

/// Starting point of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// Input of the tool.
    Input,
    /// Current element of a loop.
    Item,
    /// Index of that element, from 0.
    Index,
    /// Outputs of earlier steps; the first segment names the step.
    Steps,
}

impl Root {
    /// All roots, in the order of suggestions.
    pub const ALL: [Self; 4] = [Self::Input, Self::Item, Self::Index, Self::Steps];

    /// Returns the word used in references.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Item => "item",
            Self::Index => "index",
            Self::Steps => "steps",
        }
    }
}

/// One segment of a reference's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A field of an object, or an element of a list if the key is a number.
    Key(String),
    /// Every element of a list or object.
    All,
}

/// A path to a value of a run, such as `steps.find.output.0.url`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Starting point of the path.
    pub root: Root,
    /// Segments of the path from there.
    pub path: Vec<Segment>,
    /// Source text, without braces and surrounding blanks.
    pub text: String,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
