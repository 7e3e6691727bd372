//! Tables with aligned columns and one line per row.

use std::io::{self, Write};

use anstream::adapter::strip_str;
use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{terminal, terminal_columns};

/// Number of spaces between two columns.
const GAP: usize = 2;

/// Minimum width of the last column, as long as other columns can be cut instead.
const LEAST: usize = 20;

/// Rows under a header. Every column is as wide as its widest cell, in terminal columns. The last column is cut at the
/// edge of the terminal. If it would become too narrow, the widest of the other columns are cut as well, except for the
/// first, which holds the names. Nothing is cut in a pipe.
pub struct Table {
    rows: Vec<Vec<String>>,
    terminal: Option<usize>,
}

impl Table {
    /// Creates a table with a header.
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|title| title.to_uppercase()).collect()], terminal: terminal_columns() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.to_vec());
    }

    /// Cuts a text to `columns` columns, for cells that stay narrow in a pipe as well.
    pub fn cut(text: &str, columns: usize) -> String {
        cut(text, columns)
    }

    /// Writes the table, with its header dimmed.
    ///
    /// # Errors
    /// The stream cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths();
        for (number, row) in self.rows.iter().enumerate() {
            let line = self.line(row, &widths);
            let style = if number == 0 { Style::new().dimmed() } else { Style::new() };
            writeln!(out, "{style}{line}{style:#}")?;
        }
        Ok(())
    }

    /// Returns the widths of all columns but the last.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
        let width_of = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| shown(cell)).max();
        let mut widths: Vec<usize> = (0..columns).map(|column| width_of(column).unwrap_or(0)).collect();
        if let Some(terminal) = self.terminal {
            self.narrow(&mut widths, terminal);
        }
        widths
    }

    /// Narrows the widest columns between the first and the last until the last has its minimum width, or all of them
    /// are as narrow as their headers.
    fn narrow(&self, widths: &mut [usize], terminal: usize) {
        let head = self.rows.first().map(Vec::as_slice).unwrap_or_default();
        let least = |column: usize| head.get(column).map_or(0, |title| title.width());
        while widths.iter().map(|width| width + GAP).sum::<usize>() + LEAST > terminal {
            let between = widths.iter().enumerate().skip(1).filter(|(column, width)| **width > least(*column));
            let Some((widest, _)) = between.max_by_key(|(_, width)| **width) else { return };
            if let Some(width) = widths.get_mut(widest) {
                *width -= 1;
            }
        }
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let cell = cut(cell, *width);
            line.push_str(&cell);
            line.push_str(&" ".repeat(width - shown(&cell) + GAP));
        }
        let used: usize = widths.iter().map(|width| width + GAP).sum();
        let last = row.get(widths.len()).map(String::as_str).unwrap_or_default();
        match self.terminal {
            Some(terminal) => line.push_str(&cut(last, terminal.saturating_sub(used))),
            None => line.push_str(last),
        }
        line.trim_end().to_owned()
    }
}

/// Returns the width of a cell in columns, without its styles.
fn shown(cell: &str) -> usize {
    strip_str(cell).to_string().width()
}

/// Cuts a text to `columns` columns, with an ellipsis where something was removed. Styles are preserved, so that every
/// opened style is closed.
fn cut(text: &str, columns: usize) -> String {
    if shown(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let (mut kept, mut used, mut rest) = (String::new(), 0, text);
    while let Some(c) = rest.chars().next() {
        let style = terminal::style_at(rest);
        let width = if style.is_some() { 0 } else { c.width().unwrap_or(0) };
        if style.is_none() && used + width >= columns {
            break;
        }
        used += width;
        let length = style.map_or(c.len_utf8(), str::len);
        kept.push_str(rest.get(..length).unwrap_or_default());
        rest = rest.get(length..).unwrap_or_default();
    }
    let mut kept = format!("{}…", kept.trim_end());
    while !rest.is_empty() {
        let style = terminal::style_at(rest);
        kept.push_str(style.unwrap_or_default());
        let length = style.map_or(rest.chars().next().map_or(1, char::len_utf8), str::len);
        rest = rest.get(length..).unwrap_or_default();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terminal: Option<usize>) -> String {
        let mut table = Table::new(&["name", "what it does"]);
        table.terminal = terminal;
        table.row(&["pdf".into(), "fills forms in files of any length".into()]);
        table.row(&["技能".into(), "写作".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn columns_stand_under_each_other_whatever_the_script() {
        assert_eq!(written(None), "NAME  WHAT IT DOES\npdf   fills forms in files of any length\n技能  写作\n");
    }

    #[test]
    fn rows_fit_the_terminal() {
        let mut table = Table::new(&["skill", "version", "scope", "agents", "state", "description"]);
        table.terminal = Some(80);
        let name = "investigating-production-incidents";
        let row = [name, "1.12.0-beta.3+build", "project", "claude-code +12", "for acme/ledger", "Does what it says."];
        table.row(&row.map(str::to_owned));
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let written = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(written.lines().all(|line| line.width() <= 80), "{written}");
        assert!(written.contains(name) && written.contains("Does what"), "{written}");
        table.terminal = Some(30);
        assert!(table.line(&table.rows[1], &table.widths()).starts_with(name), "names are never cut");
    }

    #[test]
    fn only_a_terminal_cuts_and_says_so() {
        assert!(written(Some(30)).contains("pdf   fills forms in files of\u{2026}\n"), "{}", written(Some(30)));
        assert_eq!(cut("技能技能", 5), "技能…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdef", 4), "abc…");
    }

    #[test]
    fn styles_take_no_columns() {
        let cell = format!("{}abc{:#}", crate::print::GOOD, crate::print::GOOD);
        assert_eq!((shown(&cell), cut(&cell, 3)), (3, cell.clone()));
        assert_eq!(cut(&cell, 2), "\u{1b}[32ma…\u{1b}[0m", "the style ends where the text is cut");
        let mut table = Table::new(&["rate", "bar"]);
        table.row(&[cell, "x".into()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert!(strip_str(&String::from_utf8(out).unwrap()).to_string().contains("RATE  BAR\nabc   x\n"));
    }
}
