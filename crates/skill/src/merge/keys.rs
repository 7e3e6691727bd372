//! [`merge`]: a merge of `SKILL.md`, with its frontmatter by key and the rest by lines.

use std::{collections::HashMap, sync::Arc};

use super::{
    Conflict, ConflictKind,
    align::Cells,
    lines::{Kind, ends_in_newline},
    rules::{Clashes, Rules},
    words,
};
use crate::{
    Frontmatter, Limits, SkillPath,
    frontmatter::{self, Split},
};

/// Merges three texts of `SKILL.md`.
pub(super) fn merge(
    texts: [&str; 3],
    line_end: &str,
    rules: &Rules<'_>,
    cells: &mut Cells,
    conflicts: &mut Vec<Conflict>,
) -> String {
    let path = SkillPath::skill_md();
    let [Ok(base), Ok(ours), Ok(theirs)] = texts.map(frontmatter::split) else {
        let woven = rules.merge_lines(texts, line_end, Kind::Code, cells);
        conflicts.extend(woven.clashes.into_iter().map(|clash| clash.conflict(&path, 1)));
        return woven.text;
    };
    let yaml = merge_yaml([base.yaml, ours.yaml, theirs.yaml], line_end, rules, cells, conflicts);
    let body = rules.merge_lines([base.body, ours.body, theirs.body], line_end, Kind::Markdown, cells);
    conflicts.extend(body.clashes.into_iter().map(|clash| clash.conflict(&path, ours.body_line)));
    let (opening, closing) = fences(texts[1], &ours);
    let is_ended = !body.text.is_empty() || ends_in_newline(texts.map(|text| text.ends_with('\n')));
    let (closing, end) = match (is_ended, closing.ends_with('\n')) {
        (true, false) => (closing, line_end),
        (true, true) => (closing, ""),
        (false, _) => (closing.trim_end_matches(['\r', '\n']), ""),
    };
    [opening, &yaml, closing, end, &body.text].concat()
}

/// Returns the text before and after the YAML: a byte order mark and the `---` lines.
fn fences<'a>(text: &'a str, split: &Split<'_>) -> (&'a str, &'a str) {
    let opening = text.find('\n').map_or(text.len(), |at| at + 1);
    let closing = opening + split.yaml.len();
    (&text[..opening], &text[closing..text.len() - split.body.len()])
}

fn merge_yaml(
    texts: [&str; 3],
    line_end: &str,
    rules: &Rules<'_>,
    cells: &mut Cells,
    conflicts: &mut Vec<Conflict>,
) -> String {
    let path = SkillPath::skill_md();
    let [base, ours, theirs] = texts.map(normal);
    if base == theirs || ours == theirs {
        return texts[1].to_owned();
    }
    let entries = if base == ours { [None, None, None] } else { texts.map(entries) };
    let (text, found) = if let [Some(base), Some(ours), Some(theirs)] = entries {
        Block { base, ours, theirs, line_end, rules }.merge(cells)
    } else {
        let woven = rules.merge_lines(texts, line_end, Kind::Code, cells);
        // The YAML starts on line 2 of the file.
        (woven.text, woven.clashes.into_iter().map(|clash| clash.conflict(&path, 2)).collect())
    };
    if found.is_empty() && (base == ours || holds_up(texts, &text)) {
        return text;
    }
    if let Some(text) = rules.plainly(texts, line_end).filter(|text| holds_up(texts, text)) {
        return text;
    }
    if !found.is_empty() {
        conflicts.extend(found);
        return text;
    }
    let conflict = Conflict::of_file(&path, ConflictKind::Frontmatter);
    conflicts.push(conflict.with_texts(Some(texts[0]), Some(texts[1]), Some(texts[2])));
    at_odds(rules.clashes, [&ours, &theirs], line_end)
}

/// Returns the lines to insert for two conflicting texts of whole lines.
fn at_odds(clashes: Clashes<'_>, [ours, theirs]: [&str; 2], line_end: &str) -> String {
    let lines = [ours, theirs].map(|text| text.lines().collect::<Vec<_>>());
    clashes.lines(&lines[0], &lines[1]).iter().flat_map(|line| [line.as_ref(), line_end]).collect()
}

