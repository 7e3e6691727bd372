//! Lenient JSON parser with value positions ([`read`]). Comments and extra commas are accepted, as agents do.

use super::Node;

/// Maximum nesting depth of values. Deeper ones are not read.
const DEPTH: usize = 64;

/// Parses the first value in a text.
pub(super) fn read(text: &str) -> Option<Node> {
    Reader { text, at: 0 }.node(0)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn node(&mut self, depth: usize) -> Option<Node> {
        let at = self.at_next()?;
        match self.byte()? {
            _ if depth > DEPTH => None,
            b'{' => self.table(depth),
            b'[' => self.list(at, depth),
            b'"' => Some(Node::Leaf(at, self.string()?)),
            _ => Some(Node::Leaf(at, self.bare().to_owned())),
        }
    }

    /// Parses as many entries of an object as possible.
    fn table(&mut self, depth: usize) -> Option<Node> {
        self.at += 1;
        let mut entries = Vec::new();
        while let Some(byte) = self.at_next().and_then(|_| self.byte()) {
            match byte {
                b'}' => break,
                b'"' => {
                    let Some(key) = self.string() else { break };
                    let Some(value) = self.node(depth + 1) else { break };
                    entries.push((key, value));
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(Node::Table(entries))
    }

    fn list(&mut self, at: usize, depth: usize) -> Option<Node> {
        self.at += 1;
        let mut items = Vec::new();
        while self.at_next().and_then(|_| self.byte()).is_some_and(|byte| byte != b']') {
            let Some(item) = self.node(depth + 1) else { break };
            items.push(item);
        }
        self.at += 1;
        Some(Node::List(at, items))
    }

    /// Parses a string at its opening quotation mark.
    fn string(&mut self) -> Option<String> {
        let rest = self.text.as_bytes().get(self.at + 1..)?;
        let mut is_escaped = false;
        let length = rest.iter().position(|byte| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        })?;
        let from = self.at;
        self.at += length + 2;
        let inside = self.text.get(from + 1..from + 1 + length)?;
        Some(serde_json::from_str(self.text.get(from..self.at)?).unwrap_or_else(|_| inside.to_owned()))
    }

    /// Parses a number or a literal of at least one character.
    fn bare(&mut self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or("");
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':' | '"');
        let length = rest.find(ends).unwrap_or(rest.len()).max(first);
        self.at += length;
        rest.get(..length).unwrap_or(rest)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space, separators and comments. Returns the offset of the next token.
    fn at_next(&mut self) -> Option<usize> {
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            self.at += match rest {
                [b' ' | b'\t' | b'\r' | b'\n' | b',' | b':', ..] => 1,
                [b'/', b'/', ..] => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
                [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2),
                [] => return None,
                _ => return Some(self.at),
            };
        }
    }
}
