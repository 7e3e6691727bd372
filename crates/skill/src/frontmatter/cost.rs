//! [`check`]: a bound on the cost of parsing a YAML text, applied before the parser runs.
//!
//! The parser examines every open bracket for each token and expands an alias at every use. A text within the size
//! limit could otherwise take seconds or gigabytes.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

/// Largest nesting of brackets. The parser itself refuses nesting deeper than 128.
const NESTED: usize = 160;
/// Size in bytes up to which nested keys are always cheap. Only keys after a `?` can be long.
const SHORT: usize = 4096;
/// Largest size in bytes of all values with aliases expanded. A text without aliases stays far below it, unless it
/// nests keys within keys, which are read once per level.
const WRITTEN_OUT: usize = 1 << 20;
/// Bytes charged for a value in addition to its text.
const VALUE_BYTES: usize = 8;

/// Checks the cost of a text. The error gives the reason why it is too expensive.
pub(super) fn check(yaml: &str) -> Result<(), String> {
    if Brackets::of(yaml).nesting() > NESTED {
        return Err(format!("brackets are nested more than {NESTED} levels deep"));
    }
    let left = Cell::new(Some(WRITTEN_OUT));
    if yaml.contains('*') || yaml.len() > SHORT && yaml.contains('?') {
        let _what_cannot_be_read_is_told_later =
            Weigh { left: &left, keys: 0 }.deserialize(serde_yaml::Deserializer::from_str(yaml));
    }
    left.get()
        .map(drop)
        .ok_or_else(|| format!("its values take more than {WRITTEN_OUT} bytes when its aliases are expanded"))
}

/// View of a text as the parser tokenises it between brackets.
///
/// The start of a flow collection depends on the indentation and quotation marks before it. The tokens after an opening
/// bracket do not. Every bracket is therefore taken as a possible start, which can only overestimate the nesting.
struct Brackets<'a> {
    bytes: &'a [u8],
    /// Offsets of the line ends.
    line_ends: Vec<usize>,
}

impl<'a> Brackets<'a> {
    fn of(yaml: &'a str) -> Self {
        let mut text = Self { bytes: yaml.as_bytes(), line_ends: Vec::new() };
        text.line_ends = (0..yaml.len()).filter(|at| text.line_end(*at) > 0).collect();
        text
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    /// Returns the deepest nesting of brackets. Each offset is visited once, since the tokens from an offset on do not
    /// depend on the path to it.
    fn nesting(&self) -> usize {
        let mut known = vec![None; self.bytes.len()];
        let (mut way, mut most) = (Vec::new(), 0);
        let begins = |at: &usize| matches!(self.byte(*at), b'[' | b'{');
        for begin in (0..self.bytes.len()).rev().filter(begins) {
            let mut at = begin;
            while let Some(None) = known.get(at) {
                way.push(at);
                at = self.next(at);
            }
            let mut depth = known.get(at).copied().flatten().unwrap_or(0_usize);
            while let Some(at) = way.pop() {
                depth = match self.byte(at) {
                    b'[' | b'{' => depth + 1,
                    b']' | b'}' => depth.saturating_sub(1),
                    _ => depth,
                };
                known.iter_mut().skip(at).take(1).for_each(|known| *known = Some(depth));
            }
            most = most.max(depth);
        }
        most
    }

    /// Returns the end of the token that begins at an offset. After a syntax error there are no further tokens.
    fn next(&self, at: usize) -> usize {
        match self.byte(at) {
            _ if self.blank(at) > 0 => at + self.blank(at),
            b',' | b'[' | b']' | b'{' | b'}' | b'?' | b':' => at + 1,
            b'-' if self.blank(at + 1) > 0 => at + 1,
            b'#' => self.line_ends.get(self.line_ends.partition_point(|end| *end < at)).copied().unwrap_or(usize::MAX),
            b'\'' => self.single_end(at + 1),
            b'"' => self.double_end(at + 1),
            b'&' | b'*' => {
                self.find(at + 1, |at| !(self.byte(at).is_ascii_alphanumeric() || b"-_".contains(&self.byte(at))))
            }
            b'!' if self.byte(at + 1) == b'<' => self.find(at, |at| self.byte(at) == b'>').saturating_add(1),
            b'!' => self.find(at, |at| self.blank(at) > 0 || self.byte(at) == b','),
            b'%' | b'@' | b'`' | b'|' | b'>' => usize::MAX,
            0xEF if self.is_mark(at) && (at == 0 || self.is_behind(at, Self::line_end)) => at + 3,
            _ => self.plain_end(at),
        }
    }

    fn find(&self, from: usize, is_it: impl Fn(usize) -> bool) -> usize {
        (from..self.bytes.len()).find(|at| is_it(*at)).unwrap_or(usize::MAX)
    }

    fn single_end(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            at = self.find(at, |at| self.byte(at) == b'\'').saturating_add(1);
            if self.byte(at) != b'\'' {
                return at;
            }
            at += 1;
        }
    }

