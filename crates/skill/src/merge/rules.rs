//! [`Rules`]: how a merge decides what more than one way would be right for.

/// Merges three texts (base, ours, theirs) whose lines end in line feeds; nothing where it finds a conflict.
pub type PlainMerge = dyn Fn([&str; 3]) -> Option<String>;

/// How a merge decides what more than one way would be right for.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Asked first for every text that is not the frontmatter; what it merges is taken as it is.
    pub plain: Option<&'a PlainMerge>,
    /// Whether lines of prose that both sides changed may be merged word by word.
    pub words: bool,
    /// Whether a file that one side moved is merged with the other side's changes of it.
    pub follows_renames: bool,
    /// What is put where both sides changed the same.
    pub clashes: Clashes<'a>,
}

/// What is put where both sides changed the same. A conflict is told in each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clashes<'a> {
    /// What ours has there.
    Ours,
    /// What theirs has there.
    Theirs,
    /// Both, in texts between markers as git writes them; of other files what ours has, and of a file
    /// that one side removed what the other has.
    Marked {
        /// What ours is called in the markers.
        ours: &'a str,
        /// What theirs is called in the markers.
        theirs: &'a str,
    },
}

/// Before the name of ours.
const OPENING: &str = "<<<<<<< ";
/// The line that ends ours and begins theirs.
const MIDDLE: &str = "=======";
/// Before the name of theirs.
const CLOSING: &str = ">>>>>>> ";

impl Rules<'_> {
    /// For a change that waited while the skill moved on: nothing is decided in doubt.
    pub const CAREFUL: Rules<'static> =
        Rules { plain: None, words: true, follows_renames: false, clashes: Clashes::Ours };

    /// What [`Rules::plain`] makes of texts that each end their lines in one way.
    pub(super) fn plainly(&self, texts: [&str; 3], line_end: &str) -> Option<String> {
        let merge = self.plain?;
        if texts.iter().any(|text| has_mixed_ends(text)) {
            return None;
        }
        let normal = texts.map(|text| text.replace("\r\n", "\n"));
        Some(merge(normal.each_ref().map(String::as_str))?.replace('\n', line_end))
    }
}

fn has_mixed_ends(text: &str) -> bool {
    let pairs = text.matches("\r\n").count();
    pairs != text.matches('\r').count() || (pairs > 0 && pairs != text.matches('\n').count())
}

impl Clashes<'_> {
    /// The lines to put for a place at which the sides have `ours` and `theirs`.
    pub(super) fn lines<'t>(&self, ours: &[&'t str], theirs: &[&'t str]) -> Vec<std::borrow::Cow<'t, str>> {
        let plain = |lines: &[&'t str]| lines.iter().map(|line| (*line).into()).collect::<Vec<_>>();
        match self {
            Self::Ours => plain(ours),
            Self::Theirs => plain(theirs),
            Self::Marked { ours: here, theirs: there } => {
                let mut lines = vec![format!("{OPENING}{here}").into()];
                lines.extend(plain(ours));
                lines.push(MIDDLE.into());
                lines.extend(plain(theirs));
                lines.push(format!("{CLOSING}{there}").into());
                lines
            }
        }
    }
}

/// The first line, from 1, that is a marker of [`Clashes::Marked`] with these names. Markers with other
/// names are a skill's own text, as in one that explains merging.
#[must_use]
pub fn marker_line(text: &str, ours: &str, theirs: &str) -> Option<usize> {
    let is_marker = |line: &str| {
        line.strip_prefix(OPENING).is_some_and(|name| name == ours)
            || line.strip_prefix(CLOSING).is_some_and(|name| name == theirs)
    };
    text.lines().position(is_marker).map(|at| at + 1)
}
