//! [`of`]: values of agent settings, manifests and tables, one per line, such as `§env.ANTHROPIC_BASE_URL = https://…`.
//! Rules can match them independently of the file's layout.

mod json;

use std::borrow::Cow;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::source::Source;

/// Lines above a code block that may name its settings file.
const INTRODUCTION: usize = 6;

/// Maximum length in bytes of a formula that is examined.
const FORMULA: usize = 600;

/// Path suffixes of agent settings files.
const SETTINGS: &[&str] = &[
    ".claude/settings.json", ".claude/settings.local.json", ".claude.json", ".codex/config.toml",
    ".gemini/settings.json", "opencode.json", "opencode.jsonc", "mcp.json", "claude_desktop_config.json",
    "hooks/hooks.json",
];

/// Values as lines of text, with the line of the file that each one comes from.
#[derive(Default)]
pub(crate) struct Values {
    pub text: String,
    pub lines: Vec<usize>,
}

/// Parsed value with its byte offset.
enum Node {
    Leaf(usize, String),
    List(usize, Vec<Node>),
    Table(Vec<(String, Node)>),
}

/// Returns the values of a settings file or table, or of code blocks in a text that show a settings file. Returns
/// `None` if there are no values.
pub(crate) fn of(source: &Source<'_>) -> Option<Values> {
    let mut values = Values::default();
    let path = source.path.to_ascii_lowercase();
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    if SETTINGS.iter().any(|name| path.ends_with(name)) || path.ends_with("pyproject.toml") {
        values.read(source, extension, 0, &source.text);
    } else if matches!(extension, "csv" | "tsv") {
        values.read_cells(source, if extension == "csv" { ',' } else { '\t' });
    } else if source.kind().reads {
        for (tag, first, code) in source.blocks().filter(|(_, first, _)| is_for_settings(source, *first)) {
            values.read(source, tag, source.line_start(first), code);
        }
    }
    (!values.lines.is_empty()).then_some(values)
}

/// Returns whether a settings file is named on the lines above a block or on its first line.
fn is_for_settings(source: &Source<'_>, first: usize) -> bool {
    let mut said = (first.saturating_sub(INTRODUCTION)..=first).map(|at| source.line(at));
    said.any(|line| SETTINGS.iter().any(|name| line.contains(name)))
}

impl Values {
    /// Parses a text that begins at a byte offset of the file, in the given format.
    fn read(&mut self, source: &Source<'_>, form: &str, from: usize, text: &str) {
        let root = match form {
            "json" | "jsonc" | "json5" => json::read(text),
            "toml" => Some(of_table(DeTable::parse_recoverable(text).0.into_inner())),
            _ => None,
        };
        if let Some(root) = root {
            self.write("", root, &|at| source.line_at(from + at));
        }
    }

    fn add(&mut self, name: &str, value: &str, line: usize) {
        let value = value.replace('\n', " ");
        self.text.push_str(&format!("§{name} = {value}\n"));
        self.lines.push(line);
    }

    /// Writes a value and its descendants as lines. A command and its `args` in one table are joined.
    fn write(&mut self, name: &str, node: Node, line: &impl Fn(usize) -> usize) {
        match node {
            Node::Leaf(at, value) => self.add(name, &value, line(at)),
            Node::List(at, items) if name.ends_with("command") || name == "notify" => {
                self.add(name, &words(items).join(" "), line(at));
            }
            Node::List(_, items) => items.into_iter().for_each(|item| self.write(name, item, line)),
            Node::Table(entries) => self.write_table(name, entries, line),
        }
    }

    fn write_table(&mut self, name: &str, mut entries: Vec<(String, Node)>, line: &impl Fn(usize) -> usize) {
        let args = entries.iter().position(|(key, node)| key == "args" && matches!(node, Node::List(..)));
        let starts = |entry: &&mut (String, Node)| entry.0 == "command" && matches!(entry.1, Node::Leaf(..));
        let args = args.filter(|_| entries.iter().any(|(key, _)| key == "command")).map(|at| entries.remove(at).1);
        if let (Some(Node::List(_, args)), Some((_, Node::Leaf(_, program)))) = (args, entries.iter_mut().find(starts))
        {
            *program = [vec![std::mem::take(program)], words(args)].concat().join(" ");
        }
        for (key, node) in entries {
            let name = if name.is_empty() { key } else { format!("{name}.{key}") };
            self.write(&name, node, line);
        }
    }

