//! [`Page`]: what a file that is no page of text says to a reader: its comments, its strings, its cells and the text
//! between its tags, as one text.

mod cells;
mod code;
mod markup;
mod settings;
mod strings;

use crate::{
    characters::is_wide,
    source::{Kind, Source},
};

/// Words of the longest string or comment that is no sentence.
const WORDS: usize = 5;

/// The same in characters of Chinese.
const WIDE: usize = 8;

/// Texts that are written for a reader, or from which one is made, as they stand.
const PLAIN: &[&str] = &["mdc", "prompt", "tmpl", "tpl", "template", "j2", "jinja", "hbs", "tex", "log"];

/// A text and the places in its file that the lines of it come from.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub text: String,
    /// For each line the byte of the file at which it begins.
    from: Vec<usize>,
    /// Lines that belong together and may be a sentence.
    open: Vec<(String, usize)>,
}

/// What a file that is no page of text says; `None` of one that says nothing.
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
    /// The page as a file of its own.
    pub fn source<'p>(&'p self, of: &Source<'p>) -> Source<'p> {
        let mut source = Source::with_kind(of.path, self.text.as_str().into(), Kind { runs: false, reads: true });
        source.is_test_data = of.is_test_data;
        source
    }

    /// The byte of the file from which a byte of the page comes, near enough.
    pub fn origin(&self, page: &Source<'_>, file: &Source<'_>, at: usize) -> usize {
        let line = page.line_at(at);
        let from = self.from.get(line).copied().unwrap_or(0);
        let end = file.line_start(file.line_at(from) + 1).saturating_sub(1).max(from);
        file.text.floor_char_boundary((from + at - page.line_start(line)).min(end))
    }

    /// Takes a line that belongs to those before it, up to the next end.
    fn add(&mut self, line: &str, from: usize) {
        self.open.push((line.to_owned(), from));
    }

    /// Ends what belongs together; it is kept if it is a sentence.
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

    /// Takes a text of several lines for itself, which begins at a byte of the file.
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

/// Whether lines have the words of a sentence.
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

/// Whether something between spaces begins like a word.
fn is_word(word: &str) -> bool {
    word.trim_start_matches(['(', '"', '\'', '`', '*']).starts_with(char::is_alphabetic)
}