/// Returns whether a merged block is consistent with its sources: it has no key that neither side has, and `name` and
/// `allowed-tools` have the merged values.
fn holds_up(texts: [&str; 3], merged: &str) -> bool {
    let [Some(base), Some(ours), Some(theirs)] = texts.map(read) else { return true };
    let Some(merged) = read(merged) else { return false };
    let known = |key: &String| ours.keys.contains(key) || theirs.keys.contains(key);
    merged.keys.iter().all(known)
        && one_of(&base.name, &ours.name, &theirs.name) == Some(&merged.name)
        && one_of(&base.allowed_tools, &ours.allowed_tools, &theirs.allowed_tools) == Some(&merged.allowed_tools)
}

fn read(yaml: &str) -> Option<Arc<Frontmatter>> {
    let text = format!("---\n{yaml}---\n");
    frontmatter::read(&text, &Limits::default()).ok().map(|reading| reading.frontmatter)
}

/// Returns the value that one side alone changed, or both changed equally. `None` for a conflict.
fn one_of<T: PartialEq>(base: T, ours: T, theirs: T) -> Option<T> {
    if ours == base {
        Some(theirs)
    } else if theirs == base || ours == theirs {
        Some(ours)
    } else {
        None
    }
}

/// Converts CRLF to line feeds.
fn normal(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Key with its value as text, with the comments and blank lines above it. The last entry may consist of comments
/// alone, under an empty key.
struct Entry<'a> {
    /// Key normalised over its spellings, for comparison.
    key: String,
    /// Key as written in the file.
    name: &'a str,
    text: &'a str,
    /// First line in the block, counted from 0.
    line: usize,
}

/// Splits a block into entries. Returns `None` if its keys cannot be read independently.
fn entries(yaml: &str) -> Option<Side<'_>> {
    let mut found: Vec<Entry> = Vec::new();
    // Start of the current entry, and start of the comments that may belong to the next one.
    let (mut start, mut start_line, mut lead, mut lead_line) = (0, 0, 0, 0);
    let mut name: Option<&str> = None;
    let mut at = 0;
    for (number, line) in yaml.split_inclusive('\n').enumerate() {
        let is_lead = line.starts_with('#') || line.trim().is_empty();
        if !is_lead {
            if !line.starts_with([' ', '\t', '-']) {
                let next = line.split_once(':')?.0;
                if let Some(name) = name.replace(next) {
                    found.push(entry(name, &yaml[start..lead], start_line));
                    (start, start_line) = (lead, lead_line);
                }
            }
            (lead, lead_line) = (at + line.len(), number + 1);
        }
        at += line.len();
    }
    found.push(entry(name?, &yaml[start..lead], start_line));
    found.push(Entry { key: String::new(), name: "", text: &yaml[lead..], line: lead_line });
    let alone = |entry: &Entry| entry.key.is_empty() || read(entry.text).is_some_and(|read| read.keys == [entry.name]);
    let places: HashMap<String, usize> = found.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
    (places.len() == found.len() && found.iter().all(alone)).then_some(Side { entries: found, places })
}

fn entry<'a>(name: &'a str, text: &'a str, line: usize) -> Entry<'a> {
    let name = name.trim().trim_matches(['"', '\'']);
    let key = name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    Entry { key, name, text, line }
}

/// Frontmatter block of one side, split into entries.
struct Side<'a> {
    entries: Vec<Entry<'a>>,
    places: HashMap<String, usize>,
}

impl<'a> Side<'a> {
    fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.get(*self.places.get(key)?)
    }
}

/// Frontmatter blocks of all three versions.
struct Block<'a> {
    base: Side<'a>,
    ours: Side<'a>,
    theirs: Side<'a>,
    line_end: &'a str,
    rules: &'a Rules<'a>,
}

