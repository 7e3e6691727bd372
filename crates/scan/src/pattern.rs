//! [`Node`]: syntax tree of a rule's pattern, the input of [`crate::matcher`].
//!
//! Patterns use a small subset of regular expression syntax: bytes, ASCII classes, groups, alternatives and bounded
//! repetitions. This parser rejects all other syntax, which is left to the regex compiler.

/// Expansion of `␣` in a pattern.
pub(crate) const WORD_GAP: &str = r"(?:[\s>*_#/,]{1,8})";

/// Set of bytes. The constructors for letters include both cases.
#[derive(Clone, Copy)]
pub(crate) struct Class([u64; 4]);

/// Zero-width assertion between two bytes.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    Boundary,
    Start,
    End,
}

/// Node of a pattern's syntax tree.
pub(crate) enum Node {
    /// Literal text without special characters.
    Text {
        text: &'static str,
        /// True if ASCII case is ignored.
        any_case: bool,
    },
    /// Repetition of a class of bytes.
    Run {
        class: Class,
        count: Count,
    },
    Look(Look),
    /// Sequence of nodes that match one after another.
    All(Vec<Node>),
    AnyOf(Vec<Node>),
    Repeat {
        node: Box<Node>,
        count: Count,
    },
}

/// Repetition count, with both bounds inclusive.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    pub least: usize,
    pub most: usize,
    /// True if fewer repetitions are preferred.
    pub lazy: bool,
}

impl Count {
    const ONCE: Self = Self { least: 1, most: 1, lazy: false };
}

/// Parses a pattern. Returns `None` if it uses unsupported syntax.
pub(crate) fn parse(pattern: &'static str) -> Option<Node> {
    let mut parser = Parser { rest: pattern, any_case: true, gap: None };
    let node = parser.any_of()?;
    parser.rest.is_empty().then_some(node)
}

impl Node {
    /// Returns the maximum length of a match in bytes.
    pub fn longest(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::Run { count, .. } => count.most,
            Self::Look(_) => 0,
            Self::All(nodes) => nodes.iter().map(Self::longest).sum(),
            Self::AnyOf(nodes) => nodes.iter().map(Self::longest).max().unwrap_or(0),
            Self::Repeat { node, count } => node.longest().saturating_mul(count.most),
        }
    }
}

/// Creates a node that matches one byte of a class.
fn one(class: Class) -> Node {
    Node::Run { class, count: Count::ONCE }
}

impl Class {
    pub const NONE: Self = Self([0; 4]);
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// Creates a class of one byte. A letter matches in both cases.
    pub fn of(byte: u8) -> Self {
        Self::of_exactly(byte).in_any_case()
    }

    fn of_exactly(byte: u8) -> Self {
        let mut class = Self::NONE;
        class.add(byte, byte);
        class
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    pub fn is_all(&self) -> bool {
        self.0 == Self::ALL.0
    }

    pub fn or(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a | e, b | f, c | g, d | h])
    }

    /// Returns a mask with the lowest five bits of every byte in the class.
    pub fn low_bits(&self) -> u32 {
        self.0.iter().fold(0, |all, word| all | *word as u32 | (word >> 32) as u32)
    }

    fn add(&mut self, from: u8, to: u8) {
        for byte in from..=to {
            if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
                *word |= 1 << (byte & 63);
            }
        }
    }

    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    /// Adds the other case of each letter in the class.
    fn in_any_case(self) -> Self {
        const LETTERS: u64 = 0x07FF_FFFE;
        let [digits, letters, rest @ ..] = self.0;
        let either = (letters | letters >> 32) & LETTERS;
        let [a, b] = rest;
        Self([digits, letters | either | either << 32, a, b])
    }

    fn in_any_case_if(self, any_case: bool) -> Self {
        if any_case { self.in_any_case() } else { self }
    }

    /// Returns the class of a letter after a backslash, such as `\d`.
    fn escaped(letter: char) -> Option<Self> {
        let ranges: &[(u8, u8)] = match letter.to_ascii_lowercase() {
            's' => &[(b'\t', b'\r'), (b' ', b' ')],
            'd' => &[(b'0', b'9')],
            'w' => &[(b'0', b'9'), (b'a', b'z'), (b'A', b'Z'), (b'_', b'_')],
            _ => return None,
        };
        let mut class = Self::NONE;
        ranges.iter().for_each(|(from, to)| class.add(*from, *to));
        Some(if letter.is_ascii_uppercase() { class.not() } else { class })
    }
}

