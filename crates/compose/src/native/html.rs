//! [`to_text`]: the words of a page without its markup.

/// Elements whose content is not for readers.
const HIDDEN: [&str; 5] = ["script", "style", "noscript", "template", "svg"];
/// Elements that end a line.
const BLOCKS: [&str; 21] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "div",
    "dt",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "li",
    "p",
    "pre",
    "section",
    "table",
    "tr",
];
/// The entities that nearly all pages need.
const ENTITIES: [(&str, &str); 7] =
    [("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", " "), ("mdash", "—"), ("amp", "&")];

/// The words of a page, one line a block, blanks drawn together. It is a reading aid for models and no cleaner: what comes out is text and is
/// to be treated as such.
pub(super) fn to_text(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push(&mut text, &rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let begins = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        let Some(end) = rest.find('>').filter(|_| begins) else {
            // A sign of its own, as in a sum.
            push(&mut text, "<");
            rest = &rest[1..];
            continue;
        };
        let name: String =
            rest[1..end].trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        let opens = !rest.starts_with("</") && !rest[..end].ends_with('/');
        rest = &rest[end + 1..];
        if opens && HIDDEN.contains(&name.as_str()) {
            rest = after_closing(rest, &name);
        } else if BLOCKS.contains(&name.as_str()) && !text.ends_with('\n') && !text.is_empty() {
            text.push('\n');
        }
    }
    push(&mut text, rest);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What follows the end of an element.
fn after_closing<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let start = from + at + 2;
        let is_it = rest.get(start..start + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if is_it {
            return rest[start..].find('>').map_or("", |end| &rest[start + end + 1..]);
        }
        from = start;
    }
    ""
}

/// Adds a text with its entities read and its blanks drawn together.
fn push(text: &mut String, part: &str) {
    let mut rest = part;
    while let Some(c) = rest.chars().next() {
        let (found, length) = entity(rest).unwrap_or((c.to_string(), c.len_utf8()));
        for c in found.chars() {
            match c.is_whitespace() {
                true if text.ends_with([' ', '\n']) || text.is_empty() => {}
                true => text.push(' '),
                false => text.push(c),
            }
        }
        rest = &rest[length..];
    }
}

/// The entity that a text begins with, and its length.
fn entity(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix('&')?;
    let end = inner.bytes().take(10).position(|b| b == b';')?;
    let name = &inner[..end];
    let read = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?.to_string()
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1.to_owned(),
    };
    Some((read, end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_and_markup_goes() {
        let html = "<html><head><style>p{}</style><SCRIPT>if (a < b) {}</script></head><body><h1>A &amp; B</h1><p>one <b>two</b>\n three&#33;<br>four<!-- no --></p></body>";
        assert_eq!(to_text(html), "A & B\none two three!\nfour");
        assert_eq!(to_text("<p>a</p><svg/><p>b</p>"), "a\nb");
        assert_eq!(to_text("<p>5 < 6 and 7 > 2 <b>end</b></p>"), "5 < 6 and 7 > 2 end");
        for odd in ["<", "a<b", "<script>", "<!--", "&", "&#x110000;", "<p", "é<é>é"] {
            let _ = to_text(odd);
        }
    }
}
