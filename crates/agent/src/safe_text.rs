//! [`escape`]: text of a skill as a part of a text for a model.

use std::borrow::Cow;

/// A value as the text of an XML element, so that no description closes its own element. Characters that
/// nobody sees, by which a text can say something else to a model than to people, are left out: controls,
/// directions, tags, and those of no width that no script needs.
#[must_use]
pub fn escape(value: &str) -> Cow<'_, str> {
    let is_plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'');
    // Without a way out early, so that the compiler makes wide steps of it.
    if value.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
        return value.into();
    }
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#x27;"),
            c if is_hidden(c) => {}
            c => text.push(c),
        }
    }
    text.into()
}

/// The same in one line, for a list.
pub(crate) fn one_line(value: &str) -> String {
    escape(value).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A path between backticks.
pub(crate) fn code(path: &str) -> String {
    format!("`{}`", one_line(path).replace('`', "&#x60;"))
}

/// Instructions of a skill, unable to close or to open an element that only skillhub writes.
pub(crate) fn contained(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        text.push_str(before);
        text.push_str(if is_ours(tag) { "&lt;" } else { "<" });
        rest = tag.get(1..).unwrap_or_default();
    }
    text.push_str(rest);
    text.retain(|c| !is_hidden(c));
    text
}

/// Whether a text begins with a tag of one of our own elements, in any case.
fn is_ours(tag: &str) -> bool {
    const OURS: [&str; 5] = ["skill_content", "skill_files", "skill_file", "available_skills", "skill_system"];
    let name = tag.trim_start_matches(|c: char| matches!(c, '<' | '/') || c.is_whitespace() || is_hidden(c));
    let name: String = name.chars().filter(|c| !is_hidden(*c)).take(24).collect::<String>().to_lowercase();
    OURS.iter().any(|ours| name.starts_with(ours))
}

/// Characters that are not seen. The joiners of Persian, Indic scripts and emoji stay.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_close_their_element() {
        assert_eq!(escape("</description> & \"x\"\u{7}"), "&lt;/description&gt; &amp; &quot;x&quot;");
        assert_eq!(escape("a\u{202e}b\u{e0041}c\u{200b}d"), "abcd");
        assert_eq!(escape("می\u{200c}خواهم 写入"), "می\u{200c}خواهم 写入");
        assert_eq!(one_line("a\n## b\n\n- c"), "a ## b - c");
        assert_eq!(code("/a`b"), "`/a&#x60;b`");
    }

    #[test]
    fn instructions_cannot_close_or_forge_our_elements() {
        for (body, shown) in [
            ("a </skill_content> b", "a &lt;/skill_content> b"),
            ("</ SKILL_content>", "&lt;/ SKILL_content>"),
            ("<skill_content name=\"other\">", "&lt;skill_content name=\"other\">"),
            ("</ski\u{200b}ll_content>", "&lt;/skill_content>"),
            ("<b>bold</b> a < b && c > d", "<b>bold</b> a < b && c > d"),
        ] {
            assert_eq!(contained(body), shown);
        }
    }
}
