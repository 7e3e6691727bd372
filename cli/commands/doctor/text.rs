//! Text output of the findings, wrapped to the width of the terminal.

use std::io::{self, Write};

use skill::counted;
use unicode_width::UnicodeWidthStr;

use super::{Finding, Findings, State};
use crate::print::{BAD, FAINT, GOOD, WARN, wrapped};

/// Columns before a message, for the state and the check.
const MARGIN: usize = 20;

/// Code of a check that was skipped because of another fault.
const NOT_LOOKED_AT: &str = "not_looked_at";

/// A finding prepared for display.
struct Line<'a> {
    state: State,
    check: &'a str,
    message: String,
    path: &'a str,
}

/// Writes the findings and the number of open faults. `width` is the terminal's. Without it, each finding gets one
/// line.
pub fn write(out: &mut dyn Write, findings: &Findings, width: Option<usize>, library: &str) -> io::Result<()> {
    let width = width.map_or(usize::MAX, |width| width.saturating_sub(MARGIN).max(MARGIN));
    let lines = lines(&findings.list);
    lines.iter().try_for_each(|line| line.write(out, width))?;
    let open = lines.iter().filter(|line| line.state.is_open() && line.check != OTHERS).count();
    let open = open.max(usize::from(findings.list.iter().any(|finding| finding.state.is_open())));
    let mended = match findings.count(State::Mended) {
        0 => String::new(),
        count => format!(", {count} repaired"),
    };
    if open == 0 {
        return writeln!(out, "{GOOD}No problems{GOOD:#} in {library}{mended}");
    }
    let problems = counted(open, "problem");
    let can_be = findings.count(State::Found) > 0 && !findings.fix;
    let hint = if can_be { "; `skillhub doctor --fix` repairs what it can" } else { "" };
    writeln!(out, "{problems}{mended}{hint}")
}

/// Common name of the checks that were skipped for the same reason.
const OTHERS: &str = "others";

fn lines(findings: &[Finding]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for finding in findings {
        let Finding { check, state, path, message, .. } = finding;
        let is_left_out = finding.code == NOT_LOOKED_AT && message.starts_with("skipped until the journal");
        let together = lines.iter_mut().find(|line| is_left_out && line.check == OTHERS);
        match together {
            Some(line) => line.message = line.message.replacen(':', &format!(", {check}:"), 1),
            None => {
                let (check, message) = match is_left_out {
                    true => (OTHERS, format!("{check}: {message}")),
                    false => (*check, message.clone()),
                };
                lines.push(Line { state: *state, check, message, path });
            }
        }
    }
    lines
}

impl Line<'_> {
    fn write(&self, out: &mut dyn Write, width: usize) -> io::Result<()> {
        let style = match self.state {
            State::Ok | State::Mended => GOOD,
            State::Warn | State::Found => WARN,
            State::Cannot => BAD,
        };
        let word = match self.state {
            State::Ok => "ok",
            State::Warn => "warn",
            State::Found => "fixable",
            State::Mended => "fixed",
            State::Cannot => "error",
        };
        let (check, margin) = (self.check, " ".repeat(MARGIN));
        write!(out, "{style}{word:<7}{style:#} {check:<11} ")?;
        let lines: Vec<String> = self.message.lines().flat_map(|line| wrapped(line, width)).collect();
        write!(out, "{}", lines.join(&format!("\n{margin}")))?;
        // The path of a finding without a fault is in the JSON document only.
        let last = lines.last().map_or(0, |line| line.width());
        match self.state {
            State::Ok | State::Warn => writeln!(out),
            _ if last.saturating_add(2 + self.path.width()) <= width => {
                writeln!(out, "  {FAINT}{}{FAINT:#}", self.path)
            }
            _ => writeln!(out, "\n{margin}{FAINT}{}{FAINT:#}", self.path),
        }
    }
}
