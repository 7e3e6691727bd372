//! [`Source`]: a Rust file as tokens, with test-only lines marked.
//!
//! This is not a parser. It knows comments, literals and braces, which is enough to find names, attributes and the ends
//! of functions, and it accepts any text.

use std::ops::RangeInclusive;

/// A Rust file with its tokens.
pub struct Source {
    /// Path from the root.
    pub path: String,
    /// Unmodified text of the file.
    pub text: String,
    /// Names and single punctuation marks outside comments and literals.
    pub tokens: Vec<Token>,
    /// Lines of the items under `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A name, a number or one punctuation mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Text of the token.
    pub text: String,
    /// Line number, from 1.
    pub line: usize,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Name without its path.
    pub name: String,
    /// Line number of `fn`.
    pub line: usize,
    /// Number of lines from `fn` to the closing brace.
    pub lines: usize,
    /// True if a `#[test]` attribute of any harness precedes it.
    pub is_test: bool,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let tokens = tokens(&without_comments_and_literals(text));
        let test_lines = test_items(&tokens);
        Self { path: path.to_owned(), text: text.to_owned(), tokens, test_lines }
    }

    /// Returns whether the line belongs to tests: under `#[cfg(test)]`, or in a file of tests.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Returns whether name or folder marks the whole file as tests.
    pub fn is_test_file(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "benches"))
    }

    /// Counts the lines outside the items under `#[cfg(test)]`.
    pub fn lines_without_tests(&self) -> usize {
        (1..=self.text.lines().count()).filter(|line| !self.test_lines.iter().any(|lines| lines.contains(line))).count()
    }

    /// Returns every function with a body.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        let mut is_test = false;
        for at in 0..self.tokens.len() {
            match self.text_at(at) {
                "#" if self.text_at(at + 1) == "[" => is_test |= self.is_test_attribute(at),
                "{" | "}" | ";" => is_test = false,
                "fn" => functions.extend(self.function(at, is_test)),
                _ => {}
            }
        }
        functions
    }

    /// Returns the text of the token at `at`, empty beyond the end.
    pub fn text_at(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    /// Returns whether the tokens from `at` on equal `words`.
    pub fn reads(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(offset, word)| self.text_at(at + offset) == *word)
    }

    fn is_test_attribute(&self, at: usize) -> bool {
        let end = closing(&self.tokens, at + 1);
        self.text_at(at + 2) != "cfg" && (at + 2..end).any(|inner| self.text_at(inner) == "test")
    }

    fn function(&self, at: usize, is_test: bool) -> Option<Function> {
        let name = self.tokens.get(at + 1).filter(|token| is_name(&token.text))?;
        let open = item_end(&self.tokens, at).filter(|end| self.text_at(*end) == "{")?;
        let line = self.tokens.get(at)?.line;
        let last = self.tokens.get(closing(&self.tokens, open)).or(self.tokens.last())?.line;
        Some(Function { name: name.text.clone(), line, lines: last - line + 1, is_test })
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Replaces every byte of a comment, string or character literal by a space, keeping line breaks.
pub fn without_comments_and_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match opaque_end(bytes, at) {
            Some(end) => {
                out.extend(bytes[at..end].iter().map(|byte| if *byte == b'\n' { '\n' } else { ' ' }));
                at = end;
            }
            None => {
                out.push(if bytes[at].is_ascii() { char::from(bytes[at]) } else { 'é' });
                at += 1;
            }
        }
    }
    out
}

/// Returns the end of the comment or literal that starts at `at`, if there is one.
fn opaque_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let after_name = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    let length = match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_length(rest),
        [b'"', ..] => quoted_length(rest, b'"'),
        [b'\'', b'\\', ..] => quoted_length(rest, b'\''),
        [b'\'', ..] => character_length(rest)?,
        [b'r', ..] if !after_name => raw_string_length(rest)?,
        [b'b' | b'c', b'r', ..] if !after_name => 1 + raw_string_length(&rest[1..])?,
        _ => return None,
    };
    Some((at + length).min(bytes.len()))
}

