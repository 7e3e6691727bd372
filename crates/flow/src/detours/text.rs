//! Text operations: [`decode`], [`unescape`], [`formatted`], [`replaced`], and [`written`] for literals.

use base64::Engine as _;

/// Encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoding {
    None,
    Base64,
    Hex,
    Rot13,
    Percent,
}

pub(super) fn decode(text: &str, how: Decoding) -> Option<String> {
    match how {
        Decoding::None => Some(text.to_owned()),
        Decoding::Base64 => {
            let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            String::from_utf8(crate::LENIENT.decode(bare).ok()?).ok()
        }
        Decoding::Hex => String::from_utf8(crate::unhex(text.as_bytes())?).ok(),
        Decoding::Rot13 => Some(text.chars().map(rot13).collect()),
        Decoding::Percent => percent(text),
    }
}

fn rot13(c: char) -> char {
    let turned = |first: u8| ((c as u8 - first + 13) % 26 + first) as char;
    match c {
        'a'..='z' => turned(b'a'),
        'A'..='Z' => turned(b'A'),
        other => other,
    }
}

fn percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, next)) = rest.split_first() {
        match (first, next) {
            (b'%', [a, b, behind @ ..]) => {
                bytes.extend(crate::unhex(&[*a, *b])?);
                rest = behind;
            }
            _ => {
                bytes.push(*first);
                rest = next;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Resolves the escape sequences of a literal.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        plain.push_str(before);
        let (letter, next) = escape(behind);
        plain.extend(letter);
        rest = next;
    }
    plain.push_str(rest);
    plain
}

/// Decodes the escape sequence behind a backslash. Returns its character, if any, and the remaining text.
fn escape(behind: &str) -> (Option<char>, &str) {
    let mut chars = behind.chars();
    let Some(first) = chars.next() else { return (None, "") };
    let rest = chars.as_str();
    let coded = |digits: &str, radix: u32, skip: usize| {
        let letter = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        letter.map(|letter| (Some(letter), behind.get(skip..).unwrap_or("")))
    };
    let digits = |from: usize, to: usize| behind.get(from..to).unwrap_or("-");
    let braced = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')).map(|(digits, _)| digits);
    let found = match first {
        'x' => coded(digits(1, 3), 16, 3),
        'u' if braced.is_some() => coded(braced.unwrap_or(""), 16, braced.unwrap_or("").len() + 3),
        'u' => coded(digits(1, 5), 16, 5),
        '0'..='7' => {
            let length = behind.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            coded(digits(0, length), 8, length)
        }
        'n' => Some((Some('\n'), rest)),
        't' => Some((Some('\t'), rest)),
        'r' | '\n' => Some((None, rest)),
        _ => None,
    };
    found.unwrap_or((Some(first), rest))
}

/// Fills the placeholders of a format string: `%s` and similar if `sign` is `%`, else `{}` and `{0}`. Returns `None`
/// for other placeholders, such as names.
pub(super) fn formatted(form: &str, sign: &str, values: &[String]) -> Option<String> {
    let mut pieces = form.split(sign);
    let mut text = pieces.next()?.to_owned();
    for (place, piece) in pieces.enumerate() {
        let (index, rest) = match sign {
            "%" => (place, piece.strip_prefix(['s', 'd', 'c', 'v', 'r'])?),
            _ => {
                let (name, rest) = piece.split_once('}')?;
                (if name.is_empty() { place } else { name.parse().ok()? }, rest)
            }
        };
        text.push_str(values.get(index)?);
        text.push_str(rest);
    }
    Some(text)
}

/// Replaces all occurrences of a part. Returns `None` if the result may exceed `longest` bytes.
pub(super) fn replaced(text: &str, from: &str, to: &str, longest: usize) -> Option<String> {
    let grown = text.len().saturating_add(text.matches(from).count().saturating_mul(to.len()));
    (grown <= longest).then(|| text.replace(from, to))
}

/// Formats a text as a literal that is valid in every [`super::dialect::Dialect`].
pub(super) fn written(text: &str) -> String {
    let quote = if text.contains('"') && !text.contains('\'') { '\'' } else { '"' };
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push(quote);
    for c in text.chars() {
        match c {
            '\n' => literal.push_str("\\n"),
            '\r' => {}
            c if c == quote || c == '\\' => literal.extend(['\\', c]),
            c => literal.push(c),
        }
    }
    literal.push(quote);
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(unescape(r"\x63\165\u0072\u{6c}\n\'\\"), "curl\n'\\");
        assert_eq!(unescape("a\\"), "a");
    }

    #[test]
    fn format_strings_are_filled() {
        let values = ["a".to_owned(), "b".to_owned()];
        assert_eq!(formatted("%s-%s", "%", &values).unwrap(), "a-b");
        assert_eq!(formatted("{}-{0}{1}", "{", &values).unwrap(), "a-ab");
        assert!(formatted("%5.2f", "%", &values).is_none());
    }

    #[test]
    fn written_literal_holds_its_text() {
        assert_eq!(written("a 'b'\n"), r#""a 'b'\n""#);
        assert_eq!(written("say \"x\""), r#"'say "x"'"#);
    }
}