    fn double_end(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            at = self.find(at, |at| matches!(self.byte(at), b'"' | b'\\'));
            match self.bytes.get(at) {
                Some(b'\\') => at += 2,
                _ => return at.saturating_add(1),
            }
        }
    }

    fn plain_end(&self, from: usize) -> usize {
        let ends = |at: usize| match self.byte(at) {
            b',' | b'[' | b']' | b'{' | b'}' => true,
            b':' => self.blank(at + 1) > 0 || at + 1 == self.bytes.len(),
            b'#' => self.is_behind(at, Self::blank),
            _ => false,
        };
        self.find(from + 1, ends)
    }

    /// Returns the length of the blank or line end at an offset, or 0.
    fn blank(&self, at: usize) -> usize {
        if matches!(self.byte(at), b' ' | b'\t') { 1 } else { self.line_end(at) }
    }

    /// Returns whether a byte order mark is at this offset.
    fn is_mark(&self, at: usize) -> bool {
        self.bytes.get(at..).is_some_and(|text| text.starts_with("\u{FEFF}".as_bytes()))
    }

    /// Returns whether an item measured by `length` ends at this offset.
    fn is_behind(&self, at: usize, length: impl Fn(&Self, usize) -> usize) -> bool {
        (1..=3).any(|back| at.checked_sub(back).is_some_and(|begin| length(self, begin) == back))
    }

    fn line_end(&self, at: usize) -> usize {
        match (self.byte(at), self.byte(at + 1), self.byte(at + 2)) {
            (b'\n' | b'\r', ..) => 1,
            (0xC2, 0x85, _) => 2,
            (0xE2, 0x80, 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }
}

/// Deserialiser that measures a value and discards it.
struct Weigh<'a> {
    /// Bytes that values may still take. `None` once the budget is exceeded.
    left: &'a Cell<Option<usize>>,
    /// Number of keys that enclose the value.
    keys: usize,
}

impl Weigh<'_> {
    fn spend<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let bytes = (VALUE_BYTES + bytes).saturating_mul(self.keys + 1);
        self.left.set(self.left.get().and_then(|left| left.checked_sub(bytes)));
        self.left.get().map(drop).ok_or_else(|| E::custom("too much"))
    }

    fn inside(&self, keys: usize) -> Self {
        Self { left: self.left, keys: self.keys + keys }
    }
}

impl<'de> DeserializeSeed<'de> for Weigh<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Weigh<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.spend(text.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.spend(0)?;
        while list.next_element_seed(self.inside(0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.spend(0)?;
        while map.next_key_seed(self.inside(1))?.is_some() {
            map.next_value_seed(self.inside(0))?;
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let (_, value) = tagged.variant::<String>()?;
        value.newtype_variant_seed(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_yaml::Value;

    use super::*;

    /// Parts of a list in which brackets, quotation marks and comment signs are text.
    const PARTS: [&str; 22] = [
        "\"]]\"", "'}'", "\"\\\"]\"", "'it''s ]'", "it's", "a \"b", "-x'", "# ]\n1", "a # ]'\n", "a# '\n", "'#'",
        "!<!,]> x", "!t ']'", "&a \"]\"", "{k: \"}\"}", "k: ']'", "? '}' : \"]\"", "x\n 'y", "\u{2028}\"]\"",
        "#\u{2028}1", "\"\n]\"", "\"a\" : ']'",
    ];

    fn depth(value: &Value) -> usize {
        match value {
            Value::Sequence(items) => 1 + items.last().map_or(0, depth),
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn brackets_are_never_undercounted(
            levels in prop::collection::vec(prop::collection::vec(0..PARTS.len(), 0..3), 1..12)
        ) {
            let mut text = String::from("0");
            for parts in levels.iter().rev() {
                let parts: String = parts.iter().map(|part| format!("{} ,", PARTS[*part])).collect();
                text = format!("[{parts}{text}]");
            }
            let read: Value = serde_yaml::from_str(&text).unwrap();
            prop_assert_eq!(depth(&read), levels.len());
            prop_assert!(Brackets::of(&text).nesting() >= levels.len(), "{}", text);
        }
    }

    #[test]
    fn ordinary_yaml_is_read() {
        let tools = "input: {type: object, properties: {a: {type: string}}}, text: \"{{input.a}} [x\"";
        let usual = format!("steps:\n{}", format!("  - {{tool: echo, {tools}}}\n").repeat(400));
        assert_eq!(check(&usual), Ok(()));
        let prose = format!("description: |\n{}", "  It's [a link](x), an {open brace and `[0`.\n".repeat(70));
        assert_eq!(check(&prose), Ok(()));
        assert_eq!(check("a: &a [x, y]\nb: *a\nc: [*a, *a]\nallowed-tools: Bash(git:*)"), Ok(()));
    }

    #[test]
    fn costly_yaml_is_refused() {
        for deep in ["[", "{", "[x,", "[{", "{a: ", "{? ", "[']',", "[# ]\n", "- [\"]\", {"] {
            assert!(check(&deep.repeat(300)).is_err_and(|why| why.starts_with("brackets")), "{deep}");
        }
        let wide = format!("a: &a [{}]\nb: [{}]", "x,".repeat(2000), "*a,".repeat(2000));
        let long = format!("a: &a {}\nb: [{}]", "x".repeat(30_000), "*a,".repeat(2000));
        let key = format!("{}[{}]", "? ".repeat(100), "x,".repeat(20_000));
        for costly in [wide, long, key] {
            assert!(check(&costly).is_err_and(|why| why.contains("aliases are expanded")), "{costly:.20}");
        }
    }
}