fn block_comment_length(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// `'x'` of one character; `None` for a lifetime.
fn character_length(rest: &[u8]) -> Option<usize> {
    let width = match rest.get(1)? {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    };
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// `r"…"` or `r#"…"#`; `None` for a raw name or any other word in `r`.
fn raw_string_length(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let body = 2 + hashes;
    let length = rest[body..].windows(end.len()).position(|window| window == end);
    Some(length.map_or(rest.len(), |length| body + length + end.len()))
}

fn tokens(code: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for (line, text) in code.lines().enumerate() {
        let mut in_word = false;
        for c in text.chars() {
            let is_word = c.is_alphanumeric() || c == '_';
            match tokens.last_mut() {
                Some(token) if in_word && is_word => token.text.push(c),
                _ if c.is_whitespace() => {}
                _ => tokens.push(Token { text: c.to_string(), line: line + 1 }),
            }
            in_word = is_word;
        }
    }
    tokens
}

/// Returns the index of the bracket that closes the one at `open`, or the end.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Returns the index of the `{` or `;` that ends the head of the item at `start`.
fn item_end(tokens: &[Token], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" | ";" => return Some(at),
            "(" | "[" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn test_items(tokens: &[Token]) -> Vec<RangeInclusive<usize>> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let is_cfg_test = |at: usize| {
        (word(at), word(at + 1), word(at + 2), word(at + 3)) == ("#", "[", "cfg", "(")
            && (word(at + 4) == "test" || (word(at + 4), word(at + 6)) == ("all", "test"))
    };
    let lines = |at: usize| {
        let end =
            item_end(tokens, at).map_or(tokens.len(), |end| if word(end) == "{" { closing(tokens, end) } else { end });
        let last = tokens.get(end).or(tokens.last()).map_or(0, |token| token.line);
        tokens[at].line..=last
    };
    (0..tokens.len()).filter(|at| is_cfg_test(*at)).map(lines).collect()
}

/// Line numbers stay the same.
#[test]
fn comments_and_literals_are_blanked() {
    let text = "a /* { /* } */ \n */ b // {\n\
                \"{\\\"\n{\" '{' '\\'' '\\u{1F600}' 'é' r#\"{\"}\"# br\"{\" b'{' <'a, 'b> r#fn bar\"{\"";
    let code = without_comments_and_literals(text);
    assert_eq!(code.lines().count(), text.lines().count());
    let words: Vec<_> = tokens(&code).into_iter().map(|token| token.text).collect();
    assert_eq!(words.join(" "), "a b b < ' a , ' b > r # fn bar");
}

#[test]
fn unfinished_literals_end_with_text() {
    for text in ["\"", "\"\\", "'", "'\\", "/*", "r#\"", "br\"", "//", "é", "fn a(", "#[cfg(test)]", "}}", "#"] {
        let source = Source::new("a.rs", text);
        assert!(source.functions().is_empty(), "{text}");
    }
}

#[test]
fn functions_are_measured_from_fn_to_brace() {
    let text = "#[test]\nfn a() {\n  let s = \"}\";\n}\n#[tokio::test(x = 1)]\nasync fn t() {}\n\
                #[cfg(test)]\ntrait B { fn c(&self, d: fn(u8) -> [u8; 2]);\n  fn e() where Self: Sized {\n  }\n}";
    let functions = Source::new("a.rs", text).functions();
    let found: Vec<_> = functions.iter().map(|f| (f.name.as_str(), f.line, f.lines, f.is_test)).collect();
    assert_eq!(found, [("a", 2, 3, true), ("t", 6, 1, true), ("e", 9, 2, false)]);
}

#[test]
fn test_items_are_found_by_line() {
    let source =
        Source::new("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n}\nfn b() {}\n#[cfg(not(test))]\nfn c() {}");
    let lines: Vec<_> = (1..=7).filter(|line| source.is_test_line(*line)).collect();
    assert_eq!((lines, source.lines_without_tests()), (vec![2, 3, 4], 4));
    assert!(Source::new("crates/a/src/b/tests.rs", "").is_test_line(1));
}
