//! [`Table`]: aligned columns, one line a row.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::terminal_columns;

/// Spaces between two columns.
const GAP: usize = 2;

/// Columns that the last column gets as long as others can be cut in its place.
const LEAST: usize = 20;

/// Rows under a head. Every column is as wide as its widest cell, in columns of a terminal; the last
/// one is cut where the terminal ends. Where it would be cut too short, the widest of the others are cut as well, but
/// for the first, which has the names. In a pipe nothing is cut.
pub struct Table {
    rows: Vec<Vec<String>>,
    terminal: Option<usize>,
}

impl Table {
    /// A table with a head.
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|title| title.to_uppercase()).collect()], terminal: terminal_columns() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.to_vec());
    }

    /// A text of at most so many columns, for a cell of a table that is to be narrow in a pipe as well.
    pub fn cut(text: &str, columns: usize) -> String {
        cut(text, columns)
    }

    /// Writes the table; the head is dimmed.
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

    /// The widths of all columns but the last.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
        let width_of =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
        let mut widths: Vec<usize> = (0..columns).map(|column| width_of(column).unwrap_or(0)).collect();
        if let Some(terminal) = self.terminal {
            self.narrow(&mut widths, terminal);
        }
        widths
    }

    /// Cuts the widest columns between the first and the last until the last has its least width, or all of them
    /// are as narrow as their heads.
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
            line.push_str(&" ".repeat(width - cell.width() + GAP));
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

/// A text of at most so many columns, with an ellipsis where something was cut off.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < columns
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
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
    }
}
