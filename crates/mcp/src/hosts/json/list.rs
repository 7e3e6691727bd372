//! Edits of single items of a list in a JSON file, with the guarantees of edits of members.

use std::ops::Range;

use serde_json::{Value, json};
use skill::objects_and_commas;

use super::{Keys, Layout, blank_end, checked, object, outline, remove, set, value_end, without_comments};

/// Maximum number of JSON values in an edited list.
const VALUES: usize = 10_000;

/// Adds an item to the list `name` of the object at `path`. Missing objects and a missing list are created.
///
/// # Errors
/// The reason, as a clause: the text is not JSON, the member is not a list, or its layout is not understood.
pub fn push(text: &str, path: &[&str], name: &str, item: &Value) -> Result<String, String> {
    let keys = Keys::default();
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let before = outline(text, path, &[name], &keys)?;
    let Some(list) = List::of(text, path, name)? else { return set(text, path, &[(name, json!([item]))]) };
    let values: Vec<Value> = list.items.iter().map(|(_, value)| value.clone()).chain([item.clone()]).collect();
    let meant = before.with(vec![keys.sum_of(&Value::Array(values))]);
    checked(list.with(text, item).into(), path, &[name], &keys, &meant)
}

/// Removes the items that `keep` rejects from the list `name` of the object at `path`. A list or object that becomes
/// empty is removed.
///
/// # Errors
/// The reason, as a clause, as for [`push`].
pub fn retain(text: &str, path: &[&str], name: &str, keep: impl Fn(&Value) -> bool) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let keys = Keys::default();
    let before = outline(text, path, &[name], &keys)?;
    let Some(list) = List::of(text, path, name)? else { return Ok(text.to_owned()) };
    let kept: Vec<Value> = list.items.iter().map(|(_, value)| value).filter(|value| keep(value)).cloned().collect();
    if kept.len() == list.items.len() {
        return Ok(text.to_owned());
    }
    if kept.is_empty() {
        return remove_with_object(&remove(text, path, name)?, path);
    }
    let meant = before.with(vec![keys.sum_of(&Value::Array(kept))]);
    checked(list.without(text, keep).into(), path, &[name], &keys, &meant)
}

/// Removes the object at `path` if it is empty.
fn remove_with_object(text: &str, path: &[&str]) -> Result<String, String> {
    let is_empty = start_of(text, path).and_then(|start| object(text, start, "")).is_some_and(|it| it.last.is_none());
    match path.split_last() {
        Some((last, above)) if is_empty => remove(text, above, last),
        _ => Ok(text.to_owned()),
    }
}

/// Returns the offset of the value at a path.
fn start_of(text: &str, path: &[&str]) -> Option<usize> {
    let start = blank_end(text, 0)?;
    path.iter().try_fold(start, |start, key| Some(object(text, start, key)?.member?.value))
}

/// A list in a text.
struct List {
    /// Offset of the opening bracket.
    open: usize,
    /// Offset of the closing bracket.
    close: usize,
    /// Byte ranges and values of the items.
    items: Vec<(Range<usize>, Value)>,
    /// True if a comma follows the last item.
    has_comma: bool,
}

impl List {
    /// Locates a list in a text that is valid JSON with comments. `None` if there is no such member.
    fn of(text: &str, path: &[&str], name: &str) -> Result<Option<Self>, String> {
        let Some(open) = start_of(text, &[path, &[name]].concat()) else { return Ok(None) };
        let end = value_end(text, open).ok_or("its layout is not supported")?;
        let within = text.get(open..end).unwrap_or_default();
        if !within.starts_with('[') {
            return Err(format!("`{}` is not a list", [path, &[name]].concat().join(".")));
        }
        if objects_and_commas(within.as_bytes()).1 > VALUES {
            return Err(format!("`{}` has more than {VALUES} values", [path, &[name]].concat().join(".")));
        }
        Self::at(text, open).map(Some).ok_or_else(|| "its layout is not supported".to_owned())
    }

    fn at(text: &str, open: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut items, mut has_comma) = (Vec::new(), false);
        let mut at = blank_end(text, open + 1)?;
        while bytes.get(at) != Some(&b']') {
            let end = value_end(text, at)?;
            items.push((at..end, serde_json::from_str(&without_comments(text.get(at..end)?)?).ok()?));
            at = blank_end(text, end)?;
            has_comma = bytes.get(at) == Some(&b',');
            if has_comma {
                at = blank_end(text, at + 1)?;
            }
        }
        Some(Self { open, close: at, items, has_comma })
    }

    /// Inserts a new last item, laid out like its neighbours.
    fn with(&self, text: &str, item: &Value) -> String {
        let layout = Layout::of(text);
        let outer = layout.indent_at(text, self.open);
        let Some((last, _)) = self.items.last() else {
            let indent = format!("{outer}{}", layout.unit);
            let item = layout.render(item, &indent);
            return [&text[..=self.open], layout.line, &indent, &item, layout.line, &outer, &text[self.close..]]
                .concat();
        };
        let is_on_line = text[..last.start].rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        if !is_on_line {
            return [&text[..last.end], ", ", &item.to_string(), &text[last.end..]].concat();
        }
        let indent = layout.indent_at(text, last.start);
        let comma = if self.has_comma { "" } else { "," };
        let rest = text[last.end..self.close].trim_end();
        let item = format!("{}{indent}{}{}{outer}", layout.line, layout.render(item, &indent), layout.line);
        [&text[..last.end], comma, rest, &item, &text[self.close..]].concat()
    }

    /// Cuts out the items that `keep` rejects, each with one comma. At least one item stays.
    fn without(&self, text: &str, keep: impl Fn(&Value) -> bool) -> String {
        let mut written = text.to_owned();
        // From the end, so that the offsets before stay valid.
        for (at, (item, _)) in self.items.iter().enumerate().rev().filter(|(_, (_, value))| !keep(value)) {
            let (next, previous) =
                (self.items.get(at + 1), at.checked_sub(1).and_then(|before| self.items.get(before)));
            let kept_after = self.items.get(at + 1..).unwrap_or_default().iter().any(|(_, value)| keep(value));
            match (next, previous) {
                (Some((next, _)), _) if kept_after => written.replace_range(item.start..next.start, ""),
                (_, Some((previous, _))) => {
                    // Comments between the two stay.
                    written.replace_range(text[..item.start].trim_end().len()..item.end, "");
                    if let Some(comma) = blank_end(text, previous.end).filter(|comma| *comma < item.start) {
                        written.replace_range(comma..=comma, "");
                    }
                }
                (..) => written.replace_range(item.clone(), ""),
            }
        }
        written
    }
}
