//! Text extraction from HTML and XML ([`read`]): text between tags, attributes and comments.

use super::{Page, code};

/// Inline tags, which do not end a sentence.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "code", "em", "font", "i", "kbd", "mark", "s", "small", "span", "strong", "sub", "sup", "tspan",
    "u", "var",
];

/// Attributes with text for people.
const TEXTS: &[&str] = &["alt=", "title=", "content=", "aria-label=", "placeholder=", "summary=", "data-prompt="];

/// Substrings of tags that hide their contents.
const UNSEEN: &[&str] = &[
    "display:none", "display: none", "visibility:hidden", "visibility: hidden", "font-size:0", "opacity:0\"",
    "opacity:0;", " hidden>", " hidden ",
];

/// Maximum number of bytes examined in a tag.
const TAG: usize = 4096;

/// Maximum length of a character entity in bytes.
const ENTITY: usize = 12;

/// Adds the texts of a page. Hidden text is wrapped in comments.
pub(super) fn read(text: &str, page: &mut Page) {
    // Name of the tag that hides the current text.
    let (mut at, mut unseen): (usize, Option<String>) = (0, None);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(open) = rest.find('<') else {
            return add(rest, at, unseen.is_some(), page);
        };
        add(rest.get(..open).unwrap_or(""), at, unseen.is_some(), page);
        at += open;
        at += match rest.get(open..).unwrap_or("") {
            comment if comment.starts_with("<!--") => {
                page.end();
                let length = comment.find("-->").map_or(comment.len(), |end| end + 3);
                page.take(comment.get(..length).unwrap_or(""), at);
                length
            }
            tag => {
                let length = tag.find('>').map_or(tag.len(), |end| end + 1);
                let inside = tag.get(1..length.min(tag.floor_char_boundary(TAG))).unwrap_or("");
                let name = inside.split(|c: char| !c.is_ascii_alphanumeric() && c != '/').next().unwrap_or("");
                let bare = name.trim_matches('/').to_ascii_lowercase();
                if !INLINE.contains(&bare.as_str()) {
                    page.end();
                }
                if name.starts_with('/') {
                    unseen = unseen.filter(|open| *open != bare);
                } else if unseen.is_none() && UNSEEN.iter().any(|style| inside.contains(style)) {
                    unseen = Some(bare.clone());
                }
                attributes(inside, at + 1, page);
                length + body(name, tag.get(length..).unwrap_or(""), at + length, page)
            }
        };
    }
}

/// Adds the comments of a script and skips a style sheet. Returns the length of the element's contents.
fn body(name: &str, rest: &str, at: usize, page: &mut Page) -> usize {
    let end = match name.to_ascii_lowercase().as_str() {
        "script" => "</script",
        "style" => "</style",
        _ => return 0,
    };
    let length = rest.find(end).unwrap_or(rest.len());
    if end == "</script" {
        code::read_from(rest.get(..length).unwrap_or(""), at, page);
    }
    length
}

/// Adds the text between two tags, line by line.
fn add(text: &str, mut from: usize, unseen: bool, page: &mut Page) {
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if !bare.is_empty() {
            let shown = with_characters(bare);
            let shown = if unseen { format!("<!-- {shown} -->") } else { shown };
            page.add(&shown, from + line.len() - line.trim_start().len());
        }
        from += line.len();
    }
}

/// Adds the attributes of a tag that contain text.
fn attributes(tag: &str, from: usize, page: &mut Page) {
    for name in TEXTS {
        let Some((before, value)) = tag.split_once(name) else { continue };
        let mark = value.chars().next().filter(|mark| matches!(mark, '"' | '\''));
        let Some(value) = mark.and_then(|mark| value.get(1..)?.split(mark).next()) else { continue };
        page.end();
        page.take(&format!("<!-- {} -->", with_characters(value)), from + before.len() + name.len());
    }
}

/// Decodes the character entities of a text.
fn with_characters(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('&') {
        shown.push_str(before);
        let name =
            after.get(..after.floor_char_boundary(ENTITY)).and_then(|near| near.split_once(';')).map(|(name, _)| name);
        let entity = name.and_then(|name| Some((character(name)?, after.get(name.len() + 1..)?)));
        let (character, after) = entity.unwrap_or(('&', after));
        shown.push(character);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Returns the character of a named or numeric entity.
fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let hex = number.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
            char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?)
        }
    }
}
