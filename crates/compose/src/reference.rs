//! [`Reference`]: a place in what a run knows, as templates and conditions name it.

use std::fmt;

/// What a reference starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// What the tool was called with.
    Input,
    /// The element of a loop.
    Item,
    /// Its number, from 0.
    Index,
    /// What earlier steps gave; the first segment names the step.
    Steps,
}

impl Root {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Input, Self::Item, Self::Index, Self::Steps];

    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Item => "item",
            Self::Index => "index",
            Self::Steps => "steps",
        }
    }
}

/// One step of a reference into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A field, or an element of a list where the key is a number.
    Key(String),
    /// Every element.
    All,
}

/// A place in what a run knows: `steps.find.output.0.url`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Where it starts.
    pub root: Root,
    /// The way from there.
    pub path: Vec<Segment>,
    /// As it is written, without braces and blanks.
    pub text: String,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
