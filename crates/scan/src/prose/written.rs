//! [`Page`]: the text for readers in a file that is not a page of prose. Comments, strings, table cells and the text
//! between tags are extracted into one text.

mod cells;
mod code;
mod markup;
mod settings;
mod strings;

use crate::{
    characters::is_wide,
    source::{Kind, Source},
};

/// Maximum number of words in a string or comment that is not treated as a sentence.
const WORDS: usize = 5;

/// Counterpart of [`WORDS`] in Chinese characters.
const WIDE: usize = 8;

/// Extensions of files that are read whole: prompts, templates and logs.
const PLAIN: &[&str] = &["mdc", "prompt", "tmpl", "tpl", "template", "j2", "jinja", "hbs", "tex", "log"];

/// An extracted text with its line map to the file.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub text: String,
    /// Byte offset in the file for the start of each line.
    from: Vec<usize>,
    /// Pending lines with their byte offsets, which may form a sentence together.
    open: Vec<(String, usize)>,
}

/// Extracts the text for readers from a file. Returns `None` if there is none.
pub(super) fn page(source: &Source<'_>) -> Option<Page> {
    let extension = source.path.rsplit('/').next()?.rsplit_once('.').map_or("", |(_, extension)| extension);
    let (text, mut page) = (source.text.as_ref(), Page::default());
    match extension.to_ascii_lowercase().as_str() {
        plain if PLAIN.contains(&plain) => page.take_all(text),
        "json" | "jsonc" | "json5" | "jsonl" | "ndjson" | "ipynb" => strings::read(text, &mut page),
        "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "config" | "env" | "properties" => {
            settings::read(text, &mut page);
        }
        "csv" => cells::read(text, b',', &mut page),
        "tsv" => cells::read(text, b'\t', &mut page),
        "html" | "htm" | "xhtml" | "xml" | "svg" | "plist" | "vue" | "svelte" => markup::read(text, &mut page),
        other => code::read(text, other, &mut page),
    }
    page.end();
    (!page.text.is_empty()).then_some(page)
}

impl Page {
    /// Wraps the page as a source of its own, at the path of the original.
    pub fn source<'p>(&'p self, of: &Source<'p>) -> Source<'p> {
        let mut source = Source::with_kind(of.path, self.text.as_str().into(), Kind { runs: false, reads: true });
        source.is_test_data = of.is_test_data;
        source
    }

    /// Maps a byte offset in the page to an approximate one in the file.
    pub fn origin(&self, page: &Source<'_>, file: &Source<'_>, at: usize) -> usize {
        let line = page.line_at(at);
        let from = self.from.get(line).copied().unwrap_or(0);
        let end = file.line_start(file.line_at(from) + 1).saturating_sub(1).max(from);
        file.text.floor_char_boundary((from + at - page.line_start(line)).min(end))
    }

    /// Appends a line to the pending ones.
    fn add(&mut self, line: &str, from: usize) {
        self.open.push((line.to_owned(), from));
    }

    /// Ends the pending lines. They are kept only if they form a sentence.
    fn end(&mut self) {
        if says_something(&self.open) {
            let fences = self.open.iter().filter(|(line, _)| line.trim_start().starts_with("```")).count();
            if fences % 2 == 1 {
                self.open.push(("```".to_owned(), 0));
            }
            for (line, from) in self.open.drain(..).chain([(String::new(), 0)]) {
                self.text.push_str(&line);
                self.text.push('\n');
                self.from.push(from);
            }
        }
        self.open.clear();
    }

    /// Adds a text of several lines as a unit. `from` is its byte offset in the file.
    fn take(&mut self, text: &str, from: usize) {
        self.add_lines(text, from);
        self.end();
    }

    fn add_lines(&mut self, text: &str, mut from: usize) {
        for line in text.split_inclusive('\n') {
            self.add(line.trim_end_matches(['\n', '\r']), from);
            from += line.len();
        }
    }

    fn take_all(&mut self, text: &str) {
        self.take(text, 0);
    }
}

/// Returns true if the lines have enough words for a sentence.
fn says_something(lines: &[(String, usize)]) -> bool {
    let words = |line: &str| line.split(|c: char| c.is_whitespace()).filter(|word| is_word(word)).count();
    let wide = |line: &str| line.chars().filter(|c| is_wide(*c)).count();
    let (mut said, mut said_wide) = (0, 0);
    lines.iter().any(|(line, _)| {
        said += words(line);
        if !line.is_ascii() {
            said_wide += wide(line);
        }
        said > WORDS || said_wide > WIDE
    })
}

/// Returns true if a token begins like a word.
fn is_word(word: &str) -> bool {
    word.trim_start_matches(['(', '"', '\'', '`', '*']).starts_with(char::is_alphabetic)
}