    /// Reads the cells of a table that contain formulas, at most one per line.
    fn read_cells(&mut self, source: &Source<'_>, between: char) {
        for (index, line) in source.lines() {
            let starts = [0].into_iter().chain(line.match_indices(between).map(|(at, _)| at + 1));
            let cells = starts.filter_map(|at| line.get(at..)).map(|cell| cell.trim_start_matches('"'));
            let is_formula = |cell: &&str| {
                let mut chars = cell.chars();
                matches!(chars.next(), Some('=' | '+' | '-' | '@')) && chars.next().is_some_and(char::is_alphabetic)
            };
            if let Some(cell) = cells.into_iter().find(is_formula) {
                self.add("cell", cell.get(..cell.floor_char_boundary(FORMULA)).unwrap_or(""), index);
            }
        }
    }
}

/// Returns the strings of a list, without nested values.
fn words(items: Vec<Node>) -> Vec<String> {
    let text = |item| if let Node::Leaf(_, text) = item { Some(text) } else { None };
    items.into_iter().filter_map(text).collect()
}

fn of_table(table: DeTable<'_>) -> Node {
    let entry =
        |(key, value): (Spanned<Cow<'_, str>>, Spanned<DeValue<'_>>)| (key.into_inner().into_owned(), of_value(value));
    Node::Table(table.into_iter().map(entry).collect())
}

fn of_value(value: Spanned<DeValue<'_>>) -> Node {
    let at = value.span().start;
    match value.into_inner() {
        DeValue::Array(items) => Node::List(at, items.into_iter().map(of_value).collect()),
        DeValue::Table(table) => of_table(table),
        DeValue::String(text) => Node::Leaf(at, text.into_owned()),
        DeValue::Boolean(is_so) => Node::Leaf(at, is_so.to_string()),
        DeValue::Integer(number) => Node::Leaf(at, number.to_string()),
        DeValue::Float(number) => Node::Leaf(at, number.to_string()),
        DeValue::Datetime(time) => Node::Leaf(at, time.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Kind;

    fn lines(path: &str, text: &str) -> (String, Vec<usize>) {
        let kind = Kind { runs: false, reads: path.ends_with(".md") };
        let values = of(&Source::with_kind(path, text.into(), kind)).unwrap_or_default();
        (values.text, values.lines)
    }

    #[test]
    fn each_value_has_its_name_and_line() {
        let json = "{ // a\n\"env\": {\"A\": \"x\\ny\",},\n\"allow\": [\"b\", 1,\ntrue]}";
        assert_eq!(
            lines(".mcp.json", json),
            ("§env.A = x y\n§allow = b\n§allow = 1\n§allow = true\n".into(), vec![1, 2, 2, 3])
        );
        let toml = "a = \"x\"\n[b.c]\nd = [1,\n{ e = true }]\n";
        assert_eq!(lines(".codex/config.toml", toml), ("§a = x\n§b.c.d = 1\n§b.c.d.e = true\n".into(), vec![0, 2, 3]));
    }

    #[test]
    fn a_command_stands_with_its_arguments() {
        for text in [r#"{"s": {"args": ["-c", "b"], "command": "a"}}"#, r#"{"s": {"command": ["a", "-c", "b"]}}"#] {
            assert_eq!(lines("mcp.json", text).0, "§s.command = a -c b\n");
        }
    }

    #[test]
    fn a_block_is_read_that_belongs_into_settings() {
        let text = "Add to `~/.claude/settings.json`:\n\n```json\n{\"a\": 1}\n```\n\nAnother:\n\n\n\n\n\n\n```json\n{\"b\": 1}\n```\n";
        assert_eq!(lines("SKILL.md", text), ("§a = 1\n".into(), vec![3]));
    }

    #[test]
    fn cells_that_are_formulas_are_read() {
        assert_eq!(lines("a.csv", "a,-5,=B1\nb,\"=SUM(A1)\"\n-x\n1,2\n").1, [0, 1, 2]);
    }

    #[test]
    fn what_is_broken_ends_somewhere() {
        for text in
            ["{\"a\": [1, {\"b\"", "]]}{{", "\"", "{\"a\":::1}", &"[".repeat(100_000), "{\"a\" \"b\" é}", "/*", "{1:2"]
        {
            lines("mcp.json", text);
            lines(".codex/config.toml", text);
        }
    }
}
