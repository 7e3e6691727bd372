//! [`Document`]: a parsed TOML file with the positions of its keys.

use std::cmp::Reverse;

use serde_json::Value;
use toml::{
    Table,
    de::{DeTable, DeValue},
};

/// Maximum number of syntax errors to report.
const ERRORS: usize = 20;

/// Position in a text: line and column in characters, both from 1.
pub type LineColumn = (usize, usize);

/// A TOML file with its values as JSON. Places in it are JSON Pointers.
pub struct Document<'t> {
    text: &'t str,
    root: DeValue<'t>,
    /// All values.
    pub value: Value,
}

impl<'t> Document<'t> {
    /// Parses a text.
    ///
    /// # Errors
    /// The first syntax errors, each with its position and the parser's message.
    pub fn parse(text: &'t str) -> Result<Self, Vec<(LineColumn, String)>> {
        let described = |error: &toml::de::Error| {
            (line_column(text, error.span().unwrap_or_default().start), error.message().to_owned())
        };
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().take(ERRORS).map(described).collect());
        }
        let values: Table = toml::from_str(text).map_err(|error| vec![described(&error)])?;
        let value = serde_json::to_value(values).map_err(|error| vec![((1, 1), error.to_string())])?;
        Ok(Self { text, root: DeValue::Table(table.into_inner()), value })
    }

    /// Returns the position of a key or list element, or that of the nearest existing one above it.
    pub fn position(&self, pointer: &str) -> LineColumn {
        let (mut offset, mut inside) = (0, &self.root);
        for segment in segments(pointer) {
            let found = match inside {
                DeValue::Table(table) => {
                    let entry = table.iter().find(|(key, _)| **key.get_ref() == *segment);
                    entry.map(|(key, value)| (key.span().start, value.get_ref()))
                }
                DeValue::Array(list) => {
                    let element = segment.parse().ok().and_then(|at: usize| list.get(at));
                    element.map(|value| (value.span().start, value.get_ref()))
                }
                _ => None,
            };
            let Some((start, value)) = found else { break };
            (offset, inside) = (start, value);
        }
        line_column(self.text, offset)
    }

    /// Returns the part of the file that a message mentions: its position and dotted key. Dotted keys come before quoted
    /// texts, these before `[table]`, and longer ones before shorter ones.
    pub fn mentioned_in(&self, message: &str) -> Option<(LineColumn, String)> {
        let mut named = Vec::new();
        collect_names(&self.root, "", 0, &mut named);
        let mentioned = named.into_iter().filter(|name| name.text.len() > 2 && message.contains(&name.text));
        let rank = |name: &Named| (name.text.starts_with('['), name.text.starts_with('"'), Reverse(name.text.len()));
        let found = mentioned.rev().min_by_key(rank)?;
        Some((line_column(self.text, found.offset), found.key))
    }
}

/// A text by which a message can name a part of the file.
struct Named {
    /// Dotted key, string in quotes, or table in brackets.
    text: String,
    /// Dotted key of the part.
    key: String,
    /// Offset in bytes.
    offset: usize,
}

/// Collects the dotted keys and the strings of a value, which has the dotted key `key` and begins at `offset`.
fn collect_names(value: &DeValue<'_>, key: &str, offset: usize, named: &mut Vec<Named>) {
    match value {
        DeValue::Table(table) => {
            for (name, value) in table {
                let key = if key.is_empty() { name.get_ref().to_string() } else { format!("{key}.{}", name.get_ref()) };
                let text = if key.contains('.') { key.clone() } else { format!("[{key}]") };
                named.push(Named { text, key: key.clone(), offset: name.span().start });
                collect_names(value.get_ref(), &key, value.span().start, named);
            }
        }
        DeValue::Array(list) => {
            list.iter().for_each(|element| collect_names(element.get_ref(), key, element.span().start, named));
        }
        DeValue::String(text) => named.push(Named { text: format!("{text:?}"), key: key.to_owned(), offset }),
        _ => {}
    }
}

/// Returns the segments of a JSON Pointer.
pub fn segments(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"))
}

/// Returns the pointer to a part of what `pointer` leads to.
pub fn pointer_to(pointer: &str, segment: &str) -> String {
    format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"))
}

/// Formats a pointer as a dotted key, with indexes of lists in brackets.
pub fn dotted(pointer: &str) -> String {
    segments(pointer).fold(String::new(), |key, segment| match segment.parse::<usize>() {
        Ok(at) if !key.is_empty() => format!("{key}[{at}]"),
        _ if key.is_empty() => segment,
        _ => format!("{key}.{segment}"),
    })
}

fn line_column(text: &str, offset: usize) -> LineColumn {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}
