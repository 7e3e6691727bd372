//! [`Rules`]: the choices of a merge for which several answers are reasonable.

/// Function that merges three texts (base, ours, theirs) with line feeds. Returns `None` on a conflict.
pub type PlainMerge = dyn Fn([&str; 3]) -> Option<String>;

/// Choices of a merge for which several answers are reasonable.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Merge function to try first on every text except the frontmatter. Its result is final.
    pub plain: Option<&'a PlainMerge>,
    /// True if prose lines that both sides changed may be merged word by word.
    pub words: bool,
    /// True if a file moved by one side is merged with the other side's changes to it.
    pub follows_renames: bool,
    /// Content to insert at conflicts.
    pub clashes: Clashes<'a>,
}

/// Content to insert at a conflict. The conflict is reported in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clashes<'a> {
    /// The version of ours.
    Ours,
    /// The version of theirs.
    Theirs,
    /// Both versions of a text, between conflict markers as in git. Other files keep our version, and a file removed by
    /// one side keeps the version of the other.
    Marked {
        /// Label of ours in the markers.
        ours: &'a str,
        /// Label of theirs in the markers.
        theirs: &'a str,
    },
}

/// Marker before the version of ours, followed by its label.
const OPENING: &str = "<<<<<<< ";
/// Marker between the two versions.
const MIDDLE: &str = "=======";
/// Marker after the version of theirs, followed by its label.
const CLOSING: &str = ">>>>>>> ";

impl Rules<'_> {
    /// Rules for a change that was pending while the skill changed: every doubtful case is a conflict.
    pub const CAREFUL: Rules<'static> =
        Rules { plain: None, words: true, follows_renames: false, clashes: Clashes::Ours };

    /// Applies [`Rules::plain`] to three texts. Returns `None` if a text mixes line endings.
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
    /// Returns the lines to insert for a conflict between `ours` and `theirs`.
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

/// Returns the first line, from 1, that is a marker of [`Clashes::Marked`] with these labels. Markers with other labels
/// are the skill's own text, as in a skill about merging.
pub fn marker_line(text: &str, ours: &str, theirs: &str) -> Option<usize> {
    let is_marker = |line: &str| {
        line.strip_prefix(OPENING).is_some_and(|name| name == ours)
            || line.strip_prefix(CLOSING).is_some_and(|name| name == theirs)
    };
    text.lines().position(is_marker).map(|at| at + 1)
}
