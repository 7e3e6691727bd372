//! [`Shift`]: the difference in indentation between the text of a patch and its match in the file.

use super::normal::indent_of;

/// Conversion from the indentation of the patch to that of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shift {
    /// Text that the file has in addition at the start of each line.
    More(String),
    /// Text that the file lacks at the start of each line.
    Less(String),
    /// Tabs against spaces, possibly with a shift by some columns.
    Columns {
        /// Width of a tab in columns.
        tab: usize,
        /// Columns to add. Negative if the file has fewer.
        more: isize,
        /// True if the file indents with tabs.
        tabs: bool,
    },
}

impl Shift {
    /// Returns the single shift that fits every non-blank line, or `None` if the lines differ by different amounts.
    /// Both texts must have the same number of lines.
    pub(super) fn between(find: &str, place: &str) -> Option<Self> {
        let pairs: Vec<(&str, &str)> = find
            .lines()
            .zip(place.lines())
            .filter(|(line, _)| !line.trim().is_empty())
            .map(|(line, other)| (indent_of(line), indent_of(other)))
            .collect();
        Self::more(&pairs).or_else(|| Self::less(&pairs)).or_else(|| Self::columns(&pairs))
    }

    fn more(pairs: &[(&str, &str)]) -> Option<Self> {
        let (find, place) = pairs.first()?;
        let extra = place.strip_suffix(find)?;
        let fits = |(find, place): &(&str, &str)| place.strip_prefix(extra) == Some(*find);
        pairs.iter().all(fits).then(|| Self::More(extra.to_owned()))
    }

    fn less(pairs: &[(&str, &str)]) -> Option<Self> {
        let (find, place) = pairs.first()?;
        let extra = find.strip_suffix(place)?;
        let fits = |(find, place): &(&str, &str)| find.strip_prefix(extra) == Some(*place);
        pairs.iter().all(fits).then(|| Self::Less(extra.to_owned()))
    }

    fn columns(pairs: &[(&str, &str)]) -> Option<Self> {
        let (first, place) = pairs.first()?;
        let tabs = pairs.iter().any(|(_, place)| place.contains('\t'));
        [4, 2, 8].into_iter().find_map(|tab| {
            let more = columns_of(place, tab) - columns_of(first, tab);
            let fits = |(find, place): &(&str, &str)| columns_of(place, tab) - columns_of(find, tab) == more;
            pairs.iter().all(fits).then_some(Self::Columns { tab, more, tabs })
        })
    }

    /// Returns the replacement with the indentation of the file, or `None` if a line has less indentation than has to
    /// be removed.
    pub(super) fn apply(&self, replace: &str) -> Option<String> {
        let mut text = String::with_capacity(replace.len());
        for line in replace.split_inclusive('\n') {
            if line.trim().is_empty() {
                text.push_str(line);
                continue;
            }
            let indent = indent_of(line);
            text.push_str(&self.indent(indent)?);
            text.push_str(line.get(indent.len()..)?);
        }
        Some(text)
    }

    fn indent(&self, indent: &str) -> Option<String> {
        match self {
            Self::More(extra) => Some(format!("{extra}{indent}")),
            Self::Less(extra) => indent.strip_prefix(extra.as_str()).map(str::to_owned),
            Self::Columns { tab, more, tabs } => {
                let columns = usize::try_from(columns_of(indent, *tab) + more).ok()?;
                let (tabs, spaces) = if *tabs { (columns / tab, columns % tab) } else { (0, columns) };
                Some("\t".repeat(tabs) + &" ".repeat(spaces))
            }
        }
    }
}

/// Returns the width of an indentation in columns. Texts are far below `isize::MAX` columns.
fn columns_of(indent: &str, tab: usize) -> isize {
    let columns: usize = indent.bytes().map(|byte| if byte == b'\t' { tab } else { 1 }).sum();
    isize::try_from(columns).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_indentation_difference_is_a_shift() {
        assert_eq!(Shift::between("a\n  b", "    a\n      b"), Some(Shift::More("    ".into())));
        assert_eq!(Shift::between("    a\n\n      b", "a\n\n  b"), Some(Shift::Less("    ".into())));
        assert_eq!(Shift::between("a\n b", " a\n b"), None);
    }

    #[test]
    fn tab_width_is_inferred() {
        let shift = Shift::between("  a\n    b", "\ta\n\t\tb").unwrap();
        assert_eq!(shift, Shift::Columns { tab: 2, more: 0, tabs: true });
        assert_eq!(shift.apply("  a\n\n      c\n").unwrap(), "\ta\n\n\t\t\tc\n");
        let shift = Shift::between("\ta\n\t\tb", "    a\n        b").unwrap();
        assert_eq!(shift.apply("\tx\n").unwrap(), "    x\n");
    }

    #[test]
    fn underindented_line_does_not_fit() {
        assert_eq!(Shift::Less("    ".into()).apply("    a\n  b"), None);
        assert_eq!(Shift::Columns { tab: 4, more: -8, tabs: false }.apply("\ta"), None);
    }
}
