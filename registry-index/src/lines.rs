//! [`Lines`]: one file of the index, with all releases of one skill.

use semver::Version;

use crate::{Entry, LineError, entry::Withdrawal};

/// Lines of one skill's file, in order of publishing. Lines of later formats are kept unchanged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Vec<Line>);

/// A line of the file.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// A release in the current format.
    Known(Box<Entry>),
    /// A line of a later format. Readers skip it and writers keep it.
    Later(String),
}

/// A line that cannot be parsed.
#[derive(Debug)]
pub(crate) struct BadLine {
    /// Number of the line, from 1.
    pub number: usize,
    /// Problem with the line.
    pub error: LineError,
}

impl Lines {
    /// Parses a file. The first invalid line is an error.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadLine> {
        Self::parse_each(bytes).map(|(_, line)| line).collect::<Result<_, _>>().map(Self)
    }

    /// Parses each line that is not empty, and returns it with its number from 1.
    pub fn parse_each(bytes: &[u8]) -> impl Iterator<Item = (usize, Result<Line, BadLine>)> {
        let numbered = bytes.split(|byte| *byte == b'\n').enumerate().map(|(at, line)| (at + 1, line));
        numbered.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(number, line)| {
            let parsed = parse_line(line).map_err(|error| BadLine { number, error });
            (number, parsed)
        })
    }

    /// Formats the file, with a line feed after every line.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|line| [line.text(), "\n".to_owned()]).collect::<String>().into_bytes()
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().filter_map(Line::entry)
    }

    /// Returns the releases with their line numbers from 1, not counting empty lines.
    pub fn numbered_entries(&self) -> impl Iterator<Item = (usize, &Entry)> {
        self.0.iter().enumerate().filter_map(|(at, line)| Some((at + 1, line.entry()?)))
    }

    pub fn into_entries(self) -> Vec<Entry> {
        let known = self.0.into_iter().filter_map(|line| match line {
            Line::Known(entry) => Some(*entry),
            Line::Later(_) => None,
        });
        known.collect()
    }

    pub fn push(&mut self, entry: Entry) {
        self.0.push(Line::Known(Box::new(entry)));
    }

    /// Returns whether a line has this version, ignoring build metadata.
    pub fn has_version(&self, version: &Version) -> bool {
        self.0.iter().filter_map(Line::version).any(|found| found.cmp_precedence(version).is_eq())
    }

    /// Returns the release with this version, ignoring build metadata.
    pub fn find(&self, version: &Version) -> Option<&Entry> {
        self.entries().find(|entry| entry.version.cmp_precedence(version).is_eq())
    }

    /// Replaces the release that has the same version.
    pub fn replace(&mut self, changed: Entry) {
        let same = |line: &&mut Line| line.entry().is_some_and(|entry| entry.version == changed.version);
        if let Some(line) = self.0.iter_mut().find(same) {
            *line = Line::Known(Box::new(changed));
        }
    }

    /// Returns whether `self` extends `older`: only flags were changed, and lines were added at the end.
    pub fn only_grew_from(&self, older: &Self) -> bool {
        older.0.len() <= self.0.len() && older.0.iter().zip(&self.0).all(|(old, new)| new.may_follow(old))
    }
}

impl Line {
    pub fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Known(entry) => Some(entry),
            Self::Later(_) => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Known(entry) => entry.to_line(),
            Self::Later(text) => text.clone(),
        }
    }

    /// Returns the version. In a line of a later format, it is read if the field has the same form.
    fn version(&self) -> Option<Version> {
        match self {
            Self::Known(entry) => Some(entry.version.clone()),
            Self::Later(text) => {
                let value: serde_json::Value = serde_json::from_str(text).ok()?;
                Version::parse(value.get("version")?.as_str()?).ok()
            }
        }
    }

    fn may_follow(&self, old: &Self) -> bool {
        match (old, self) {
            (Self::Known(old), Self::Known(new)) => new.same_but_flags(old) && stays_withdrawn(old, new),
            (old, new) => old.text() == new.text(),
        }
    }
}

fn stays_withdrawn(old: &Entry, new: &Entry) -> bool {
    let reason = |entry: &Entry| entry.withdrawn.clone().map(|Withdrawal { reason, .. }| reason);
    reason(old).is_none() || reason(old) == reason(new)
}

fn parse_line(line: &[u8]) -> Result<Line, LineError> {
    let text = std::str::from_utf8(line).map_err(serde::de::Error::custom);
    let text: &str = text.map_err(LineError::Json)?.trim_end_matches('\r');
    match Entry::parse(text) {
        Ok(entry) => Ok(Line::Known(Box::new(entry))),
        Err(LineError::UnknownFormat(_)) => Ok(Line::Later(text.to_owned())),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::OLD_LINE;

    const LATER: &str = r#"{"v":2,"version":"3.0.0","anything":[1]}"#;

    fn two() -> Lines {
        Lines::parse(format!("{OLD_LINE}\n{LATER}\n").as_bytes()).unwrap()
    }

    #[test]
    fn newer_lines_are_skipped_and_kept() {
        let mut lines = two();
        assert_eq!(lines.entries().count(), 1);
        let entry = lines.entries().next().unwrap().clone();
        lines.replace(entry.with_yanked(true));
        let text = String::from_utf8(lines.to_bytes()).unwrap();
        assert_eq!(text, format!("{}\n{LATER}\n", OLD_LINE.replace("\"yanked\":false", "\"yanked\":true")));
    }

    #[test]
    fn taken_versions_ignore_format_and_build() {
        for taken in ["1.2.0", "1.2.0+linux", "3.0.0"] {
            assert!(two().has_version(&taken.parse().unwrap()), "{taken}");
        }
        assert!(!two().has_version(&"1.2.1".parse().unwrap()));
    }

    #[test]
    fn error_names_the_bad_line() {
        let text = format!("{OLD_LINE}\n\nnothing\n");
        assert_eq!(Lines::parse(text.as_bytes()).unwrap_err().number, 3);
        assert_eq!(Lines::parse(b"\xff\n").unwrap_err().number, 1);
    }

    #[test]
    fn only_appends_and_flags_are_growth() {
        let old = two();
        let entry = old.entries().next().unwrap().clone();
        let mut new = old.clone();
        new.push(entry.clone());
        new.replace(entry.clone().with_yanked(true));
        assert!(new.only_grew_from(&old) && !old.only_grew_from(&new));
        let changed = Lines::parse(format!("{}\n{LATER}\n", OLD_LINE.replace("5120", "5121")).as_bytes()).unwrap();
        assert!(!changed.only_grew_from(&old));
        assert!(!Lines::parse(OLD_LINE.as_bytes()).unwrap().only_grew_from(&old));
    }

    #[test]
    fn withdrawal_cannot_be_undone() {
        let at = "2026-11-03T00:00:00Z".parse().unwrap();
        let open = Entry::parse(OLD_LINE).unwrap();
        let gone = open.clone().with_withdrawn(Withdrawal { reason: "a secret".to_owned(), at }).unwrap();
        let lines = |entry: Entry| Lines(vec![Line::Known(Box::new(entry))]);
        assert!(lines(gone.clone()).only_grew_from(&lines(open.clone())));
        assert!(!lines(open).only_grew_from(&lines(gone)));
    }
}