impl Look {
    /// Returns whether the assertion holds in front of a byte of the window.
    pub fn holds(self, window: &[u8], at: usize) -> bool {
        let is_word = |at: Option<usize>| {
            at.and_then(|at| window.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        match self {
            Self::Boundary => is_word(at.checked_sub(1)) != is_word(Some(at)),
            Self::Start => at == 0,
            Self::End => at == window.len(),
        }
    }
}

struct Parser {
    rest: &'static str,
    any_case: bool,
    /// Parsed expansion of `␣`, cached at its first use.
    gap: Option<(Class, Count)>,
}

impl Parser {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..)?;
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn any_of(&mut self) -> Option<Node> {
        let first = self.all()?;
        if !self.rest.starts_with('|') {
            return Some(first);
        }
        let mut branches = vec![first];
        while self.eat("|") {
            branches.push(self.all()?);
        }
        Some(Node::AnyOf(branches))
    }

    fn all(&mut self) -> Option<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let node = self.atom()?;
            nodes.push(self.repeated(node)?);
        }
        if nodes.len() == 1 { nodes.pop() } else { Some(Node::All(nodes)) }
    }

    fn atom(&mut self) -> Option<Node> {
        let whole = self.rest;
        if let Some(text) = self.plain() {
            return Some(Node::Text { text, any_case: self.any_case });
        }
        let c = self.next()?;
        Some(match c {
            '(' => return self.group(),
            '[' => one(self.class()?),
            '\\' => return self.escape(),
            '.' => one(Class::of(b'\n').not()),
            '^' => Node::Look(Look::Start),
            '$' => Node::Look(Look::End),
            '␣' => return self.gap(),
            '*' | '+' | '?' | '{' => return None,
            _ => Node::Text { text: whole.get(..c.len_utf8())?, any_case: self.any_case },
        })
    }

    /// Parses a run of literal characters. The last one is left out if a repetition follows it, unless it is the only
    /// one.
    fn plain(&mut self) -> Option<&'static str> {
        let is_plain =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | b'/' | b':' | b'=');
        let mut length = self.rest.bytes().take_while(|byte| is_plain(byte)).count();
        if length > 1 && matches!(self.rest.as_bytes().get(length), Some(b'?' | b'{' | b'*' | b'+')) {
            length -= 1;
        }
        let (text, rest) = self.rest.split_at_checked(length).filter(|(text, _)| !text.is_empty())?;
        self.rest = rest;
        Some(text)
    }

    fn gap(&mut self) -> Option<Node> {
        if self.gap.is_none()
            && let Node::Run { class, count } = parse(WORD_GAP)?
        {
            self.gap = Some((class, count));
        }
        let (class, count) = self.gap?;
        Some(Node::Run { class, count })
    }

    /// Parses a group, or a `(?-i)` flag, which enables case sensitivity up to the end of the enclosing group.
    fn group(&mut self) -> Option<Node> {
        if self.eat("?-i)") {
            self.any_case = false;
            return Some(Node::All(Vec::new()));
        }
        let around = self.any_case;
        let exact = self.eat("?-i:");
        let known = exact || self.eat("?:") || !self.rest.starts_with('?');
        self.any_case &= !exact;
        let node = self.any_of()?;
        self.any_case = around;
        (known && self.eat(")")).then_some(node)
    }

    fn escape(&mut self) -> Option<Node> {
        if self.eat("b") {
            // `\b{start}` and similar forms are other assertions.
            return (!self.rest.starts_with('{')).then_some(Node::Look(Look::Boundary));
        }
        match self.rest.chars().next().and_then(Class::escaped) {
            Some(class) => {
                self.next();
                Some(one(class))
            }
            None => Some(one(Class::of_exactly(self.escaped_byte()?).in_any_case_if(self.any_case))),
        }
    }

    /// Parses an escaped byte after its backslash.
    fn escaped_byte(&mut self) -> Option<u8> {
        match self.next()? {
            'n' => Some(b'\n'),
            't' => Some(b'\t'),
            'r' => Some(b'\r'),
            'x' => {
                let digits = self.rest.get(..2)?;
                self.rest = self.rest.get(2..)?;
                u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)
            }
            c if c.is_ascii_punctuation() => u8::try_from(c).ok(),
            _ => None,
        }
    }

    fn class(&mut self) -> Option<Class> {
        let negated = self.eat("^");
        let mut class = Class::NONE;
        let mut empty = true;
        while empty || !self.eat("]") {
            empty = false;
            // Unsupported: set operations, nested sets, and a leading bracket.
            if let [b'[' | b']', ..] | [b'&', b'&', ..] | [b'-', b'-', ..] | [b'~', b'~', ..] = self.rest.as_bytes() {
                return None;
            }
            if let [b'\\', letter, ..] = self.rest.as_bytes()
                && let Some(escaped) = Class::escaped(char::from(*letter))
            {
                self.rest = self.rest.get(2..)?;
                class = class.or(escaped);
                continue;
            }
            let from = self.class_byte()?;
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            let to = if is_range && self.eat("-") { self.class_byte()? } else { from };
            class.add(from, to);
        }
        let class = class.in_any_case_if(self.any_case);
        Some(if negated { class.not() } else { class })
    }

    fn class_byte(&mut self) -> Option<u8> {
        if self.eat("\\") {
            return self.escaped_byte();
        }
        u8::try_from(self.next()?).ok().filter(u8::is_ascii)
    }

    fn repeated(&mut self, node: Node) -> Option<Node> {
        let (least, most) = if self.eat("?") {
            (0, 1)
        } else if self.eat("{") {
            let (bounds, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            let (least, most) = bounds.split_once(',').unwrap_or((bounds, bounds));
            (least.parse().ok()?, most.parse().ok()?)
        } else {
            return Some(node);
        };
        let count = Count { least, most, lazy: self.eat("?") };
        let node = match node {
            Node::Run { class, count: Count { least: 1, most: 1, .. } } => Node::Run { class, count },
            node => Node::Repeat { node: Box::new(node), count },
        };
        (!self.rest.starts_with(['*', '+', '?', '{'])).then_some(node)
    }
}
