//! Source positions of the values in the frontmatter of `SKILL.md` ([`Positions`]).

use std::{collections::HashMap, ops::Range};

use saphyr_parser::{Event, Parser, Span};

/// A position in `SKILL.md`. Line and column count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Line of the frontmatter's first line in `SKILL.md`; the opening `---` is line 1.
const FIRST_LINE: usize = 2;
/// Maximum number of parsed values. Later ones are reported at the position of their parent.
const MAX_EVENTS: usize = 50_000;
/// Total size limit of the pointers in bytes, since a long key is part of every pointer below it.
const MAX_POINTERS: usize = 4 << 20;
/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;

/// Positions of keys and values by their JSON Pointer.
///
/// The values themselves come from the parser used everywhere in skillhub. This one only locates them in the text. A
/// value that it cannot locate is reported at the position of its parent.
#[derive(Debug, Default)]
pub struct Positions {
    yaml: String,
    /// Offset of the key and byte range of the value, by pointer.
    places: HashMap<String, Place>,
}

#[derive(Debug, Clone)]
struct Place {
    key: Option<usize>,
    value: Range<usize>,
}

/// A map or list that is being parsed.
struct Open {
    pointer: String,
    is_map: bool,
    /// Next index, for a list.
    next: usize,
    /// Current key of a map and its offset.
    key: Option<(String, usize)>,
    start: usize,
    own_key: Option<usize>,
}

impl Positions {
    /// Locates the values of the YAML between the `---` lines, as far as it can be parsed.
    pub fn of(yaml: &str) -> Self {
        let bytes: Vec<usize> = yaml.char_indices().map(|(at, _)| at).chain([yaml.len()]).collect();
        let at = |span: Span| {
            let byte = |index: usize| bytes.get(index).copied().unwrap_or(yaml.len());
            byte(span.start.index())..byte(span.end.index())
        };
        let mut places = HashMap::new();
        let mut open: Vec<Open> = Vec::new();
        let mut parser = Parser::new_from_str(yaml);
        let mut pointers = 0;
        for _ in 0..MAX_EVENTS {
            pointers += open.last().map_or(0, |top| top.pointer.len());
            if pointers > MAX_POINTERS {
                break;
            }
            let Some(Ok((event, span))) = parser.next_event() else { break };
            match event {
                Event::Scalar(text, ..) => note(&mut open, &mut places, Some(&text), at(span)),
                Event::Alias(_) => note(&mut open, &mut places, None, at(span)),
                Event::MappingStart(..) | Event::SequenceStart(..) => {
                    if open.len() >= MAX_DEPTH {
                        break;
                    }
                    let is_map = matches!(event, Event::MappingStart(..));
                    let (pointer, own_key) = begin(&mut open);
                    open.push(Open { pointer, is_map, next: 0, key: None, start: at(span).start, own_key });
                }
                Event::MappingEnd | Event::SequenceEnd => {
                    if let Some(closed) = open.pop() {
                        let value = closed.start..at(span).end.max(closed.start);
                        places.insert(closed.pointer, Place { key: closed.own_key, value });
                    }
                }
                _ => {}
            }
        }
        Self { yaml: yaml.to_owned(), places }
    }

    /// Returns the position of a pointer's value, or of its nearest known parent.
    pub fn value(&self, pointer: &str) -> Position {
        self.position(self.place(pointer).map_or(0, |(place, is_itself)| match place.key {
            // A missing value is best reported at the key of its parent.
            Some(key) if !is_itself => key,
            _ => place.value.start,
        }))
    }

    /// Returns the position of a pointer's key, for problems of the key itself.
    pub fn key(&self, pointer: &str) -> Position {
        self.position(self.place(pointer).map_or(0, |(place, _)| place.key.unwrap_or(place.value.start)))
    }

    /// Returns the position of a part of a pointer's text: the occurrence of `part` with the index `count`, from 0,
    /// or the last one if there are fewer.
    pub fn part(&self, pointer: &str, part: &str, count: usize) -> Position {
        let Some((place, true)) = self.place(pointer) else { return self.value(pointer) };
        let text = self.yaml.get(place.value.clone()).unwrap_or_default();
        match text.match_indices(part).take(count.saturating_add(1)).last() {
            Some((at, _)) => self.position(place.value.start + at),
            None => self.position(place.value.start),
        }
    }

    /// Returns the entry of a pointer or of its nearest known parent. The flag is true if it is its own.
    fn place(&self, pointer: &str) -> Option<(&Place, bool)> {
        let mut at = pointer;
        loop {
            if let Some(place) = self.places.get(at) {
                return Some((place, at.len() == pointer.len()));
            }
            at = &at[..at.rfind('/')?];
        }
    }

    fn position(&self, byte: usize) -> Position {
        let before = self.yaml.get(..byte).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Position { line: FIRST_LINE + before.matches('\n').count(), column: before[start..].chars().count() + 1 }
    }
}

/// Handles a scalar, which is a key or a value.
fn note(open: &mut [Open], places: &mut HashMap<String, Place>, text: Option<&str>, range: Range<usize>) {
    if let Some(top) = open.last_mut()
        && top.is_map
        && top.key.is_none()
    {
        top.key = Some((text.unwrap_or_default().to_owned(), range.start));
        return;
    }
    let (pointer, key) = begin(open);
    places.insert(pointer, Place { key, value: range });
}

/// Returns the pointer of the next value, and the offset of its key.
fn begin(open: &mut [Open]) -> (String, Option<usize>) {
    let Some(top) = open.last_mut() else { return (String::new(), None) };
    match (top.is_map, top.key.take()) {
        (true, Some((key, at))) => (join(&top.pointer, &key), Some(at)),
        // A key that is itself a map or list has no pointer.
        (true, None) => {
            top.key = Some((String::new(), 0));
            (join(&top.pointer, "?"), None)
        }
        (false, _) => {
            top.next += 1;
            (format!("{}/{}", top.pointer, top.next - 1), None)
        }
    }
}

/// Appends a key to a JSON Pointer, with escapes.
pub fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, column: usize) -> Position {
        Position { line, column }
    }

    #[test]
    fn values_keys_and_parts_are_found() {
        let yaml = "name: é-x\ntool_schema:\n  steps:\n    - tool: a\n      input: {u: \"{{input.q}} é {{input.q}}\"}\n    - tool: b\n";
        let positions = Positions::of(yaml);
        assert_eq!(positions.value("/name"), at(2, 7));
        assert_eq!(positions.key("/tool_schema/steps/1/tool"), at(7, 7));
        assert_eq!(positions.value("/tool_schema/steps/1/tool"), at(7, 13));
        assert_eq!(positions.part("/tool_schema/steps/0/input/u", "{{input.q}}", 1), at(6, 33));
        assert_eq!(positions.value("/tool_schema/steps/1/when"), at(7, 7), "what holds it");
    }

    #[test]
    fn long_keys_use_little_memory() {
        let yaml = format!("name: a\n? \"{}\"\n: [{}]\n", "k".repeat(30_000), "1, ".repeat(16_000));
        let positions = Positions::of(&yaml);
        assert!(positions.places.keys().map(String::len).sum::<usize>() < 2 * MAX_POINTERS);
        assert_eq!(positions.value("/name"), at(2, 7));
    }

    #[test]
    fn odd_yaml_never_hangs() {
        for yaml in ["", "?", "? [a]: b", "a: *x", "{{{{", "a: &x [*x]", "- - - -", "\t:", "a:\n\tb"] {
            let positions = Positions::of(yaml);
            assert!(positions.value("/a/b/c").line >= FIRST_LINE);
        }
    }
}
