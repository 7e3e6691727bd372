//! [`Table`]: aligned columns, as wide as the terminal allows.

use std::io::{self, Write};

use anstyle::Style;
use comfy_table::{ContentArrangement, presets};

/// Rows under a head, without lines between.
pub struct Table(comfy_table::Table);

impl Table {
    /// A table with a head.
    pub fn new(head: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(head.iter().map(|title| title.to_uppercase()));
        Self(table)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[String]) {
        self.0.add_row(cells);
    }

    /// Writes the table; the head is dimmed.
    ///
    /// # Errors
    /// The stream cannot be written.
    pub fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let faint = Style::new().dimmed();
        for (number, line) in self.0.to_string().lines().enumerate() {
            match number {
                0 => writeln!(out, "{faint}{}{faint:#}", line.trim().trim_end())?,
                _ => writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(line).trim_end())?,
            }
        }
        Ok(())
    }
}
