//! Text extraction from YAML, TOML and other configuration files ([`read`]): values and comments.

use super::Page;

/// Delimiters of multi-line strings in TOML.
const LONG: [&str; 2] = ["\"\"\"", "'''"];

/// Adds the values and comments of a file.
pub(super) fn read(text: &str, page: &mut Page) {
    let (mut from, mut block) = (0, None);
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        block = take(line, from, block, page);
        from += whole.len();
    }
}

/// The construct that a line may continue.
#[derive(Clone, Copy)]
enum Block {
    /// A YAML block scalar, below a key with this indentation.
    Below(usize),
    /// A multi-line string up to this delimiter.
    Until(&'static str),
    /// A comment of several lines.
    Comment,
    /// A plain value that may continue, below a key with this indentation.
    Value(usize),
}

/// Handles one line of a file. Returns the construct that the next line may continue.
fn take(line: &str, from: usize, block: Option<Block>, page: &mut Page) -> Option<Block> {
    let bare = line.trim();
    let at = |part: &str| from + line.find(part).unwrap_or(0);
    let indent = line.len() - line.trim_start().len();
    match block {
        Some(Block::Until(mark)) => {
            let value = bare.split(mark).next().unwrap_or("");
            page.add(value, at(value));
            return if bare.contains(mark) { None } else { block };
        }
        Some(Block::Below(key) | Block::Value(key)) if bare.is_empty() || indent > key && !begins_key(bare, block) => {
            page.add(bare, at(bare));
            return block;
        }
        Some(Block::Comment) if bare.starts_with(['#', ';']) => {}
        _ => page.end(),
    }
    if let Some(comment) = bare.strip_prefix(['#', ';']) {
        let comment = comment.trim_start_matches(['#', ' ', '!']);
        page.add(comment, at(comment));
        return Some(Block::Comment);
    }
    let value = value_of(bare);
    if value.starts_with(['|', '>']) && value.len() <= 3 {
        return Some(Block::Below(indent));
    }
    if let Some(mark) = LONG.into_iter().find(|mark| value.starts_with(mark)) {
        let value = value.trim_start_matches(mark);
        page.add(value.trim_end_matches(mark), at(value));
        return (!value.contains(mark)).then_some(Block::Until(mark));
    }
    let value = value.trim_start_matches(['"', '\'']);
    let shown = value.trim_end_matches(['"', '\'', ',']);
    page.add(shown, at(value));
    Some(Block::Value(indent))
}

/// Returns true if a line begins a new entry instead of continuing the value.
fn begins_key(bare: &str, block: Option<Block>) -> bool {
    matches!(block, Some(Block::Value(_))) && (bare.starts_with(['-', '#']) || value_of(bare).len() < bare.len())
}

/// Returns the value of a line, without a list mark and a key.
fn value_of(bare: &str) -> &str {
    let item = bare.strip_prefix("- ").unwrap_or(bare).trim_start();
    let is_key = |key: &str| {
        let key = key.trim().trim_matches(['"', '\'']);
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
    };
    let colon = item.split_once(": ").or_else(|| item.strip_suffix(':').map(|key| (key, "")));
    let value = [colon, item.split_once('=')].into_iter().flatten().find(|(key, _)| is_key(key));
    value.map_or(item, |(_, value)| value.trim())
}
