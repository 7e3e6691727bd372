//! [`Problem`]: one departure of a `tool_schema` from its language, told so that an author can mend it.

use std::{borrow::Cow, cell::OnceCell, collections::HashMap, fmt};

use serde::{Deserialize, Serialize};

use crate::position::{Position, Positions};

/// Problems of one skill that are told; who has more mends these first.
const MAX_PROBLEMS: usize = 100;

/// What is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The stable name of the rule, in `snake_case`.
    pub code: Cow<'static, str>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The file, relative to the skill's folder.
    pub path: Cow<'static, str>,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The JSON Pointer in the frontmatter.
    pub pointer: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path, self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// The problems of one skill while it is checked. Its frontmatter is read for positions when the first one is found.
pub(crate) struct Problems<'a> {
    yaml: &'a str,
    positions: OnceCell<Positions>,
    found: Vec<Problem>,
    /// How often a fault of a part of a text was told, by pointer, part and code.
    told: HashMap<(String, String, &'static str), usize>,
}

impl<'a> Problems<'a> {
    pub fn new(yaml: &'a str) -> Self {
        Self { yaml, positions: OnceCell::new(), found: Vec::new(), told: HashMap::new() }
    }

    /// With the value of a pointer.
    pub fn value(&mut self, pointer: &str, code: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        if !self.is_full() {
            let at = self.positions().value(pointer);
            self.push(at, pointer, code, message.into(), hint.into());
        }
    }

    /// With the key of a pointer.
    pub fn key(&mut self, pointer: &str, code: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        if !self.is_full() {
            let at = self.positions().key(pointer);
            self.push(at, pointer, code, message.into(), hint.into());
        }
    }

    /// With a part of the text of a pointer; told again, with the next place at which the part is written.
    pub fn part(
        &mut self,
        pointer: &str,
        part: &str,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.is_full() {
            return;
        }
        let told = self.told.entry((pointer.to_owned(), part.to_owned(), code)).or_default();
        let count = *told;
        *told += 1;
        let at = self.positions().part(pointer, part, count);
        self.push(at, pointer, code, message.into(), hint.into());
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Tests for the most faults that are reported, after which no hint needs to be made.
    pub fn is_full(&self) -> bool {
        self.found.len() > MAX_PROBLEMS
    }

    /// All of them, in the order of the file.
    pub fn into_vec(self) -> Vec<Problem> {
        let mut found = self.found;
        found.sort_by(|a, b| (a.line, a.column, &a.code).cmp(&(b.line, b.column, &b.code)));
        found.truncate(MAX_PROBLEMS);
        found
    }

    fn positions(&self) -> &Positions {
        self.positions.get_or_init(|| Positions::of(self.yaml))
    }

    fn push(&mut self, at: Position, pointer: &str, code: &'static str, message: String, hint: String) {
        let hint = Some(hint).filter(|hint| !hint.is_empty());
        let pointer = pointer.to_owned();
        let (code, path) = (code.into(), "SKILL.md".into());
        let problem = Problem { code, message, hint, path, line: at.line, column: at.column, pointer };
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_twice_is_told_at_both_places() {
        let mut problems = Problems::new("a: \"{{x}} {{x}}\"\n");
        for _ in 0..3 {
            problems.part("/a", "{{x}}", "unknown_reference", "no x", "");
        }
        let columns: Vec<_> = problems.into_vec().iter().map(|problem| problem.column).collect();
        assert_eq!(columns, [5, 11]);
    }
}
