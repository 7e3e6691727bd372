//! Diagnostics about a `tool_schema`, with position and hint ([`Problem`]).

use std::{borrow::Cow, cell::OnceCell, collections::HashMap, fmt};

use serde::{Deserialize, Serialize};

use crate::position::{Position, Positions};

/// Maximum number of reported problems per skill.
const MAX_PROBLEMS: usize = 100;

/// A diagnostic: what is wrong, where, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable code of the rule, in `snake_case`.
    pub code: Cow<'static, str>,
    /// Description of the problem.
    pub message: String,
    /// Suggestion for fixing it.
    pub hint: Option<String>,
    /// Path of the file, relative to the skill's folder.
    pub path: Cow<'static, str>,
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// JSON Pointer of the value in the frontmatter.
    pub pointer: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path, self.line, self.column, self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// Problems of one skill, collected while it is checked. Positions are computed when the first problem is reported.
pub(crate) struct Problems<'a> {
    yaml: &'a str,
    positions: OnceCell<Positions>,
    found: Vec<Problem>,
    /// Number of problems reported so far by pointer, part of the text, and code.
    told: HashMap<(String, String, &'static str), usize>,
}

impl<'a> Problems<'a> {
    pub fn new(yaml: &'a str) -> Self {
        Self { yaml, positions: OnceCell::new(), found: Vec::new(), told: HashMap::new() }
    }

    /// Reports a problem of the value at a pointer.
    pub fn value(&mut self, pointer: &str, code: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        if !self.is_full() {
            let at = self.positions().value(pointer);
            self.push(at, pointer, code, message.into(), hint.into());
        }
    }

    /// Reports a problem of the key at a pointer.
    pub fn key(&mut self, pointer: &str, code: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        if !self.is_full() {
            let at = self.positions().key(pointer);
            self.push(at, pointer, code, message.into(), hint.into());
        }
    }

    /// Reports a problem of a part of the text at a pointer. Repeated calls refer to the next occurrences of the
    /// part.
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

    /// Returns the number of problems.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns whether the maximum is exceeded. Further problems are dropped, so that callers can skip making hints.
    pub fn is_full(&self) -> bool {
        self.found.len() > MAX_PROBLEMS
    }

    /// Returns the problems in the order of the file, up to the maximum.
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
    fn repeated_fault_names_both_positions() {
        let mut problems = Problems::new("a: \"{{x}} {{x}}\"\n");
        for _ in 0..3 {
            problems.part("/a", "{{x}}", "unknown_reference", "no x", "");
        }
        let columns: Vec<_> = problems.into_vec().iter().map(|problem| problem.column).collect();
        assert_eq!(columns, [5, 11]);
    }
}
