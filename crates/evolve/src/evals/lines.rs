//! [`LinePositions`]: the line of each value of a JSON document.

use std::collections::BTreeMap;

/// Lines by JSON Pointer, and duplicate keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LinePositions {
    lines: BTreeMap<String, usize>,
    /// Duplicate keys of objects, as (line, key).
    pub doubled: Vec<(usize, String)>,
}

impl LinePositions {
    /// Indexes a document that is known to be valid JSON.
    pub fn of(text: &str) -> Self {
        let mut walk = Walk { text, at: 0, line: 1, places: Self::default() };
        walk.value("");
        walk.places
    }

    /// Returns the line of a value, or of its closest existing parent.
    pub fn line(&self, pointer: &str) -> Option<usize> {
        let mut pointer = pointer;
        loop {
            if let Some(line) = self.lines.get(pointer) {
                return Some(*line);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

struct Walk<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    places: LinePositions,
}

impl Walk<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn step(&mut self) {
        self.line += usize::from(self.peek() == Some(b'\n'));
        self.at += 1;
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',' || byte == b':') {
            self.step();
        }
    }

    fn value(&mut self, pointer: &str) {
        self.blank();
        self.places.lines.insert(pointer.to_owned(), self.line);
        match self.peek() {
            Some(b'{') => self.object(pointer),
            Some(b'[') => self.list(pointer),
            Some(b'"') => {
                self.string();
            }
            _ => {
                while self.peek().is_some_and(|byte| !matches!(byte, b',' | b']' | b'}') && !byte.is_ascii_whitespace())
                {
                    self.step();
                }
            }
        }
    }

    fn object(&mut self, pointer: &str) {
        self.step();
        let mut known = Vec::new();
        loop {
            self.blank();
            if self.peek() != Some(b'"') {
                self.step();
                return;
            }
            let line = self.line;
            let key = self.string();
            if known.contains(&key) {
                self.places.doubled.push((line, key.clone()));
            }
            self.value(&format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")));
            known.push(key);
        }
    }

    fn list(&mut self, pointer: &str) {
        self.step();
        for index in 0_usize.. {
            self.blank();
            if matches!(self.peek(), None | Some(b']')) {
                self.step();
                return;
            }
            self.value(&format!("{pointer}/{index}"));
        }
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.step();
        while let Some(byte) = self.peek() {
            self.step();
            match byte {
                b'\\' => self.step(),
                b'"' => break,
                _ => {}
            }
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).unwrap_or_else(|_| written.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_line() {
        let text = "{\n \"a\": [1,\n  {\"b/c\": \"x\\\"\\\\\"}],\n \"d\": {},\n \"e\": [], \"a\": 2\n}";
        serde_json::from_str::<serde_json::Value>(text).unwrap();
        let places = LinePositions::of(text);
        for (pointer, line) in [("", 1), ("/a/1", 3), ("/a/1/b~1c", 3), ("/d", 4), ("/e", 5), ("/e/7", 5)] {
            assert_eq!(places.line(pointer), Some(line), "{pointer}");
        }
        assert_eq!(places.doubled, [(5, "a".to_owned())]);
    }
}