impl Block<'_> {
    fn merge(&self, cells: &mut Cells) -> (String, Vec<Conflict>) {
        let mut conflicts = Vec::new();
        let order = self.order();
        let texts: Vec<String> = order.iter().filter_map(|key| self.decide(key, cells, &mut conflicts)).collect();
        (texts.concat(), conflicts)
    }

    /// Returns the keys of both sides in their merged order.
    ///
    /// The keys of ours keep their order, unless only theirs reordered them. Every other key follows its neighbour on
    /// its own side. New keys of both sides at one position are sorted alphabetically.
    fn order(&self) -> Vec<&str> {
        let common = |side: &Side| -> Vec<String> {
            let kept = |key: &&Entry| [&self.base, &self.ours, &self.theirs].iter().all(|s| s.get(&key.key).is_some());
            side.entries.iter().filter(kept).map(|entry| entry.key.clone()).collect()
        };
        let takes_theirs = common(&self.ours) == common(&self.base) && common(&self.theirs) != common(&self.base);
        let (first, second) = if takes_theirs { (&self.theirs, &self.ours) } else { (&self.ours, &self.theirs) };
        let is_new = |key: &str| self.base.get(key).is_none();
        // Keys to insert before each key of the first side, and after the last.
        let mut added: Vec<Vec<&str>> = vec![Vec::new(); first.entries.len() + 1];
        let (mut gap, mut at) = (0, 0);
        for entry in &second.entries {
            let key = entry.key.as_str();
            if let Some(place) = first.places.get(key) {
                (gap, at) = (place + 1, 0);
                continue;
            }
            let passes = |next: &str| is_new(next) && next < key;
            loop {
                match (added[gap].get(at), first.entries.get(gap)) {
                    (Some(next), _) if passes(next) => at += 1,
                    (None, Some(next)) if passes(&next.key) => (gap, at) = (gap + 1, 0),
                    _ => break,
                }
            }
            added[gap].insert(at, key);
            at += 1;
        }
        let own = first.entries.iter().map(|entry| Some(entry.key.as_str())).chain([None]);
        added.into_iter().zip(own).flat_map(|(added, own)| added.into_iter().chain(own)).collect()
    }

    /// Returns the merged entry of a key, or `None` if it is removed.
    fn decide(&self, key: &str, cells: &mut Cells, conflicts: &mut Vec<Conflict>) -> Option<String> {
        let [base, ours, theirs] = [&self.base, &self.ours, &self.theirs].map(|side| side.get(key));
        let [old, here, there] = [base, ours, theirs].map(|entry| entry.map(|entry| normal(entry.text)));
        let own = || ours.map(|entry| entry.text.to_owned());
        match one_of(&old, &here, &there) {
            Some(chosen) if *chosen == here => own(),
            Some(chosen) => chosen.as_ref().map(|text| text.replace('\n', self.line_end)),
            None => match self.rules.words.then(|| description(key, [&old, &here, &there], cells)).flatten() {
                Some(merged) => Some(merged.replace('\n', self.line_end)),
                None => {
                    let name = ours.or(theirs).or(base).map_or(key, |entry| entry.name).to_owned();
                    // The YAML starts on line 2 of the file.
                    let lines = ours.map(|own| (own.line + 2, own.line + 1 + own.text.lines().count()));
                    let conflict = Conflict::of_file(&SkillPath::skill_md(), ConflictKind::Key { key: name });
                    let conflict = conflict.with_texts(old.as_deref(), here.as_deref(), there.as_deref());
                    conflicts.push(Conflict { lines, ..conflict });
                    self.at_odds(ours, [here, there])
                }
            },
        }
    }

    /// Returns the text for a key that both sides changed, according to the rules.
    fn at_odds(&self, ours: Option<&Entry<'_>>, [here, there]: [Option<String>; 2]) -> Option<String> {
        match self.rules.clashes {
            Clashes::Ours => ours.map(|entry| entry.text.to_owned()),
            Clashes::Theirs => there.map(|text| text.replace('\n', self.line_end)),
            marked @ Clashes::Marked { .. } => {
                let sides = [here, there].map(Option::unwrap_or_default);
                Some(at_odds(marked, sides.each_ref().map(String::as_str), self.line_end))
            }
        }
    }
}

/// Merges the entry of `description` by words. The result is used only if its parsed value equals the merge of the
/// three parsed values.
fn description(key: &str, texts: [&Option<String>; 3], cells: &mut Cells) -> Option<String> {
    if key != "description" {
        return None;
    }
    let [Some(base), Some(ours), Some(theirs)] = texts else { return None };
    let merged = words::merge([base, ours, theirs], cells)?;
    let value = |text: &str| read(text).and_then(|read| read.description.clone());
    let values = [value(base)?, value(ours)?, value(theirs)?];
    let expected = words::merge(values.each_ref().map(String::as_str), cells);
    (expected.is_some() && value(&merged) == expected).then_some(merged)
}
