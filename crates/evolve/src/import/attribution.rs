//! [`KnownRevisions`]: the revision that a use of a skill read, by the text that the host gave to the model.

use jiff::Timestamp;
use library::{Library, LibraryError, RevisionId};
use skill::{SkillName, SkillPath, frontmatter};

use super::SkillUse;

/// Maximum number of revisions that are compared with a text, the newest ones.
const REVISIONS: usize = 500;

/// The revisions of a skill with their texts, newest first.
#[derive(Debug, Clone, Default)]
pub struct KnownRevisions(Vec<KnownRevision>);

#[derive(Debug, Clone)]
struct KnownRevision {
    id: RevisionId,
    time: Timestamp,
    /// Text of the `SKILL.md`, if it has one.
    text: Option<String>,
}

/// Revision that a use read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadRevision {
    /// The text, or else the time, identifies it.
    Known(RevisionId),
    /// The text belongs to no revision: an edit that was not recorded.
    Unrecorded,
    /// The skill has no history.
    NoHistory,
}

impl KnownRevisions {
    /// Reads the newest revisions of a skill.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn of(library: &Library, skill: &SkillName) -> Result<Self, LibraryError> {
        let Some(head) = library.head(skill)? else { return Ok(Self::default()) };
        let Ok(path) = SkillPath::parse("SKILL.md") else { return Ok(Self::default()) };
        let revisions = library.revisions(skill, REVISIONS)?;
        let mut known = Vec::new();
        for (revision, file) in revisions.into_iter().zip(library.file_history(&head.id, &path)) {
            let text = file?.as_ref().and_then(|file| file.text().map(str::to_owned));
            known.push(KnownRevision { id: revision.id, time: revision.stamp.time, text });
        }
        Ok(Self(known))
    }

    /// Determines the revision that a use read. The text decides; among revisions with the same text, and without one,
    /// the time does.
    pub fn read_by(&self, used: &SkillUse) -> ReadRevision {
        if self.0.is_empty() {
            return ReadRevision::NoHistory;
        }
        let Some(content) = &used.content else { return Self::at(self.0.iter(), used.time) };
        let content = lines(content);
        let scored = self.0.iter().filter_map(|known| Some((score(&content, known.text.as_deref()?)?, known)));
        let scored: Vec<(usize, &KnownRevision)> = scored.collect();
        let best = scored.iter().map(|(score, _)| *score).max();
        Self::at(scored.iter().filter(|(score, _)| Some(*score) == best).map(|(_, known)| *known), used.time)
    }

    /// Returns the newest of these revisions that existed at a time, or else the oldest.
    fn at<'k>(revisions: impl Iterator<Item = &'k KnownRevision>, time: Option<Timestamp>) -> ReadRevision {
        let mut oldest = None;
        for known in revisions {
            oldest = Some(known);
            if time.is_none_or(|time| known.time <= time) {
                break;
            }
        }
        oldest.map_or(ReadRevision::Unrecorded, |known| ReadRevision::Known(known.id.clone()))
    }
}

/// Returns whether the text that a host gives to the model shows which of two `SKILL.md` it read: their bodies differ
/// in a line that hosts do not substitute.
pub fn is_distinguishable(one: &str, other: &str) -> bool {
    let fixed = |text| -> Vec<&str> {
        let body = frontmatter::split(text).map_or(text, |split| split.body);
        lines(body).into_iter().filter(|line| !is_template(line)).collect()
    };
    fixed(one) != fixed(other)
}

/// Returns the lines of a text without their indentation and without blank ones. Hosts trim and indent a skill's text.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Returns whether hosts may substitute a part of a line, as in `$ARGUMENTS` and `` !`command` ``.
fn is_template(line: &str) -> bool {
    line.contains('$') || line.contains("!`")
}

/// Counts the lines of a `SKILL.md` that a text has in the same order. `None` if it lacks a line of the body, except
/// for lines with substitutions. Hosts may leave out the frontmatter.
fn score(content: &[&str], text: &str) -> Option<usize> {
    let body = frontmatter::split(text).map_or(text, |split| split.body);
    let (body, whole) = (lines(body), lines(text));
    let counted = in_order(content, &body)?;
    Some(in_order(content, &whole).map_or(counted, |whole| whole.max(counted)))
}

fn in_order(content: &[&str], wanted: &[&str]) -> Option<usize> {
    let (mut rest, mut count) = (content, 0);
    for line in wanted {
        match rest.iter().position(|known| known == line) {
            Some(at) => {
                rest = rest.get(at + 1..).unwrap_or_default();
                count += 1;
            }
            None if is_template(line) => {}
            None => return None,
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Host;

    fn history(texts: &[(i64, &str)]) -> KnownRevisions {
        let known = texts.iter().map(|(second, text)| KnownRevision {
            id: RevisionId::new(format!("{second:040}")),
            time: Timestamp::from_second(*second).unwrap(),
            text: Some((*text).to_owned()),
        });
        KnownRevisions(known.rev().collect())
    }

    /// Returns the second of the revision that was read, or 0 for an unrecorded text.
    fn read(history: &KnownRevisions, second: i64, content: Option<&str>) -> i64 {
        let mut used = SkillUse::new(Host::Codex, "a", "s", Timestamp::from_second(second).ok());
        used.content = content.map(Into::into);
        match history.read_by(&used) {
            ReadRevision::Known(id) => id.as_str().parse().unwrap(),
            ReadRevision::Unrecorded => 0,
            ReadRevision::NoHistory => -1,
        }
    }

    #[test]
    fn only_fixed_lines_of_bodies_distinguish() {
        let text = |description: &str, body: &str| format!("---\nname: a\ndescription: {description}\n---\n\n{body}\n");
        let first = text("one", "# A\n\nSort $ARGUMENTS.");
        assert!(is_distinguishable(&first, &text("one", "# A\n\nSort $ARGUMENTS.\nWrite.")));
        for same in [text("two", "# A\n\nSort $ARGUMENTS."), text("one", "  # A\nRank $ARGUMENTS.")] {
            assert!(!is_distinguishable(&first, &same), "{same}");
        }
    }

    const FIRST: &str = "---\nname: a\n---\n\n# A\n\n1. Read.\n2. Sort $ARGUMENTS.\n";
    const LONGER: &str = "---\nname: a\n---\n\n# A\n\n1. Read.\n2. Sort $ARGUMENTS.\n3. Write.\n";

    #[test]
    fn text_decides_against_time() {
        let history = history(&[(10, FIRST), (20, LONGER)]);
        assert_eq!(read(&history, 99, Some("Base: /x\n\n# A\n\n1. Read.\n2. Sort .\n")), 10);
        assert_eq!(read(&history, 15, Some("<x>\n    # A\n\n1. Read.\n2. Sort it.\n3. Write.\n</x>")), 20);
        assert_eq!(read(&history, 15, Some(&format!("Output:\n{LONGER}"))), 20);
    }

    #[test]
    fn unknown_text_belongs_to_no_revision() {
        let history = history(&[(10, FIRST), (20, LONGER)]);
        assert_eq!(read(&history, 99, Some("# A\n\n1. Read twice.\n2. Sort.\n")), 0);
        assert_eq!(read(&history, 99, Some("")), 0);
        assert_eq!(read(&KnownRevisions::default(), 99, Some("# A")), -1);
    }

    #[test]
    fn time_decides_between_equal_texts() {
        let history = history(&[(10, FIRST), (20, LONGER), (30, FIRST)]);
        let text = Some("# A\n1. Read.\n2. Sort.\n");
        assert_eq!([5, 10, 29, 30, 99].map(|second| read(&history, second, text)), [10, 10, 10, 30, 30]);
        assert_eq!([5, 25, 99].map(|second| read(&history, second, None)), [10, 20, 30]);
    }

    #[test]
    fn frontmatter_decides_where_the_host_sends_it() {
        let other = FIRST.replace("name: a", "name: a\ndescription: B");
        let history = history(&[(10, FIRST), (20, &other)]);
        assert_eq!(read(&history, 99, Some(FIRST)), 10);
        assert_eq!(read(&history, 15, Some(&other)), 20);
    }
}
